"""The claim metrics next to a scorecard, as rows of a system's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.claims_card import ClaimsCard, MetricTotal

MEANINGS: Mapping[str, str] = {
    "faithfulness": "claims of the answer that the passages support",
    "answer_relevancy": "likeness of the question and questions made from the answer",
    "context_precision": "precision at the ranks of relevant passages",
    "context_recall": "claims of the reference that the passages support",
    "claim_precision": "claims of the answer that the reference supports",
    "claim_recall": "claims of the reference that the answer supports",
    "claim_f1": "harmonic mean of claim precision and recall",
    "retrieved_recall": "claims of the reference that some passage supports",
    "retrieved_precision": "passages that support some claim of the reference",
    "nuggets_strict_vital": "vital nuggets wholly in the answer",
    "nuggets_vital": "vital nuggets in the answer; a part counts 1/2",
    "nuggets_strict_all": "nuggets wholly in the answer",
    "nuggets_all": "nuggets in the answer; a part counts 1/2",
    **{
        f"{name}_{i}": f"{meaning}, prompt {i}"
        for i in (1, 2, 3)
        for name, meaning in (("correctness", "score from 1 to 5"), ("correct", "answers with a score of at least 4"))
    },
}
"""The metrics that a page shows; a file may name others."""


class ClaimRow(NamedTuple):
    """A metric in words, what it means, and its total."""

    words: str
    meaning: str
    total: MetricTotal


class ClaimRows(NamedTuple):
    """The rows, the judge by name, its mark (`below`, `open`, `reached`), and what it was audited as.

    The last two are empty if it was not audited.
    """

    rows: Sequence[ClaimRow]
    judge: str
    mark: str
    audited_as: str


def claim_rows_of(found: ClaimsCard | None, card: ScoreCard) -> ClaimRows | None:
    """The claim metrics of the predictions that a scorecard scored; None if there are none, or of other predictions."""
    if found is None or not _is_of(found, card):
        return None
    totals = {total.metric: total for total in found.metrics}
    rows = [
        ClaimRow(name.replace("_", " "), meaning, totals[name]) for name, meaning in MEANINGS.items() if name in totals
    ]
    audit = found.audit
    return ClaimRows(rows, str(found.judge.get("name", "")), str(audit.get("mark", "")), str(audit.get("judge", "")))


def _is_of(found: ClaimsCard, card: ScoreCard) -> bool:
    ours = (card.dataset, card.split, card.sample, card.system.slug, card.predictions_sha256)
    return (found.dataset, found.split, found.sample, found.system, found.predictions_sha256) == ours
