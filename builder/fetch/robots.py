"""robots.txt (RFC 9309) read with protego: what it allows, and how long it asks us to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_BYTES = 512_000
"""RFC 9309 section 2.5 asks for at least 500 KiB."""
MAX_CRAWL_DELAY_S = 10.0
PRODUCT_TOKEN = "edu-rag-bench"  # noqa: S105 - the name that robots.txt files address, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """What a host's robots.txt says to us. Without rules everything is allowed or, if `closed`, nothing."""

    rules: Any = None
    closed: str = ""
    outcome: str = "robots"

    def allows(self, url: str) -> bool:
        """Whether we may fetch the URL."""
        if self.closed:
            return False
        return self.rules is None or bool(self.rules.can_fetch(url, PRODUCT_TOKEN))

    @property
    def crawl_delay_s(self) -> float:
        """The Crawl-delay that is asked of us, bounded."""
        delay = self.rules.crawl_delay(PRODUCT_TOKEN) if self.rules is not None else None
        return min(max(float(delay or 0), 0.0), MAX_CRAWL_DELAY_S)


def robots_of(status: int | None, body: bytes, outcome: str, detail: str) -> Robots:
    """What a fetch of robots.txt means: a file's rules; 4xx allows all; 5xx, 429 or no answer in time closes the host.

    A host that cannot be reached at all keeps that outcome for its pages: it is truer than `robots`.
    """
    from protego import Protego

    if status is not None and 200 <= status < 300 and outcome == "kept":
        return Robots(rules=Protego.parse(body.decode("utf-8-sig", "replace")))
    if outcome in ("refused_address", "connection"):
        return Robots(closed=f"robots.txt: {detail}", outcome=outcome)
    if status is not None and 400 <= status < 500 and status != 429:
        return Robots()
    if outcome == "redirect_loop":
        return Robots()  # RFC 9309 section 2.3.1.2: too many redirects count as unavailable, so all is allowed
    return Robots(closed=f"robots.txt: {detail or f'status {status}'}")
