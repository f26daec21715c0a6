"""Signals of a page and its host about machine use: Content-Usage, Content-Signal, TDMRep, noai."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

PRODUCT_TOKEN = "edu-rag-bench"  # noqa: S105 - the name that robots.txt files address, no secret
TDM, NOAI, NOIMAGEAI = "tdm-reservation", "noai", "noimageai"
_USAGES = ("ai-output", "ai-use", "automated-processing", "bots", "search", "train-ai", "train-genai", "tdm")
_SIGNALS = ("ai-input", "ai-train", "search")
RESERVING = frozenset(
    {TDM, NOAI, "content-signal:ai-train=no", "content-signal:ai-input=no"}
    | {f"content-usage:{usage}=n" for usage in _USAGES if usage != "search"}
)
"""Signals by which a holder of rights reserves them against uses like ours."""
VOCABULARY = frozenset(
    {TDM, NOAI, NOIMAGEAI}
    | {f"content-usage:{usage}={value}" for usage in _USAGES for value in "yn"}
    | {f"content-signal:{signal}={value}" for signal in _SIGNALS for value in ("yes", "no")}
)
"""Every value that `Fetched.signals` can hold."""
MAX_LINES = 200
_HEAD_BYTES = 65_536
_META = re.compile(rb"<meta\s([^>]{1,1000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""(name|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def reserves_rights(signals: Iterable[str]) -> bool:
    """Whether one of the signals reserves the rights that a benchmark would need."""
    return not RESERVING.isdisjoint(signals)


def _pairs(prefix: str, text: str) -> set[str]:
    """`prefix:key=value` for each known pair of a list such as `train-ai=n, search=y`."""
    found = {f"{prefix}:{''.join(part.split(';')[0].split()).lower()}" for part in text[:2_000].split(",")}
    return found & VOCABULARY


def _rules(values: Iterable[str]) -> set[str]:
    """The words noai and noimageai of robots rules, unless they address another agent by name."""
    found: set[str] = set()
    for value in values:
        agent, colon, rest = value.lower().partition(":")
        if colon and agent.strip() not in (PRODUCT_TOKEN, "*"):
            continue
        found |= {rule.strip() for rule in (rest if colon else agent).split(",")} & {NOAI, NOIMAGEAI}
    return found


def signals_in_headers(headers: Mapping[str, str]) -> set[str]:
    """Signals of response headers, their names in title case (`X-Robots-Tag`)."""
    found = _pairs("content-usage", headers.get("Content-Usage", ""))
    found |= _pairs("content-signal", headers.get("Content-Signal", ""))
    if headers.get("Tdm-Reservation", "").strip() == "1":
        found.add(TDM)
    if "X-Robots-Tag" in headers:
        found |= _rules(headers["X-Robots-Tag"].split("\n"))
    return found


def _meta(tag: bytes) -> tuple[str, str]:
    values = {name.lower(): (a or b or c) for name, a, b, c in _ATTRIBUTE.findall(tag)}
    return tuple(values.get(key, b"").decode("ascii", "replace").strip().lower() for key in (b"name", b"content"))


def signals_in_page(body: bytes) -> set[str]:
    """Signals of meta tags in the first 64 KB of a page whose markup is a superset of ASCII."""
    head = body[:_HEAD_BYTES].lower()
    if not any(word in head for word in (b"noai", b"noimageai", b"tdm-reservation")):
        return set()
    found: set[str] = set()
    for match in _META.finditer(head):
        name, content = _meta(match[1])
        if name in ("robots", PRODUCT_TOKEN):
            found |= {rule.strip() for rule in content.split(",")} & {NOAI, NOIMAGEAI}
        elif name == TDM and content == "1":
            found.add(TDM)
    return found


_Rule = tuple[str, str, str]


def _lines(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()


def usage_rules(text: str) -> tuple[_Rule, ...]:
    """The (prefix, path, preferences) lines of robots.txt that apply to us: our own group's, else those of `*`.

    Content-Usage as in draft-ietf-aipref-attach, Content-Signal as Cloudflare writes it.
    """
    if "content-" not in text.lower():
        return ()
    groups: dict[str, list[_Rule]] = {}
    agents = {"*"}
    in_names = False
    for name, value in _lines(text):
        if name == "user-agent":
            agents = {*(agents if in_names else ()), value.lower()} & {PRODUCT_TOKEN, "*"}
            groups |= {agent: [] for agent in agents if agent not in groups}
        elif name in ("content-usage", "content-signal"):
            path, _, rest = value.partition(" ") if value.startswith("/") else ("/", "", value)
            for agent in agents:
                groups.setdefault(agent, []).append((name, path, rest[:200]))
        in_names = name == "user-agent"
    return tuple(groups.get(PRODUCT_TOKEN, groups.get("*", []))[:MAX_LINES])


def signals_of_rules(rules: Iterable[_Rule], url: str) -> set[str]:
    """The signals for one URL: of each kind, the line with the longest path that the URL begins with."""
    best: dict[str, _Rule] = {}
    path = urlsplit(url).path or "/"
    for rule in rules:
        if path.startswith(rule[1]) and len(rule[1]) >= len(best.get(rule[0], ("", "", ""))[1]):
            best[rule[0]] = rule
    return set().union(*(_pairs(name, rest) for name, _, rest in best.values()))
