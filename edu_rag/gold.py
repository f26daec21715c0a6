"""The gold answers: their record, in a separate module that code talking to a system never imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edu_rag.errors import DataError, RecordError
from edu_rag.records import LABELS, Question, is_page_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """The right answer of one question: a label, or accepted texts for a free_text question.

    Invariants: exactly one of `answer` and `texts` is given.
    """

    question_id: str
    answer: str | None = None
    texts: tuple[str, ...] = ()
    home_page: str | None = None
    """The id of the page that the question was taken from, where its source is part of the web."""
    extra: str | None = None
    """What else the question's file holds, as one JSON object: explanations, years, difficulties. It may reveal the
    answer, so it is kept with the gold, which no code that talks to a system can import."""

    def __post_init__(self) -> None:
        if (self.answer is None) == (not self.texts):
            raise RecordError("answer", "give a label in `answer` or accepted texts in `texts`, one of the two")
        if self.answer is not None and (len(self.answer) != 1 or self.answer not in LABELS):
            raise RecordError("answer", f"{self.answer!r} is not a label")
        if self.home_page is not None and not is_page_id(self.home_page):
            raise RecordError("home_page", f"{self.home_page!r} is not a page id")
        if self.texts and any(not text.strip() for text in self.texts):
            raise RecordError("texts", "an accepted text is blank")
        if self.extra is not None and not (self.extra.startswith("{") and self.extra.endswith("}")):
            raise RecordError("extra", "is not a JSON object")


def match_gold(questions: Iterable[Question], golds: Iterable[Gold], where: object) -> Mapping[str, Gold]:
    """Gold by question id: exactly one for each question, and no other.

    Raises DataError (at `where`) for a missing, repeated or stray gold, and for a label that is not a choice.
    """
    by_id: dict[str, Gold] = {}
    for gold in golds:
        if gold.question_id in by_id:
            raise DataError(where, f"question {gold.question_id} has two golds", "keep one of them")
        by_id[gold.question_id] = gold
    known = set()
    for question in questions:
        known.add(question.question_id)
        found = by_id.get(question.question_id)
        if found is None and not by_id:
            what = f"question {question.question_id} has no gold, and neither has any other: the split is hidden"
            raise DataError(where, what, "send the predictions to the dataset's keepers, who have the gold")
        if found is None:
            raise DataError(where, f"question {question.question_id} has no gold", "add it or drop the question")
        if (found.answer is None) != (question.kind == "free_text"):
            raise DataError(where, f"gold of {question.question_id} does not suit its kind {question.kind}")
        if found.answer is not None and found.answer not in question.choices:
            raise DataError(where, f"gold {found.answer!r} of {question.question_id} is not one of its choices")
    stray = sorted(set(by_id) - known)
    if stray:
        raise DataError(where, f"gold for unknown question {stray[0]} ({len(stray)} in all)", "rebuild the dataset")
    return by_id
