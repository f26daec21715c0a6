"""How many of a scorecard's questions have evidence in sentences, and whether that is enough to read causes."""

from __future__ import annotations

from edu_rag.scorecard.card import ScoreCard

FEWEST_SHARE = 0.3
"""Where a smaller share of the questions has evidence, the causes say more about the labels than about a system."""


def n_with_evidence(card: ScoreCard) -> int | None:
    """How many questions of a scorecard have evidence in sentences; None if it does not say."""
    found = {part.value: part.counts.n for part in card.slices if part.attribute == "evidence"}
    return found.get("supported", 0) if found else None


def has_few_evidence(card: ScoreCard) -> bool:
    """Whether fewer than FEWEST_SHARE of a scorecard's questions have evidence."""
    n = n_with_evidence(card)
    return n is not None and n < FEWEST_SHARE * card.counts.n


def evidence_sentence(n_with: int, n: int) -> str:
    """How many questions have evidence, in words that do not take a label that is missing for evidence that is."""
    return f"evidence was found for {n_with:,} of {n:,} questions ({100 * n_with / n if n else 0:.1f} %)"
