"""A system's lost points: its questions by the cause of the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.look.texts import clip, quoted
from edu_rag.processes.budget import within_budget
from edu_rag.records import Question
from edu_rag.scorecard.card import CAUSES, Prediction, SystemFacts, Verdict
from harness.exam import Exam, open_exam
from harness.judging.grading import Grading, grade_all, is_offline
from harness.probing.probe_files import read_answered
from harness.scoring.attribution import causes_of, points_lost
from harness.scoring.score import require_readable
from harness.submission.target import Target

MAX_TEXT = 90
"""Characters of a question's text that a line shows."""
MAX_ANSWER = 80
"""Characters of an answer that a line shows."""


class Lost(NamedTuple):
    """A question without a right answer, its verdict, and the cause: one of harness.scoring.attribution.CAUSES.

    `answer` is the system's answer; None if it gave none.
    """

    question: Question
    verdict: Verdict
    cause: str
    answer: str | None


class LostPoints(NamedTuple):
    """A system's lost questions in order of id, and the points they cost by cause."""

    dataset: str
    system: SystemFacts
    n: int
    lost: Sequence[Lost]
    points: dict[str, int]


def find_losses(
    dataset: Dataset, split: str, target: Target, sample: str | None = None, grading: Grading | None = None
) -> LostPoints:
    """Attribute every lost question of a predictions file, in a child with the budget of `edu_rag.processes.budget`.

    Raises DataError, SubmissionError or BudgetError.
    """
    exam, grading = open_exam(dataset, split, sample), grading or Grading()
    if is_offline(grading.judge):
        return within_budget(_losses, exam, target, grading, what=target.path)
    # A judge that asks a model keeps its grades in memory, where a child would lose them: only the reading is bounded.
    within_budget(require_readable, target.path, exam, what=target.path)
    return _losses(exam, target, grading)


def _losses(whole: Exam, target: Target, grading: Grading) -> LostPoints:
    exam, system, predictions, probe = answered = read_answered(whole, target)
    if not answered.has_own_pages:
        what = f"these are answers to the probe {probe}, which gave other pages than the dataset's"
        raise SubmissionError(target.path, what, "give the predictions of the run, or one QUESTION to explain")
    verdicts, _ = grade_all(exam.questions, exam.gold, predictions, grading)
    causes = causes_of(exam.questions, predictions, verdicts, exam.support)
    found = zip(exam.questions, verdicts, causes, strict=True)
    lost = [
        Lost(question, verdict, cause, _answer(predictions.get(question.question_id)))
        for question, verdict, cause in found
        if cause is not None
    ]
    return LostPoints(exam.dataset, system, len(exam.questions), lost, points_lost(causes, verdicts))


def _answer(prediction: Prediction | None) -> str | None:
    return prediction.answer if prediction is not None and prediction.status == "ok" else None


def lost_to(losses: LostPoints, cause: str) -> list[Lost]:
    """The questions lost to a cause. Raises SubmissionError if there is no such cause."""
    if cause not in CAUSES:
        raise SubmissionError("--lost", f"unknown cause {cause[:40]!r}", f"choose from {', '.join(CAUSES)}")
    return [lost for lost in losses.lost if lost.cause == cause]


def losses_lines(losses: LostPoints) -> Iterator[str]:
    """How many questions, and points, each cause cost."""
    n_points = sum(losses.points.values())
    yield (
        f"{losses.system.slug} on {losses.dataset}: {len(losses.lost):,} of {losses.n:,} questions without a right "
        f"answer; {n_points:,} points below all right (an incorrect answer costs 2, any other 1)"
    )
    yield f"  {'cause':14} {'questions':>9} {'points':>7}"
    for cause, means in CAUSES.items():
        n = sum(lost.cause == cause for lost in losses.lost)
        yield f"  {cause:14} {n:9,} {losses.points[cause]:7,}   {means}"


def lost_lines(found: Sequence[Lost], limit: int | None) -> Iterator[str]:
    """One line a question: id, outcome, the beginning of its text; below it the answer if its form was at fault."""
    shown = found if limit is None else found[:limit]
    for lost in shown:
        yield f"{lost.question.question_id}  {lost.verdict.outcome:11}  {clip(lost.question.text, MAX_TEXT)}"
        if lost.verdict.outcome == "unparseable":
            yield f"    answer: {quoted(lost.answer or '', MAX_ANSWER)}: {lost.verdict.reason}"
        elif lost.verdict.outcome == "failed":
            yield f"    reason: {lost.verdict.reason}"
    if len(found) > len(shown):
        yield f"… and {len(found) - len(shown):,} more (--limit shows more)"


def losses_values(losses: LostPoints, found: Sequence[Lost], limit: int | None) -> dict[str, Any]:
    """Losses as JSON-ready values: counts and points by cause, and the questions found."""
    shown = found if limit is None else found[:limit]
    return {
        "dataset": losses.dataset,
        "system": losses.system.slug,
        "n": losses.n,
        "attribution": {cause: sum(lost.cause == cause for lost in losses.lost) for cause in CAUSES},
        "points_lost": losses.points,
        "n_found": len(found),
        "questions": [
            {
                "question_id": question.question_id,
                "cause": cause,
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "answer": answer,
                "text": question.text,
            }
            for question, verdict, cause, answer in shown
        ],
    }
