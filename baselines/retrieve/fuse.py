"""Fusion: one ranking made of several, by ranks alone (RRF), or weighted by how specific the query is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from baselines.parts import Fuse, ScoredPassage
from baselines.retrieve import best
from baselines.retrieve.token_ids import SHARED, tokenise
from edu_rag.errors import ConfigError

EPSILON = 1e-6


def _fused(
    lists: Sequence[Sequence[ScoredPassage]], weights: Sequence[float], constant: float, k: int
) -> list[ScoredPassage]:
    """The sum over lists of weight / (constant + rank), ranks from 1."""
    scores: dict[int, float] = {}
    for ranking, weight in zip(lists, weights, strict=True):
        for rank, item in enumerate(ranking, 1):
            scores[item.place] = scores.get(item.place, 0.0) + weight / (constant + rank)
    return best(scores, k)


def rrf(constant: float = 60.0) -> Fuse:
    """Reciprocal rank fusion: the sum over lists of 1 / (constant + rank) (Nautiyal et al., eq. 2; ranks from 1).

    Raises ConfigError unless the constant is finite and at least 0.
    """
    if not 0 <= constant < math.inf:
        raise ConfigError("parts.fuse.constant", f"{constant} is not a number from 0 on", "60 is usual")

    def fuse(query: str, texts: Sequence[str], lists: Sequence[Sequence[ScoredPassage]], k: int) -> list[ScoredPassage]:
        return _fused(lists, [1.0] * len(lists), constant, k)

    return fuse


def _n_with(words: Iterable[str], texts: Sequence[str]) -> list[int]:
    """In how many of the texts each word is (its document frequency)."""
    import numpy as np

    numbers, rows = SHARED.of(texts)
    counts = np.bincount(rows[:, 0])  # a text has one row for each of its words
    known = [numbers.get(word, len(counts)) for word in words]
    return [int(counts[number]) if number < len(counts) else 0 for number in known]


def specificity(query: str, texts: Sequence[str]) -> float:
    """S(q') of Mala et al., equation 2: the mean of tf * idf over the query's distinct words, from 0 to 1.

    The paper gives neither tf nor idf, and needs S <= 1 for equation 4. Here tf = the word's count in the query by the
    count of its commonest word, and idf = ln((N + 1) / (df + 1)) / ln((N + 1) / 2): 1 for a word in one of the N
    texts, 0 for a word in all. A word in none is 0 as well: however rare, it cannot help a search by words. (Salton &
    Buckley 1988 name both factors.) 0 for a query without words, or where there is one text or none.
    """
    counts = Counter(tokenise(query))
    n_texts = len(texts)
    if not counts or n_texts < 2:
        return 0.0
    most, rarest = max(counts.values()), math.log((n_texts + 1) / 2)
    parts = [
        count / most * math.log((n_texts + 1) / (n_with + 1)) / rarest if n_with else 0.0
        for count, n_with in zip(counts.values(), _n_with(counts, texts), strict=True)
    ]
    return math.fsum(parts) / len(counts)


def weighted_rrf(alpha: float = 1.0, epsilon: float = EPSILON, sparse_weight: float | None = None) -> Fuse:
    """Weighted RRF of two rankings, the sparse one first (Mala et al., equations 3-6).

    score(d) = w_S / (epsilon + rank_S(d)) + w_D / (epsilon + rank_D(d)), w_S = alpha * S(q'), w_D = 1 - w_S; a text
    that a ranking lacks gets nothing from it. w_S is cut to 0 ... 1, so that an alpha above 1 makes no negative weight.
    epsilon is "a small constant to avoid division by zero", without a value: ranks count from 1 here, so none can
    occur, and 1e-6 leaves plain w / rank. (RRF's usual 60 is not a small constant: it makes ranks nearly equal, so that
    the heavier ranking's last text beats the lighter one's first.) The text under equation 4 says that general queries
    lower w_D; the equations raise it, and are followed. `sparse_weight` fixes w_S, for comparison.
    """
    if not (0 <= alpha < math.inf and 0 <= epsilon < math.inf and 0 <= (sparse_weight or 0) <= 1):
        raise ConfigError("parts.fuse", "a weight is out of bounds", "alpha, epsilon >= 0; sparse_weight from 0 to 1")

    def fuse(query: str, texts: Sequence[str], lists: Sequence[Sequence[ScoredPassage]], k: int) -> list[ScoredPassage]:
        if len(lists) != 2:
            raise ConfigError(
                "parts.fuse", f"weighted-rrf was given {len(lists)} rankings", "retrieve sparse and dense"
            )
        weight = sparse_weight if sparse_weight is not None else min(1.0, alpha * specificity(query, texts))
        return _fused(lists, [weight, 1 - weight], epsilon, k)

    return fuse
