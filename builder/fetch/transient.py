"""Which fates of a URL are passing ones: such a URL is asked for again on the next run."""

from __future__ import annotations

from builder.fetch.fetched import Fetched

ROBOTS_UNREAD = "robots.txt: "
"""How the detail begins where a host's robots.txt could not be read, as opposed to: it forbids the page."""
BREAKER = "circuit breaker: "
"""How the detail begins where a host failed so often in a row that it was not asked again."""
TRANSIENT_STATUSES = frozenset({408, 425, 429, 502, 503, 504})


def is_transient(outcome: str, status: int | None, detail: str = "") -> bool:
    """Whether the same URL may fare better on another day."""
    if outcome in ("timeout", "connection"):
        return True
    if outcome == "robots":
        return detail.startswith(ROBOTS_UNREAD)
    return outcome == "http_error" and status in TRANSIENT_STATUSES


def was_asked(got: Fetched) -> bool:
    """Whether the URL's host was asked, for the page or for its robots.txt; a breaker's fast failure does not count."""
    return not got.detail.removeprefix(ROBOTS_UNREAD).startswith(BREAKER)


def was_given_up(got: Fetched) -> bool:
    """Whether no page of the URL's host is asked for any more in this run."""
    return got.detail.startswith((BREAKER, ROBOTS_UNREAD))
