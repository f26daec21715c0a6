"""How sure a score is: bootstrap intervals, exact over questions, seeded over lessons."""

from __future__ import annotations

import numpy as np

from edu_rag.statistics.distributions import places_of, quantiles, sum_distribution
from edu_rag.statistics.points import Floats, Ints, Lessons, Outcomes, points_of, unit_sums, units_of

LEVEL = 0.95
RESAMPLES = 10_000
EXACT_METHOD = "bootstrap-exact-v1"
LESSON_METHOD = "bootstrap-by-lesson-v1"
RATES = ("score", "accuracy", "hallucination", "missing")
_BLOCK = 500
"""Resamples drawn at a time, so that memory does not grow with their number. The draws do not depend on it."""


def method_name(units: Ints | None, seed: int) -> str:
    """What made an interval, as scorecards state it."""
    return EXACT_METHOD if units is None else f"{LESSON_METHOD}, seed {seed}"


def mean_interval(values: Outcomes, level: float = LEVEL) -> tuple[float, float]:
    """Percentile bootstrap interval (Efron 1979) of the mean of integer values; exact, so it needs no seed."""
    drawn = points_of(values)
    low, high = quantiles(*sum_distribution(drawn), level)
    return low / len(drawn), high / len(drawn)


def cluster_ratios(sums: Ints, sizes: Ints, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Seeded bootstrap over clusters: array (resamples, k) of sum of sums / sum of sizes.

    `sums` is (k, clusters), `sizes` is (clusters,). The draws are int32 in [0, clusters) of numpy's PCG64, row by row.
    """
    rng = np.random.default_rng(seed)
    n_clusters = len(sizes)
    columns = np.vstack([sizes, sums])
    ratios = np.empty((resamples, len(sums)))
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        draws = rng.integers(0, n_clusters, size=(rows, n_clusters), dtype=np.int32).astype(np.intp)
        # Gathered, not counted and multiplied: the same sums of integers in half the time.
        totals = np.stack([column.take(draws).sum(axis=1) for column in columns], axis=1)
        ratios[start : start + rows] = totals[:, 1:] / totals[:, :1]
    return ratios


def mean_intervals(
    rows: Ints, units: Ints | None, *, seed: int = 0, level: float = LEVEL, resamples: int = RESAMPLES
) -> list[tuple[float, float]]:
    """The interval of the mean of each row of integers, one column a question; units are drawn whole where given.

    All rows see the same draws, so that the interval of a row does not depend on which others it stands with.
    """
    if units is None:
        return [mean_interval(row, level) for row in rows]
    sums = np.stack([unit_sums(row, units) for row in rows])
    ratios = cluster_ratios(sums, np.bincount(units), seed, resamples)
    places = places_of(resamples, level)
    bounds = np.partition(ratios, places, axis=0)[list(places)]
    return [(float(low), float(high)) for low, high in bounds.T]


def _indicators(outcomes: Outcomes) -> Ints:
    """Array (4, n): per question its contribution to score, correct, incorrect, missing."""
    points = points_of(outcomes)
    return np.stack([points, points == 1, points == -1, points == 0]).astype(np.int64)


def rate_intervals(
    outcomes: Outcomes, lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> tuple[dict[str, tuple[float, float]], str]:
    """95 % intervals of score, accuracy, hallucination and missing, and the name of the method.

    Exact where questions are independent (see `units_of`); otherwise the questions of a lesson are drawn together
    (10,000 seeded resamples of lessons; Davison & Hinkley 1997, section 3.8).
    """
    rows = _indicators(outcomes)
    units = units_of(lessons, rows.shape[1])
    intervals = mean_intervals(rows, units, seed=seed, level=level)
    return dict(zip(RATES, intervals, strict=True)), method_name(units, seed)


def mc_interval(
    values: Outcomes, *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """The interval of `mean_interval` by plain seeded resampling, to reproduce papers and to test the exact one."""
    drawn = points_of(values)
    rng = np.random.default_rng(seed)
    means = np.array([drawn[rng.integers(0, len(drawn), len(drawn))].mean() for _ in range(resamples)])
    low, high = np.sort(means)[list(places_of(resamples, level))]
    return float(low), float(high)
