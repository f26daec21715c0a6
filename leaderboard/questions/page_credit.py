"""The author and licence of a page's text, and whether the licence lets the site show it."""

from __future__ import annotations

import re
from typing import NamedTuple

from edu_rag.look.texts import clip, safe_link

MAX_WORDS = 80
_ADDRESS = re.compile(
    r"https?://creativecommons\.org/(licenses|publicdomain)/([a-z-]{1,20})/(\d\.\d)(?:/|\Z)", re.IGNORECASE
)
_WORDS = re.compile(r"CC[ -]?(BY(?:[ -]NC)?(?:[ -](?:SA|ND))?|0)(?:[ -](\d\.\d))?\Z", re.IGNORECASE)
_OPEN = frozenset({"by", "by-sa", "by-nc", "by-nc-sa", "0", "zero", "mark"})
"""Texts under these may be shown with attribution. Not ND: what was extracted from a page is not the page unchanged."""
_PUBLIC = {"zero": "CC0", "mark": "Public Domain Mark", "0": "CC0"}


class PageCredit(NamedTuple):
    """The author and the licence in words; `address` leads to the licence, `is_open` where its text may be shown."""

    author: str
    licence: str
    address: str | None
    is_open: bool


def credit_of(author: str | None, licence: str | None) -> PageCredit:
    """The credit of a page, as its record names author and licence; nothing is open that names no open licence."""
    who, given = clip(author or "", MAX_WORDS), (licence or "").strip()
    address = safe_link(given)
    found = _ADDRESS.match(given)
    kind, version = (found[2].lower(), found[3]) if found else ("", "")
    words = _WORDS.match(given)
    if words:
        kind, version = words[1].lower().replace(" ", "-"), words[2] or ""
    shown = f"{_PUBLIC.get(kind) or f'CC {kind.upper()}'} {version}".strip() if kind else clip(given, MAX_WORDS)
    return PageCredit(who, shown, address, kind in _OPEN)
