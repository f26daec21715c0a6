"""Spearman's rank correlation of a judge's scores with people's yes or no, with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from edu_rag.statistics import RESAMPLES
from edu_rag.statistics.points import Floats, Ints

Scored = tuple[float, bool]
"""A judge's score of an answer, and whether people call it right."""
_BLOCK = 1_000
"""Resamples at a time, so that memory does not grow with their number."""


def spearman(pairs: Sequence[Scored]) -> float | None:
    """Spearman's rho with mean ranks for ties; None if one side says the same of every answer."""
    if not pairs:
        return None
    levels = sorted({score for score, _ in pairs})
    (found,) = _correlations(_table(pairs, levels)[None])
    return None if np.isnan(found) else float(found)


def spearman_interval(questions: Sequence[Sequence[Scored]], seed: int = 0) -> tuple[float, float] | None:
    """The 95 % percentile interval, by resampling questions with all their answers.

    Resamples in which rho is undefined are left out; None if none is defined.
    """
    levels = sorted({score for pairs in questions for score, _ in pairs})
    cells = sorted(Counter(_table(pairs, levels).tobytes() for pairs in questions).items())
    if not cells:
        return None
    shapes = np.array([np.frombuffer(raw, dtype=np.int64) for raw, _ in cells])
    times = np.array([n for _, n in cells])
    rng, parts = np.random.default_rng(seed), []
    for _ in range(RESAMPLES // _BLOCK):
        drawn = rng.multinomial(times.sum(), times / times.sum(), size=_BLOCK) @ shapes
        parts.append(_correlations(drawn.reshape(_BLOCK, len(levels), 2)))
    rhos = np.concatenate(parts)
    defined = rhos[~np.isnan(rhos)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return round(float(low), 6), round(float(high), 6)


def _table(pairs: Sequence[Scored], levels: Sequence[float]) -> Ints:
    """How many answers have each score (row) and are wrong or right for people (column)."""
    places = {level: place for place, level in enumerate(levels)}
    table = np.zeros((len(levels), 2), dtype=np.int64)
    for score, human in pairs:
        table[places[score], int(human)] += 1
    return table


def _mean_ranks(counts: Floats) -> Floats:
    """The mean rank of each value from how often it occurs, lowest first; less the mean of all ranks."""
    ranks = np.cumsum(counts, axis=1) - counts / 2
    return np.asarray(ranks - counts.sum(axis=1, keepdims=True) / 2)


def _correlations(tables: Ints) -> Floats:
    """Pearson's correlation of the mean ranks of each table (n, levels, 2); NaN where one side does not vary."""
    counts = tables.astype(np.float64)
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)
    by_row, by_column = _mean_ranks(rows), _mean_ranks(columns)
    both = np.einsum("nij,ni,nj->n", counts, by_row, by_column)
    spread = np.einsum("ni,ni->n", rows, by_row**2) * np.einsum("nj,nj->n", columns, by_column**2)
    return np.asarray(np.divide(both, np.sqrt(spread), out=np.full(len(counts), np.nan), where=spread > 0))
