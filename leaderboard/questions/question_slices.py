"""Which questions of a table share a value, for the flips by slice: the slices of a scorecard, question by question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from edu_rag.scorecard.slices import slice_keys
from leaderboard.exams import SiteExam

FORMAT = "edu-rag-slices-v1"
NONE = "-"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""One digit a value; no attribute here has more: a question has at most 26 choices."""


class Attribute(NamedTuple):
    """A letter a question, in the order of outcome letters: the digit of its value among `values`, '-' for none."""

    attribute: str
    values: Sequence[str]
    at: str


def _attribute(name: str, found: Sequence[str | None]) -> Attribute | None:
    """None if the value is the same for all, which says nothing new."""
    values = sorted({value for value in found if value is not None})
    if set(found) == set(values[:1]):
        return None
    digits = dict(zip(values, DIGITS, strict=False))
    return Attribute(name, values, "".join(NONE if value is None else digits[value] for value in found))


def attributes_of(exam: SiteExam, ids: Sequence[str]) -> list[Attribute]:
    """The attributes by which these questions of an exam differ, ordered as the slices of a scorecard are.

    A question may have several flags, so each flag is an attribute. Lessons are left out: they are too many.
    """
    by_id = {question.question_id: question for question in exam.questions}
    keys = [slice_keys(by_id[one], exam.support) for one in ids]
    # By attribute, and by flag: the value of each question that has one.
    found: defaultdict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for at, of_question in enumerate(keys):
        for name, value in of_question:
            if name != "lesson":
                found[name, value if name == "flag" else ""][at] = value
    places = range(len(ids))
    columns = [_attribute(name, [values.get(at) for at in places]) for (name, _), values in sorted(found.items())]
    return [attribute for attribute in columns if attribute is not None]


def slices_values(exam: SiteExam, ids: Sequence[str]) -> dict[str, Any]:
    """A table's file: {format, attributes: [{attribute, values, at}]}."""
    return {"format": FORMAT, "attributes": [one._asdict() for one in attributes_of(exam, ids)]}
