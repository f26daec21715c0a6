"""A pull request and the result of its review, as records and as JSON: no question, no gold, no single outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.typed import to_plain
from edu_rag.scorecard.card import ScoreCard, SystemFacts
from harness.pulls.changed_files import Change
from harness.pulls.place_on_board import ComparedWith, PlaceOnBoard
from harness.pulls.sandboxed_runs import RunTerms, SandboxedRun
from harness.pulls.scored_tables import PullTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """A pull request: the trees before and after, its author, the tables to score on, and how to run its system.

    `keep` is a folder for the predictions that are made here; None keeps none.
    """

    base: Path
    head: Path
    datasets: tuple[Dataset, ...]
    scored_at: datetime
    author: str | None = None
    terms: RunTerms = field(default_factory=RunTerms)
    keep: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """A scored table: the scorecard, its place on the board, the sandboxed run, and warnings."""

    table: PullTable
    card: ScoreCard
    standing: PlaceOnBoard
    asked: SandboxedRun | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The result of reviewing a pull request. Refused if it has faults. `sandbox` says why its system was not run.

    `kept`: the files that its team should add to the pull request, with their paths in a checkout. `rows`: the board's
    tables that a withdrawn system has a row in.
    """

    change: Change | None = None
    system: SystemFacts | None = None
    faults: tuple[EduRagError, ...] = ()
    results: tuple[TableResult, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n_runs_of_team: int = 0
    sandbox: str = ""
    kept: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it may be merged, as far as a machine can say."""
        return not self.faults


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


def _against(one: ComparedWith, hidden: bool) -> dict[str, Any]:
    paired = one.comparison.difference
    record = {"role": one.role, "system": one.comparison.second.system.slug, "established": one.established}
    if hidden:
        return record
    interval = [paired.low, paired.high]
    return record | {"difference": paired.difference, "interval": interval, "p": paired.p, "p_holm": one.p}
