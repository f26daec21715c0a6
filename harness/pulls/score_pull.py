"""From checked submissions to results: predictions submitted or made in the sandbox, scored, and compared."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError, SandboxError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.names import QuestionSet
from edu_rag.scorecard.card import ScoreCard
from harness.exam import Exam
from harness.pulls.changed_files import Change
from harness.pulls.place_on_board import of_table, place_among
from harness.pulls.review_records import ReviewRequest, TableResult
from harness.pulls.review_warnings import of_citations, of_copies, of_outcomes, of_rerun, readings
from harness.pulls.sandboxed_runs import SandboxedRun, ask_again, ask_all, why_not
from harness.pulls.scored_tables import Asks, PullTable
from harness.rescoring.scoring_jobs import PlacedPredictions, predictions_of
from harness.scoring.score import Scored, card_of, score_within
from harness.submission.folder import Submission, open_submission
from harness.submission.plain_files import MAX_PREDICTIONS_FILE_BYTES
from harness.submission.target import Target
from harness.trust.cautions import may_cite, page_lengths
from harness.trust.implausible import implausible
from harness.trust.rerun_log import NOBODY

MAX_SCORED = 300
MAX_BYTES = 300_000_000
"""Predictions files of the base that one table scores here, and their size together: some 20 seconds of work."""


class Merged(NamedTuple):
    """The scorecards of merged submissions, and a word on those that were left out because they are too many."""

    cards: list[ScoreCard]
    left_out: tuple[str, ...]


def scored_now(base: Path, table: PullTable, exam: Exam, cards: Sequence[ScoreCard], scored_at: datetime) -> Merged:
    """Scorecards of the base's predictions for a table that none of `cards` is on, in order of slug.

    Faulty files are left out silently: their team's pull request has reported them.
    """
    asked = exam.dataset, exam.split, exam.sample
    have = {card.system.slug for card in cards if (card.dataset, card.split, card.sample) == asked}
    found: list[ScoreCard] = []
    n_tried, n_bytes, n_left = 0, 0, 0
    for path in _predictions(base, table):
        slug = path.parents[2].name
        if slug in have:
            continue
        have.add(slug)
        n_tried, n_bytes = n_tried + 1, n_bytes + path.stat().st_size
        if n_tried > MAX_SCORED or n_bytes > MAX_BYTES:
            n_left += 1
            continue
        try:
            submission = open_submission(path.parents[2])
            target = Target(path, submission.facts, folder=submission.folder)
            card = score_within(exam, target, card_of, scored_at=scored_at, vouched=NOBODY)
            found.append(card)
        except EduRagError:  # the job on main reports it again
            continue
    return Merged(found, _left_out(n_left))


def _left_out(n: int) -> tuple[str, ...]:
    if not n:
        return ()
    limits = f"{MAX_SCORED} files or {MAX_BYTES // 1_000_000} MB are scored here"
    return (
        f"{n:,} merged submission(s) without a result yet: at most {limits}; maintainers: commit the board's results",
    )


def _predictions(base: Path, table: PullTable) -> Iterator[Path]:
    """The base's files for a table: its own ones first, then those of the whole split."""
    for name in dict.fromkeys((table.name, table.split)):
        for path in sorted((base / "submissions").glob(f"*/predictions/{table.folder}/{name}.jsonl")):
            if path.is_file() and not path.is_symlink():
                yield path


MAX_LEFT = 5
"""Datasets that are not at hand and are named."""


@dataclass(slots=True, kw_only=True)
class Scoring:
    """The work on one submission. Collected on the way: `faults`, `warnings`, files `kept`, why it was not run."""

    request: ReviewRequest
    submission: Submission
    change: Change
    tables: Sequence[PullTable]
    asks: Mapping[str, Asks]
    cards: Sequence[ScoreCard]
    baselines_team: str
    scratch: Path
    faults: list[EduRagError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    sandbox: str = ""

    def results(self) -> list[TableResult]:
        """A result for each table of the board that there are predictions for, or that the system can be run over."""
        made = list(self._touched())
        self.faults += [fault for one in made if (fault := _no_table(one, self.asks))]
        self.warnings += _not_at_hand(made, self.request.datasets)
        if self.faults:
            return []
        served = _served(self.tables, list(predictions_of(self.submission)))
        paths = {one.path for one in made}
        found = [self._scored(table, self._handed_in(table, path)) for table, path in served if path in paths]
        return found + [result for table in self._to_run() if (result := self._made_here(table))]

    def _touched(self) -> Iterator[PlacedPredictions]:
        """The predictions files that the pull request brings."""
        for made in predictions_of(self.submission):
            if f"submissions/{self.change.slug}/{made.path.relative_to(self.submission.folder)}" in self.change.files:
                yield made

    def _to_run(self) -> Iterator[PullTable]:
        """The tables that a new runnable system is run over: of a dataset that it has no predictions for at all."""
        if not self.submission.settings.command or self.change.kind != "new":
            return
        has = {one.asked.release for one in predictions_of(self.submission)}
        for table in self.tables:
            if table.run and table.dataset.manifest.release not in has:
                yield table

    def _handed_in(self, table: PullTable, path: Path) -> _Source:
        """Predictions that were submitted, and the result of re-running some of them."""
        exam, terms = table.exam(), self.request.terms
        if not self.submission.settings.command or terms.choice == "never" or not terms.n_again or self.sandbox:
            return _Source(exam, path, None, ())
        try:
            asked = ask_again(self.submission, table, exam, path, self.scratch, terms)
            return _Source(exam, path, asked, tuple(of_rerun(asked)))
        except SandboxError as error:
            self._no_sandbox(error)
        except EduRagError as error:
            return _Source(exam, path, None, (f"the re-run failed: {'; '.join(map(str, each_fault(error)))}",))
        return _Source(exam, path, None, ())

    def _made_here(self, table: PullTable) -> TableResult | None:
        """Predictions made in the sandbox and scored; None if they could not be made."""
        if self.request.terms.choice == "never":
            self.sandbox = "Nothing of the submission was run: this check was started so that it runs nothing."
        if not self.sandbox:
            try:
                path, asked = ask_all(self.submission, table, self.scratch, self.request.terms)
            except SandboxError as error:
                self._no_sandbox(error)
            except EduRagError as error:
                self.faults += each_fault(error)
                return None
            else:
                self._keep(table, path)
                return self._scored(table, _Source(table.exam(), path, asked, ()))
        what = f"has no predictions for {table.folder}, and its system was not run"
        self.faults.append(SubmissionError(f"submissions/{self.change.slug}", what, "hand in its predictions"))
        return None

    def _no_sandbox(self, error: SandboxError) -> None:
        """Fail closed: nothing is run from here on."""
        self.sandbox = why_not(error)
        if self.request.terms.choice == "always":
            self.faults.append(error)

    def _keep(self, table: PullTable, path: Path) -> None:
        """Copy the predictions that were made here to where they belong in a checkout."""
        if self.request.keep is None:
            return
        if path.stat().st_size > MAX_PREDICTIONS_FILE_BYTES:
            most = f"{MAX_PREDICTIONS_FILE_BYTES:,} bytes"
            self.warnings.append(f"{path.name}, made here, is over {most}: too much to be kept or handed in")
            return
        folder = f"submissions/{self.change.slug}/predictions/{table.folder}"
        (self.request.keep / folder).mkdir(parents=True, exist_ok=True)
        for file in (path, path.with_suffix(".run.json")):
            shutil.copyfile(file, self.request.keep / folder / file.name)
            self.kept.append(f"{folder}/{file.name}")

    def _scored(self, table: PullTable, source: _Source) -> TableResult:
        """Score predictions without trusting the files next to them. Raises EduRagError."""
        target = Target(source.path, self.submission.facts, folder=self.submission.folder)
        lengths = page_lengths(table.dataset, table.split) if may_cite(source.path) else {}
        of = partial(_reported, source.exam, lengths)
        card, cited, mine = score_within(source.exam, target, of, scored_at=self.request.scored_at, vouched=NOBODY)
        merged = scored_now(self.request.base, table, source.exam, self.cards, self.request.scored_at)
        known = [*self.cards, *merged.cards]
        standing = place_among(card, known, self.baselines_team)
        warnings = (
            *source.warnings,
            *of_outcomes(card),
            # Of hidden gold a sentence with counts of a slice would say more than the report does.
            *implausible(replace(card, slices=()) if table.hidden else card, of_table(known, card)[0]),
            *cited,
            *of_copies(table, source.exam, mine, card, self.request.base, of_table(known, card)[0]),
        )
        standing = replace(standing, left_out=(*standing.left_out, *merged.left_out))
        return TableResult(table=table, card=card, standing=standing, asked=source.asked, warnings=warnings)


@dataclass(frozen=True, slots=True)
class _Source:
    """Predictions to score: the exam, the file, the sandboxed run, and remarks."""

    exam: Exam
    path: Path
    asked: SandboxedRun | None
    warnings: tuple[str, ...]


def _reported(exam: Exam, lengths: Mapping[str, int], scored: Scored) -> tuple[ScoreCard, Sequence[str], Sequence[str]]:
    """The report's view of scored predictions: the scorecard, odd citations, and each answer's reading."""
    return scored.card, list(of_citations(scored.predictions, lengths)), readings(exam, scored.predictions)


def _served(tables: Sequence[PullTable], made: Sequence[PlacedPredictions]) -> Iterator[tuple[PullTable, Path]]:
    """Each table with its predictions: its own file, or else that of the whole split."""
    for table in tables:
        files = {one.asked: one.path for one in made}
        whole = QuestionSet(table.dataset.manifest.release, table.split, None)
        path = files.get(whole._replace(sample=table.sample), files.get(whole))
        if path is not None:
            yield table, path


def _no_table(made: PlacedPredictions, asks: Mapping[str, Asks]) -> SubmissionError | None:
    """Predictions for a sample that the board does not ask for: who may choose the questions may choose easy ones.

    In any version of the dataset, and whether it is at hand or not: scoring all carries predictions to the board's
    version, and puts everybody into the tables of the samples that it finds. A version that the board does not have yet
    is refused too: its predictions would wait, unseen, until it has.
    """
    release = made.asked.release
    asked = asks.get(release.name)
    if asked is None:
        return None
    if made.path.stem not in asked.names:
        there = ", ".join(f"{name}.jsonl" for name in asked.names)
        return SubmissionError(made.path, "the board has no such table", f"it has {there}")
    if release.version > asked.newest:
        what = f"the board has {release.name} {asked.newest}, nothing newer"
        return SubmissionError(made.path, what, "answer that version")
    return None


def _not_at_hand(made: Sequence[PlacedPredictions], datasets: Sequence[Dataset]) -> list[str]:
    """Predictions that nothing is said of here, because their dataset was not given."""
    here = {dataset.manifest.release for dataset in datasets}
    names = sorted({one.asked.release.folder for one in made if one.asked.release not in here})
    notes = [
        f"the predictions for {name} were not scored: that dataset is not at hand here" for name in names[:MAX_LEFT]
    ]
    # Bounded here: a thousand of these would push the warnings of copied answers out of the report.
    more = len(names) - MAX_LEFT
    return notes + ([f"nor were those for {more:,} more: their datasets are not at hand either"] if more > 0 else [])
