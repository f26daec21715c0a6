"""From a question to the passages it is answered from: chunk, expand, retrieve, fuse, rerank, graph; and how many.

Section 8.1 says the same in words: 2 classes, k 5 and 10 with Q 3 and 5; 3 classes, k 7 and Q 7 for the most complex.
Where it is silent the tables decide. So the simplest class has k = 5 of two and k = 3 of three: the two columns are two
settings, not one a refinement of the other. The paper describes K and S only in Table 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from baselines.edu_rag_paper import Context, join
from baselines.parts import Chunk, Classify, Expand, Fuse, Graph, PagePassage, Rank, ScoredPassage
from baselines.retrieve.fuse import rrf
from edu_rag.serve import SystemQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How much is retrieved: passages (k), query rewrites (Q; None: the part's own), graph keywords (K), depth (S)."""

    top_k: int
    n_rewrites: int | None = None
    n_keywords: int = 4
    depth: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The parts that find passages, put together; `numbers` holds one entry a class of the query (one in all without).

    Each query of the expansion is given to each retriever; its lists are fused; the fused lists of several queries are
    fused once more by plain RRF (HyPA-RAG rewrites a query and fuses, without saying how).
    """

    chunk: Chunk
    retrieve: Sequence[Rank]
    fuse: Fuse
    numbers: Sequence[Numbers]
    candidates: int = 30
    expand: Expand | None = None
    rerank: Rank | None = None
    rerank_from: int = 10
    classify: Classify | None = None
    graph: Graph | None = None
    max_chars: int = 7_500
    with_choices: bool = False

    def query_of(self, question: SystemQuestion) -> str:
        """The text to search for."""
        said = question.choices.values() if self.with_choices else ()
        return " ".join([question.text, *said])

    def numbers_for(self, query: str) -> Numbers:
        """The numbers of this query's class."""
        return self.numbers[self.classify(query) if self.classify is not None else 0]

    def rank(self, query: str, texts: Sequence[str], numbers: Numbers) -> list[ScoredPassage]:
        """The `top_k` best texts, best first."""
        queries = self.expand(query, numbers.n_rewrites) if self.expand is not None else [query]
        n_first = max(numbers.top_k, self.rerank_from if self.rerank is not None else 0)
        per_query = [self._one_query(one, texts, n_first) for one in queries]
        found = per_query[0] if len(per_query) == 1 else rrf()(query, texts, per_query, n_first)
        if self.rerank is None:
            return found[: numbers.top_k]
        again = self.rerank(query, [texts[item.place] for item in found], numbers.top_k)
        return [ScoredPassage(found[item.place].place, item.score) for item in again]

    def _one_query(self, query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        lists = [retrieve(query, texts, max(self.candidates, k)) for retrieve in self.retrieve]
        return lists[0][:k] if len(lists) == 1 else self.fuse(query, texts, lists, k)

    def _found(self, question: SystemQuestion) -> tuple[list[PagePassage], list[PagePassage]]:
        """Passages, best first, and the graph's triplets."""
        passages = self.chunk(question)
        if not passages:
            return [], []
        query = self.query_of(question)
        numbers = self.numbers_for(query)
        found = [passages[item.place] for item in self.rank(query, [one.text for one in passages], numbers)]
        if self.graph is None:
            return found, []
        return found, self.graph(question, found, numbers.n_keywords, numbers.depth)

    def passages(self, question: SystemQuestion) -> list[PagePassage]:
        """The passages that the question is answered from, best first, the graph's triplets after them."""
        found, triplets = self._found(question)
        return [*found, *triplets]

    def __call__(self, question: SystemQuestion) -> Context:
        """The same as a context: at most `max_chars` characters, and the spans they come from.

        Passages that fill the context are cut to make room for triplets, which get at most half of it: HyPA-RAG puts
        both into the context and does not say which of them gives way.
        """
        found, triplets = self._found(question)
        facts = join(triplets, self.max_chars // 2)
        read = join(found, self.max_chars - (len(facts.text) + 1 if facts.text else 0))
        return Context(" ".join(filter(None, [read.text, facts.text])), [*read.passages, *facts.passages])


TWO_CLASSES = (
    Numbers(top_k=5, n_rewrites=3, n_keywords=4, depth=2),
    Numbers(top_k=10, n_rewrites=5, n_keywords=5, depth=3),
)
THREE_CLASSES = (
    Numbers(top_k=3, n_rewrites=3, n_keywords=3, depth=1),
    Numbers(top_k=5, n_rewrites=5, n_keywords=4, depth=2),
    Numbers(top_k=7, n_rewrites=7, n_keywords=5, depth=3),
)


def numbers_of_classes(n_classes: Literal[2, 3]) -> list[Numbers]:
    """k, Q (Table 6), K and S (Table 7) of each class, by the column of 2 or of 3 classes."""
    return list(TWO_CLASSES if n_classes == 2 else THREE_CLASSES)
