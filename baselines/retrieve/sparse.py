"""BM25 as a retriever: one corpus a question, ranked by baselines.bm25."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.bm25 import BM25, K1, B, Variant, check_parameters
from baselines.parts import Rank, ScoredPassage
from baselines.retrieve.top import top


def bm25(k1: float = K1, b: float = B, variant: Variant = "lucene") -> Rank:
    """The retriever that ranks texts by BM25 with these parameters. Raises ConfigError on parameters out of range.

    `variant` is `lucene` or `rank_bm25` (see BM25). A text that shares no word with the query scores 0 and still has
    its rank, by place: which texts are worth reading is for the rest of the system to say.
    """
    check_parameters(k1, b)
    # The queries of one question (its rewrites, its choices) come with the same texts: the last index is kept.
    last: tuple[tuple[str, ...], BM25] = ((), BM25((), k1, b, variant))

    def rank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        nonlocal last
        given, (known, index) = tuple(texts), last
        if given != known:
            index = BM25(given, k1, b, variant)
            last = given, index
        return top(index.scores(query), k)

    return rank
