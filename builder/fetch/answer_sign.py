"""The sign of an answer: what it looks like, so that one and the same answer for many hosts is seen."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from builder.fetch.addresses import NOT_PUBLIC
from builder.fetch.fetched import NOT_FOUND, ROBOTS_UNREAD, STATUS, Fetched, is_gateways
from builder.fetch.politeness import registered_host
from builder.urls import host_of

GATEWAY = "a gateway without a way to the host"
"""The sign of every status that a gateway has for that, of pages and of robots.txt: none must vouch for another one."""
SENT_TO = "sent to "
_LOOP = "redirects without an end"
_COMMON_SIGNS = (*(f"{STATUS}{status} " for status in sorted(NOT_FOUND)), _LOOP)
_DATA = ("json", "xml", "javascript")
"""Parts of media types that a portal has for programs (RFC 8908, WISPr); pages of search results are of other types."""
_TAG = re.compile(rb"<[^<>]*>")


def sign_of(got: Fetched) -> str | None:
    """What an answer looked like, so that one and the same for many hosts is seen; None if nothing was asked.

    A captive portal sends everyone to one host, or answers for everyone; its page may repeat the address in question.
    """
    here = host_of(got.final_url)
    if got.outcome == "redirect_loop":
        return _LOOP
    if got.outcome == "refused_address":
        return got.detail.partition(" is ")[2] if NOT_PUBLIC in got.detail else None
    if got.outcome == "dns":
        return None
    if is_elsewhere(got.url, got.final_url):
        return f"{SENT_TO}{here}"
    if is_gateways(got):
        return GATEWAY
    if got.outcome == "robots_unreachable":
        return got.detail.removeprefix(ROBOTS_UNREAD)
    if got.outcome == "http_error":
        # Nothing is known of an error page that could not be read: it is like no other one.
        look = got.error_look or (got.url if got.status in NOT_FOUND else "")
        return f"{STATUS}{got.status} {look}".rstrip()
    if got.outcome == "not_html" and any(part in got.detail.lower() for part in _DATA):
        return f"{got.outcome} {got.detail}"
    if got.outcome != "kept" or got.not_modified:
        return f"{got.outcome} {got.url}"
    return look_of(got.body, got.url)


def is_elsewhere(url: str, final_url: str) -> bool:
    """Whether a URL was sent to another registered host."""
    return registered_host(host_of(url)) != registered_host(host_of(final_url))


def is_common_fault(sign: str) -> bool:
    """Whether a sign is that of a fault which dead pages of many hosts have, in the same words of their servers."""
    return sign.startswith(_COMMON_SIGNS)


def look_of(body: bytes, url: str) -> str:
    """A digest of the words of a page that do not depend on its address."""
    return hashlib.sha256(_constant_words(body, url)).hexdigest()


def _constant_words(body: bytes, url: str) -> bytes:
    """The words between the tags, without those that hold a digit, the host or the path: a login page has tokens, times
    and return addresses, and an error page names what was asked for.

    The whole body if there are no such words.
    """
    text, host = _TAG.sub(b" ", body), host_of(url)
    named = [part for part in (host.encode(), urlsplit(url).path.encode()) if len(part) > 1 and part in text]
    words = [word for word in text.split() if len(word.translate(None, b"0123456789")) == len(word)]
    if named:
        words = [word for word in words if not any(part in word for part in named)]
    return b" ".join(words) or body.replace(host.encode(), b"")
