"""The causes for which a question is lost, as scorecards count them in `attribution`: their names and meanings."""

from __future__ import annotations

from collections.abc import Mapping

from edu_rag.scorecard.card import ScoreCard

CAUSES: Mapping[str, str] = {
    "failed": "the system crashed, ran out of time, or left the question out",
    "flagged_broken": "the question cannot be answered as it stands",
    "unparseable": "the answer names no single choice",
    "evidence_not_found": "no evidence was found in its pages, which may still have some",
    "over_abstained": "it abstained with evidence in its hands",
    "not_retrieved": "the dataset has evidence, the system cited none of it",
    "not_used": "evidence was cited, and the answer is wrong",
}
"""Every cause with its meaning, in order of precedence (docs/scoring-spec.md, section 7, gives the reasons)."""
RENAMED: Mapping[str, str] = {"no_evidence": "evidence_not_found"}
"""Causes that older scorecards count under another name."""


def known_causes(attribution: Mapping[str, int]) -> dict[str, int]:
    """An attribution with today's names, in the same order."""
    return {RENAMED.get(cause, cause): n for cause, n in attribution.items()}


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
