"""Ranks with declared overlap: a system's score on both parts of its questions, and its place on the clean part.

The clean part is the questions that a system cannot have seen. Which questions are declared is for the team to choose,
so a place on the others must never be worth choosing for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edu_rag.scorecard.card import ScoreCard
from leaderboard.board.rank import BoardRank, rank, rank_outcomes

MIN_CLEAN = 100
MIN_CLEAN_SHARE = 0.3
"""Questions, and their share of the table's, below which those that are left give no place."""
MAX_DECLARATIONS = 20
"""Different declarations that a table is ranked by: each is a whole ranking of all its systems."""
_TOO_FEW = "too few questions are left to rank it on"
_NONE = "no question is left to rank it on"
_TOO_MANY = f"the table ranks {MAX_DECLARATIONS} different declarations, those of its first rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A system on the `n` questions that it does not declare, and on the `n_declared` that it does.

    `rank` is the later, at each end, of its place on the clean questions and its place on all (`is_held`: where the
    former was the earlier); None if `why_unranked` says why. `is_lower`: the declared part scores lower than the
    rest by more than luck, which is not what having seen a question does.
    """

    n: int
    n_declared: int
    score: float | None = None
    interval: tuple[float, float] | None = None
    declared_score: float
    declared_interval: tuple[float, float]
    is_lower: bool = False
    rank: BoardRank | None = None
    is_held: bool = False
    why_unranked: str = ""


def fewest_clean(n: int) -> int:
    """The clean questions that a place in a table of n needs."""
    return max(MIN_CLEAN, math.ceil(MIN_CLEAN_SHARE * n))


class _Ranks:
    """The ranks of all systems of a table on what each declaration leaves of its questions, up to MAX_DECLARATIONS."""

    def __init__(self, cards: Sequence[ScoreCard], lessons: Sequence[int], full: Sequence[BoardRank]) -> None:
        self._cards, self._lessons, self._full = cards, lessons, full
        self._found: dict[str, list[BoardRank]] = {}

    def place(self, at: int) -> tuple[BoardRank, bool] | None:
        """The place of the system at `at`, never earlier than the full one; whether it is held back by that."""
        from edu_rag.statistics.two_parts import kept

        overlap = self._cards[at].overlap
        if overlap not in self._found:
            if len(self._found) == MAX_DECLARATIONS:
                return None
            outcomes = [kept(card.outcomes, (), overlap, "0")[0] for card in self._cards]
            self._found[overlap] = rank_outcomes(outcomes, kept("", self._lessons, overlap, "0")[1])
        clean, full = self._found[overlap][at], self._full[at]
        shown = BoardRank(max(clean.first, full.first), max(clean.last, full.last))
        return shown, shown != clean


def clean_of(
    cards: Sequence[ScoreCard], full: Sequence[BoardRank] | None = None, fewest: int | None = None
) -> list[Clean | None]:
    """The two parts of each scorecard that declares overlap, in the order given; None for the others.

    All scorecards must share one set of questions. For each system's clean part, every system of the table is scored
    and ranked on it; systems that declare the same questions share the work. `full`: the ranks on all questions, where
    they are known; `fewest` instead of `fewest_clean`.
    """
    from edu_rag.statistics import shared_lessons

    if not any("1" in card.overlap for card in cards):
        return [None] * len(cards)
    lessons = shared_lessons([card.lessons for card in cards])
    ranks = _Ranks(cards, lessons, rank(cards) if full is None else full)
    least = fewest_clean(cards[0].counts.n) if fewest is None else fewest
    return [_clean(card, at, lessons, ranks, least) for at, card in enumerate(cards)]


def _clean(card: ScoreCard, at: int, lessons: Sequence[int], ranks: _Ranks, fewest: int) -> Clean | None:
    from edu_rag.statistics.two_parts import is_lower, part_of

    declared, rest = (part_of(card.outcomes, lessons, card.overlap, mark) for mark in "10")
    if declared is None:
        return None
    n = 0 if rest is None else rest.n
    place = ranks.place(at) if n >= max(fewest, 1) else None
    why = "" if place else (_NONE if not n else _TOO_FEW if n < fewest else _TOO_MANY)
    shown, is_held = place or (None, False)
    return Clean(
        n=n,
        n_declared=declared.n,
        declared_score=declared.score,
        declared_interval=declared.interval,
        score=None if rest is None else rest.score,
        interval=None if rest is None else rest.interval,
        is_lower=is_lower(declared, rest),
        rank=shown,
        is_held=is_held,
        why_unranked=why,
    )
