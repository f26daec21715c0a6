"""Declared overlap: a system's place among all systems of its table on the questions that it cannot have seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from edu_rag.results import ScoreCard
from leaderboard.rank import Rank, rank_outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A system on the `n` questions that it does not declare; None where none is left."""

    n: int
    n_declared: int
    score: float | None = None
    interval: tuple[float, float] | None = None
    rank: Rank | None = None


def _is_clean(overlap: str) -> Iterator[bool]:
    return map("0".__eq__, overlap)


def _kept(text: str, overlap: str) -> str:
    return "".join(compress(text, _is_clean(overlap)))


def _clean_ranks(cards: Sequence[ScoreCard], lessons: Sequence[int], overlap: str) -> list[Rank]:
    """The ranks of all systems on the questions that one of them does not declare."""
    return rank_outcomes([_kept(card.outcomes, overlap) for card in cards], _kept_lessons(lessons, overlap))


def _kept_lessons(lessons: Sequence[int], overlap: str) -> list[int]:
    return list(compress(lessons, _is_clean(overlap)))


def clean_of(cards: Sequence[ScoreCard]) -> list[Clean | None]:
    """The clean subset of each scorecard that declares overlap, in the order given; None for the others.

    All scorecards must share one set of questions. Each system has a subset of its own, on which every system of the
    table is scored and ranked; systems that declare the same questions share the work.
    """
    from edu_rag.statistics import points_of, rate_intervals, shared_lessons

    lessons = shared_lessons([card.lessons for card in cards])
    ranks: dict[str, list[Rank]] = {}
    found: list[Clean | None] = []
    for at, card in enumerate(cards):
        n_declared = card.overlap.count("1")
        n = card.counts.n - n_declared
        if not n_declared or not n:
            found.append(Clean(n=n, n_declared=n_declared) if n_declared else None)
            continue
        if card.overlap not in ranks:
            ranks[card.overlap] = _clean_ranks(cards, lessons, card.overlap)
        kept = _kept(card.outcomes, card.overlap)
        intervals, _ = rate_intervals(kept, _kept_lessons(lessons, card.overlap))
        score = int(points_of(kept).sum()) / n
        place = ranks[card.overlap][at]
        found.append(Clean(n=n, n_declared=n_declared, score=score, interval=intervals["score"], rank=place))
    return found
