"""A pull request, and the result of its review."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import ScoreCard, SystemFacts
from harness.pulls.changed_files import Change
from harness.pulls.place_on_board import Standing
from harness.pulls.sandboxed_runs import SandboxedRun, Terms
from harness.pulls.tables import PullTable


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
    terms: Terms = field(default_factory=Terms)
    keep: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """A scored table: the scorecard, its place on the board, the sandboxed run, and warnings."""

    table: PullTable
    card: ScoreCard
    standing: Standing
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
