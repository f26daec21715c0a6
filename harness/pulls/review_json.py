"""A review as JSON-ready values: the report for machines. No question, no gold, no outcome of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edu_rag.files.typed import to_plain
from harness.pulls.place_on_board import Against

if TYPE_CHECKING:
    from harness.pulls.review_records import Review, TableResult

HIDDEN_PLACES = 2
"""Decimals of a rate on a split whose gold is hidden."""


def review_values(review: Review) -> dict[str, Any]:
    """The whole review. `accepted` is the verdict, `faults` the reasons of a refusal, `tables` the scored tables."""
    return {
        "accepted": review.accepted,
        "change": None if review.change is None else to_plain(review.change),
        "system": None if review.system is None else to_plain(review.system),
        "faults": [{"where": f.where, "what": f.what, "remedy": f.remedy} for f in review.faults],
        "tables": [_table(result) for result in review.results],
        "sandbox": review.sandbox,
        "n_runs_of_team": review.n_runs_of_team,
        "warnings": list(review.warnings),
        "notes": list(review.notes),
        "kept": list(review.kept),
        "rows": list(review.rows),
    }


def _table(result: TableResult) -> dict[str, Any]:
    card, table = result.card, result.table
    shown: dict[str, Any] = {
        "dataset": card.dataset,
        "split": card.split,
        "sample": card.sample,
        "hidden_gold": table.hidden,
        "n": card.counts.n,
        "place": [result.standing.first, result.standing.last],
        "n_systems": result.standing.n,
        "against": [_against(one, table.hidden) for one in result.standing.against],
        "left_out": list(result.standing.left_out),
        "predictions_sha256": card.predictions_sha256,
        "system_sha256": card.system_sha256,
        "harness": card.harness,
        "asked": None if result.asked is None else to_plain(result.asked),
        "warnings": list(result.warnings),
    }
    if table.hidden:
        names = ("score", "accuracy", "hallucination", "missing")
        return shown | {"rates": {name: round(getattr(card.counts, name), HIDDEN_PLACES) for name in names}}
    slices = [part for part in card.slices if part.attribute != "lesson"]
    return shown | {
        "rates": card.counts.rates(),
        "counts": to_plain(card.counts),
        "intervals": to_plain(card.intervals),
        "slices": to_plain(slices),
        "attribution": to_plain(card.attribution),
        "retrieval": to_plain(card.retrieval),
        "cost": to_plain(card.cost),
    }


def _against(one: Against, hidden: bool) -> dict[str, Any]:
    paired = one.comparison.difference
    told = {"role": one.role, "system": one.comparison.second.system.slug, "established": one.established}
    if hidden:
        return told
    interval = [paired.low, paired.high]
    return told | {"difference": paired.difference, "interval": interval, "p": paired.p, "p_holm": one.p}
