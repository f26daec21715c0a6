"""Which sentences are read for triplets: a whole book chapter a page is too long to parse while a question waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from baselines.graph.keywords import Keyword
from baselines.pages import per_page
from baselines.passages import PagePassage
from edu_rag.serve import SystemPage, SystemQuestion

_WORD = re.compile(r"\w+")
MAX_CHARS = 400
"""A longer "sentence" is a table or a list that the sentence splitter could not cut."""
MOST_WEIGHT = 24_000_000
"""Of the pages whose words are kept (baselines.pages.weight): twice the real TQA build, some 200 MB."""


def _plurals(form: str) -> tuple[str, ...]:
    return form, f"{form}s", f"{form}es", f"{form[:-1]}ies"


class _Words(NamedTuple):
    """Which of a page's sentences hold a word, by the word in lower case."""

    places: Mapping[str, frozenset[int]]

    def holding(self, keyword: Keyword) -> frozenset[int]:
        """The sentences that hold every word of the keyword, in one of its forms or a plural of one."""
        per_word = [
            frozenset().union(
                *(self.places.get(spelling, frozenset()) for form in forms for spelling in _plurals(form))
            )
            for forms in keyword.forms
        ]
        return frozenset.intersection(*per_word) if per_word else frozenset()


def _read_words(page: SystemPage) -> _Words:
    places: dict[str, set[int]] = {}
    for place, (start, end) in enumerate(page.sentences):
        if end - start <= MAX_CHARS:
            for word in _WORD.findall(page.text, start, end):
                places.setdefault(word.casefold(), set()).add(place)
    return _Words({word: frozenset(found) for word, found in places.items()})


_words_of = per_page(_read_words, MOST_WEIGHT)


class SentenceReading:
    """The sentences of a question's pages, found by keyword."""

    def __init__(self, question: SystemQuestion) -> None:
        self._pages: Sequence[SystemPage] = question.pages
        self._words = [_words_of(page) for page in question.pages]
        self.n_sentences = sum(len(page.sentences) for page in question.pages)

    def count(self, keyword: Keyword) -> int:
        """How many sentences hold the keyword."""
        return sum(len(words.holding(keyword)) for words in self._words)

    def _weights(self, keywords: Sequence[Keyword]) -> dict[tuple[int, int], int]:
        """(page, sentence) -> how many of the keywords it holds, where it holds any."""
        weights: dict[tuple[int, int], int] = {}
        for keyword in keywords:
            for number, words in enumerate(self._words):
                for place in words.holding(keyword):
                    weights[number, place] = weights.get((number, place), 0) + 1
        return weights

    def sentences(
        self, keywords: Sequence[Keyword], passages: Sequence[PagePassage], n_retrieved: int, n_others: int
    ) -> list[PagePassage]:
        """At most `n_retrieved` sentences of the retrieved passages and `n_others` of the pages, in page order.

        Those that hold most keywords come first, ties in page order; of the pages' others, only those that hold one.
        A sentence that several pages have is read once.
        """
        weights = self._weights(keywords)
        inside = self._inside(passages)
        best = sorted(inside, key=lambda place: (-weights.get(place, 0), place))
        others = sorted(weights.keys() - inside, key=lambda place: (-weights[place], place))
        seen: set[str] = set()
        chosen = [*self._fresh(best, n_retrieved, seen), *self._fresh(others, n_others, seen)]
        return [self._passage(place) for place in sorted(chosen)]

    def _inside(self, passages: Sequence[PagePassage]) -> set[tuple[int, int]]:
        found = set()
        for number, page in enumerate(self._pages):
            spans = [(one.start, one.end) for one in passages if one.page_id == page.page_id]
            for place, (start, end) in enumerate(page.sentences if spans else ()):
                if end - start <= MAX_CHARS and any(first <= start and end <= last for first, last in spans):
                    found.add((number, place))
        return found

    def _passage(self, where: tuple[int, int]) -> PagePassage:
        page = self._pages[where[0]]
        start, end = page.sentences[where[1]]
        return PagePassage(page.page_id, start, end, page.text[start:end])

    def _fresh(self, places: Sequence[tuple[int, int]], n: int, seen: set[str]) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for place in places:
            if len(found) == n:
                break
            folded = " ".join(self._passage(place).text.split())
            if folded and folded not in seen:
                seen.add(folded)
                found.append(place)
        return found
