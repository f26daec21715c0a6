"""robots.txt (RFC 9309) read with protego: allowed URLs, the wait that it asks for, its signals about machine use."""

from __future__ import annotations

import re
import threading
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from builder.fetch.fetched import ROBOTS_UNREAD, STATUS
from builder.fetch.machine_use_signals import PRODUCT_TOKEN, signals_of_rules, usage_rules

MAX_BYTES = 512_000
"""RFC 9309 section 2.5 asks for at least 500 KiB."""
MAX_CRAWL_DELAY_S = 10.0
_PARSED_BYTES = 1_000_000
_AGENT = re.compile(r"\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)(.*)", re.IGNORECASE | re.DOTALL)
"""A line that names an agent, in any spelling that protego takes."""


class _ParsedFiles:
    """The rules of the files asked for last. Parsed rules take 25 times the file's bytes, so few are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._n_bytes = 0
        self._turn = threading.Lock()  # long files are parsed in threads

    def rules(self, packed: bytes) -> Any:
        """The rules of a packed file, parsed again if they were dropped meanwhile."""
        with self._turn:
            if packed in self._kept:
                self._kept.move_to_end(packed)
                return self._kept[packed][0]
        text = zlib.decompress(packed)
        parsed = _parsed(text)
        with self._turn:
            self._n_bytes += len(text) - self._kept.get(packed, (None, 0))[1]
            self._kept[packed] = (parsed, len(text))
            while self._n_bytes > _PARSED_BYTES and len(self._kept) > 1:
                self._n_bytes -= self._kept.popitem(last=False)[1][1]
        return parsed


def _parsed(text: bytes) -> Any:
    from protego import Protego

    return Protego.parse(text.decode())


def _named(agent: str) -> str:
    """An agent as protego compares it with ours: `*`, the beginning of our name, or a different agent."""
    agent = agent.partition("#")[0].strip().lower()
    bare = agent.replace("*", "")
    if agent == "*":
        return agent
    return bare if bare and PRODUCT_TOKEN.startswith(bare) else "others"


def told_to_us(text: str) -> str:
    """The file with all agents that cannot be us under one name.

    Parsers give every agent of a group its own copy of the group's rules: 500 KB of names and rules, half and half,
    would take all memory there is.
    """
    lines: list[str] = []
    for written in text.splitlines():
        agent = _AGENT.match(written)
        line = written if agent is None else f"user-agent: {_named(agent[1])}"
        if agent is None or not lines or lines[-1] != line:
            lines.append(line)
    return "\n".join(lines)


_FILES = _ParsedFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """A host's robots.txt as it applies to us. Without a file everything is allowed or, if `closed`, nothing."""

    packed: bytes = b""
    usage: tuple[tuple[str, str, str], ...] = ()
    closed: str = ""
    outcome: str = "robots"
    crawl_delay_s: float = 0.0
    took_s: float = 0.0
    read_at: float = 0.0
    """When the reading ended, on the crawl's clock."""

    def allows(self, url: str) -> bool:
        """Whether we may fetch the URL."""
        if self.closed:
            return False
        return not self.packed or bool(_FILES.rules(self.packed).can_fetch(url, PRODUCT_TOKEN))

    def signals(self, url: str) -> set[str]:
        """The file's signals about machine use of this URL."""
        return signals_of_rules(self.usage, url) if self.usage else set()


def _of_file(body: bytes) -> Robots:
    if not body.strip():
        return Robots()
    text = told_to_us(body.decode("utf-8-sig", "replace"))
    packed = zlib.compress(text.encode(), 1)
    delay = _FILES.rules(packed).crawl_delay(PRODUCT_TOKEN)
    bounded = min(max(float(delay or 0), 0.0), MAX_CRAWL_DELAY_S)
    return Robots(packed=packed, usage=usage_rules(text), crawl_delay_s=bounded)


def robots_of(status: int | None, body: bytes, outcome: str, detail: str) -> Robots:
    """The rules from a fetch of robots.txt: the file's; 4xx allows all; 5xx, 429 or no answer in time closes the host.

    The pages of a host that is closed so are `robots_unreachable`, or have the outcome of a host that cannot be reached
    at all: it is more exact.
    """
    if status is not None and 200 <= status < 300 and outcome == "kept":
        return _of_file(body)
    if outcome in ("refused_address", "connection", "dns"):
        return Robots(closed=f"{ROBOTS_UNREAD}{detail}", outcome=outcome)
    if status is not None and 400 <= status < 500 and status != 429:
        return Robots()
    if outcome == "redirect_loop":
        return Robots()  # RFC 9309 section 2.3.1.2: too many redirects count as unavailable, so all is allowed
    return Robots(closed=f"{ROBOTS_UNREAD}{detail or f'{STATUS}{status}'}", outcome="robots_unreachable")
