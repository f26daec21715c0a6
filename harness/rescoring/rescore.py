"""Scoring every submission again: predictions are the source of truth, and changes are reported with their causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from edu_rag.errors import EduRagError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import file_sha256
from edu_rag.progress import Stage, say
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import PREDICTIONS
from harness.judging.free_text import UnjudgedError
from harness.judging.grading import Grading
from harness.rescoring.eligible_predictions import target_of
from harness.rescoring.jobs import OpenExams, Results, ScoringJob, ScoringPlan, plans, submissions_in
from harness.rescoring.score_changes import Kept, Rescoring, ScoreChange, beside_the_score, move_of
from harness.scoring.score import card_and_trust, score_within, uncollected, write_results
from harness.submission.target import Target
from harness.trust.cautions import of_files
from harness.trust.rerun_log import NOBODY, Trust, Vouched

GONE = "its predictions are gone"


def _mend_copy(copy: Path, card: ScoreCard, predictions: Path) -> None:
    """Write the copy of the predictions again if it is missing or differs from the scored ones; the scorecard stays."""
    if not copy.is_file() or copy.is_symlink() or file_sha256(copy) != card.predictions_sha256:
        write_file(copy, predictions.read_bytes())


class _Work:
    """The state while everything is scored again."""

    def __init__(
        self, results: Results, exams: OpenExams, scored_at: datetime, grading: Grading | None, vouched: Vouched
    ) -> None:
        self._results, self._exams, self._scored_at, self._grading = results, exams, scored_at, grading
        self._vouched = vouched
        self.moves: list[ScoreChange] = []
        self.renewed: list[ScoreChange] = []
        self.unvouched: set[str] = set()
        self._told: set[Path] = set()
        self.done: set[Path] = set()
        self.faulty: set[Path] = set()

    def score(self, job: ScoringJob) -> None:
        """Score one job and write its scorecard where it is new or differs. Raises EduRagError."""
        exam = self._exams.of(job.dataset, job.made.asked.split, job.made.asked.sample)
        target = target_of(job.submission, job.made, job.dataset)
        card, trust = score_within(
            exam,
            target,
            card_and_trust,
            scored_at=self._scored_at,
            grading=self._grading,
            vouched=self._vouched,
        )
        self._tell(target, trust)
        move = move_of(self._results.before(card), card, exam)
        if move is not None or job.scorecard not in self._results.cards:
            write_results(self._results.folder, card, target.path)
        else:
            _mend_copy(job.scorecard.with_name(PREDICTIONS), card, target.path)
        if move is not None:
            (self.renewed if beside_the_score(move) else self.moves).append(move)
        self.done.add(job.scorecard)

    def _tell(self, target: Target, trust: Trust) -> None:
        """Print the cautions of a predictions file, once for all its tables."""
        if target.path not in self._told:
            self._told.add(target.path)
            for caution in (*(() if target.made_on else of_files([target.path])), *trust.doubts):
                say(caution)
            if trust.unvouched:
                self.unvouched.add(target.system.slug)


def rescore(
    submissions: Path,
    datasets: Sequence[Dataset],
    results: Path,
    *,
    scored_at: datetime,
    grading: Grading | None = None,
    vouched: Vouched = NOBODY,
) -> Rescoring:
    """Score every submission's predictions for these datasets again and write changed results under `results`.

    A result that is the same keeps its bytes and its time. A faulty file loses only its own result and is reported in
    `faults`. Results of other datasets and versions stay as they are. Raises ConfigError if there is no folder of
    submissions (one submission is not enough), or two of the datasets have one name and version.
    """
    faults: list[EduRagError] = []
    there = Results(results)
    exams = OpenExams(datasets, there)
    work = _Work(there, exams, scored_at, grading, vouched)
    planned = plans(submissions_in(submissions, faults), datasets, exams, there)
    with Stage("score", total=len(planned), bad="not scored") as stage:
        for plan in planned:
            n_before = len(work.done)
            with uncollected():
                found = _score_plan(work, plan)
            faults += found
            stage.add("faulty" if found else "done" if len(work.done) > n_before else "no predictions for it")
    if work.unvouched:
        say(f"{len(work.unvouched):,} submission(s) with run records or probes that nobody vouches for: ignored")
    faults += [fault for path, found in there.faults.items() if path not in work.done for fault in found]
    return Rescoring(
        datasets=tuple(dataset.id for dataset in datasets),
        n_unchanged=len(work.done) - len(work.moves) - len(work.renewed),
        moves=tuple(work.moves),
        renewed=tuple(work.renewed),
        kept=tuple(_kept(there, datasets, work)),
        faults=tuple(faults),
    )


def _score_plan(work: _Work, plan: ScoringPlan) -> list[EduRagError]:
    """Score all predictions that a submission has for a dataset; return their faults."""
    faults = list(plan.faults)
    for job in plan.jobs:
        try:
            work.score(job)
        except UnjudgedError as error:
            work.faulty.add(job.scorecard)
            faults.append(SubmissionError(job.made.path, error.what, error.remedy))
        except EduRagError as error:
            work.faulty.add(job.scorecard)
            faults += each_fault(error)
    return faults


def _kept(there: Results, datasets: Sequence[Dataset], work: _Work) -> Iterator[Kept]:
    for path, card in there.cards.items():
        if path not in work.done:
            why = "its predictions could not be scored" if path in work.faulty else why_kept(card, datasets)
            yield Kept(scorecard=path.relative_to(there.folder).as_posix(), dataset=card.dataset, why=why)


def why_kept(card: ScoreCard, datasets: Sequence[Dataset]) -> str:
    """The reason why a result cannot be made again from the given datasets."""
    name, version = card.dataset_id.release
    given = [one.manifest.release.version for one in datasets if one.manifest.name == name]
    if version in given:
        return GONE
    if not given:
        return "its dataset was not given"
    if all(version.major != other.major for other in given):
        return "another major version, which is never mixed with the ones given"
    return "another version than the ones given"
