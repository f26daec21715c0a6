"""The power of a test on n questions: smallest detectable difference, power, and the n that a difference needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edu_rag.significance import ALPHA
from edu_rag.statistics.points import Ints, Lessons, Outcomes, same_length, unit_sums, units_of

if TYPE_CHECKING:
    from statistics import NormalDist


class Spread(NamedTuple):
    """Standard deviation of the difference of points a question, and the design effect of lessons (1.0 for none)."""

    sd: float
    design_effect: float

    @property
    def effective_sd(self) -> float:
        """The sd that independent questions would need for the same standard error; lessons never make it smaller."""
        return self.sd * math.sqrt(max(1.0, self.design_effect))


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


@cache
def _normal() -> NormalDist:
    from statistics import NormalDist  # here: scoring imports this module, and needs no power

    return NormalDist()


def smallest_detectable_difference(n: int, sd: float, *, alpha: float = ALPHA, power: float = 0.8) -> float:
    """The smallest true difference of two scores that a paired test on n questions finds with this power.

    (z(1 - alpha/2) + z(power)) sd / sqrt(n), the usual normal approximation (Cohen 1988, section 2.4); `sd` is the
    effective sd of the difference a question (see `typical_sd`).
    """
    return (_normal().inv_cdf(1 - alpha / 2) + _normal().inv_cdf(power)) * sd / math.sqrt(n)


def power_of(n: int, difference: float, sd: float, *, alpha: float = ALPHA) -> float:
    """The probability that a two-sided paired test on n questions finds a true difference; sd > 0, effective.

    Normal approximation with both tails, so that no difference is "found" with probability alpha.
    """
    shift, z = abs(difference) * math.sqrt(n) / sd, _normal().inv_cdf(1 - alpha / 2)
    return _normal().cdf(shift - z) + _normal().cdf(-shift - z)


def n_needed(difference: float, sd: float, *, alpha: float = ALPHA, power: float = 0.8) -> int:
    """The fewest questions on which a true difference is found with this power; sd is effective.

    The inverse of `smallest_detectable_difference`. Raises ValueError for a difference of 0, which none would find.
    """
    if difference == 0:
        raise ValueError("no number of questions finds a difference of 0")
    z = _normal().inv_cdf(1 - alpha / 2) + _normal().inv_cdf(power)
    return max(1, math.ceil((z * sd / difference) ** 2))
