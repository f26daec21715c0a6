"""The spread of the difference of two systems, from which the power of a test on n questions follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from edu_rag.detectable_difference import Spread
from edu_rag.statistics.points import Ints, Lessons, Outcomes, same_length, unit_sums, units_of


class _Sums:
    """Sums over systems and pairs of them, whole numbers all, from which the spread of any pair follows."""

    def __init__(self, arrays: Sequence[Ints], units: Ints | None) -> None:
        points = np.stack(arrays)
        self.n, self.totals, self.products = points.shape[1], points.sum(axis=1).tolist(), _products(points)
        self.sizes = None if units is None else np.bincount(units)
        if units is not None and self.sizes is not None:
            sums = np.stack([unit_sums(row, units) for row in arrays])
            self.by_unit, self.by_size = _products(sums), (sums @ self.sizes).tolist()

    def spread(self, i: int, j: int) -> Spread:
        """The spread of the differences i - j."""
        n, total = self.n, self.totals[i] - self.totals[j]
        centred = n * _squares(self.products, i, j) - total**2  # n times the sum of squares about the mean
        if self.sizes is None or centred == 0:
            return Spread(math.sqrt(centred) / n, 1.0)
        m, crossed = len(self.sizes), self.by_size[i] - self.by_size[j]
        squared_sizes = int(self.sizes @ self.sizes)
        # n^2 times the sum of squares of what a unit's sum is above its size times the mean
        residual = n**2 * _squares(self.by_unit, i, j) - 2 * n * total * crossed + total**2 * squared_sizes
        return Spread(math.sqrt(centred) / n, residual * m * (n - 1) / ((m - 1) * centred * n**2))


def _products(rows: Ints) -> list[list[int]]:
    """The product of each row with each."""
    exact = rows.astype(np.float64)  # whole numbers below 2^53
    found: list[list[int]] = (exact @ exact.T).astype(np.int64).tolist()
    return found


def _squares(products: list[list[int]], i: int, j: int) -> int:
    """The sum of squared differences of two rows."""
    return products[i][i] + products[j][j] - 2 * products[i][j]


def spread_of(first: Outcomes, second: Outcomes, lessons: Lessons | None = None) -> Spread:
    """The spread of the difference of two systems on the same questions.

    The design effect (Kish 1965, section 8.2) is the variance of the mean difference with lessons drawn whole over
    that with questions drawn alone, linearised as for a ratio (Cochran 1977, section 9A.2).
    """
    return spread_all([first, second], lessons)[0, 1]


def spread_all(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> dict[tuple[int, int], Spread]:
    """`spread_of` of every pair of systems (i < j)."""
    arrays = same_length(*systems)
    if len(arrays) < 2:
        return {}
    sums = _Sums(arrays, units_of(lessons, len(arrays[0])))
    return {(i, j): sums.spread(i, j) for i, j in combinations(range(len(arrays)), 2)}


def typical_sd(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> float | None:
    """The median over pairs of systems of the effective sd of their difference a question; None below two systems."""
    spreads = spread_all(systems, lessons)
    return float(np.median([spread.effective_sd for spread in spreads.values()])) if spreads else None
