"""Systems that were tested on the same questions: one pair, and every pair of several with Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import (
    ALPHA,
    McNemar,
    Paired,
    holm,
    mcnemar_all,
    paired_all,
    shared_lessons,
    smallest_detectable_difference,
    spread_all,
    strict_points_of,
)


class AmongPairs(NamedTuple):
    """The place of a pair among all pairs of a table: how many there are, and both p after Holm over all of them."""

    n_pairs: int
    p_holm: float
    mcnemar_p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPair:
    """Two systems on the same n questions. All differences are first - second.

    `difference` is that of the scores (paired bootstrap interval and sign-flip p; with lessons unless the scorecards
    state different ones), `strict` that of the strict scores, `correctness` McNemar's test, `detectable` the smallest
    score difference that one test on these questions finds with 80 % power (None if the two never differ). `among` is
    None where the two were tested alone.
    """

    __test__ = False  # pytest takes a name with Test for a test

    first: ScoreCard
    second: ScoreCard
    difference: Paired
    strict: Paired
    correctness: McNemar
    detectable: float | None
    among: AmongPairs | None = None

    @property
    def same_predictions(self) -> bool:
        """Whether both scorecards were made from the same bytes."""
        return self.first.predictions_sha256 == self.second.predictions_sha256 != ""

    @property
    def established(self) -> bool:
        """Whether the sign-flip test on the score finds a difference."""
        return self.difference.p <= ALPHA

    @property
    def p_holm(self) -> float:
        """The sign-flip p after Holm over all pairs; that of one test for a pair that was tested alone."""
        return self.difference.p if self.among is None else self.among.p_holm

    @property
    def mcnemar_p_holm(self) -> float:
        """McNemar's p, likewise."""
        return self.correctness.p if self.among is None else self.among.mcnemar_p_holm

    @property
    def first_is_ahead(self) -> bool:
        """Whether the first scores more."""
        return self.difference.difference > 0


def turned(d: Paired) -> Paired:
    """The same difference, the other system first."""
    # 0.0 - x and not -x: a difference of nothing has no sign.
    return d._replace(difference=0.0 - d.difference, low=0.0 - d.high, high=0.0 - d.low)


def turned_pair(pair: TestedPair) -> TestedPair:
    """The same pair, the other system first."""
    m = pair.correctness
    return TestedPair(
        first=pair.second,
        second=pair.first,
        difference=turned(pair.difference),
        strict=turned(pair.strict),
        correctness=McNemar(m.n_second_only, m.n_first_only, m.p),
        detectable=pair.detectable,
        among=pair.among,
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
