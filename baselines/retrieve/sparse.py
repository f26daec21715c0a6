"""BM25 as a retriever: one corpus a question, ranked by baselines.bm25."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.bm25 import BM25
from baselines.parts import Rank, Scored


def bm25(k1: float = 1.5, b: float = 0.75) -> Rank:
    """The retriever that ranks texts by BM25 (variant lucene) with these parameters."""

    def rank(query: str, texts: Sequence[str], k: int) -> list[Scored]:
        import numpy as np

        scores = BM25(texts, k1=k1, b=b).scores(query)
        return [Scored(int(place), float(scores[place])) for place in np.argsort(-scores, kind="stable")[:k]]

    return rank
