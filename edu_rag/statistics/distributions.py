"""Exact distributions of sums: of draws with replacement (the bootstrap) and of fair signs, and their tails."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edu_rag.statistics.points import Floats, Ints, Outcomes, points_of

_ROUNDING = 1e-12
"""The rounding error that the FFT may leave on a cumulative probability; without it a quantile could move by one step.
"""
_FIRST_LOOK = 1e-13
"""More than rounding takes from a squared modulus of at most 1: no frequency that counts is passed over."""


def sum_distribution(values: Outcomes, n: int | None = None) -> tuple[Ints, Floats]:
    """The exact distribution of the sum of n draws with replacement from integer values: (support, probabilities).

    An n-fold convolution: the inverse FFT of the characteristic function to the n-th power, on a window of +-14
    standard deviations around the mean (less than 1e-40 is outside). n defaults to the number of values.
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
    wrapped = np.fft.irfft(_spectrum(p, steps, n, size), size)  # at index s mod size: the window is one period
    mass = np.clip(np.roll(wrapped, -(first % size)), 0.0, None)
    return n * low + first + np.arange(size), mass / mass.sum()


def _spectrum(p: Floats, steps: Ints, n: int, size: int) -> NDArray[np.complex128]:
    """The characteristic function of one draw to the n-th power at the frequencies 0 ... size / 2.

    In polar form, and nothing where it has faded below 1e-40: most of a complex power's cost is of numbers that do
    not count.
    """
    from numpy.polynomial.chebyshev import chebval  # takes 10 ms, for questions without lessons alone

    faded = math.exp(-184 / n)
    # Its squared modulus is a series of cosines: the first look at every frequency costs one cosine, not ten.
    series = np.correlate(p, p, "full")[len(p) - 1 :] * np.where(steps, 2, 1)
    looked = chebval(np.cos((2 * np.pi / size) * np.arange(size // 2 + 1)), series)
    near = np.flatnonzero(looked > faded - _FIRST_LOOK)
    angles = (2 * np.pi / size) * (np.outer(near, steps) % size)
    real, imaginary = np.cos(angles) @ p, np.sin(angles) @ p
    squared = real * real + imaginary * imaginary
    kept = squared > faded
    modulus = np.exp(n / 2 * np.log(squared[kept]))
    turned = n * np.arctan2(imaginary[kept], real[kept])
    spectrum = np.zeros(len(looked), dtype=np.complex128)
    spectrum[near[kept]] = modulus * np.cos(turned) - 1j * (modulus * np.sin(turned))
    return spectrum


def places_of(n: int, level: float) -> tuple[int, int]:
    """The places, from 0, of the ends of an interval among n sorted resamples: as many are below it as above.

    So the interval of B - A is that of A - B with the signs turned.
    """
    low = max(0, math.ceil(n * ((1 - level) / 2 - _ROUNDING)) - 1)
    return low, n - 1 - low


def quantiles(support: Ints, mass: Floats, level: float) -> tuple[float, float]:
    """The smallest values whose cumulative probability reaches (1 - level)/2 and 1 - (1 - level)/2, to 1e-12."""
    tail = (1 - level) / 2
    low, high = support[np.searchsorted(np.cumsum(mass) + _ROUNDING, (tail, 1 - tail))]
    return float(low), float(high)


@lru_cache(maxsize=8)
def _log_factorials(n: int) -> Floats:
    """Logarithms of 0! ... n!; a longer table begins with the same numbers."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])


def half_binomial(n: int) -> Floats:
    """Probabilities of 0..n heads in n fair throws, through logarithms so that n may be large."""
    logs = _log_factorials(1 << n.bit_length())[: n + 1]
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


SHORT = 96
"""Tails of at most so many sums are convolved, which is as fast."""
LARGEST = 128
"""Sizes beyond are left to the convolution, whose tables stay small."""
LONGEST = 1 << 14
"""Most frequencies of a Fourier sum; longer sums are left to the convolution."""
_REACH = 9.5
"""Standard deviations on either side of the tilted mean; by Hoeffding (1963) less than 1e-19 is outside."""
_FADED = 92.0
"""A frequency whose weight is below exp(-92 / 2) = 1e-20 is left out."""


@lru_cache(maxsize=16)
def _circle(period: int, largest: int) -> tuple[Floats, Floats, Floats]:
    """cos, sin and sin^2 of v j pi / period: rows v = 1 ... largest, columns j = 0 ... period / 2."""
    angles = np.arange(2 * period) * (math.pi / period)
    steps = np.outer(np.arange(1, largest + 1), np.arange(period // 2 + 1)) % (2 * period)
    sines = np.sin(angles)[steps]
    return np.cos(angles)[steps], sines, sines * sines


def _tilt(sizes: Floats, times: Floats, reach: int) -> tuple[float, Floats]:
    """The tilt under which the mean of the sum is `reach`, to a tenth of its standard deviation, and tanh(tilt size).

    Newton's method from the left: tanh is concave, so that no step goes too far.
    """
    weights = times * sizes
    tilt = reach / float(weights @ sizes)
    while True:
        bent = np.tanh(tilt * sizes)
        short = reach - float(weights @ bent)
        variance = float((weights * sizes) @ (1 - bent * bent))
        if short <= math.sqrt(variance) / 10:
            return tilt, bent
        tilt += short / variance


def _series(tilt: float, at: NDArray[np.intp], sines: Floats, cosines: Floats, period: int) -> tuple[Floats, Floats]:
    """1 + z + z^2 + ... of period / 2 terms, z = exp(-2 (tilt + i pi at / period)): real and imaginary part.

    Above what is reached, the tilt's weight falls by z with each step of two.
    """
    ratio, less = math.exp(-2 * tilt), -math.expm1(-2 * tilt)
    real, imaginary = less + 2 * ratio * sines * sines, 2 * ratio * sines * cosines  # of 1 - z, exact near 0
    last = np.where(at % 2, 1 + math.exp(-tilt * period), -math.expm1(-tilt * period))  # 1 - z^(period / 2)
    scale = last / (less * less + 4 * ratio * sines * sines)
    return real * scale, -imaginary * scale


def _tilted_tail(sizes: Floats, times: Floats, reach: int, period: int) -> float:
    """P(sum of signed sizes >= reach > 0).

    The sum is tilted until its mean is `reach` (Esscher 1932), so that the tail is not a small difference of large
    numbers, and its distribution there is summed over the frequencies pi j / period at which the product of cosines,
    the characteristic function of fair signs, has not faded. Right to 1e-11 of itself, however small.
    """
    tilt, bent = _tilt(sizes, times, reach)
    largest = -(-int(sizes[-1]) // 16) * 16
    cosines, sines, squares = _circle(period, largest)
    rows = sizes.astype(np.intp) - 1
    square = 1 - bent * bent
    fading = np.zeros(largest)
    fading[rows] = times * square
    kept = np.flatnonzero(fading @ squares < _FADED)
    at = np.ix_(rows, kept)
    # The logarithm of a product of cos(angle) + i tanh sin(angle), each to the power of its times
    modulus = times @ np.log1p(-square[:, None] * squares[at]) / 2
    turned = times @ np.arctan2(bent[:, None] * sines[at], cosines[at])
    turned -= (math.pi / period) * (kept * reach % (2 * period))
    series = _series(tilt, kept, sines[0, kept], cosines[0, kept], period)
    summed = np.exp(modulus) * (np.cos(turned) * series[0] - np.sin(turned) * series[1])
    twice = np.where((kept == 0) | (2 * kept == period), 1.0, 2.0)  # the other half has the same real parts
    tail = float(twice @ summed) / period
    total = float(times @ sizes)
    log = tilt * (total - reach) + float(times @ np.log1p(np.exp(-2 * tilt * sizes))) - float(times.sum()) * math.log(2)
    return max(0.0, tail * math.exp(log))


@lru_cache(maxsize=1 << 16)
def _tail(counts: bytes, most: int) -> float:
    times = np.frombuffer(counts, dtype=np.int64)
    sizes = np.flatnonzero(times)
    times = times[sizes]
    total = int(sizes @ times)
    period = 256 * math.ceil((_REACH * math.sqrt(float(times @ sizes**2)) + 4) / 256)
    if most <= SHORT or 2 * most >= total or sizes[-1] > LARGEST or period > LONGEST:
        return float(fair_sum(np.repeat(sizes, times), most).sum())
    return _tilted_tail(sizes.astype(np.float64), times.astype(np.float64), total - 2 * most, period)


def fair_tail(sizes: Ints, most: int) -> float:
    """P(the sum of sizes (integers >= 0) of which each enters by a fair throw is <= most).

    As the sum of `fair_sum(sizes, most)`: the same number up to SHORT, else within 1e-11 of it. Earlier results are
    kept: the same differences occur in ranks, in pairs and in both readings of the score.
    """
    counts = np.bincount(sizes, minlength=1)
    counts[0] = 0
    return _tail(counts.astype(np.int64).tobytes(), most)
