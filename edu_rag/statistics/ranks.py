"""Ranks as tie groups: many systems on the same questions, in pairs after Holm, and the rank that each has earned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from edu_rag.significance import ALPHA
from edu_rag.statistics.holm_correction import holm
from edu_rag.statistics.paired_tests import Differ
from edu_rag.statistics.points import Lessons, Outcomes, points_of, same_length, unit_sums, units_of


def _decisive_p(systems: Sequence[Outcomes], alpha: float, lessons: Lessons | None) -> dict[tuple[int, int], float]:
    """As `holm_correction.pairwise_p`, where a value may be larger than the exact one as long as both are <= alpha.

    The sum of fair signs with sizes s reaches t with probability <= 2 exp(-t^2 / 2 sum(s^2)) (Hoeffding 1963, theorem
    2). Where that is <= alpha / number of pairs, Holm finds a difference with either of the two, and the same for all
    other pairs: so the exact sum, the expensive part of a large table, is computed for close pairs only.
    """
    arrays = same_length(*systems)
    units = units_of(lessons, len(arrays[0]))
    sums = np.stack([unit_sums(points, units) for points in arrays]).astype(np.float64)  # whole numbers: exact
    products, totals = sums @ sums.T, sums.sum(axis=1)
    pairs = list(combinations(range(len(arrays)), 2))
    bounds = []
    for i, j in pairs:
        squares = products[i, i] + products[j, j] - 2 * products[i, j]
        bounds.append(2 * math.exp(-((totals[i] - totals[j]) ** 2) / (2 * squares)) if squares else 1.0)
    differ = Differ(arrays, units)
    p = [bound if bound <= alpha / len(pairs) else differ.p(*pair) for pair, bound in zip(pairs, bounds, strict=True)]
    return dict(zip(pairs, holm(p), strict=True))


def rank_groups(systems: Sequence[Outcomes], alpha: float = ALPHA, lessons: Lessons | None = None) -> list[int]:
    """The rank of each system, in the order given; systems without an established difference share a rank.

    Walk down the distinct scores. The first is the leading score of group 1. A score opens a new group when every
    system that has it differs from every system at the group's leading score (two-sided sign-flip p <= alpha after
    Holm over all pairs); it is then the leading score of that group. A group's rank is 1 + the number of systems
    above it. So equal scores always share a rank, and the order in which systems are given does not matter.
    """
    if not systems:
        return []
    totals = [int(points_of(outcomes).sum()) for outcomes in systems]
    p = _decisive_p(systems, alpha, lessons)
    levels = sorted(set(totals), reverse=True)
    at = {level: [i for i, total in enumerate(totals) if total == level] for level in levels}
    ranks, leaders, rank, above = [0] * len(systems), at[levels[0]], 1, 0
    for level in levels:
        pairs = [(min(i, j), max(i, j)) for i in at[level] for j in leaders]
        if level != levels[0] and all(p[pair] <= alpha for pair in pairs):
            leaders, rank = at[level], above + 1
        for i in at[level]:
            ranks[i] = rank
        above += len(at[level])
    return ranks
