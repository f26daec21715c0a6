"""How much of a question's text a passage of a page holds, and where: texts folded for it, and the comparison."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"([^\W_]++(?:['’ʼ][^\W_]++)*+)")
_MAX_FOLDED = 200_000
_LONG = 500
_PLANE = 1 << 16
_APOSTROPHES = np.array([ord(char) for char in "'’"], dtype=np.uint32)
_STOP_TEXT = (
    "a about all also an and any are as at be because been being both but by can could did do does each either for"
    " from had has have he her his how i if in into is it its may might more most must no nor not of on one or other"
    " our own she should so some such than that the their them then there these they this those through to too up us"
    " very was we were what when where which while who whom whose why will with would you your"
)


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
"""Words that occur in questions on any subject."""


@lru_cache(maxsize=200_000)
def weight_of(word: str) -> float:
    """How much a folded word identifies a question: 1, less for words that occur in all questions."""
    return 0.2 if word in STOP_WORDS else 0.6 if word in GENERIC_WORDS else 1.0


def n_telling(words: Iterable[str]) -> int:
    """How many of the words reveal the subject of a question."""
    return sum(weight_of(word) == 1.0 for word in words)


@dataclass(frozen=True, slots=True)
class Words:
    """The folded words of a text and their positions: word i is `text[starts[i]:ends[i]]`."""

    words: list[str]
    starts: list[int]
    ends: list[int]


class _Folded(dict[str, str]):
    """The folded forms of words seen so far: faster than a cached function, and as bounded."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_FOLDED:
            self.clear()
        folded = self[word] = fold(word)
        return folded


_FOLDED = _Folded()


def words_of(text: str) -> Words:
    """Cut and fold a text: letters and digits, and apostrophes within a word."""
    if len(text) < _LONG:
        parts = _WORD.split(text)
        edges = list(accumulate(map(len, parts)))
        return Words([_FOLDED[word] for word in parts[1::2]], edges[0:-1:2], edges[1::2])
    edges = _edges(text)
    starts, ends = edges[::2], edges[1::2]
    return Words([_FOLDED[text[start:end]] for start, end in zip(starts, ends, strict=True)], starts, ends)


def _edges(text: str) -> list[int]:
    """The places where words begin and end, in turn: the pattern's result, found on arrays in half the time for a whole
    page.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    inside = np.zeros(len(codes) + 2, dtype=np.bool_)
    inside[1:-1] = _alphanumeric()[np.minimum(codes, _PLANE - 1)]
    for place in np.flatnonzero(codes >= _PLANE).tolist():
        inside[place + 1] = text[place].isalnum()
    marks = np.flatnonzero(np.isin(codes, _APOSTROPHES)) + 1
    inside[marks[inside[marks - 1] & inside[marks + 1]]] = True
    edges: list[int] = np.flatnonzero(inside[1:] != inside[:-1]).tolist()
    return edges


@lru_cache(maxsize=1)
def _alphanumeric() -> npt.NDArray[np.bool_]:
    """For each character of the basic plane whether it is a letter or a digit."""
    return np.fromiter((chr(code).isalnum() for code in range(_PLANE)), np.bool_, _PLANE)


ROUGH = 62.0
"""Letters in common (0 to 100) below which a passage is not worth a comparison by words."""
SLACK = 5
"""Words on either side of the roughly aligned passage that may still belong to it."""
EXTRA_COST = 0.2
"""The cost of an inserted word, as a share of the cost of a missing one."""
SAME_WORD = 74.0


@dataclass(frozen=True, slots=True)
class LeakMatch:
    """`score`: 1 where the passage has every word of the stem in order and no other; its first and last word."""

    score: float
    first: int
    last: int


def best_match(stem: Sequence[str], stem_text: str, words: Sequence[str], low: int, high: int) -> LeakMatch | None:
    """The passage of `words[low:high]` most like the stem, or None if there is none like it.

    Aligned roughly by letters (partial ratio), then by words: the longest common subsequence, in which a misspelt
    word counts nearly as itself. Weighted by meaning: function words count little.
    """
    from rapidfuzz import fuzz

    window = " ".join(words[low:high])
    if len(window) < 0.6 * len(stem_text):
        return None
    found = fuzz.partial_ratio_alignment(stem_text, window, score_cutoff=ROUGH)
    if found is None:
        return None
    first = max(low, low + window.count(" ", 0, found.dest_start) - SLACK)
    last = min(high, low + window.count(" ", 0, found.dest_end) + 1 + SLACK)
    return _by_words(stem, words[first:last], first)


def _by_words(stem: Sequence[str], part: Sequence[str], offset: int) -> LeakMatch | None:
    pairs = _pairs(stem, part)
    telling = [place for place, (own, _, _) in enumerate(pairs) if weight_of(stem[own]) > 0.5]
    if not telling:
        return None
    # A function word far before the first telling one belongs to another sentence: "all of the above. 4. The …".
    pairs = pairs[telling[0] : telling[-1] + 1]
    pairs = [*_neighbours(stem, part, pairs[0], -1), *pairs, *_neighbours(stem, part, pairs[-1], 1)]
    places = {at for _, at, _ in pairs}
    first, last = min(places), max(places)
    held = sum(weight_of(stem[own]) * share for own, _, share in pairs)
    extra = sum(weight_of(part[at]) for at in range(first, last + 1) if at not in places)
    total = sum(map(weight_of, stem))
    return LeakMatch((held - EXTRA_COST * extra) / total, offset + first, offset + last)


def _neighbours(
    stem: Sequence[str], part: Sequence[str], pair: tuple[int, int, float], step: int
) -> Iterator[tuple[int, int, float]]:
    """The words that go on, equal in both, before (step -1) or after (step 1) a pair."""
    own, at = pair[0] + step, pair[1] + step
    while 0 <= own < len(stem) and 0 <= at < len(part) and stem[own] == part[at]:
        yield own, at, 1.0
        own, at = own + step, at + step


def _pairs(stem: Sequence[str], part: Sequence[str]) -> list[tuple[int, int, float]]:
    """(word of the stem, word of the passage, how like), in order."""
    from rapidfuzz.distance import LCSseq

    pairs: list[tuple[int, int, float]] = []
    own = at = 0
    for block in LCSseq.editops(stem, part).as_matching_blocks():
        if own < block.a and at < block.b:
            pairs += _misspelt(stem, part, range(own, block.a), range(at, block.b))
        pairs += [(block.a + step, block.b + step, 1.0) for step in range(block.size)]
        own, at = block.a + block.size, block.b + block.size
    return pairs


def _misspelt(stem: Sequence[str], part: Sequence[str], owns: range, ats: range) -> Iterator[tuple[int, int, float]]:
    """Pairs of unlike words between two matches that are one word misspelt."""
    from rapidfuzz import fuzz

    begin = ats.start
    for own in owns:
        if len(stem[own]) < 4:
            continue
        for at in range(begin, ats.stop):
            if len(part[at]) >= 4 and fuzz.ratio(stem[own], part[at]) >= SAME_WORD:
                yield own, at, 0.9
                begin = at + 1
                break
