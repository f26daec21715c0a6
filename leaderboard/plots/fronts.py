"""The Pareto front: what no other beats in both cost and score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.plots.plotted_systems import System


class Spot(NamedTuple):
    """A system with what it costs, in the unit of the plot; `is_measured` says whether the harness saw that itself."""

    system: System
    cost: float
    is_measured: bool = False


def front_of(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that no other equals or beats in both, cheapest first; of equal ones the first."""
    front: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.cost, -spot.system.score, spot.system.number)):
        if not front or spot.system.score > front[-1].system.score:
            front.append(spot)
    return front
