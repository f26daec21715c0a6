"""Three systems and more on the same questions: all pairs after Holm, and ranks as tie groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edu_rag.comparing.all_pairs import AllPairs, all_pairs_of
from edu_rag.comparing.tested_pair import TestedPair
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import Paired, rank_groups, shared_lessons, smallest_detectable_difference, typical_sd
from harness.comparing.compare import Choice, caveats, paired_values, sides_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTable:
    """Systems in the order given, the rank of each (shared without an established difference), and all their pairs.

    `detectable` is the smallest score difference that one test finds with 80 % power for a typical pair; None if
    no two systems differ.
    """

    cards: tuple[ScoreCard, ...]
    ranks: tuple[int, ...]
    pairs: AllPairs
    detectable: float | None
    caveats: tuple[str, ...]

    @property
    def any_difference(self) -> Paired:
        """A difference, for what all pairs share: questions, lessons, method."""
        return self.pairs.tested[0, 1].difference


def table_of(cards: Sequence[ScoreCard]) -> ComparisonTable:
    """Compare scorecards that are on the same questions (see `require_same`); two at least."""
    outcomes = [card.outcomes for card in cards]
    lessons = shared_lessons([card.lessons for card in cards])
    pairs, sd = all_pairs_of(cards), typical_sd(outcomes, lessons)
    return ComparisonTable(
        cards=tuple(cards),
        ranks=tuple(rank_groups(outcomes, lessons=lessons)),
        pairs=pairs,
        detectable=smallest_detectable_difference(cards[0].counts.n, sd) if sd else None,
        caveats=caveats(cards, pairs.tested[0, 1].difference),
    )


def compare_many(paths: Sequence[Path], choice: Choice) -> ComparisonTable:
    """Compare what paths stand for: scorecards, predictions or submissions. Raises SubmissionError, DataError."""
    sides, _ = sides_of(paths, choice)
    return table_of([side.card for side in sides])


def _pair_values(at: tuple[int, int], pair: TestedPair) -> dict[str, Any]:
    return {
        "first": at[0],
        "second": at[1],
        **paired_values(pair.difference),
        "sign_flip_p_holm": pair.p_holm,
        "mcnemar_p": pair.correctness.p,
        "mcnemar_p_holm": pair.mcnemar_p_holm,
    }


def table_values(table: ComparisonTable) -> dict[str, Any]:
    """A table as JSON-ready values."""
    shared = table.any_difference
    return {
        "n": shared.n,
        "n_units": shared.n_units,
        "interval_method": shared.method,
        "systems": [
            {"system": card.system.slug, "rank": rank, "score": card.counts.score, "strict": card.counts.strict_score}
            for card, rank in zip(table.cards, table.ranks, strict=True)
        ],
        "pairs": [_pair_values(at, pair) for at, pair in table.pairs.tested.items()],
        "smallest_detectable_difference": table.detectable,
        "caveats": list(table.caveats),
    }
