"""Do two systems differ on the same questions? Paired bootstrap, sign-flip test and McNemar's test, lessons whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edu_rag.statistics.bootstrap import LEVEL, difference_intervals, mean_interval, method_name
from edu_rag.statistics.distributions import fair_tail, half_binomial
from edu_rag.statistics.points import Ints, Lessons, Outcomes, same_length, unit_sums, units_of

Pair = tuple[int, int]
"""The places of two systems in a table, the first before the second."""


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
    _, ones, twos = np.bincount(np.abs(d), minlength=3).tolist()
    # reached[k] = P(at least k heads of `ones`); S1 = 2 heads - ones >= observed - 2 S2
    reached = np.append(np.cumsum(half_binomial(ones)[::-1])[::-1], 0.0)
    s2 = 2 * np.arange(twos + 1) - twos
    heads = np.clip(-((2 * s2 - observed - ones) // 2), 0, ones + 1)
    return float(min(1.0, 2 * float(half_binomial(twos) @ reached[heads])))


def unit_p(sums: Ints) -> float:
    """The sign-flip p of units: each unit's sum of differences gets one fair sign."""
    observed = abs(int(sums.sum()))
    if observed == 0:
        return 1.0
    sizes = np.abs(sums)
    # The sum of signed sizes is T - 2 (what fell to the other side), so it reaches `observed` where that is small.
    return min(1.0, 2 * fair_tail(sizes, (int(sizes.sum()) - observed) // 2))


def flip_p(d: Ints, units: Ints | None) -> float:
    """The sign-flip p of `sign_flip_p`, of units as `units_of` numbers them."""
    if d.size and int(np.abs(d).max()) > 2:
        raise ValueError("differences of points lie in -2 … 2")
    if units is not None:
        return unit_p(unit_sums(d, units))
    observed = abs(int(d.sum()))
    return 1.0 if observed == 0 else _by_question_p(d, observed)


def sign_flip_p(differences: Outcomes, lessons: Lessons | None = None) -> float:
    """Exact two-sided p of the sign-flip test (Fisher 1935) for differences in {-2 … 2}; 1.0 where their sum is 0.

    The sum is S1 + 2 S2 with S1, S2 sums of fair signs, as many as there are differences of size 1 and of size 2.
    Where lessons are known, a lesson's differences are flipped as a whole: its sum gets one fair sign, and the
    distribution is the convolution over lessons. Nothing is drawn at random.
    """
    d = np.asarray(differences, dtype=np.int64)
    return flip_p(d, units_of(lessons, len(d)))


class Differ:
    """The sign-flip p of any pair of systems (places i, j) on the same questions; unit sums are made once a system."""

    def __init__(self, arrays: Sequence[Ints], units: Ints | None) -> None:
        self._arrays, self._units = arrays, units
        self._sums = [] if units is None else [unit_sums(points, units) for points in arrays]
        # No pair can break what `flip_p` asks for where no two points are more than 2 apart.
        points = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
        self._near = not points.size or int(points.max()) - int(points.min()) <= 2

    def p(self, i: int, j: int) -> float:
        """The result of `flip_p` for i - j. Raises ValueError if points differ by more than 2."""
        if self._units is not None and self._near:
            return unit_p(self._sums[i] - self._sums[j])
        return flip_p(self._arrays[i] - self._arrays[j], self._units)


def _pairs(n: int) -> list[Pair]:
    return list(combinations(range(n), 2))


def pair_p(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> dict[Pair, float]:
    """The sign-flip p of every pair of systems (i < j) on the same questions, not adjusted for their number."""
    arrays = same_length(*systems)
    differ = Differ(arrays, units_of(lessons, len(arrays[0])) if arrays else None)
    return {pair: differ.p(*pair) for pair in _pairs(len(arrays))}


def paired(
    first: Outcomes, second: Outcomes, lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> Paired:
    """Difference of two scores on the same questions: paired bootstrap interval and exact sign-flip p.

    The interval is exact where questions are independent, else from 10,000 seeded resamples of lessons.
    """
    return paired_all([first, second], lessons, seed=seed, level=level)[0, 1]


def _intervals(arrays: Sequence[Ints], units: Ints | None, seed: int, level: float) -> Iterator[tuple[float, float]]:
    """The interval of the difference of every pair, in order of pairs."""
    pairs = _pairs(len(arrays))
    if units is None:
        return (mean_interval(arrays[i] - arrays[j], level) for i, j in pairs)
    sums = np.stack([unit_sums(points, units) for points in arrays])
    return difference_intervals(sums, np.bincount(units), pairs, seed=seed, level=level)


def paired_all(
    systems: Sequence[Outcomes], lessons: Lessons | None = None, *, seed: int = 0, level: float = LEVEL
) -> dict[Pair, Paired]:
    """`paired` of every pair of systems (i < j) on the same questions; the lessons are drawn once for all pairs."""
    arrays = same_length(*systems)
    pairs = _pairs(len(arrays))
    if not pairs:
        return {}
    n = len(arrays[0])
    units = units_of(lessons, n)
    n_units, method = n if units is None else int(units.max()) + 1, method_name(units, seed)
    differ, totals = Differ(arrays, units), [int(points.sum()) for points in arrays]
    return {
        (i, j): Paired(n, (totals[i] - totals[j]) / n, low, high, differ.p(i, j), n_units, method)
        for (i, j), (low, high) in zip(pairs, _intervals(arrays, units, seed, level), strict=True)
    }


def _binomial_p(first_only: int, second_only: int) -> float:
    tail = float(half_binomial(first_only + second_only)[: min(first_only, second_only) + 1].sum())
    return min(1.0, 2 * tail)


def mcnemar(first: Outcomes, second: Outcomes, lessons: Lessons | None = None) -> McNemar:
    """Exact two-sided McNemar test (1947) on correctness of the same questions.

    Where lessons are known: its permutation form for clustered pairs. A lesson's surplus (right only in the first,
    less right only in the second) gets one fair sign. This is the exact counterpart of the chi-square tests of
    Obuchowski (1998), Durkalski et al. (2003) and Yang, Sun & Hardin (2010), whose statistic it shares.
    """
    return mcnemar_all([first, second], lessons)[0, 1]


def mcnemar_all(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> dict[Pair, McNemar]:
    """`mcnemar` of every pair of systems (i < j) on the same questions."""
    arrays = same_length(*systems)
    if not arrays:
        return {}
    right = np.stack([points == 1 for points in arrays]).astype(np.int64)
    halves = right.astype(np.float64)  # whole numbers: exact, and the product is a fast one
    both, own = halves @ halves.T, right.sum(axis=1)
    units = units_of(lessons, right.shape[1])
    differ = Differ(list(right), units)
    found = {}
    for i, j in _pairs(len(arrays)):
        first_only, second_only = int(own[i] - both[i, j]), int(own[j] - both[i, j])
        p = _binomial_p(first_only, second_only) if units is None else differ.p(i, j)
        found[i, j] = McNemar(first_only, second_only, p)
    return found
