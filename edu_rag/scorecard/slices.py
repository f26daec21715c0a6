"""The slices that a question belongs to: the attributes by which scorecards and comparisons split their questions."""

from __future__ import annotations

from collections.abc import Iterable

from edu_rag.records import Question
from edu_rag.scorecard.support import Support


def slice_keys(question: Question, support: Support) -> Iterable[tuple[str, str]]:
    """The slices a question belongs to, as (attribute, value)."""
    question_id = question.question_id
    yield "kind", question.kind
    yield "n_choices", str(len(question.choices))
    if question.lesson is not None:
        yield "lesson", question.lesson
    for flag in question.flags:
        yield "flag", flag
    if support.has_pages:
        yield "pages", "has pages" if question_id in support.with_pages else "no pages"
        yield "evidence", "supported" if question_id in support.evidence else "unsupported"
        if support.leaked is not None:
            yield "leak", "leaked" if question_id in support.leaked else "clean"
