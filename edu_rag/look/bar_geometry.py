"""Geometry of the small bars, in units of their SVG view boxes; colours come from classes in the style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from edu_rag.scorecard.card import OUTCOMES, Counts

AXIS = 200
"""Width of a score axis; on the whole one -1 is at 0, zero at 100, +1 at 200."""
WIDTH = 100
"""Width of a stacked outcome bar."""


class IntervalBar(NamedTuple):
    """The positions of a score and its interval on the common axis."""

    at: str
    low: str | None
    width: str | None


class BarPart(NamedTuple):
    """One outcome's piece of a stacked bar."""

    outcome: str
    x: str
    width: str


def _units(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


class ScoreAxis(NamedTuple):
    """The scores at the ends of a common axis."""

    low: float = -1.0
    high: float = 1.0

    def place(self, score: float) -> float:
        """The place of a score in units of the axis."""
        return (score - self.low) / (self.high - self.low) * AXIS

    @property
    def zero(self) -> str:
        """The place of zero."""
        return _units(self.place(0))


WHOLE_AXIS = ScoreAxis()
"""Every score there can be."""


def axis_of(scores: Iterable[float]) -> ScoreAxis:
    """The axis that spans some scores and zero, with ends at tenths; it is never shorter than a fifth."""
    known = [0.0, *scores]
    low, high = math.floor(round(10 * min(known), 6)), math.ceil(round(10 * max(known), 6))
    if high - low < 2:
        low, high = max(low - 1, -10), min(high + 1, 10)
    return ScoreAxis(low / 10, high / 10)


def interval_bar(score: float, interval: tuple[float, float] | None, axis: ScoreAxis = WHOLE_AXIS) -> IntervalBar:
    """Place a score and its interval on the axis."""
    at = _units(axis.place(score))
    if interval is None:
        return IntervalBar(at, None, None)
    low, high = map(axis.place, interval)
    # A hair at least, so that an interval of no width (always-abstain) is still seen.
    return IntervalBar(at, _units(low), _units(max(high - low, 0.5)))


def outcome_parts(counts: Counts) -> list[BarPart]:
    """The five outcomes side by side, in their fixed order; outcomes that never occurred have no piece."""
    parts, done = [], 0
    for outcome in OUTCOMES:
        count = getattr(counts, outcome)
        if count:
            parts.append(BarPart(outcome, _units(done / counts.n * WIDTH), _units(count / counts.n * WIDTH)))
        done += count
    return parts
