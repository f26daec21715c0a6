"""On which kinds of questions do two systems differ? One exact test a slice, Holm over all that are tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from edu_rag.statistics import holm, points_of, sign_flip_p, units_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.exam.exam import Exam

MIN_DIFFERING = 6
"""A sign-flip test on fewer units that differ cannot reach p <= 0.05: 2 / 2**5 is 0.0625."""
_UNTESTED = "lesson"
"""A lesson is one unit of the test, so that it cannot be tested alone."""


class SliceDifference(NamedTuple):
    """The difference of two scores on the n questions of a slice, its exact sign-flip p, and p after Holm."""

    attribute: str
    value: str
    n: int
    difference: float
    p: float
    p_holm: float


def _members(exam: Exam) -> dict[tuple[str, str], list[int]]:
    """The places of the questions of each slice, in order of attribute and value; lessons and the whole left out."""
    from edu_rag.scorecard.slices import slice_keys

    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, question in enumerate(exam.questions):
        for key in slice_keys(question, exam.support):
            found[key].append(place)
    return {key: found[key] for key in sorted(found) if key[0] != _UNTESTED and len(found[key]) < len(exam.questions)}


def _n_differing(d: NDArray[np.int64], lessons: Sequence[int], n_lessons: int) -> int:
    """How many units of a slice differ; where the exam has several lessons, a slice inside one is a single unit."""
    from edu_rag.statistics.points import unit_sums

    if n_lessons > 1 and len(set(lessons)) == 1 and lessons[0] != -1:
        return int(d.sum() != 0)
    return int((unit_sums(d, units_of(lessons, len(d))) != 0).sum())


def slice_differences(exam: Exam, first: str, second: str, lessons: Sequence[int]) -> tuple[SliceDifference, ...]:
    """The slices of an exam on which two systems (outcome letters) were tested.

    Slices in which fewer than six units differ are not: no outcome of theirs could be significant, and they would make
    Holm's correction stricter for the rest (Tarone 1990). Which those are does not depend on who is ahead.
    """
    d = points_of(first) - points_of(second)
    n_lessons = len(set(lessons))
    tested = []
    for key, places in _members(exam).items():
        own = d[places]
        own_lessons = [lessons[place] for place in places] if lessons else ()
        if _n_differing(own, own_lessons, n_lessons) >= MIN_DIFFERING:
            tested.append((key, own, sign_flip_p(own, own_lessons)))
    adjusted = holm([p for _, _, p in tested])
    return tuple(
        SliceDifference(attribute, value, len(own), float(own.mean()), p, p_holm)
        for ((attribute, value), own, p), p_holm in zip(tested, adjusted, strict=True)
    )
