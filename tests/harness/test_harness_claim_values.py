"""From claims and verdicts to values: the examples of the papers and of the packages' pages, and nothing is NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.judging.claims import claim_values as values
from harness.judging.claims.claim_cases import answer_of
from harness.judging.claims.claim_totals import metric_total
from harness.judging.claims.claim_values import NOTHING, ZERO, Assignment, ClaimValue, Importance
from harness.judging.claims.claims_judge import ClaimsJudge, cosine
from harness.judging.claims.judged_answer import METRICS, ClaimCase, JudgedAnswer, Status, judge_answer
from harness.judging.judge_model import JudgePrompt, JudgeReply

VERDICTS = st.lists(st.booleans(), max_size=12)


def test_one_of_two_supported_claims_is_a_faithfulness_of_a_half() -> None:
    # RAGAS: "Einstein was born in Germany" is in the context, "on 20 March 1879" is not.
    assert values.share([True, False]) == ClaimValue(1.0, 2.0)
    assert values.share([True, False]).value == 0.5


@pytest.mark.parametrize(
    ("relevant", "value"),
    [
        ([True, False], 1.0),
        ([False, True], 0.5),
        ([True, False, True], (1 + 2 / 3) / 2),
        ([False, True, True], (1 / 2 + 2 / 3) / 2),
        ([False, False], 0.0),
        ([], None),
    ],
)
def test_context_precision_is_the_mean_precision_at_relevant_ranks(relevant: list[bool], value: float | None) -> None:
    assert values.context_precision(relevant).value == (None if value is None else pytest.approx(value, abs=1e-15))


def test_answer_relevancy_is_the_mean_cosine_and_0_where_every_reply_is_noncommittal() -> None:
    assert values.answer_relevancy([0.9, 0.6], [False, False]).value == pytest.approx(0.75)
    assert values.answer_relevancy([0.9, 0.6], [True, False]).value == pytest.approx(0.75)
    assert values.answer_relevancy([0.9, 0.6], [True, True]).value == 0.0
    assert values.answer_relevancy([], []).value is None
    assert cosine([3.0, 4.0], [4.0, 3.0]) == pytest.approx(24 / 25)
    for unusable in ([0.0, 0.0], [1e308, 1e308], [math.inf, 1.0]):
        assert cosine(unusable, [4.0, 3.0]) is None


def test_f1_of_claims_is_0_without_claims_of_the_answer_and_has_no_value_without_those_of_the_reference() -> None:
    assert values.f1(ClaimValue(1, 2), ClaimValue(1, 4)).value == pytest.approx(1 / 3)
    assert values.f1(ClaimValue(0, 2), ClaimValue(0, 4)) == ZERO
    assert values.f1(NOTHING, ClaimValue(1, 1)) == ZERO
    assert values.f1(ClaimValue(1, 1), NOTHING) == values.f1(NOTHING, NOTHING) == NOTHING


def test_the_passages_recall_claims_together_and_are_precise_one_by_one() -> None:
    supported = [[True, False, False], [False, False, False], [True, False, True]]
    assert values.retrieved_recall(supported).value == pytest.approx(2 / 3)
    assert values.retrieved_precision(supported).value == pytest.approx(2 / 3)
    assert values.retrieved_recall([]) == values.retrieved_precision([]) == NOTHING
    assert values.retrieved_recall([[], []]) == ClaimValue(0, 2)
    assert values.retrieved_precision([[], []]) == NOTHING


class Scripted:
    """A judge with one reply to each step; what it lacks it must not be asked."""

    def __init__(self, **replies: Any) -> None:
        self.replies = replies

    def reply(self, step: str, prompt: JudgePrompt, n: int) -> JudgeReply:
        given = self.replies[step]
        found = given(prompt.user) if callable(given) else given
        return JudgeReply(json.dumps({key: value * n if key in PER_ITEM else value for key, value in found.items()}))

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        raise AssertionError(texts)

    def facts(self) -> dict[str, Any]:
        return {"model": "m"}


PER_ITEM = ("verdicts", "assignments")
CLAIMED = {"claims": {"claims": ["a", "b"]}, "support": {"verdicts": [1]}}


def values_of(metrics: str, status: Status, passages: Sequence[str], **replies: Any) -> list[ClaimValue]:
    answer = "an answer" if status == "answered" else ""
    case = ClaimCase("q", "Why?", ["reference"], status, answer, passages)
    names = metrics.split(",")
    found = judge_answer(case, ClaimsJudge(Scripted(**replies)), names)
    assert not found.unjudged
    return [found.values[name] for name in names]


def test_without_passages_a_recall_is_0_and_an_answer_with_claims_is_not_faithful() -> None:
    recalls = "context_recall,retrieved_recall"
    statuses: tuple[Status, ...] = ("answered", "abstained", "failed")
    for status in statuses:
        assert values_of(recalls, status, [], **CLAIMED) == [ClaimValue(0, 2)] * 2
        assert values_of(recalls, status, [], claims={"claims": []}) == [NOTHING] * 2
    assert values_of("faithfulness", "answered", [], **CLAIMED) == [ClaimValue(0, 2)]
    assert values_of("faithfulness", "answered", [], claims={"claims": []}) == [NOTHING]
    assert values_of("faithfulness", "abstained", []) == [NOTHING]
    assert values_of("context_precision,retrieved_precision", "answered", []) == [NOTHING] * 2


def test_an_abstention_counts_for_the_same_questions_as_an_answer_does() -> None:
    okay = {"nuggets": {"nuggets": [{"text": "t", "importance": "okay"}]}, "assigned": {"assignments": ["support"]}}
    answered = values_of("nuggets_vital,nuggets_all", "answered", [], **okay)
    abstained = values_of("nuggets_vital,nuggets_all", "abstained", [], **okay)
    assert (answered, abstained) == ([NOTHING, ClaimValue(1, 1)], [NOTHING, ClaimValue(0, 1)])
    claims = "claim_recall,claim_f1"
    assert values_of(claims, "answered", [], claims={"claims": []}) == [NOTHING] * 2
    assert values_of(claims, "abstained", [], claims={"claims": []}) == [NOTHING] * 2
    assert values_of(claims, "abstained", [], **CLAIMED) == [ClaimValue(0, 2), ZERO]
    only_reference = {"claims": lambda user: {"claims": ["a", "b"] if "reference" in user else []}}
    assert values_of(claims, "answered", [], **only_reference, support={"verdicts": [0]}) == [ClaimValue(0, 2), ZERO]


@pytest.mark.parametrize(
    ("answer", "references", "status"),
    [
        ("I don't know", ["I don't know"], "answered"),
        ("I don't know.", ["The page does not say.", "I don't know"], "answered"),
        ("I don't know", ["Paris"], "abstained"),
        ("Paris", ["I don't know"], "answered"),
        (None, ["I don't know"], "abstained"),
        ("", ["I don't know"], "abstained"),
    ],
)
def test_i_do_not_know_is_an_answer_where_it_is_the_reference(
    answer: str | None, references: list[str], status: Status
) -> None:
    question = Question(question_id="q", text="Why?", choices={}, kind="free_text", split="test")
    prediction = Prediction(question_id="q", answer=answer)
    assert answer_of(question, references, prediction) == (status, answer if status == "answered" else "")


@pytest.mark.parametrize(
    ("answer", "found"),
    [("B", ("answered", "I don't know")), ("a", ("answered", "no")), ("I have no idea", ("abstained", ""))],
)
def test_with_choices_the_named_choice_is_the_answer(answer: str, found: tuple[Status, str]) -> None:
    choices = {"a": "no", "b": "I don't know"}
    question = Question(question_id="q", text="Why?", choices=choices, kind="multiple_choice", split="test")
    assert answer_of(question, ["no"], Prediction(question_id="q", answer=answer)) == found


@pytest.mark.parametrize(
    ("vital", "strict", "value"),
    [(True, True, 1 / 2), (True, False, 3 / 4), (False, True, 1 / 2), (False, False, 5 / 8)],
)
def test_a_partly_supported_nugget_is_a_half_and_nothing_if_strict(vital: bool, strict: bool, value: float) -> None:
    importances: Sequence[Importance] = ("vital", "vital", "okay", "okay")
    assignments: Sequence[Assignment] = ("support", "partial_support", "support", "not_support")
    found = values.nugget_recall(importances, assignments, vital=vital, strict=strict)
    assert found.value == value
    assert values.nugget_recall(("okay",), ("support",), vital=True, strict=strict) == NOTHING


def test_a_score_of_4_is_correct_and_one_of_3_and_a_half_is_not() -> None:
    assert [values.is_correct(score).value for score in (3.5, 4.0, 5.0)] == [0.0, 1.0, 1.0]
    assert values.correctness(3.5).value == 3.5


@given(VERDICTS)
def test_every_value_is_in_its_range_or_there_is_none(verdicts: list[bool]) -> None:
    for found in (values.share(verdicts), values.context_precision(verdicts), values.retrieved_precision([verdicts])):
        assert (found.value is None) == (not verdicts)
        assert found.value is None or 0 <= found.value <= 1


def judged(number: int, value: ClaimValue | str, metric: str = "faithfulness") -> JudgedAnswer:
    unjudged = {metric: value} if isinstance(value, str) else {}
    found = {} if isinstance(value, str) else {metric: value}
    return JudgedAnswer(question_id=f"q{number}", status="answered", values=found, unjudged=unjudged)


def test_a_total_counts_every_question_and_bounds_what_is_unjudged() -> None:
    answers = [
        judged(0, ClaimValue(1, 2)),
        judged(1, ClaimValue(1, 1)),
        judged(2, NOTHING),
        judged(3, "the judge broke"),
    ]
    total = metric_total("faithfulness", answers)
    assert (total.n_questions, total.denominator, total.n_no_value, total.n_unjudged) == (4, 2, 1, 1)
    assert (total.numerator, total.mean, total.lowest_mean, total.highest_mean) == (
        1.5,
        0.75,
        0.5,
        pytest.approx(2.5 / 3),
    )
    assert total.interval == (0.5, 1.0)
    assert total.reasons == {"the judge broke": 1}


@given(
    st.lists(st.sampled_from([ClaimValue(1, 3), ZERO, NOTHING, "broke"]), max_size=9), st.sampled_from(list(METRICS))
)
def test_no_total_is_nan_and_its_parts_add_up(found: list[ClaimValue | str], metric: str) -> None:
    total = metric_total(metric, [judged(i, value, metric) for i, value in enumerate(found)])
    assert total.denominator + total.n_no_value + total.n_unjudged == total.n_questions == len(found)
    for number in (total.mean, total.lowest_mean, total.highest_mean, *(total.interval or ())):
        assert number is None or math.isfinite(number)
    assert (total.mean is None) == (total.denominator == 0)


def test_a_judge_with_a_reason_for_each_answer_does_not_fill_the_report() -> None:
    reasons = metric_total("faithfulness", [judged(i, f"reason {i // 2:02}") for i in range(60)]).reasons
    assert len(reasons) == 21
    assert (reasons["reason 00"], reasons["other reasons"]) == (2, 20)


def test_questions_of_one_lesson_are_drawn_together() -> None:
    answers = [judged(i, ClaimValue(float(i < 10), 1)) for i in range(20)]
    alone, whole = (
        metric_total("faithfulness", answers, lessons).interval for lessons in ((), [i // 10 for i in range(20)])
    )
    assert alone is not None
    assert whole == (0.0, 1.0)
    assert alone[1] - alone[0] < 0.6
