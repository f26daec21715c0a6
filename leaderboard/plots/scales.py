"""Axes: from values to limits and ticks that people read easily."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
_FINE = (1, 2, 5)


class Scale(NamedTuple):
    """An axis: where it starts and ends, and its ticks, in the places that `place` gives to values."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    place: Callable[[float], float]


def _same(value: float) -> float:
    return value


def score_words(value: float) -> str:
    """A tick of a score or a rate, with a true minus sign."""
    text = f"{value:.2f}".removesuffix("0")
    return text.replace("-", "−") if float(text) else "0"


def linear(
    values: Iterable[float], most: int = 6, words: Callable[[float], str] = score_words, room: float = 0.0
) -> Scale:
    """An axis of scores or rates in -1..1 that holds all values, with at most `most` steps between ticks.

    `room` is a share of the values' range that stays free above them, for names.
    """
    known = list(values)
    low, high = min(known), max(known)
    high += room * (high - low)
    step = next((step for step in _STEPS if _steps(low, high, step) <= most), _STEPS[-1])
    first, last = _first(low, step), _first(low, step) + max(_steps(low, high, step), 1)
    ticks = tuple((place * step, words(place * step)) for place in range(first, last + 1))
    return Scale(ticks[0][0], ticks[-1][0], ticks, _same)


def _first(low: float, step: float) -> int:
    return math.floor(round(low / step, 9))


def _steps(low: float, high: float, step: float) -> int:
    return math.ceil(round(high / step, 9)) - _first(low, step)


def _fine_ticks(low: int, high: int) -> list[float]:
    return [lead * 10.0**power for power in range(low, high + 1) for lead in _FINE]


def logarithmic(values: Sequence[float], words: Callable[[float], str], floor: float, most: int = 6) -> Scale:
    """An axis of amounts over many powers of ten; values up to `floor` are at its start."""
    known = [max(value, floor) for value in values]
    fine = _fine_ticks(math.floor(math.log10(min(known))) - 1, math.ceil(math.log10(max(known))) + 1)
    low = max(tick for tick in fine if tick <= min(known) * 1.000001)
    high = min(tick for tick in fine if tick >= max(known) * 0.999999 and tick > low)
    inside = [tick for tick in fine if low <= tick <= high * 1.000001]
    powers = [tick for tick in inside if math.log10(tick) % 1 < 1e-9 or math.log10(tick) % 1 > 1 - 1e-9]
    chosen = inside if len(inside) <= most else powers if len(powers) > 1 else inside[:: len(inside) - 1]
    chosen = chosen[:: math.ceil(len(chosen) / most)]
    at_floor = min(values) <= floor
    ticks = [
        (math.log10(tick), f"≤ {words(tick)}" if at_floor and tick <= floor * 1.000001 else words(tick))
        for tick in chosen
    ]
    pad = 0.03 * (math.log10(high) - math.log10(low))
    return Scale(math.log10(low) - pad, math.log10(high) + pad, tuple(ticks), lambda v: math.log10(max(v, floor)))


def _plain(value: float) -> str:
    return f"{value:,.12f}".rstrip("0").rstrip(".")


def seconds_words(value: float) -> str:
    """Seconds, milliseconds, microseconds: without zeros that one has to count."""
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size * 0.999999:
            return f"{_plain(float(f'{value / size:.3g}'))} {unit}"
    return f"{_plain(float(f'{value * 1e6:.3g}'))} µs"


def dollars_words(value: float) -> str:
    """US dollars, in as many digits as mean something."""
    return f"${_plain(float(f'{value:.3g}'))}" if value else "$0"


def amount_words(value: float) -> str:
    """A number of things, thousands and millions in letters."""
    for size, unit in ((1e9, "bn"), (1e6, "m"), (1e3, "k")):
        if value >= size:
            return f"{_plain(float(f'{value / size:.3g}'))}{unit}"
    return _plain(float(f"{value:.3g}"))


def counted(most_value: float, most: int = 5) -> Scale:
    """An axis of numbers of things from 0, with at most `most` steps between ticks."""
    top = max(most_value, 1)
    steps = (lead * 10**power for power in range(16) for lead in _FINE)
    step = next(step for step in steps if top / step <= most)
    last = math.ceil(top / step)
    return Scale(0, last * step, tuple((place * step, amount_words(place * step)) for place in range(last + 1)), _same)
