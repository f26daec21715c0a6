"""Geometry of the small bars, in units of their SVG view boxes; colours come from classes in the style sheet."""

from __future__ import annotations

from typing import NamedTuple

from edu_rag.scorecard.card import OUTCOMES, Counts

AXIS = 200
"""Width of the common score axis: -1 is at 0, zero at 100, +1 at 200."""
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


def interval_bar(score: float, interval: tuple[float, float] | None) -> IntervalBar:
    """Place a score in [-1, 1] and its interval on the axis."""
    at = _units((score + 1) * AXIS / 2)
    if interval is None:
        return IntervalBar(at, None, None)
    low, high = interval
    # A hair at least, so that an interval of no width (always-abstain) is still seen.
    return IntervalBar(at, _units((low + 1) * AXIS / 2), _units(max((high - low) * AXIS / 2, 0.5)))


def outcome_parts(counts: Counts) -> list[BarPart]:
    """The five outcomes side by side, in their fixed order; outcomes that never occurred have no piece."""
    parts, done = [], 0
    for outcome in OUTCOMES:
        count = getattr(counts, outcome)
        if count:
            parts.append(BarPart(outcome, _units(done / counts.n * WIDTH), _units(count / counts.n * WIDTH)))
        done += count
    return parts
