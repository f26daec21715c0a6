"""Holm's correction of p-values for many comparisons: of all pairs of systems, or of all slices."""

from __future__ import annotations

from collections.abc import Sequence

from edu_rag.statistics.paired_tests import pair_p
from edu_rag.statistics.points import Lessons, Outcomes


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values, in the order given: significant at alpha where <= alpha."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def pairwise_p(systems: Sequence[Outcomes], lessons: Lessons | None = None) -> dict[tuple[int, int], float]:
    """Holm-adjusted sign-flip p of every pair of systems (i < j) on the same questions."""
    plain = pair_p(systems, lessons)
    return dict(zip(plain, holm(list(plain.values())), strict=True))
