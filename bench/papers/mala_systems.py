"""The three systems of the paper and their variants, made of the parts that submissions use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from mala_tasks import Task

from baselines.expand.wordnet import wordnet
from baselines.parts import Expand, Fuse, Rank, ScoredPassage
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.dense import dense
from baselines.retrieve.fuse import rrf, specificity, weighted_rrf

DEPTH = 30
K = 3
Wording = Literal["plain", "expanded", "every word"]


class Variant(NamedTuple):
    """The query, the retrievers, and the way in which two rankings of `candidates` texts each become one."""

    name: str
    retrieve: tuple[Literal["bm25", "dense"], ...]
    wording: Wording = "plain"
    fuse: Fuse | None = None
    candidates: int = K


_BOTH: tuple[Literal["bm25", "dense"], ...] = ("bm25", "dense")
HYBRID = Variant("hybrid", _BOTH, "expanded", weighted_rrf())
SYSTEMS = {one.name: one for one in (Variant("sparse", ("bm25",)), Variant("dense", ("dense",)), HYBRID)}
ABLATIONS = {
    one.name: one
    for one in (
        Variant("without expansion", _BOTH, "plain", weighted_rrf()),
        Variant("equal weights", _BOTH, "expanded", weighted_rrf(sparse_weight=0.5)),
        Variant("neither", _BOTH, "plain", weighted_rrf(sparse_weight=0.5)),
        Variant("epsilon 60", _BOTH, "expanded", weighted_rrf(epsilon=60.0)),
        Variant("every word expanded", _BOTH, "every word", weighted_rrf()),
        Variant("30 candidates each", _BOTH, "expanded", weighted_rrf(), DEPTH),
        Variant("plain RRF (60), 30 each, no expansion", _BOTH, "plain", rrf(), DEPTH),
        Variant("sparse, expanded", ("bm25",), "expanded"),
        Variant("dense, expanded", ("dense",), "expanded"),
    )
}


class Searcher:
    """Ranks a task's passages; each retriever is asked once for each wording of each query."""

    def __init__(self, task: Task, encoder: str) -> None:
        self.task = task
        self._retrievers: dict[str, Rank] = {"bm25": bm25(), "dense": dense(encoder=encoder)}
        self._expanders: dict[Wording, Expand] = {"expanded": wordnet(), "every word": wordnet(every_word=True)}
        self._lists: dict[tuple[str, Wording, int], list[ScoredPassage]] = {}

    def words(self, wording: Wording, at: int) -> str:
        """The query as it is searched for."""
        query = self.task.queries[at]
        return query if wording == "plain" else self._expanders[wording](query)[0]

    def found(self, retriever: str, wording: Wording, at: int) -> list[ScoredPassage]:
        """The DEPTH best passages by one retriever."""
        key = (retriever, wording, at)
        if key not in self._lists:
            self._lists[key] = self._retrievers[retriever](self.words(wording, at), self.task.passages[at], DEPTH)
        return self._lists[key]

    def rank(self, variant: Variant, at: int) -> list[int]:
        """The places of the K best passages."""
        lists = [self.found(name, variant.wording, at)[: variant.candidates] for name in variant.retrieve]
        if variant.fuse is None:
            return [one.place for one in lists[0][:K]]
        found = variant.fuse(self.words(variant.wording, at), self.task.passages[at], lists, K)
        return [one.place for one in found]

    def weights(self, wording: Wording) -> list[float]:
        """S(q') of every query."""
        return [specificity(self.words(wording, at), self.task.passages[at]) for at in range(len(self.task.queries))]

    def expansion_told(self) -> str:
        """How much the expansion adds, and what it does to the weights."""
        added = [
            len(self.words("expanded", at).split()) - len(query.split()) for at, query in enumerate(self.task.queries)
        ]
        plain, expanded = _middle(self.weights("plain")), _middle(self.weights("expanded"))
        return (
            f"Expansion adds {sum(added) / len(added):.1f} words to a query on average. The sparse retriever's weight "
            f"S: median {plain[1]:.2f} (middle half {plain[0]:.2f} … {plain[2]:.2f}) for the question as it stands, "
            f"{expanded[1]:.2f} ({expanded[0]:.2f} … {expanded[2]:.2f}) for the expanded one."
        )


def _middle(values: Sequence[float]) -> tuple[float, float, float]:
    import numpy as np

    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(low), float(middle), float(high)
