"""The board's ranks and its smallest detectable difference take whole lessons where no scorecard states other ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edu_rag.scorecard.card import Counts, ScoreCard, SystemFacts
from edu_rag.statistics import smallest_detectable_difference, typical_sd
from leaderboard.board.rank import BoardRank, detectable_difference, rank

LESSONS = tuple(at // 10 for at in range(60))


def card(slug: str, outcomes: str) -> ScoreCard:
    counts = Counts(correct=outcomes.count("c"), incorrect=outcomes.count("i"), abstained=outcomes.count("a"))
    return ScoreCard(
        system=SystemFacts(slug=slug, name=slug, team="us"),
        dataset="tiny@1.0.0#aaaaaaaa",
        split="test",
        sample=None,
        harness="test",
        answers_rule="answers-v3",
        counts=counts,
        outcomes=outcomes,
    )


PLAIN = [card("better", "c" * 20 + "a" * 40), card("silent", "a" * 60)]


def test_a_difference_in_two_lessons_alone_earns_no_rank() -> None:
    assert rank(PLAIN) == [BoardRank(1, 1), BoardRank(2, 2)]
    assert rank([replace(one, lessons=LESSONS) for one in PLAIN]) == [BoardRank(1, 2), BoardRank(1, 2)]


def test_one_scorecard_without_lessons_makes_no_rank_of_a_difference_in_two_lessons() -> None:
    assert rank([replace(PLAIN[0], lessons=LESSONS), PLAIN[1]]) == [BoardRank(1, 2), BoardRank(1, 2)]


def test_lessons_on_which_two_scorecards_differ_are_not_used() -> None:
    others = replace(PLAIN[1], lessons=tuple(at // 20 for at in range(60)))
    assert rank([replace(PLAIN[0], lessons=LESSONS), others]) == [BoardRank(1, 1), BoardRank(2, 2)]


def test_the_smallest_detectable_difference_pays_for_lessons() -> None:
    clustered = [replace(one, lessons=LESSONS) for one in PLAIN]
    sd = typical_sd([one.outcomes for one in PLAIN], LESSONS)
    assert sd is not None
    assert detectable_difference(clustered) == smallest_detectable_difference(60, sd)
    assert detectable_difference(clustered) > 2 * (detectable_difference(PLAIN) or 0)  # type: ignore[operator]
    assert detectable_difference(PLAIN) == pytest.approx(2.8015852 * (2 / 9) ** 0.5 / 60**0.5)
