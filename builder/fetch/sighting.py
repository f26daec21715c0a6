"""A sighting: what one attempt to fetch a URL shows of the network, of this machine and of the host."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from builder.fetch.fetched import BREAKER, ROBOTS_UNREAD, STOOD_STILL, Fetched
from builder.fetch.hit_detail import detail_of
from builder.fetch.proxies import is_unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """How one attempt to fetch a URL ended. `sign` says what the answer looked like, and is empty if there was none.

    `host` is the registered host of the URL; `is_rules`: the answer was its robots.txt; `was_there`: the host answered
    before the connection failed, or closed it; `certificate`: what is wrong with the one that it showed; `is_local`:
    this machine is the cause, or (`is_proxys`) its `proxy`, if it is asked through one. `begun`: when the attempt
    began, its wait for robots.txt included; `started`: its first request; `sent_away_at`: when it was sent to another
    registered host, if it was.
    """

    url: str
    host: str
    started: float
    ended: float
    sign: str = ""
    detail: str = ""
    is_page: bool = False
    is_rules: bool = False
    was_there: bool = False
    certificate: str = ""
    is_local: bool = False
    is_proxys: bool = False
    proxy: str = ""
    begun: float = math.inf
    sent_away_at: float | None = None


def was_there(got: Fetched) -> bool:
    """Whether a lost connection was one to a host that was there: its robots.txt had come, or it closed the connection.

    A moment without network does that to one host or two, which no run of hosts shows.
    """
    if got.outcome != "connection" or got.detail.startswith(BREAKER):
        return False
    return not got.detail.startswith(ROBOTS_UNREAD) or detail_of(got.outcome, got.status, got.detail) == "closed"


_LOCAL = ("unreachable", "cannot be reached", STOOD_STILL, "Too many open files")


def is_local_fault(detail: str) -> bool:
    """Whether this machine is the cause: it has no network, stood still or has no socket left, or its proxy is away."""
    return any(part in detail for part in _LOCAL) or is_unusable(detail)


_BAD_CERTIFICATE = re.compile(r"certificate verify failed: ([^,(]+)")


def certificate_fault(got: Fetched) -> str:
    """What OpenSSL says of a host's certificate, without the host's name; empty if that was not the failure."""
    found = _BAD_CERTIFICATE.search(got.detail) if got.outcome == "connection" else None
    return found[1].strip() if found else ""
