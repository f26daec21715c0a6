"""Every pair of several systems, tested on the same questions, with Holm's correction over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edu_rag.comparing.tested_pair import AmongPairs, TestedPair, turned_pair
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import (
    holm,
    mcnemar_all,
    paired_all,
    shared_lessons,
    smallest_detectable_difference,
    spread_all,
    strict_points_of,
)


@dataclass(frozen=True, slots=True)
class AllPairs:
    """All pairs of some systems by their places i < j, in that order; the same lessons for all of them."""

    tested: Mapping[tuple[int, int], TestedPair]

    def of(self, first: int, second: int) -> TestedPair:
        """The pair first - second; two different places."""
        return self.tested[first, second] if first < second else turned_pair(self.tested[second, first])


def all_pairs_of(cards: Sequence[ScoreCard]) -> AllPairs:
    """Test every pair of scorecards that are on the same questions; two at least.

    Lessons are those of all scorecards (`shared_lessons`): where two scorecards state none and a third does, the two
    are tested by lesson here, which a comparison of the two alone cannot know.
    """
    outcomes = [card.outcomes for card in cards]
    lessons = shared_lessons([card.lessons for card in cards])
    score, correctness = paired_all(outcomes, lessons), mcnemar_all(outcomes, lessons)
    missing = any("u" in letters or "f" in letters for letters in outcomes)
    strict = paired_all([strict_points_of(letters) for letters in outcomes], lessons) if missing else score
    adjusted = holm([found.p for found in score.values()])
    mcnemar_adjusted = holm([found.p for found in correctness.values()])
    spreads = spread_all(outcomes, lessons)
    return AllPairs(
        {
            (i, j): TestedPair(
                first=cards[i],
                second=cards[j],
                difference=found,
                strict=strict[i, j],
                correctness=correctness[i, j],
                detectable=smallest_detectable_difference(found.n, spreads[i, j].effective_sd)
                if spreads[i, j].sd
                else None,
                among=AmongPairs(len(score), p_holm, mcnemar_p_holm),
            )
            for ((i, j), found), p_holm, mcnemar_p_holm in zip(score.items(), adjusted, mcnemar_adjusted, strict=True)
        }
    )
