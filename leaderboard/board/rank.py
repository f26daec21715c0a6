"""Ranks as tie groups: a rank changes only where the difference of two scores is established."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from edu_rag.scorecard.card import ScoreCard


class BoardRank(NamedTuple):
    """The places that a tie group takes, both ends included: 1 and 3 where three systems share the top."""

    first: int
    last: int

    @property
    def text(self) -> str:
        """`1–3`, or `4` where a system stands alone."""
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"


def rank(cards: Sequence[ScoreCard]) -> list[BoardRank]:
    """The tie group of each scorecard, in the order given; all must share one set of questions.

    Holm-corrected exact paired tests over all pairs: see `edu_rag.statistics.rank_groups`.
    """
    from edu_rag.statistics import shared_lessons

    return rank_outcomes([card.outcomes for card in cards], shared_lessons([card.lessons for card in cards]))


def rank_outcomes(outcomes: Sequence[str], lessons: Sequence[int]) -> list[BoardRank]:
    """The tie group of each system from its outcome letters; `lessons` is empty if none is known."""
    from edu_rag.statistics import rank_groups

    firsts = rank_groups(outcomes, lessons=lessons)
    sizes = Counter(firsts)
    return [BoardRank(first, first + sizes[first] - 1) for first in firsts]


def _places(difference: float) -> str:
    return f"{difference:.3f}" if difference >= 0.0005 else "less than 0.001"


def detectable_difference(cards: Sequence[ScoreCard]) -> float | None:
    """The score difference that a paired test on these questions finds with 80 % power; None below two systems.

    Uses the median spread of the pairs of the table; None too where that spread is zero.
    """
    from edu_rag.statistics import shared_lessons, smallest_detectable_difference, typical_sd

    spread = typical_sd([card.outcomes for card in cards], shared_lessons([card.lessons for card in cards]))
    return smallest_detectable_difference(cards[0].counts.n, spread) if spread else None


def detectable_sentence(cards: Sequence[ScoreCard]) -> str:
    """The smallest difference that the table can detect, in one sentence."""
    n = cards[0].counts.n
    difference = detectable_difference(cards)
    questions = f"{n:,} question{'' if n == 1 else 's'}"
    if difference is None:
        return f"With fewer than two different systems on these {questions}, nothing can be compared yet."
    if difference >= 2:
        return f"{questions.capitalize()} are too few to establish any difference between two typical systems."
    return (
        f"With {questions}, the smallest score difference that one paired test finds (5 % level, 80 % power, "
        f"typical pair of this table) is about {_places(difference)}; "
        "ranks also pay for testing all pairs (Holm), so they need more."
    )
