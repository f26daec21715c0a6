"""The result of a fetch, a caller's knowledge of an earlier one, and which results are passing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The result for one URL. `outcome` is one of records.HIT_OUTCOMES; `body` is inflated, and empty unless kept.

    `not_modified` means: kept, but the body is the one that the caller has already (status 304). `signals` are
    reservations that the page or its host states, in the words of `builder.fetch.machine_use_signals`. `took_s` is the
    URL's own time: its requests, its host's robots.txt and the wait that the host asked for, without time in a queue.
    `error_look` is a digest of what an error page says: a captive portal may answer with one for every address.
    """

    url: str
    final_url: str
    outcome: str
    fetched_at: datetime
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    n_redirects: int = 0
    detail: str = ""
    signals: tuple[str, ...] = ()
    not_modified: bool = False
    took_s: float = 0.0
    error_look: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """The version of an earlier response, for a conditional request (RFC 9110 section 13).

    They are sent to `final_url` alone (empty: the URL itself): another page may carry the same tag by chance.
    """

    etag: str = ""
    last_modified: str = ""
    final_url: str = ""

    def headers_for(self, url: str, here: str) -> dict[str, str]:
        """The request headers for the hop `here` of a fetch of `url`; values from a hostile server are left out."""
        if here != (self.final_url or url):
            return {}
        values = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in values.items() if value.isascii() and value.isprintable() and value}


def validators_of(headers: Mapping[str, str], final_url: str) -> Validators:
    """The validators in the headers of a kept response."""
    found = {name.lower(): value for name, value in headers.items()}
    etag, last_modified = found.get("etag", ""), found.get("last-modified", "")
    # A truncated tag is a different tag: one that is too long is dropped.
    return Validators(
        etag=etag if len(etag) <= 200 else "",
        last_modified=last_modified if len(last_modified) <= 100 else "",
        final_url=final_url,
    )


ROBOTS_UNREAD = "robots.txt: "
"""How the detail begins where a host's robots.txt could not be read, as opposed to: it forbids the page."""
UNKNOWN_NAME = "no such name"
"""How the detail begins where the name service answered that there is no address, as opposed to: it gave no answer."""
STATUS = "status "
"""How the detail begins where a server answered with an error."""
NOT_FOUND = frozenset({404, 410})
"""The errors that many pages have on their own: a captive portal that answers so is known by its words only."""
BREAKER = "circuit breaker: "
"""How the detail begins where a host failed so often in a row that it was not asked again."""
STOOD_STILL = "since this machine stood still"
"""How the detail ends if the process did not run when its time was up: the answer may have been there."""
TRANSIENT_STATUSES = frozenset({408, 425, 429, 502, 503, 504})


def is_transient(outcome: str, status: int | None, detail: str = "") -> bool:
    """Whether the same URL may fare better on another day."""
    if outcome in ("timeout", "connection", "dns", "robots_unreachable"):
        return True
    if outcome == "robots":  # of stores from before `robots_unreachable` was a fate
        return detail.startswith(ROBOTS_UNREAD)
    return outcome == "http_error" and status in TRANSIENT_STATUSES


def is_unanswered(got: Fetched) -> bool:
    """Whether nothing came back over the network, or not all of it: a server's answer of any status is one."""
    detail = got.detail.removeprefix(ROBOTS_UNREAD)
    if got.outcome in ("timeout", "connection"):
        return True
    if got.outcome == "dns":
        return not detail.startswith(UNKNOWN_NAME)
    return got.outcome == "robots_unreachable" and not detail.startswith(STATUS)


GATEWAY_STATUSES = frozenset({502, 503, 504})
"""What a proxy or a gateway answers for a host that it cannot reach."""
_GATEWAY_DETAILS = frozenset(f"{STATUS}{status}" for status in GATEWAY_STATUSES)


def is_gateways(got: Fetched) -> bool:
    """Whether the answer, for the page or for its robots.txt, may be that of a gateway without a way to the host."""
    return got.detail.removeprefix(ROBOTS_UNREAD) in _GATEWAY_DETAILS


def was_asked(got: Fetched) -> bool:
    """Whether the URL's host was asked, for the page or for its robots.txt; a breaker's fast failure does not count."""
    return not got.detail.removeprefix(ROBOTS_UNREAD).startswith(BREAKER)


def was_given_up(got: Fetched) -> bool:
    """Whether no page of the URL's host is asked for any more in this run."""
    return got.detail.startswith((BREAKER, ROBOTS_UNREAD))
