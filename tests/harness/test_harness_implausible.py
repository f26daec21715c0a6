"""Implausible agreement with the gold: each sign is raised by what it is for, and none by the systems that we know."""

from __future__ import annotations

from pathlib import Path

import pytest
from pull_request_trees import hand_in, judged, settings, write_base

from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, ScoreCard, Slice, SystemFacts
from edu_rag.scorecard.results_folder import read_scorecard
from harness.pulls.review_report import report
from harness.trust.implausible import ALPHA, MIN_PERFECT, _normal, binomial_tail, implausible, lower_bound

pytestmark = pytest.mark.usefixtures("read_in_this_process")

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "leaderboard" / "results").rglob("scorecard.json"))


def counts(right: int, n: int) -> Counts:
    return Counts(correct=right, incorrect=n - right)


def card(
    right: int, n: int, *slices: tuple[str, str, int, int], slug: str = "mine", own: bool = False, blind: bool = False
) -> ScoreCard:
    outcomes = OUTCOME_LETTERS["correct"] * right + OUTCOME_LETTERS["incorrect"] * (n - right)
    return ScoreCard(
        system=SystemFacts(slug=slug, name=slug, team="t", blind=blind),
        dataset="data@1.0.0#00000000",
        split="test",
        sample=None,
        harness="h",
        answers_rule="answers-v3",
        counts=counts(right, n),
        outcomes=outcomes,
        slices=tuple(Slice(attribute=a, value=v, counts=counts(k, m)) for a, v, k, m in slices),
        rerun={"own": True, "n": n, "n_same": n} if own else {},
    )


def test_all_right_is_a_sign_from_twenty_questions_on() -> None:
    assert list(implausible(card(MIN_PERFECT, MIN_PERFECT))) == [
        "implausible agreement: all 20 answers are those of the gold"
    ]
    assert not list(implausible(card(MIN_PERFECT - 1, MIN_PERFECT - 1)))
    assert not list(implausible(card(99, 100)))


def test_broken_questions_that_are_as_right_as_the_others_are_a_sign() -> None:
    (sign,) = implausible(card(910, 1_000, ("flag", "truncated", 42, 44)))
    assert "42 of 44 questions with the flag truncated are right" in sign
    honest = card(910, 1_000, ("flag", "truncated", 35, 44))  # a strong model: above guessing, below its other answers
    assert not list(implausible(honest))
    lucky = card(300, 1_000, ("flag", "context_bound", 12, 15))  # above the others, but few
    assert not list(implausible(lucky))
    assert not list(implausible(card(910, 1_000, ("flag", "meta_choice", 44, 44))))


def test_more_right_without_evidence_than_any_verified_system_with_it_is_a_sign() -> None:
    verified = card(500, 1_000, ("evidence", "supported", 70, 100), slug="verified", own=True)
    copied = card(900, 1_000, ("evidence", "unsupported", 815, 900))
    (sign,) = implausible(copied, [verified])
    assert "90.6 % right on the 900 questions without evidence" in sign
    assert "70.0 % (verified)" in sign
    assert not list(implausible(card(660, 1_000, ("evidence", "unsupported", 630, 900)), [verified]))
    for other in (
        card(500, 1_000, ("evidence", "supported", 70, 100), slug="handed-in"),
        card(500, 1_000, ("evidence", "supported", 70, 100), slug="blind", own=True, blind=True),
        card(500, 1_000, ("evidence", "supported", 5, 9), slug="few", own=True),
    ):
        assert not list(implausible(copied, [other]))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: "-".join(path.parts[-4:-1]))
def test_no_committed_system_raises_a_sign_or_has_a_row_as_reported(path: Path) -> None:
    mine = read_scorecard(path)
    table = [read_scorecard(other) for other in path.parent.parent.glob("*/scorecard.json")]
    assert not list(implausible(mine, table))
    assert not mine.reported


def test_the_tail_and_the_bound_are_those_of_the_textbook() -> None:
    assert binomial_tail(8, 10, 0.5) == pytest.approx(56 / 1_024)
    assert _normal(550, 1_000, 0.5) == pytest.approx(binomial_tail(550, 1_000, 0.5), rel=0.02)
    assert binomial_tail(2_000, 3_000, 0.5) < ALPHA < binomial_tail(1_500, 3_000, 0.5)
    assert lower_bound(0, 10) == pytest.approx(0, abs=1e-12)
    assert 0.3 < lower_bound(50, 100) < 0.4
    assert lower_bound(5_000, 10_000) > lower_bound(50, 100)


def test_a_pull_request_of_gold_answers_is_marked_reported_and_warned_of(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
) -> None:
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", gold, settings("New team"))
    found = judged(base, head, tiny)
    result = found.results[0]
    assert found.accepted
    assert result.card.reported
    text = report(found)
    assert f"all {len(gold)} answers are those of the gold" in text
    assert "rank class `reported`" in text
    hand_in(head, "new-one", {i: "b" if a == "a" else "a" for i, a in gold.items()}, settings("New team"))
    assert "implausible" not in report(judged(base, head, tiny))
