"""Do two systems differ on the same questions? Paired bootstrap, sign-flip test and McNemar's test, lessons whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edu_rag.statistics.bootstrap import LEVEL, mean_intervals, method_name
from edu_rag.statistics.distributions import fair_sum, half_binomial
from edu_rag.statistics.points import Ints, Lessons, Outcomes, same_length, unit_sums, units_of


class Paired(NamedTuple):
    """Two systems on the same n questions: difference of scores (first - second), 95 % interval, sign-flip p.

    `n_units` is the number of lessons (and questions without one) that were drawn and flipped whole, n where
    questions are independent; `method` names what made the interval.
    """

    n: int
    difference: float
    low: float
    high: float
    p: float
    n_units: int
    method: str


class McNemar(NamedTuple):
    """McNemar on correctness: questions that only the first, only the second system had right, two-sided exact p."""

    n_first_only: int
    n_second_only: int
    p: float


def _by_question_p(d: Ints, observed: int) -> float:
    ones, twos = int((np.abs(d) == 1).sum()), int((np.abs(d) == 2).sum())
    # reached[k] = P(at least k heads of `ones`); S1 = 2 heads - ones >= observed - 2 S2
    reached = np.append(np.cumsum(half_binomial(ones)[::-1])[::-1], 0.0)
    s2 = 2 * np.arange(twos + 1) - twos
    heads = np.clip(-((2 * s2 - observed - ones) // 2), 0, ones + 1)
    return float(min(1.0, 2 * float(half_binomial(twos) @ reached[heads])))


def _by_unit_p(sums: Ints, observed: int) -> float:
    sizes = np.abs(sums[sums != 0])
    # The sum of signed sizes is T - 2 (what fell to the other side), so it reaches `observed` where that is small.
    mass = fair_sum(sizes, (int(sizes.sum()) - observed) // 2)
    return min(1.0, 2 * float(mass.sum()))


def flip_p(d: Ints, units: Ints | None) -> float:
    """The sign-flip p of `sign_flip_p`, of units as `units_of` numbers them."""
    if d.size and int(np.abs(d).max()) > 2:
        raise ValueError("differences of points lie in -2 … 2")
    observed = abs(int(d.sum()))
    if observed == 0:
        return 1.0
    return _by_question_p(d, observed) if units is None else _by_unit_p(unit_sums(d, units), observed)


def sign_flip_p(differences: Outcomes, lessons: Lessons | None = None) -> float:
    """Exact two-sided p of the sign-flip test (Fisher 1935) for differences in {-2 … 2}; 1.0 where their sum is 0.

    The sum is S1 + 2 S2 with S1, S2 sums of fair signs, as many as there are differences of size 1 and of size 2.
    Where lessons are known, a lesson's differences are flipped as a whole: its sum gets one fair sign, and the
    distribution is the convolution over lessons. Nothing is drawn at random.
    """
    d = np.asarray(differences, dtype=np.int64)
    return flip_p(d, units_of(lessons, len(d)))


def pair_p(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> dict[tuple[int, int], float]:
    """The sign-flip p of every pair of systems (i < j) on the same questions, not adjusted for their number."""
    arrays = same_length(*systems)
    units = units_of(lessons, len(arrays[0])) if arrays else None
    return {(i, j): flip_p(arrays[i] - arrays[j], units) for i, j in combinations(range(len(arrays)), 2)}


def paired(
    first: Outcomes, second: Outcomes, lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> Paired:
    """Difference of two scores on the same questions: paired bootstrap interval and exact sign-flip p.

    The interval is exact where questions are independent, else from 10,000 seeded resamples of lessons.
    """
    return paired_all([first, second], lessons, seed=seed, level=level)[0, 1]


def paired_all(
    systems: Sequence[Outcomes], lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> dict[tuple[int, int], Paired]:
    """`paired` of every pair of systems (i < j) on the same questions; the lessons are drawn once for all pairs."""
    arrays = same_length(*systems)
    pairs = list(combinations(range(len(arrays)), 2))
    if not pairs:
        return {}
    n = len(arrays[0])
    units = units_of(lessons, n)
    n_units = n if units is None else int(units.max()) + 1
    differences = np.stack([arrays[i] - arrays[j] for i, j in pairs])
    intervals = mean_intervals(differences, units, seed=seed, level=level)
    method = method_name(units, seed)
    return {
        pair: Paired(n, float(d.mean()), low, high, flip_p(d, units), n_units, method)
        for pair, d, (low, high) in zip(pairs, differences, intervals, strict=True)
    }


def mcnemar(first: Outcomes, second: Outcomes, lessons: Lessons | None = None) -> McNemar:
    """Exact two-sided McNemar test (1947) on correctness of the same questions.

    Where lessons are known: its permutation form for clustered pairs. A lesson's surplus (right only in the first,
    less right only in the second) gets one fair sign. This is the exact counterpart of the chi-square tests of
    Obuchowski (1998), Durkalski et al. (2003) and Yang, Sun & Hardin (2010), whose statistic it shares.
    """
    a, b = same_length(first, second)
    surplus = (a == 1).astype(np.int64) - (b == 1).astype(np.int64)
    first_only, second_only = int((surplus == 1).sum()), int((surplus == -1).sum())
    units = units_of(lessons, len(a))
    if units is not None:
        return McNemar(first_only, second_only, flip_p(surplus, units))
    tail = float(half_binomial(first_only + second_only)[: min(first_only, second_only) + 1].sum())
    return McNemar(first_only, second_only, min(1.0, 2 * tail))
