"""The graph parts of a recipe: triplets by rules or by a language model, found by a question's keywords.

HyPA-RAG builds one graph of its whole corpus ahead of time. Here each question has its own pages, of a book chapter
each, and they are first seen when it is asked: so its graph is made of a bounded number of their sentences, those of
the retrieved passages and those that hold a keyword; triplets of a sentence are kept for later questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from baselines.generate import LanguageModel
from baselines.graph.english import english, lemma, says_something
from baselines.graph.keywords import keywords
from baselines.graph.search import nearest
from baselines.graph.sentences_to_parse import SentenceReading
from baselines.graph.store import graph_of, require_networkx
from baselines.graph.triplets import CitedTriplet, Extract, Triplet
from baselines.parts import Graph
from baselines.passages import PagePassage
from baselines.prompt import harmless
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemQuestion

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
    """Triplets by rules over a dependency parse (baselines.graph.rules)."""
    from baselines.graph.rules import read_sentences

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
    """Triplets that the language model names (baselines.graph.extract_llm), as HyPA-RAG has GPT-4o do."""
    from baselines.graph.extract_llm import reader

    english()
    require_networkx()
    return graph_part(reader(model, prompt), n_retrieved, n_others, n_triplets, with_choices)
