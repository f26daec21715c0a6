"""Three systems and more on the same questions: all pairs after Holm, and ranks as tie groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import (
    McNemar,
    Paired,
    holm,
    mcnemar_all,
    paired_all,
    rank_groups,
    shared_lessons,
    smallest_detectable_difference,
    typical_sd,
)
from harness.comparing.compare import Choice, paired_values, sides_of
from harness.comparing.same import caveats


class TestedPair(NamedTuple):
    """Two systems by their place in the table: both tests, and their p after Holm over all pairs of the table."""

    first: int
    second: int
    difference: Paired
    p_holm: float
    correctness: McNemar
    mcnemar_p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTable:
    """Systems in the order given, the rank of each (shared where they cannot be told apart), and all pairs i < j.

    `detectable` is the smallest score difference that one test finds with 80 % power for a typical pair; None if
    no two systems differ.
    """

    cards: tuple[ScoreCard, ...]
    ranks: tuple[int, ...]
    pairs: tuple[TestedPair, ...]
    detectable: float | None
    caveats: tuple[str, ...]


def table_of(cards: Sequence[ScoreCard]) -> ComparisonTable:
    """Compare scorecards that are on the same questions (see `require_same`); two at least."""
    outcomes = [card.outcomes for card in cards]
    lessons = shared_lessons([card.lessons for card in cards])
    differences = paired_all(outcomes, lessons)
    correctness = mcnemar_all(outcomes, lessons)
    adjusted = holm([difference.p for difference in differences.values()])
    mcnemar_adjusted = holm([found.p for found in correctness.values()])
    pairs = tuple(
        TestedPair(i, j, differences[i, j], p_holm, correctness[i, j], mcnemar_p_holm)
        for (i, j), p_holm, mcnemar_p_holm in zip(differences, adjusted, mcnemar_adjusted, strict=True)
    )
    sd = typical_sd(outcomes, lessons)
    return ComparisonTable(
        cards=tuple(cards),
        ranks=tuple(rank_groups(outcomes, lessons=lessons)),
        pairs=pairs,
        detectable=smallest_detectable_difference(cards[0].counts.n, sd) if sd else None,
        caveats=tuple(caveats(cards, pairs[0].difference)),
    )


def compare_many(paths: Sequence[Path], choice: Choice) -> ComparisonTable:
    """Compare what paths stand for: scorecards, predictions or submissions. Raises SubmissionError, DataError."""
    sides, _ = sides_of(paths, choice)
    return table_of([side.card for side in sides])


def table_values(table: ComparisonTable) -> dict[str, Any]:
    """A table as JSON-ready values."""
    any_pair = table.pairs[0].difference
    return {
        "n": any_pair.n,
        "n_units": any_pair.n_units,
        "interval_method": any_pair.method,
        "systems": [
            {"system": card.system.slug, "rank": rank, "score": card.counts.score, "strict": card.counts.strict_score}
            for card, rank in zip(table.cards, table.ranks, strict=True)
        ],
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                **paired_values(pair.difference),
                "sign_flip_p_holm": pair.p_holm,
                "mcnemar_p": pair.correctness.p,
                "mcnemar_p_holm": pair.mcnemar_p_holm,
            }
            for pair in table.pairs
        ],
        "smallest_detectable_difference": table.detectable,
        "caveats": list(table.caveats),
    }
