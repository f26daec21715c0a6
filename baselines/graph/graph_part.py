"""The graph parts of a recipe: triplets by rules or by a language model, found by a question's keywords.

HyPA-RAG builds one graph of its whole corpus ahead of time. Here each question has its own pages, of a book chapter
each, and they are first seen when it is asked: so its graph is made of a bounded number of their sentences, those of
the retrieved passages and those that hold a keyword; triplets of a sentence are kept for later questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from baselines.chunk.per_page import per_page
from baselines.graph.english import Keyword, english, keywords, lemma, says_something
from baselines.graph.knowledge_graph import graph_of, nearest, require_networkx
from baselines.graph.triplets import CitedTriplet, Extract, Triplet
from baselines.parts import Graph, PagePassage
from baselines.prompts.generate import LanguageModel
from baselines.prompts.prompt import harmless
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemPage, SystemQuestion

_WORD = re.compile(r"\w+")
MAX_CHARS = 400
"""A longer "sentence" is a table or a list that the sentence splitter could not cut."""
MOST_WEIGHT = 24_000_000
"""Of the pages whose words are kept (baselines.chunk.per_page.weight): twice the real TQA build, some 200 MB."""


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


MAX_REMEMBERED = 100_000
"""Sentences whose triplets are kept in memory, about 1 kB each."""
MAX_QUESTION_CHARS = 2_000


class Remembering:
    """An extractor that reads each distinct sentence once a process."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract
        self._known: dict[str, list[Triplet]] = {}

    def __call__(self, sentences: Sequence[str]) -> list[list[Triplet]]:
        """The triplets of each sentence; the extractor is asked only for new sentences."""
        fresh = list(dict.fromkeys(text for text in sentences if text not in self._known))
        if len(self._known) + len(fresh) > MAX_REMEMBERED:
            self._known.clear()
            fresh = list(dict.fromkeys(sentences))
        self._known.update(zip(fresh, self._extract(fresh), strict=True))
        return [self._known[text] for text in sentences]


def cited(extract: Extract, sentences: Sequence[PagePassage]) -> list[CitedTriplet]:
    """The triplets of these sentences, in their order, each with the sentence that says it."""
    read = extract([harmless(one.text) for one in sentences])
    return [
        CitedTriplet(triplet, *sentence.span)
        for sentence, found in zip(sentences, read, strict=True)
        for triplet in found
    ]


def graph_part(extract: Extract, n_retrieved: int, n_others: int, n_triplets: int, with_choices: bool) -> Graph:
    """The part that answers from what `extract` reads in at most `n_retrieved` + `n_others` sentences a question."""
    if min(n_retrieved, n_others) < 0 or n_triplets < 1:
        raise ConfigError("parts.graph", "sentences are under 0 or triplets under 1", "give more")
    remembering = Remembering(extract)

    def find(
        question: SystemQuestion, passages: Sequence[PagePassage], n_keywords: int, depth: int
    ) -> list[PagePassage]:
        said = [question.text, *(question.choices.values() if with_choices else ())]
        doc = english()(harmless(" ; ".join(said))[:MAX_QUESTION_CHARS])
        reading = SentenceReading(question)
        asked = keywords(doc, reading.count, reading.n_sentences, n_keywords)
        if not asked or depth < 1:
            return []
        sentences = reading.sentences(asked, passages, n_retrieved, n_others)
        words = {lemma(token) for token in doc if says_something(token)}
        found = nearest(graph_of(cited(remembering, sentences)), asked, words, depth, n_triplets)
        return [PagePassage(one.page_id, one.start, one.end, one.triplet.text + ".") for one in found]

    return find


def rules(n_retrieved: int = 16, n_others: int = 24, n_triplets: int = 20, *, with_choices: bool = False) -> Graph:
    """Triplets by rules over a dependency parse (baselines.graph.read_triplets)."""
    from baselines.graph.read_triplets import read_sentences

    english()  # missing packages are reported when the system starts, not at its first question
    require_networkx()
    return graph_part(read_sentences, n_retrieved, n_others, n_triplets, with_choices)


def llm(
    model: LanguageModel,
    prompt: str = "graph-triplets-v1",
    n_retrieved: int = 8,
    n_others: int = 4,
    n_triplets: int = 20,
    *,
    with_choices: bool = False,
) -> Graph:
    """Triplets that the language model names (`reader`), as HyPA-RAG has GPT-4o do."""
    from baselines.graph.read_triplets import reader

    english()
    require_networkx()
    return graph_part(reader(model, prompt), n_retrieved, n_others, n_triplets, with_choices)
