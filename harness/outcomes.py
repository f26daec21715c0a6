"""One question's verdict: what was predicted, held against the gold answer, is one of five outcomes."""

from __future__ import annotations

from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.results import Prediction, Verdict
from harness.answers import read_answer

_FAULTS = {
    "crash": "the system crashed",
    "timeout": "the system ran out of time",
    "output_cap": "the system wrote too much",
    "protocol": "the system's line was no answer",
}


def judge(question: Question, gold: Gold, prediction: Prediction | None) -> Verdict:
    """The verdict on one question; an absent prediction is a failed question, never a dropped one.

    Raises SubmissionError for free_text questions, which need a judge.
    """
    question_id = question.question_id
    if question.kind == "free_text":
        raise SubmissionError(question_id, "a free_text question cannot be scored by rules alone", "leave it out")
    if prediction is None:
        return Verdict(question_id=question_id, outcome="failed", reason="no prediction for this question")
    if prediction.status != "ok":
        return Verdict(question_id=question_id, outcome="failed", reason=_FAULTS[prediction.status])
    if prediction.answer is None:
        return Verdict(question_id=question_id, outcome="abstained", reason="answer is null")
    reading = read_answer(prediction.answer, question.choices)
    if reading.kind != "choice":
        return Verdict(question_id=question_id, outcome=reading.kind, reason=reading.reason)
    if reading.label == gold.answer:
        return Verdict(question_id=question_id, outcome="correct", reason=reading.reason)
    return Verdict(question_id=question_id, outcome="incorrect", reason=f"{reading.reason}; gold is {gold.answer}")
