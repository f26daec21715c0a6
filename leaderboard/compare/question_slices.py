"""Which questions of a table share a value, for the flips by slice: the slices of a scorecard, question by question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from edu_rag.records import Question
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


def _either(ids: Collection[str], yes: str, no: str) -> Callable[[Question], str]:
    return lambda question: yes if question.question_id in ids else no


def _flagged(flag: str, question: Question) -> str | None:
    return flag if flag in question.flags else None


def _with_pages(exam: SiteExam) -> set[str]:
    return {one for one, hits in exam.hits.items() if any(hit.page_id is not None for hit in hits)}


def _leaked(exam: SiteExam) -> set[str] | None:
    """Questions that a page of the split holds; None if the builder did not look for them."""
    if "leaks" not in exam.dataset.manifest.sources:
        return None
    table = exam.dataset.columns("leaks", exam.split, ("question_id",))
    return set() if table is None else set(table.column("question_id").to_pylist())


def _readers(exam: SiteExam) -> Iterator[tuple[str, Callable[[Question], str | None]]]:
    """The attributes of a scorecard in their order, lessons apart, and how a question's value is found."""
    with_pages, leaked = _with_pages(exam), _leaked(exam)
    if with_pages:
        yield "evidence", _either({one for one, found in exam.evidence.items() if found}, "supported", "unsupported")
    for flag in sorted({flag for question in exam.questions for flag in question.flags}):
        yield "flag", partial(_flagged, flag)
    yield "kind", lambda question: question.kind
    if with_pages and leaked is not None:
        yield "leak", _either(leaked, "leaked", "clean")
    yield "n_choices", lambda question: str(len(question.choices))
    if with_pages:
        yield "pages", _either(with_pages, "has pages", "no pages")


def attributes_of(exam: SiteExam, ids: Sequence[str]) -> list[Attribute]:
    """The attributes by which these questions of an exam differ, ordered as the slices of a scorecard are."""
    by_id = {question.question_id: question for question in exam.questions}
    questions = [by_id[one] for one in ids]
    found = [_attribute(name, [value(question) for question in questions]) for name, value in _readers(exam)]
    return [attribute for attribute in found if attribute is not None]


def slices_values(exam: SiteExam, ids: Sequence[str]) -> dict[str, Any]:
    """A table's file: {format, attributes: [{attribute, values, at}]}."""
    return {"format": FORMAT, "attributes": [one._asdict() for one in attributes_of(exam, ids)]}
