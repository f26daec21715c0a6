"""The sign of an answer: what it looks like, so that one and the same answer for many hosts is seen."""

from __future__ import annotations

import hashlib
import re

from builder.fetch.addresses import NOT_PUBLIC
from builder.fetch.fetched import STATUS, Fetched
from builder.fetch.politeness import registered_host
from builder.urls import host_of

_TAG = re.compile(rb"<[^<>]*>")


def sign_of(got: Fetched) -> str | None:
    """What an answer looked like, so that one and the same for many hosts is seen; None if nothing was asked.

    A captive portal sends everyone to one host, or answers for everyone; its page may repeat the address in question.
    """
    host, here = host_of(got.url), host_of(got.final_url)
    if got.outcome == "redirect_loop":
        return None
    if got.outcome == "refused_address":
        return got.detail.partition(" is ")[2] if NOT_PUBLIC in got.detail else None
    if got.outcome == "dns":
        return None
    if registered_host(host) != registered_host(here):
        return f"sent to {here}"
    if got.outcome == "http_error" and got.status not in (404, 410):
        return f"{STATUS}{got.status}"
    if got.outcome != "kept" or got.not_modified:
        return f"{got.outcome} {got.url}"
    return hashlib.sha256(_constant_words(got.body.replace(host.encode(), b""))).hexdigest()


def _constant_words(body: bytes) -> bytes:
    """The words between the tags, without those that hold a digit: a login page has tokens, times and return addresses.

    The whole body if there are no such words.
    """
    words = _TAG.sub(b" ", body).split()
    return b" ".join(word for word in words if len(word.translate(None, b"0123456789")) == len(word)) or body
