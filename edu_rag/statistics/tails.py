"""The tail of a sum of fair signs, for tables of thousands of pairs: the convolution's values, many times faster."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edu_rag.statistics.distributions import fair_sum
from edu_rag.statistics.points import Floats, Ints

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
    told = float(twice @ summed) / period
    total = float(times @ sizes)
    log = tilt * (total - reach) + float(times @ np.log1p(np.exp(-2 * tilt * sizes))) - float(times.sum()) * math.log(2)
    return max(0.0, told * math.exp(log))


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
