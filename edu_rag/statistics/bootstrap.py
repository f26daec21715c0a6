"""How sure a score is: bootstrap intervals, exact over questions, seeded over lessons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edu_rag.statistics.distributions import places_of, quantiles, sum_distribution
from edu_rag.statistics.points import Floats, Ints, Lessons, Outcomes, points_of, unit_sums, units_of

LEVEL = 0.95
RESAMPLES = 10_000
EXACT_METHOD = "bootstrap-exact-v1"
LESSON_METHOD = "bootstrap-by-lesson-v1"
RATES = ("score", "accuracy", "hallucination", "missing")
_BLOCK = 500
"""Resamples drawn at a time, so that memory does not grow with their number. The draws do not depend on it."""
_FEW = 12
"""Columns up to which gathering beats counting and multiplying."""
_EXACT = 2**53
"""Whole numbers below are exact as doubles, and so are their sums."""
_CELLS = 100_000
"""Draws that are gathered at a time: they stay in the processor's cache, and in memory that is used again."""
_BITS = 62
"""Bits of an int64 that sums of several columns share."""


def method_name(units: Ints | None, seed: int) -> str:
    """The method of an interval, as scorecards state it."""
    return EXACT_METHOD if units is None else f"{LESSON_METHOD}, seed {seed}"


def mean_interval(values: Outcomes, level: float = LEVEL) -> tuple[float, float]:
    """Percentile bootstrap interval (Efron 1979) of the mean of integer values; exact, so it needs no seed."""
    drawn = points_of(values)
    low, high = quantiles(*sum_distribution(drawn), level)
    return low / len(drawn), high / len(drawn)


def drawn_totals(columns: Ints, seed: int, resamples: int = RESAMPLES) -> Ints:
    """Seeded bootstrap over clusters: array (k, resamples), the sum of each column over the clusters drawn.

    `columns` is (k, clusters). The draws are int32 in [0, clusters) of numpy's PCG64, row by row. Raises TypeError for
    sums that are not integers: their fractions would be cut off.
    """
    if columns.dtype.kind not in "iu":
        raise TypeError(f"sums of clusters are {columns.dtype}: give integers, for example points times 1,000,000")
    rng = np.random.default_rng(seed)
    k, n_clusters = columns.shape
    counted = k > _FEW and int(np.abs(columns).max()) * n_clusters < _EXACT
    block = _BLOCK if counted else max(1, min(_BLOCK, _CELLS // n_clusters))
    packed = None if counted else _Packed(columns)
    totals = np.empty((k, resamples), dtype=np.int64)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        draws = rng.integers(0, n_clusters, size=(rows, n_clusters), dtype=np.int32)
        # The same sums of integers either way: gathering takes half the time for few columns, a tenth for many.
        sums = _counted(columns, draws.astype(np.intp)) if packed is None else packed.sums(draws)
        totals[:, start : start + rows] = sums
    return totals


class _Packed:
    """Columns of integers of which several share an int64, each in bits enough for its sum over all clusters.

    So one look at a drawn cluster serves several columns: sums of packed numbers are the packed sums.
    """

    def __init__(self, columns: Ints) -> None:
        columns = columns.astype(np.int64, copy=False)  # a narrower type would lose bits in the shifts
        n_clusters = columns.shape[1]
        self._words: list[Ints] = []
        self._places: list[tuple[int, int, int, int]] = []
        used = _BITS
        for column in columns:
            low, high = int(column.min()), int(column.max())
            bits = max(1, ((high - low) * n_clusters).bit_length())
            if bits > _BITS:  # a word to itself, as it is
                self._words.append(column)
                self._places.append((len(self._words) - 1, 0, -1, 0))
                used = _BITS
                continue
            if used + bits > _BITS:
                self._words.append(np.zeros(n_clusters, dtype=np.int64))
                used = 0
            self._words[-1] += (column - low) << used
            self._places.append((len(self._words) - 1, used, (1 << bits) - 1, low * n_clusters))
            used += bits

    def sums(self, draws: NDArray[np.integer[Any]]) -> list[Ints]:
        """The sum of each column over the clusters of each row of draws."""
        drawn = [word.take(draws).sum(axis=1) for word in self._words]
        return [((drawn[word] >> shift) & mask) + base for word, shift, mask, base in self._places]


def _counted(columns: Ints, draws: NDArray[np.intp]) -> Floats:
    """The sums of drawn clusters by how often each was drawn: one product of matrices for all columns."""
    rows, n_clusters = draws.shape
    places = draws + n_clusters * np.arange(rows)[:, None]
    times = np.bincount(places.ravel(), minlength=rows * n_clusters).reshape(rows, n_clusters)
    return columns.astype(np.float64) @ times.T.astype(np.float64)


def cluster_ratios(sums: Ints, sizes: Ints, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Seeded bootstrap over clusters: array (resamples, k) of sum of sums / sum of sizes.

    `sums` is (k, clusters), `sizes` is (clusters,); the draws are those of `drawn_totals`.
    """
    totals = drawn_totals(np.vstack([sizes, sums]), seed, resamples)
    return np.ascontiguousarray((totals[1:] / totals[0]).T)


def difference_intervals(
    sums: Ints,
    sizes: Ints,
    pairs: Iterable[tuple[int, int]],
    *,
    seed: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Iterator[tuple[float, float]]:
    """For each pair (i, j) of rows of unit sums, the interval of the mean of the differences, as `mean_intervals`.

    The sum of drawn differences is the difference of drawn sums: so a row is drawn once, not once a pair.
    """
    totals = drawn_totals(np.vstack([sizes, sums]), seed, resamples).astype(np.float64)
    drawn, places = totals[0], places_of(resamples, level)
    for i, j in pairs:
        ratios = (totals[i + 1] - totals[j + 1]) / drawn
        ratios.partition(places)
        yield float(ratios[places[0]]), float(ratios[places[1]])


def mean_intervals(
    rows: Ints, units: Ints | None, *, seed: int = 0, level: float = LEVEL, resamples: int = RESAMPLES
) -> list[tuple[float, float]]:
    """The interval of the mean of each row of integers, one column a question; units are drawn whole where given.

    All rows see the same draws, so that the interval of a row does not depend on the other rows.
    """
    if units is None:
        return [mean_interval(row, level) for row in rows]
    sums = np.stack([unit_sums(row, units) for row in rows])
    return _bounds(cluster_ratios(sums, np.bincount(units), seed, resamples), level)


def _bounds(ratios: Floats, level: float) -> list[tuple[float, float]]:
    """The ends of the interval of each column of (resamples, k) ratios."""
    places = places_of(len(ratios), level)
    bounds = np.partition(ratios, places, axis=0)[list(places)]
    return [(float(low), float(high)) for low, high in bounds.T]


def _rate_intervals(points: Ints, units: Ints | None, seed: int, level: float) -> list[tuple[float, float]]:
    """The intervals of RATES, as `mean_intervals` gives them for each; by lesson, two of the sums are of the others."""
    if units is None:
        return [mean_interval(row, level) for row in (points, points == 1, points == -1, points == 0)]
    columns = [np.bincount(units), unit_sums(points == 1, units), unit_sums(points == -1, units)]
    drawn, right, wrong = drawn_totals(np.stack(columns), seed)
    sums = np.stack([right - wrong, right, wrong, drawn - right - wrong])
    return _bounds(np.ascontiguousarray((sums / drawn).T), level)


def rate_intervals(
    outcomes: Outcomes, lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> tuple[dict[str, tuple[float, float]], str]:
    """95 % intervals of score, accuracy, hallucination and missing, and the name of the method.

    Exact where questions are independent (see `units_of`); otherwise the questions of a lesson are drawn together
    (10,000 seeded resamples of lessons; Davison & Hinkley 1997, section 3.8).
    """
    points = points_of(outcomes)
    units = units_of(lessons, len(points))
    return dict(zip(RATES, _rate_intervals(points, units, seed, level), strict=True)), method_name(units, seed)


def mc_interval(
    values: Outcomes, *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """The interval of `mean_interval` by plain seeded resampling, to reproduce papers and to test the exact one."""
    drawn = points_of(values)
    rng = np.random.default_rng(seed)
    means = np.array([drawn[rng.integers(0, len(drawn), len(drawn))].mean() for _ in range(resamples)])
    low, high = np.sort(means)[list(places_of(resamples, level))]
    return float(low), float(high)
