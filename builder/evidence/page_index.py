"""A page's sentences as stems, ready to be searched: which sentences contain a stem, and how rare it is on the page."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Mapping
from functools import lru_cache
from math import log
from typing import NamedTuple

from builder.evidence.telling_words import english_stems, generic_stems
from edu_rag.records import Span, WebPage

GENERIC_SHARE = 0.4
"""The weight of a word that is common in questions ("process", "found"), as a share of its weight by rarity."""
MIN_WORDS = 4
"""A sentence of fewer words is a heading or a cell: it says nothing by itself."""
# Exercises ask, and leave gaps: their words are those of evidence, but they answer nothing.
_ASKS = re.compile(r"\?[\"'”’)\s]*$|_{3,}|\btrue or false\b", re.IGNORECASE)


class PageIndex(NamedTuple):
    """`lines[n]` is sentence n as ` stem stem `; `postings[stem]` are the numbers of the sentences that hold it."""

    lines: tuple[str, ...]
    postings: Mapping[str, array[int]]
    states: tuple[bool, ...]
    """Whether a sentence states something: long enough, no question, no gap to fill in."""

    def weight(self, stem: str) -> float:
        """How telling a stem is here: the inverse of the share of sentences that hold it, on a log scale (idf)."""
        n = len(self.postings.get(stem, ()))
        share = GENERIC_SHARE if stem in generic_stems() else 1.0
        return share * log(1 + (len(self.lines) - n + 0.5) / (n + 0.5))

    def weights(self, stems: Collection[str]) -> dict[str, float]:
        """The weights of several stems, in sorted order: sums over them are the same under every hash seed."""
        return {stem: self.weight(stem) for stem in sorted(stems)}

    def stems(self, number: int) -> frozenset[str]:
        """A sentence's stems; none outside of the page."""
        return frozenset(self.lines[number].split()) if 0 <= number < len(self.lines) else frozenset()


@lru_cache(maxsize=256)
def _index(text: str, sentences: tuple[Span, ...]) -> PageIndex:
    lines, states = [], []
    postings: dict[str, array[int]] = {}
    for number, (start, end) in enumerate(sentences):
        sentence = text[start:end]
        stems = english_stems(sentence)
        lines.append(f" {' '.join(stems)} ")
        states.append(len(stems) >= MIN_WORDS and _ASKS.search(sentence) is None)
        for stem in set(stems):
            postings.setdefault(stem, array("L")).append(number)
    return PageIndex(tuple(lines), postings, tuple(states))


def index_of(page: WebPage) -> PageIndex:
    """The index of a page's text; the last few hundred are kept, as questions that follow each other share pages."""
    return _index(page.text, page.sentences)
