"""What a test on n questions can find: smallest detectable difference, power, and the n that a difference needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from edu_rag.statistics.points import Ints, Lessons, Outcomes, same_length, unit_sums, units_of

_NORMAL = NormalDist()


class Spread(NamedTuple):
    """Standard deviation of the difference of points a question, and the design effect of lessons (1.0 for none)."""

    sd: float
    design_effect: float

    @property
    def effective_sd(self) -> float:
        """The sd that independent questions would need for the same standard error; lessons never make it smaller."""
        return self.sd * math.sqrt(max(1.0, self.design_effect))


def _spread(d: Ints, units: Ints | None) -> Spread:
    centred = d - d.mean()
    total = float(centred @ centred)
    sd = float(d.std())
    if units is None or total == 0:
        return Spread(sd, 1.0)
    sizes = np.bincount(units)
    residuals = unit_sums(d, units) - sizes * d.mean()
    n, m = len(d), len(sizes)
    return Spread(sd, float(residuals @ residuals) * m / (m - 1) / (total * n / (n - 1)))


def spread_of(first: Outcomes, second: Outcomes, lessons: Lessons | None = None) -> Spread:
    """The spread of the difference of two systems on the same questions.

    The design effect (Kish 1965, section 8.2) is the variance of the mean difference with lessons drawn whole over
    that with questions drawn alone, linearised as for a ratio (Cochran 1977, section 9A.2).
    """
    a, b = same_length(first, second)
    return _spread(a - b, units_of(lessons, len(a)))


def typical_sd(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> float | None:
    """The median over pairs of systems of the effective sd of their difference a question; None below two systems."""
    arrays = same_length(*systems)
    if len(arrays) < 2:
        return None
    units = units_of(lessons, len(arrays[0]))
    return float(np.median([_spread(a - b, units).effective_sd for a, b in combinations(arrays, 2)]))


def smallest_detectable_difference(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference of two scores that a paired test on n questions finds with this power.

    (z(1 - alpha/2) + z(power)) sd / sqrt(n), the usual normal approximation (Cohen 1988, section 2.4); `sd` is the
    effective sd of the difference a question (see `typical_sd`).
    """
    return (_NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)) * sd / math.sqrt(n)


def power_of(n: int, difference: float, sd: float, *, alpha: float = 0.05) -> float:
    """The probability that a two-sided paired test on n questions finds a true difference; sd > 0, effective.

    Normal approximation with both tails, so that no difference is "found" with probability alpha.
    """
    shift, z = abs(difference) * math.sqrt(n) / sd, _NORMAL.inv_cdf(1 - alpha / 2)
    return _NORMAL.cdf(shift - z) + _NORMAL.cdf(-shift - z)


def n_needed(difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """The fewest questions on which a true difference is found with this power; sd is effective.

    The inverse of `smallest_detectable_difference`. Raises ValueError for a difference of 0, which none would find.
    """
    if difference == 0:
        raise ValueError("no number of questions finds a difference of 0")
    z = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)
    return max(1, math.ceil((z * sd / difference) ** 2))
