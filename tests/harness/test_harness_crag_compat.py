"""CRAG's published rules, and each row of the table of differences from its code (docs/scoring-spec.md, section 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, Verdict
from harness.judging import crag_compat
from harness.judging.crag_compat import MAX_TOKENS, RULE, cut, judge
from harness.judging.free_text import Grade, UnjudgedError

QUESTION = Question(question_id="q", text="Capital of France?", choices={}, kind="free_text", split="val")


class Says:
    """A judge that says one thing and remembers what it was asked."""

    def __init__(self, outcome: str = "incorrect", reason: str = "so") -> None:
        self.outcome, self.reason = outcome, reason
        self.asked: list[tuple[str, tuple[str, ...], str]] = []

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        self.asked.append((question, tuple(gold), answer))
        return Grade(self.outcome, self.reason, "says")  # type: ignore[arg-type]

    def facts(self) -> Mapping[str, Any]:
        return {"judge": "says", "name": "says"}


def verdict(answer: str | None, gold: Sequence[str] = ("Paris",), says: Says | None = None) -> Verdict:
    prediction = Prediction(question_id="q", answer=answer)
    return judge(QUESTION, Gold(question_id="q", texts=tuple(gold)), prediction, says or Says())


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("Paris", ["Paris"], "correct"),
        (" pARIS\n", ["Paris "], "correct"),
        ("paris.", ["Paris"], "incorrect"),  # exact means exact; the judge decides, and this one says no
        ("I don't know", ["Paris"], "abstained"),
        ("Well, I DON'T KNOW, Paris?", ["Paris"], "abstained"),
        ("I do not know", ["Paris"], "incorrect"),
        ("idk", ["Paris"], "incorrect"),
        ("", ["Paris"], "incorrect"),
        ("invalid question", ["invalid question"], "correct"),
        ("The premise is INVALID.", ["Invalid question"], "correct"),
        ("invalid", ["Paris"], "incorrect"),
        ("Paris", ["invalid question"], "incorrect"),
        (None, ["Paris"], "abstained"),
    ],
)
def test_the_published_steps_in_their_order(answer: str | None, gold: list[str], outcome: str) -> None:
    assert verdict(answer, gold).outcome == outcome


def test_the_judge_is_asked_last_and_with_what_is_left() -> None:
    says = Says("correct")
    assert verdict("the city of Paris", ["Paris", "invalid question"], says) == Verdict(
        question_id="q", outcome="correct", reason="so"
    )
    assert says.asked == [("Capital of France?", ("Paris",), "the city of Paris")]
    for answer, gold in (("Paris", "Paris"), ("I don't know", "x"), ("invalid", "x"), ("x", "invalid"), ("", "x")):
        none = Says("correct")
        verdict(answer, [gold], none)
        assert none.asked == []


@pytest.mark.parametrize("outcome", ["incorrect", "abstained", "unparseable"])
def test_what_the_judge_does_not_call_correct_is_a_hallucination(outcome: str) -> None:
    found = verdict("Lyon", says=Says(outcome, "why"))
    assert (found.outcome, found.reason) == ("incorrect", "crag-compat: not judged correct (why)")


def test_an_answer_is_cut_after_75_tokens() -> None:
    words = " ".join(f"w{i}" for i in range(100))
    assert cut(words).split()[-1] == "w74"
    assert cut("a, b") == "a, b"
    assert cut("") == cut(" \n") == ""
    assert len(cut("." * 100)) == MAX_TOKENS
    late = "x " * MAX_TOKENS + "I don't know"
    assert verdict(late).outcome == "incorrect"
    assert verdict("x " * (MAX_TOKENS - 5) + "I don't know").outcome == "abstained"


# The rows of the table: what CRAG's code does (or would), and what ours does.


def test_row_1_the_gold_is_text_not_a_row_of_characters() -> None:
    assert verdict("paris", ["paris"]).outcome == "correct"
    says = Says()
    verdict("p", ["paris"], says)
    assert says.asked == [("Capital of France?", ("paris",), "p")]


def test_row_2_alternative_answers_count() -> None:
    assert verdict("lutetia", ["Paris", "Lutetia"]).outcome == "correct"


def test_row_3_a_judges_failure_is_no_hallucination() -> None:
    with pytest.raises(UnjudgedError) as error:
        verdict("Lyon", says=Says("unjudged", "HTTP status 500"))
    assert error.value.unjudged[0] == ("q", "HTTP status 500")


def test_row_4_one_way_of_looking_at_invalid_for_all_accepted_texts() -> None:
    for gold in (["Paris", "invalid question"], ["invalid question", "Paris"]):
        assert verdict("invalid", gold).outcome == "correct"
        assert verdict("Lyon", gold, Says("correct")).outcome == "correct"


def test_row_5_the_missing_phrase_is_found_though_nothing_was_lowered_before() -> None:
    # CRAG's code reads the lower-cased prediction before it is set: the first question crashes.
    assert verdict("I don't know").outcome == "abstained"


def test_row_6_a_question_without_a_prediction_failed_and_a_null_abstained() -> None:
    gold = Gold(question_id="q", texts=("Paris",))
    assert judge(QUESTION, gold, None, Says()).outcome == "failed"
    crashed = Prediction(question_id="q", answer=None, status="crash")
    assert judge(QUESTION, gold, crashed, Says()).outcome == "failed"


def test_row_7_a_typographic_apostrophe_is_no_missing_as_in_crag() -> None:
    assert verdict("I don\u2019t know").outcome == "incorrect"


def test_row_8_without_a_judge_nothing_is_guessed() -> None:
    prediction = Prediction(question_id="q", answer="Lyon")
    with pytest.raises(UnjudgedError):
        judge(QUESTION, Gold(question_id="q", texts=("Paris",)), prediction, None)


def test_questions_with_choices_are_refused() -> None:
    question = Question(question_id="q", text="?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val")
    with pytest.raises(SubmissionError, match="crag-compat is for free text, and q has choices"):
        judge(question, Gold(question_id="q", answer="a"), Prediction(question_id="q", answer="a"), Says())


def test_its_name_is_versioned() -> None:
    assert (RULE, crag_compat.MAX_TOKENS) == ("crag-compat-v1", 75)
