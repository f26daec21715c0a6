from __future__ import annotations

import pytest

from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.results import STATUSES, Prediction
from harness.outcomes import judge

QUESTION = Question(
    question_id="q", text="?", choices={"a": "x-ray", "b": "gamma ray"}, kind="multiple_choice", split="val"
)
GOLD = Gold(question_id="q", answer="b")


@pytest.mark.parametrize(
    ("answer", "outcome", "points"),
    [
        ("b", "correct", 1),
        ("gamma ray", "correct", 1),
        ("a", "incorrect", -1),
        (None, "abstained", 0),
        ("I don’t know", "abstained", 0),
        ("a or b", "unparseable", 0),
        ("", "abstained", 0),
    ],
)
def test_an_answer_ends_in_its_outcome(answer: str | None, outcome: str, points: int) -> None:
    verdict = judge(QUESTION, GOLD, Prediction(question_id="q", answer=answer))
    assert (verdict.outcome, verdict.points) == (outcome, points)
    assert verdict.reason


def test_an_absent_question_and_every_fault_have_failed() -> None:
    assert judge(QUESTION, GOLD, None).outcome == "failed"
    reasons = set()
    for status in STATUSES[1:]:
        verdict = judge(QUESTION, GOLD, Prediction(question_id="q", answer=None, status=status))
        assert (verdict.outcome, verdict.points) == ("failed", 0)
        reasons.add(verdict.reason)
    assert len(reasons) == len(STATUSES) - 1


def test_free_text_is_refused_rather_than_guessed() -> None:
    question = Question(question_id="q", text="?", choices={}, kind="free_text", split="val")
    gold = Gold(question_id="q", texts=("x",))
    assert judge(question, gold, None).outcome == "failed"
    assert judge(question, gold, Prediction(question_id="q", answer=" X. ")).outcome == "correct"
    with pytest.raises(SubmissionError, match="unjudged"):
        judge(question, gold, Prediction(question_id="q", answer="x or y"))
