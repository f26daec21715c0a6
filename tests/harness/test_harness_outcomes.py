from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import STATUSES, Outcome, Prediction, Verdict
from harness.judging.free_text import Grade
from harness.judging.outcomes import judge

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


ANSWERED: list[tuple[Prediction | None, Outcome, str]] = [
    (None, "failed", "no prediction for this question"),
    (Prediction(question_id="q", answer=None, status="crash"), "failed", "the system crashed"),
    (Prediction(question_id="q", answer=None), "abstained", "answer is null"),
    (Prediction(question_id="q", answer="unknown"), "abstained", "says that it does not know"),
    (Prediction(question_id="q", answer="b"), "correct", "label b"),
    (Prediction(question_id="q", answer="a"), "incorrect", "label a; gold is b"),
]


@pytest.mark.parametrize(("prediction", "outcome", "reason"), ANSWERED)
def test_a_verdict_holds_its_question_its_outcome_and_its_reason(
    prediction: Prediction | None, outcome: Outcome, reason: str
) -> None:
    assert judge(QUESTION, GOLD, prediction) == Verdict(question_id="q", outcome=outcome, reason=reason)


def test_an_absent_question_and_every_fault_have_failed() -> None:
    assert judge(QUESTION, GOLD, None).outcome == "failed"
    reasons = set()
    for status in STATUSES[1:]:
        verdict = judge(QUESTION, GOLD, Prediction(question_id="q", answer=None, status=status))
        assert (verdict.outcome, verdict.points) == ("failed", 0)
        reasons.add(verdict.reason)
    assert len(reasons) == len(STATUSES) - 1


class Echo:
    """A judge of free text that says what it was asked."""

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        return Grade("incorrect", f"{question} {list(gold)} {answer}", "echo")

    def facts(self) -> Mapping[str, object]:
        return {}


OPEN = Question(question_id="o", text="Who?", choices={}, kind="free_text", split="val")
OPEN_GOLD = Gold(question_id="o", texts=("x", "y"))


def test_a_judge_of_free_text_is_asked_with_the_question_its_accepted_texts_and_the_answer() -> None:
    verdict = judge(OPEN, OPEN_GOLD, Prediction(question_id="o", answer="z"), Echo())
    assert verdict == Verdict(question_id="o", outcome="incorrect", reason="Who? ['x', 'y'] z")


def test_free_text_is_refused_rather_than_guessed() -> None:
    assert judge(OPEN, OPEN_GOLD, None).outcome == "failed"
    assert judge(OPEN, OPEN_GOLD, Prediction(question_id="o", answer=" X. ")).outcome == "correct"
    with pytest.raises(SubmissionError, match=r"1 of 1 free-text answers are unjudged.*first o: none of the accepted"):
        judge(OPEN, OPEN_GOLD, Prediction(question_id="o", answer="x or y"))
