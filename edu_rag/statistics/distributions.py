"""Exact distributions of sums: of draws with replacement (the bootstrap) and of fair signs (the permutation tests)."""

from __future__ import annotations

import math

import numpy as np

from edu_rag.statistics.points import Floats, Ints, Outcomes, points_of

_ROUNDING = 1e-12
"""What the FFT may leave on a cumulative probability; without it a quantile could slip by one step."""


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


def places_of(n: int, level: float) -> tuple[int, int]:
    """The places, from 0, of the ends of an interval among n sorted resamples: as many lie below it as above.

    So the interval of B - A is that of A - B with the signs turned.
    """
    low = max(0, math.ceil(n * ((1 - level) / 2 - _ROUNDING)) - 1)
    return low, n - 1 - low


def quantiles(support: Ints, mass: Floats, level: float) -> tuple[float, float]:
    """The smallest values whose cumulative probability reaches (1 - level)/2 and 1 - (1 - level)/2, to 1e-12."""
    tail = (1 - level) / 2
    low, high = support[np.searchsorted(np.cumsum(mass) + _ROUNDING, (tail, 1 - tail))]
    return float(low), float(high)


def half_binomial(n: int) -> Floats:
    """Probabilities of 0..n heads in n fair throws, through logarithms so that n may be large."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] - n * math.log(2)))


def _thrown(mass: Floats, size: int, times: int, most: int) -> Floats:
    """The distribution of a sum after `times` more fair throws, each worth 0 or `size`; of sums up to `most` alone."""
    weights = half_binomial(times)
    grown = np.zeros(-(-(len(mass) + size * times) // size) * size)
    for rest in range(min(size, len(mass))):  # sums of one remainder never meet those of another
        part = np.convolve(mass[rest::size], weights)
        grown[rest::size][: len(part)] = part
    return grown[: min(len(mass) + size * times, most + 1)]


def fair_sum(sizes: Ints, most: int | None = None) -> Floats:
    """Probabilities of 0..T of the sum of sizes (integers >= 1, T in all) of which each enters by a fair throw.

    Where `most` is given, of 0..most alone: the same numbers, and a tail costs a fraction of the whole.
    Equal sizes enter together, as a binomial; the most frequent first, since it costs nothing. Only numbers that are
    not negative are added, so far tails are as exact as the middle, which an FFT would not give.
    """
    values, times = np.unique(sizes, return_counts=True)
    order = np.argsort(-times, kind="stable")
    most = int(sizes.sum()) if most is None else most
    mass = np.ones(1)
    for place, at in enumerate(order):
        size, n = int(values[at]), int(times[at])
        if place == 0:
            mass = np.zeros(size * n + 1)
            mass[::size] = half_binomial(n)
            mass = mass[: most + 1]
        else:
            mass = _thrown(mass, size, n, most)
    return mass
