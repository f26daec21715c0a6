"""People's reviews of generated questions: the criteria, the lines that the review page saves, and what they accept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.files.jsonl import read_records

MAX_NOTE = 1_000


class Criterion(NamedTuple):
    """One question that a reviewer answers with yes or no."""

    name: str
    title: str
    question: str


CRITERIA = (
    Criterion("faithfulness", "Faithfulness", "Does the text state everything that the answer says?"),
    Criterion("answer_relevancy", "Answer relevancy", "Does the answer reply to the question?"),
    Criterion("context_relevancy", "Context relevancy", "Is the text about what the question asks?"),
    Criterion("correctness", "Correctness", "Is the answer right, given the text, and is no other choice right?"),
    Criterion("clarity", "Clarity", "Are question and answer clear, without needless jargon?"),
    Criterion("completeness", "Completeness", "Does the answer cover every part of the question?"),
)
"""HyPA-RAG's criteria for question-answer pairs (Kalra et al., table 5), in our own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReview:
    """One reviewer's answers about one question. Invariants: a time with its zone; a name; exactly the criteria."""

    at: datetime
    reviewer: str
    question_id: str
    question_key: str
    criteria: Mapping[str, bool]
    note: str = ""

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise RecordError("at", "has no time zone", "2026-11-21T09:30:00Z is one")
        if not self.reviewer.strip():
            raise RecordError("reviewer", "is blank")
        names = {one.name for one in CRITERIA}
        if set(self.criteria) != names:
            raise RecordError("criteria", "are not the six of the review page", f"give {', '.join(sorted(names))}")
        if len(self.note) > MAX_NOTE:
            raise RecordError("note", f"has over {MAX_NOTE:,} characters")

    def accepts(self) -> bool:
        """Whether all six answers are yes."""
        return all(self.criteria.values())


def question_key(line: Mapping[str, Any]) -> str:
    """The key that ties a review to a text: 16 hexadecimal digits over question, choices and answer of a line."""
    parts = [line["question"], list(line["choices"].values()), line["answer"]]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def read_reviews(paths: Iterable[Path]) -> list[QuestionReview]:
    """The reviews of all files: of one reviewer's reviews of a question only the latest, of equal times the last."""
    found: dict[tuple[str, str], QuestionReview] = {}
    for path in paths:
        for _, review in read_records(path, QuestionReview):
            earlier = found.setdefault((review.reviewer, review.question_id), review)
            if review.at >= earlier.at:
                found[review.reviewer, review.question_id] = review
    return list(found.values())


def accepted_lines(
    lines: Iterable[dict[str, Any]], reviews: Iterable[QuestionReview], where: object
) -> Iterator[dict[str, Any]]:
    """The lines that have a review and that every reviewer of theirs accepts.

    Raises DataError (at `where`) for a review of a question that is not among the lines, or that has changed since.
    """
    by_id: dict[str, list[QuestionReview]] = {}
    for review in reviews:
        by_id.setdefault(review.question_id, []).append(review)
    for line in lines:
        own = by_id.pop(line["id"], [])
        if any(review.question_key != question_key(line) for review in own):
            what = f"the review of {line['id']!r} belongs to another text of the question"
            raise DataError(where, what, "give the question file that the review page was made from")
        if own and all(review.accepts() for review in own):
            yield line
    if by_id:
        first = min(by_id)
        raise DataError(where, f"unknown question id {first!r}", "give the question file of the review page")


class _Evidence(msgspec.Struct):
    url: str
    text: str


def evidence_marks(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """The evidence of generated questions as lines of a file of marks. Raises DataError for a field of another form."""
    for line in lines:
        try:
            spans = msgspec.convert(line.get("evidence", []), list[_Evidence])
        except msgspec.ValidationError as error:
            what = f"the field `evidence` is not one of a generated question: {str(error)[:200]}"
            raise DataError(line["id"], what, "leave out --marks") from None
        for span in spans:
            yield {"question_id": line["id"], "url": span.url, "text": span.text}
