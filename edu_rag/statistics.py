"""How sure a score is, and whether two systems differ: exact bootstraps and tests on three-valued outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Outcomes = str | Sequence[int] | NDArray[Any]
"""Outcome letters of a scorecard (`ciauf`), or integers such as points in {-1, 0, 1}; one a question."""

LEVEL = 0.95
RESAMPLES = 10_000
EXACT_METHOD = "bootstrap-exact-v1"
LESSON_METHOD = "bootstrap-by-lesson-v1"
RATES = ("score", "accuracy", "hallucination", "missing")
_ROUNDING = 1e-12
"""What the FFT may leave on a cumulative probability; without it a quantile could slip by one step."""


class Paired(NamedTuple):
    """Two systems on the same n questions: difference of scores (first - second), 95 % interval, sign-flip p."""

    n: int
    difference: float
    low: float
    high: float
    p: float


class McNemar(NamedTuple):
    """Exact McNemar on correctness: questions that only the first, only the second system had right, two-sided p."""

    n_first_only: int
    n_second_only: int
    p: float


def _codes(outcomes: Outcomes, of_letter: Mapping[str, int]) -> Ints:
    if isinstance(outcomes, str):
        table = np.full(128, 99, dtype=np.int64)
        for letter, code in of_letter.items():
            table[ord(letter)] = code
        codes = table[np.frombuffer(outcomes.encode("ascii"), dtype=np.uint8)]
        if (codes == 99).any():
            raise ValueError(f"outcomes hold letters besides {''.join(of_letter)}")
        return codes
    return np.asarray(outcomes, dtype=np.int64)


def points_of(outcomes: Outcomes) -> Ints:
    """Points in {-1, 0, 1}, one a question, from outcome letters; integers pass through. Raises ValueError."""
    return _codes(outcomes, {"c": 1, "i": -1, "a": 0, "u": 0, "f": 0})


def sum_distribution(values: Outcomes, n: int | None = None) -> tuple[Ints, Floats]:
    """The exact distribution of the sum of n draws with replacement from integer values: (support, probabilities).

    An n-fold convolution: the inverse FFT of the characteristic function to the n-th power, on a window of +-14
    standard deviations around the mean (outside lies less than 1e-40). n defaults to the number of values.
    """
    drawn = points_of(values)
    n = len(drawn) if n is None else n
    if not len(drawn) or n < 1:
        raise ValueError("no values to draw from")
    low = int(drawn.min())
    p = np.bincount(drawn - low) / len(drawn)
    steps = np.arange(len(p))
    mean, variance = float(p @ steps), float(p @ steps**2) - float(p @ steps) ** 2
    reach = 14 * math.sqrt(max(variance, 0.0) * n) + 2
    first = max(0, math.floor(n * mean - reach))
    last = min(n * (len(p) - 1), math.ceil(n * mean + reach))
    size = last - first + 1
    phi = np.exp(-2j * np.pi * np.outer(np.arange(size), steps) / size) @ p
    wrapped = np.fft.ifft(phi**n).real  # at index s mod size: the window is as long as one period
    mass = np.clip(np.roll(wrapped, -(first % size)), 0.0, None)
    return n * low + first + np.arange(size), mass / mass.sum()


def _quantiles(support: Ints, mass: Floats, level: float) -> tuple[float, float]:
    cumulative = np.cumsum(mass)
    tail = (1 - level) / 2
    at = np.searchsorted(cumulative + _ROUNDING, (tail, 1 - tail))
    low, high = support[np.minimum(at, len(support) - 1)]
    return float(low), float(high)


def mean_interval(values: Outcomes, level: float = LEVEL) -> tuple[float, float]:
    """Percentile bootstrap interval (Efron 1979) of the mean of integer values; exact, so it needs no seed."""
    drawn = points_of(values)
    low, high = _quantiles(*sum_distribution(drawn), level)
    return low / len(drawn), high / len(drawn)


def _indicators(outcomes: Outcomes) -> Ints:
    """Array (4, n): per question its contribution to score, correct, incorrect, missing."""
    points = points_of(outcomes)
    return np.stack([points, points == 1, points == -1, points == 0]).astype(np.int64)


def _clusters(lessons: Sequence[str | None]) -> Ints:
    """The cluster number of each question: one for each lesson, and one for each question without a lesson."""
    keys: list[object] = [(index,) if lesson is None else lesson for index, lesson in enumerate(lessons)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def cluster_ratios(sums: Ints, sizes: Ints, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Seeded bootstrap over clusters: array (resamples, k) of sum of sums / sum of sizes.

    `sums` is (k, clusters), `sizes` is (clusters,). Memory stays at 500 draws, whatever the number of resamples.
    """
    rng = np.random.default_rng(seed)
    n_clusters = len(sizes)
    columns = np.vstack([sizes, sums]).T.astype(np.float64)
    ratios = np.empty((resamples, len(sums)))
    for start in range(0, resamples, 500):
        rows = min(500, resamples - start)
        draws = rng.integers(0, n_clusters, size=(rows, n_clusters), dtype=np.int32)
        flat = (draws + (np.arange(rows, dtype=np.int32) * n_clusters)[:, None]).ravel()
        weights = np.bincount(flat, minlength=rows * n_clusters).reshape(rows, n_clusters)
        totals = weights @ columns
        ratios[start : start + rows] = totals[:, 1:] / totals[:, :1]
    return ratios


def rate_intervals(
    outcomes: Outcomes, lessons: Sequence[str | None] | None = None, *, seed: int = 0, level: float = LEVEL
) -> tuple[dict[str, tuple[float, float]], str]:
    """95 % intervals of score, accuracy, hallucination and missing, and the name of the method.

    Exact where no lesson is known, or where all questions are of one lesson, whose resamples would all be the same;
    otherwise questions of one lesson are drawn together (10,000 seeded resamples).
    """
    rows = _indicators(outcomes)
    if lessons is None or len(set(lessons)) < 2:
        return {name: mean_interval(row, level) for name, row in zip(RATES, rows, strict=True)}, EXACT_METHOD
    cluster = _clusters(lessons)
    sizes = np.bincount(cluster)
    sums = np.stack([np.bincount(cluster, weights=row, minlength=len(sizes)) for row in rows])
    ratios = cluster_ratios(sums.astype(np.int64), sizes, seed)
    tail = (1 - level) / 2
    bounds = np.quantile(ratios, (tail, 1 - tail), axis=0, method="inverted_cdf")
    intervals = {name: (float(bounds[0, i]), float(bounds[1, i])) for i, name in enumerate(RATES)}
    return intervals, f"{LESSON_METHOD}, seed {seed}"


def mc_interval(
    values: Outcomes, *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """The interval of `mean_interval` by plain seeded resampling, to reproduce papers and to test the exact one."""
    drawn = points_of(values)
    rng = np.random.default_rng(seed)
    means = np.array([drawn[rng.integers(0, len(drawn), len(drawn))].mean() for _ in range(resamples)])
    tail = (1 - level) / 2
    low, high = np.quantile(means, (tail, 1 - tail), method="inverted_cdf")
    return float(low), float(high)


def _half_binomial(n: int) -> Floats:
    """Probabilities of 0..n heads in n fair throws, through logarithms so that n may be large."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] - n * math.log(2)))


def sign_flip_p(differences: Outcomes) -> float:
    """Exact two-sided p of the sign-flip test (Fisher 1935) for differences in {-2 … 2}; 1.0 where all are zero.

    The sum is S1 + 2 S2 with S1, S2 sums of fair signs, as many as there are differences of size 1 and of size 2.
    """
    d = np.asarray(differences, dtype=np.int64)
    if d.size and int(np.abs(d).max()) > 2:
        raise ValueError("differences of points lie in -2 … 2")
    ones, twos, observed = int((np.abs(d) == 1).sum()), int((np.abs(d) == 2).sum()), abs(int(d.sum()))
    if observed == 0:
        return 1.0
    # reached[k] = P(at least k heads of `ones`); S1 = 2 heads - ones >= observed - 2 S2
    reached = np.append(np.cumsum(_half_binomial(ones)[::-1])[::-1], 0.0)
    s2 = 2 * np.arange(twos + 1) - twos
    heads = np.clip(-((2 * s2 - observed - ones) // 2), 0, ones + 1)
    return float(min(1.0, 2 * float(_half_binomial(twos) @ reached[heads])))


def _paired_points(first: Outcomes, second: Outcomes) -> tuple[Ints, Ints]:
    a, b = points_of(first), points_of(second)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} outcomes cannot be paired")
    return a, b


def paired(first: Outcomes, second: Outcomes, level: float = LEVEL) -> Paired:
    """Difference of two scores on the same questions: exact paired bootstrap interval and exact sign-flip p."""
    a, b = _paired_points(first, second)
    d = a - b
    low, high = mean_interval(d, level)
    return Paired(len(d), float(d.mean()), low, high, sign_flip_p(d))


def mcnemar(first: Outcomes, second: Outcomes) -> McNemar:
    """Exact two-sided McNemar test (1947) on correctness of the same questions."""
    a, b = _paired_points(first, second)
    first_only, second_only = int(((a == 1) & (b != 1)).sum()), int(((b == 1) & (a != 1)).sum())
    tail = float(_half_binomial(first_only + second_only)[: min(first_only, second_only) + 1].sum())
    return McNemar(first_only, second_only, min(1.0, 2 * tail))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values, in the order given: significant at alpha where <= alpha."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def pairwise_p(points: Sequence[Outcomes]) -> dict[tuple[int, int], float]:
    """Holm-adjusted sign-flip p of every pair of systems (i < j) on the same questions."""
    arrays = [points_of(outcomes) for outcomes in points]
    pairs = list(combinations(range(len(arrays)), 2))
    adjusted = holm([sign_flip_p(np.subtract(*_paired_points(arrays[i], arrays[j]))) for i, j in pairs])
    return dict(zip(pairs, adjusted, strict=True))


def rank_groups(points: Sequence[Outcomes], alpha: float = 0.05) -> list[int]:
    """The rank of each system, in the order given; systems that cannot be told apart share a rank.

    Walk down the distinct scores. The first is the leading score of group 1. A score opens a new group when every
    system that has it differs from every system at the group's leading score (two-sided sign-flip p <= alpha after
    Holm over all pairs); it is then the leading score of that group. A group's rank is 1 + the number of systems
    above it. So equal scores always share a rank, and the order in which systems are given does not matter.
    """
    if not points:
        return []
    totals = [int(points_of(outcomes).sum()) for outcomes in points]
    p = pairwise_p(points)
    levels = sorted(set(totals), reverse=True)
    at = {level: [i for i, total in enumerate(totals) if total == level] for level in levels}
    ranks, leaders, rank, above = [0] * len(points), at[levels[0]], 1, 0
    for level in levels:
        pairs = [(min(i, j), max(i, j)) for i in at[level] for j in leaders]
        if level != levels[0] and all(p[pair] <= alpha for pair in pairs):
            leaders, rank = at[level], above + 1
        for i in at[level]:
            ranks[i] = rank
        above += len(at[level])
    return ranks


def typical_sd(points: Iterable[Outcomes]) -> float | None:
    """The median over pairs of systems of the standard deviation of their difference a question; None below two."""
    arrays = [points_of(outcomes) for outcomes in points]
    deviations = [float((a - b).std()) for a, b in combinations(arrays, 2)]
    return float(np.median(deviations)) if deviations else None


def smallest_detectable_difference(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference of two scores that a paired test on n questions finds with this power.

    (z(1 - alpha/2) + z(power)) sd / sqrt(n), the usual normal approximation; `sd` is that of the difference a
    question (see `typical_sd`; 1.0 is a cautious guess where nothing is known).
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * sd / math.sqrt(n)
