"""Power by the normal approximation: the difference that n questions detect, and the n that a difference needs.

Not in `edu_rag.statistics`, which imports numpy: `edu-rag power` answers in the time that this takes.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from edu_rag.significance import ALPHA

if TYPE_CHECKING:
    from statistics import NormalDist


@cache
def _normal() -> NormalDist:
    from statistics import NormalDist  # 10 ms, which scoring need not wait for

    return NormalDist()


class Spread(NamedTuple):
    """Standard deviation of the difference of points a question, and the design effect of lessons (1.0 for none)."""

    sd: float
    design_effect: float

    @property
    def effective_sd(self) -> float:
        """The sd that independent questions would need for the same standard error; lessons never make it smaller."""
        return self.sd * math.sqrt(max(1.0, self.design_effect))


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
