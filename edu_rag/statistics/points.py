"""Outcomes as integers, and the groups of questions that are drawn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Outcomes = str | Sequence[int] | NDArray[Any]
"""Outcome letters of a scorecard (`ciauf`), or integers such as points in {-1, 0, 1}; one a question."""
Lessons = Sequence[int | None] | Sequence[str | None]
"""The lesson of each question: a scorecard's numbers or names; -1 or None for none; empty if none is known."""

_POINTS = {"c": 1, "i": -1, "a": 0, "u": 0, "f": 0}
_STRICT = {"c": 1, "i": -1, "a": 0, "u": -1, "f": -1}


def _codes(outcomes: Outcomes, of_letter: Mapping[str, int]) -> Ints:
    if isinstance(outcomes, str):
        table = np.full(128, 99, dtype=np.int64)
        for letter, code in of_letter.items():
            table[ord(letter)] = code
        codes = table[np.frombuffer(outcomes.encode("ascii"), dtype=np.uint8)]
        if (codes == 99).any():
            raise ValueError(f"outcomes hold letters other than {''.join(of_letter)}")
        return codes
    return np.asarray(outcomes, dtype=np.int64)


def points_of(outcomes: Outcomes) -> Ints:
    """Points in {-1, 0, 1}, one a question, from outcome letters; integers pass through. Raises ValueError."""
    return _codes(outcomes, _POINTS)


def strict_points_of(outcomes: str) -> Ints:
    """Points under the strict reading, where unparseable and failed cost a point as wrong answers do."""
    return _codes(outcomes, _STRICT)


def same_length(*outcomes: Outcomes) -> list[Ints]:
    """Points of several systems on the same questions. Raises ValueError if they differ in length."""
    arrays = [points_of(one) for one in outcomes]
    lengths = dict.fromkeys(len(points) for points in arrays)
    if len(lengths) > 1:
        raise ValueError(f"{' and '.join(map(str, lengths))} outcomes cannot be paired")
    return arrays


def units_of(lessons: Lessons | None, n: int) -> Ints | None:
    """The number of each question's unit, counted in order of first occurrence; None if each question is its own.

    A unit is what is drawn or flipped as a whole: a lesson, or a question without one. None if no lesson is known,
    where no lesson has a second question, and where all questions are of one lesson, which has no other to be drawn
    or flipped against. Raises ValueError if there are not n lessons.
    """
    if not lessons:
        return None
    if len(lessons) != n:
        raise ValueError(f"{len(lessons)} lessons for {n} questions")
    keys: list[object] = [(at,) if lesson in (None, -1) else lesson for at, lesson in enumerate(lessons)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(numbers) in (1, n):
        return None
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def unit_sums(values: Ints, units: Ints | None) -> Ints:
    """The sum of integer values in each unit; the values themselves where each question is its own unit."""
    return values if units is None else np.bincount(units, weights=values).astype(np.int64)


def shared_lessons(lessons: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The lessons of the questions of a table: those that all scorecards state that state any; empty if two differ.

    Lessons are facts of the questions, so they hold for a scorecard from before they were known as well; were they
    dropped for its sake, all others would look surer than they are.
    """
    distinct = {tuple(one) for one in lessons if len(one)}
    return distinct.pop() if len(distinct) == 1 else ()
