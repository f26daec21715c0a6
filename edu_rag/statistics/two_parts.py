"""Two parts of one system's questions, such as those that its team declares and the rest, and whether they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from edu_rag.statistics.bootstrap import rate_intervals
from edu_rag.statistics.points import points_of

FEWEST = 20
"""Questions of a part below which its interval is too good to be true: one question's is a point."""


class Part(NamedTuple):
    """A part of n questions: its score, and the score's 95 % interval over these questions."""

    n: int
    score: float
    interval: tuple[float, float]


def kept(outcomes: str, lessons: Sequence[int], marks: str, mark: str) -> tuple[str, tuple[int, ...]]:
    """Outcomes and lessons of the questions with this mark, in their order; `marks` holds one character a question."""
    chosen = [found == mark for found in marks]
    return "".join(compress(outcomes, chosen)), tuple(compress(lessons, chosen))


def part_of(outcomes: str, lessons: Sequence[int], marks: str, mark: str) -> Part | None:
    """The part of the questions with this mark; None if there is none."""
    own, own_lessons = kept(outcomes, lessons, marks, mark)
    if not own:
        return None
    interval = rate_intervals(own, own_lessons)[0]["score"]
    return Part(len(own), int(points_of(own).sum()) / len(own), interval)


def difference_of(first: Part, second: Part) -> tuple[float, float]:
    """95 % interval of the difference first - second of two parts that share no question.

    From the two intervals (MOVER: Zou & Donner 2008, equation 4). A lesson in both parts makes them similar, so the
    true interval is narrower than this one.
    """
    (low_1, high_1), (low_2, high_2) = first.interval, second.interval
    difference = first.score - second.score
    below = math.hypot(first.score - low_1, high_2 - second.score)
    above = math.hypot(high_1 - first.score, second.score - low_2)
    return difference - below, difference + above


def is_lower(first: Part | None, second: Part | None) -> bool:
    """Whether the first part's score is lower by more than the luck of these questions; needs FEWEST in both."""
    if first is None or second is None or min(first.n, second.n) < FEWEST:
        return False
    return difference_of(first, second)[1] < 0
