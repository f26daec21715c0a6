"""Texts as the leak detector sees them: folded words with their places, and which of them carry meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")
_STOP_TEXT = (
    "a about all also an and any are as at be because been being both but by can could did do does each either for"
    " from had has have he her his how i if in into is it its may might more most must no nor not of on one or other"
    " our own she should so some such than that the their them then there these they this those through to too up us"
    " very was we were what when where which while who whom whose why will with would you your"
)


@lru_cache(maxsize=200_000)
def fold(word: str) -> str:
    """A word for comparing: case, accents, apostrophes, compatibility forms (CO₂) and a plural s do not count."""
    folded = word.casefold()
    if not folded.isascii():
        plain = unicodedata.normalize("NFKD", folded.replace("’", "").replace("ʼ", ""))
        folded = "".join(char for char in plain if not unicodedata.combining(char))
    folded = folded.replace("'", "")
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


STOP_WORDS = frozenset(fold(word) for word in _STOP_TEXT.split())
_GENERIC_TEXT = (
    "above answer answers appropriate best called cause caused causes characteristic choice choose complete consist"
    " contains correct correctly correspond define defined definition describe described describes different example"
    " examples except false feature find following form formed found function give given happens has identify include"
    " included includes incorrect kind kinds known like list main many means mean much name named occurs part parts"
    " phrase process produce property purpose question refers result results select sentence statement statements"
    " term true type types use used word"
)
GENERIC_WORDS = frozenset(fold(word) for word in _GENERIC_TEXT.split())
"""Words of which questions are made, whatever they ask about."""


@lru_cache(maxsize=200_000)
def weight_of(word: str) -> float:
    """What a folded word tells about which question this is: 1, less for the words all questions are made of."""
    return 0.2 if word in STOP_WORDS else 0.6 if word in GENERIC_WORDS else 1.0


def n_telling(words: Iterable[str]) -> int:
    """How many of the words tell what a question is about."""
    return sum(weight_of(word) == 1.0 for word in words)


@dataclass(frozen=True, slots=True)
class Words:
    """The folded words of a text and where each stands: word i is `text[starts[i]:ends[i]]`."""

    words: list[str]
    starts: list[int]
    ends: list[int]


def words_of(text: str) -> Words:
    """Cut and fold a text."""
    found = [match.span() for match in _WORD.finditer(text)]
    return Words([fold(text[start:end]) for start, end in found], [s for s, _ in found], [e for _, e in found])


def content_places(words: list[str]) -> list[int]:
    """The places of the words that carry meaning: all but function words."""
    return [place for place, word in enumerate(words) if word not in STOP_WORDS]
