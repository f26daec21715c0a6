"""The cases of the claim metrics: answers of a predictions file, each with the texts of the passages that it cites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_values
from edu_rag.gold import Gold
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Passage, Prediction
from harness.exam import Exam
from harness.judging.claims.claim_values import Importance, Nugget
from harness.judging.claims.judge_replies import MAX_CHARACTERS, MAX_NUGGETS
from harness.judging.claims.judged_answer import ClaimCase, Status
from harness.judging.free_text import abstains
from harness.reading.answers import MAX_CHARACTERS as MAX_ANSWER_CHARACTERS
from harness.reading.answers import read_answer
from harness.reading.wrappers import without_thought

MAX_PASSAGES = 20
MAX_PASSAGE_CHARACTERS = 4_000
"""Passages after the 20th, and characters of a passage after the 4,000th, are not judged."""


def claim_cases(
    dataset: Dataset,
    exam: Exam,
    predictions: Mapping[str, Prediction],
    nuggets: Mapping[str, Sequence[Nugget]] | None = None,
) -> list[ClaimCase]:
    """One case for every question of the exam, in its order, answered or not."""
    cited = {q.question_id: _cited(predictions.get(q.question_id)) for q in exam.questions}
    pages = dataset.pages(exam.split, {page_id for passages in cited.values() for page_id, _, _ in passages})
    return [
        _case(q, exam.gold[q.question_id], predictions.get(q.question_id), _texts(cited[q.question_id], pages), nuggets)
        for q in exam.questions
    ]


def _cited(prediction: Prediction | None) -> Sequence[Passage]:
    return prediction.passages[:MAX_PASSAGES] if prediction is not None else ()


def _texts(passages: Iterable[Passage], pages: Mapping[str, WebPage]) -> list[str]:
    """The texts of passages in their order; a page that the dataset lacks, or a span outside it, has none."""
    texts = [
        pages[page_id].text[start : min(end, start + MAX_PASSAGE_CHARACTERS)]
        for page_id, start, end in passages
        if page_id in pages
    ]
    return [text for text in texts if text.strip()]


def _case(
    question: Question,
    gold: Gold,
    prediction: Prediction | None,
    passages: Sequence[str],
    nuggets: Mapping[str, Sequence[Nugget]] | None,
) -> ClaimCase:
    references = gold.texts or (question.choices[gold.answer or ""],)
    status, answer = answer_of(question, references, prediction)
    listed = None if nuggets is None else nuggets.get(question.question_id)
    return ClaimCase(question.question_id, question.text, references, status, answer, passages, listed)


def answer_of(question: Question, references: Sequence[str], prediction: Prediction | None) -> tuple[Status, str]:
    """Whether the system answered, and what: of a question with choices the text of the choice that it names.

    "I don't know" is an answer where it is a reference. Too long an answer, and a thought without an end, are failures,
    as the rules of free text have them.
    """
    if prediction is None or prediction.status != "ok":
        return "failed", ""
    if prediction.answer is None:
        return "abstained", ""
    answer = without_thought(prediction.answer)
    if answer is None or len(prediction.answer) > MAX_ANSWER_CHARACTERS:
        return "failed", ""
    if question.choices and (label := read_answer(answer, question.choices).label):
        return "answered", question.choices[label]
    if not answer.strip() or abstains(answer, () if question.choices else references):
        return "abstained", ""
    return "answered", answer


class _NuggetField(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(max_length=MAX_CHARACTERS, pattern=r"\S")]
    importance: Importance


class _NuggetsLine(msgspec.Struct, forbid_unknown_fields=True):
    question_id: str
    nuggets: Annotated[list[_NuggetField], msgspec.Meta(max_length=MAX_NUGGETS)]


def read_nuggets_file(path: Path, known: Iterable[str]) -> dict[str, list[Nugget]]:
    """People's nuggets by question id: JSON lines `{"question_id", "nuggets": [{"text", "importance"}]}`.

    Raises DataError for an unknown or repeated question and for a nugget of another form.
    """
    ids, found = set(known), dict[str, list[Nugget]]()
    for number, value in read_values(path):
        where = f"{path}:{number}"
        try:
            line = msgspec.convert(value, _NuggetsLine)
        except msgspec.ValidationError as error:
            remedy = "write question_id, and nuggets with text and importance (vital or okay)"
            raise DataError(where, f"is not a line of nuggets: {str(error)[:200]}", remedy) from None
        if line.question_id not in ids or line.question_id in found:
            what = "repeated" if line.question_id in found else "unknown"
            raise DataError(where, f"{what} question id {line.question_id[:60]!r}", "name each question once")
        found[line.question_id] = [Nugget(field.text.strip(), field.importance) for field in line.nuggets]
    return found
