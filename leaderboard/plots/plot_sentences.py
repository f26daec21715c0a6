"""Sentences about systems, and names as a picture can hold them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from edu_rag.look.lookalikes import is_stacked
from edu_rag.look.texts import clip, one_line

NAME = 60
"""Characters of a name in a sentence or a table."""
_NARROW = frozenset("ijlIJ,./:;\\|f-()[]t!r' ")
_WIDE = frozenset("mwMWOQ@%#+<=>^~&GDHN—…−≤≥→←↑↓")


class Named(NamedTuple):
    """A system in a sentence or a table; `page` is a path inside the site."""

    text: str
    page: str


Words = tuple["str | Named", ...]


def spoken(words: Words) -> str:
    """A sentence as plain text."""
    return "".join(word.text if isinstance(word, Named) else word for word in words)


def of_all(n: int, total: int, one: str, more: str) -> str:
    """`1 of 17 systems has …`, `2 of 17 systems have …`."""
    return f"{n} of {total} systems {one if n == 1 else more}"


def and_so_on(parts: Sequence[Words], most: int = 4) -> Words:
    """`a, b and c`; of more than `most` parts the others are counted."""
    parts = [*parts[: most - 1], (f"{len(parts) - most + 1} more",)] if len(parts) > most else list(parts)
    found: list[str | Named] = []
    for place, part in enumerate(parts):
        if place:
            found.append(" and " if place == len(parts) - 1 else ", ")
        found.extend(part)
    return tuple(found)


def shown(name: str) -> str:
    """A declared name on one line: what cannot be printed is blank, towers of accents are cut, not over NAME long."""
    text = clip(one_line(name[: 4 * NAME]), NAME)
    if is_stacked(text):
        text = "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char)[0] != "M")
    return text


def _em(char: str) -> float:
    if unicodedata.category(char)[0] == "M":
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    return 0.4 if char in _NARROW else 0.95 if char in _WIDE or ord(char) > 0x2FFF else 0.75 if char.isupper() else 0.64


def width_of(text: str, size: float) -> float:
    """The width of a text in a browser's plain letters, rather more than less (DejaVu Sans), in the unit of `size`."""
    return size * sum(map(_em, text))


def fit(text: str, size: float, width: float) -> str:
    """A text that takes no more than `width`, with an ellipsis in place of the rest."""
    if width_of(text, size) <= width:
        return text
    left = width - width_of("…", size)
    for place, char in enumerate(text):
        left -= size * _em(char)
        if left < 0:
            return text[:place].rstrip(" -,:;(") + "…"
    return text
