"""One question's verdict: the prediction, compared with the gold answer, gives one of five outcomes."""

from __future__ import annotations

from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, Verdict
from harness.judging.free_text import FreeTextJudge, Rules, Unjudged, UnjudgedError
from harness.reading.answers import read_answer

_FAULTS = {
    "crash": "the system crashed",
    "timeout": "the system ran out of time",
    "output_cap": "the system wrote too much",
    "protocol": "the system's line was no answer",
}


def said(question_id: str, prediction: Prediction | None) -> str | Verdict:
    """The answer to read, or the verdict if there is none: no prediction, a fault, an explicit null."""
    if prediction is None:
        return Verdict(question_id=question_id, outcome="failed", reason="no prediction for this question")
    if prediction.status != "ok":
        return Verdict(question_id=question_id, outcome="failed", reason=_FAULTS[prediction.status])
    if prediction.answer is None:
        return Verdict(question_id=question_id, outcome="abstained", reason="answer is null")
    return prediction.answer


def _of_choice(question: Question, gold: Gold, answer: str) -> Verdict:
    question_id = question.question_id
    reading = read_answer(answer, question.choices)
    if reading.kind != "choice":
        return Verdict(question_id=question_id, outcome=reading.kind, reason=reading.reason)
    if reading.label == gold.answer:
        return Verdict(question_id=question_id, outcome="correct", reason=reading.reason)
    return Verdict(question_id=question_id, outcome="incorrect", reason=f"{reading.reason}; gold is {gold.answer}")


def of_free_text(question: Question, gold: Gold, answer: str, free_text: FreeTextJudge) -> Verdict:
    """Judge an answer with a judge of free text. Raises UnjudgedError if it reaches no verdict."""
    grade = free_text.grade(question.text, gold.texts, answer)
    if grade.outcome == "unjudged":
        raise UnjudgedError([Unjudged(question.question_id, grade.reason)], [], 1)
    return Verdict(question_id=question.question_id, outcome=grade.outcome, reason=grade.reason)


def judge(
    question: Question, gold: Gold, prediction: Prediction | None, free_text: FreeTextJudge | None = None
) -> Verdict:
    """The verdict on one question; an absent prediction is a failed question, never a dropped one.

    A free_text answer is graded by `free_text`, or by the rules alone. Raises UnjudgedError if that leaves it open.
    """
    answer = said(question.question_id, prediction)
    if isinstance(answer, Verdict):
        return answer
    if question.kind == "free_text":
        return of_free_text(question, gold, answer, free_text or Rules())
    return _of_choice(question, gold, answer)
