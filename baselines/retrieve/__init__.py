"""Retrievers: how passages are ranked for a query, by words and by meaning; and what they share, the best of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from baselines.parts import ScoredPassage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def best(scores: dict[int, float], k: int) -> list[ScoredPassage]:
    """The `k` best places, best first; ties go to the smaller place."""
    return [
        ScoredPassage(place, score) for place, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
    ]


def top(scores: NDArray[np.floating[Any]], k: int) -> list[ScoredPassage]:
    """The `k` highest of `scores`, shape (n,), best first; ties go to the smaller place. Not-a-number is an error."""
    import numpy as np

    k = min(max(k, 0), len(scores))
    if k == 0:
        return []
    # Sorting all scores for the sake of ten would cost more than scoring them.
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    places = (scores >= least).nonzero()[0]
    order = places[(-scores[places]).argsort(kind="stable")[:k]]
    return list(map(ScoredPassage, order.tolist(), scores[order].tolist()))
