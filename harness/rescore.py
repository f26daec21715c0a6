"""Scoring every submission again: predictions are the source of truth, and what moved is told with its cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError, SubmissionError
from edu_rag.jsonl import write_file
from edu_rag.manifest import file_sha256
from edu_rag.progress import Stage, say
from edu_rag.results import ScoreCard
from edu_rag.scorecards import FILE_NAME, read_scorecard
from harness.carry import Asked, Made, best_for, predictions_of, target_of, version_of
from harness.cautions import of_files
from harness.judging.free_text import UnjudgedError
from harness.judging.grading import Grading
from harness.moves import Kept, Move, Rescoring, move_of
from harness.score import COPY_NAME, Exam, open_exam, results_folder, sampled, score_on, uncollected, write_results
from harness.submission import FILE_NAME as SUBMISSION_FILE
from harness.submission import Submission, open_submission


class Job(NamedTuple):
    """One predictions file to score on one dataset, and where among the results its scorecard belongs."""

    dataset: Dataset
    submission: Submission
    made: Made
    scorecard: Path


class _Results:
    """The scorecards that a results folder holds; `faults` are of those that cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cards: dict[Path, ScoreCard] = {}
        self.faults: dict[Path, list[EduRagError]] = {}
        for path in sorted(folder.rglob(FILE_NAME)) if folder.is_dir() else ():
            try:
                card = read_scorecard(path)
                _asked(card)
            except EduRagError as error:
                self.faults[path] = _each(error)
            except ValueError:
                self.faults[path] = [DataError(path, f"dataset: {card.dataset[:80]!r} is not name@version#hash8")]
            else:
                self.cards[path] = card

    def before(self, after: ScoreCard) -> ScoreCard | None:
        """The result that a new one replaces, or else the newest one of an older version of the dataset."""
        own = self.cards.get(results_folder(self.folder, after) / FILE_NAME)
        if own is not None:
            return own
        older = [card for card in self.cards.values() if _is_older(card, after)]
        return max(older, key=lambda card: _asked(card)[1], default=None)


def _mend_copy(copy: Path, card: ScoreCard, predictions: Path) -> None:
    """Write the copy of the predictions again where it is gone or is not what was scored; the scorecard stays."""
    if not copy.is_file() or copy.is_symlink() or file_sha256(copy) != card.predictions_sha256:
        write_file(copy, predictions.read_bytes())


def _each(error: EduRagError) -> list[EduRagError]:
    return list(error.faults) if isinstance(error, FaultsError) else [error]


def _asked(card: ScoreCard) -> Asked:
    name, _, rest = card.dataset.partition("@")
    return name, version_of(rest.partition("#")[0]), card.split, card.sample


def _is_older(card: ScoreCard, after: ScoreCard) -> bool:
    if (card.system.slug, card.split, card.sample) != (after.system.slug, after.split, after.sample):
        return False
    (name, version, *_), (of, than, *_) = _asked(card), _asked(after)
    return name == of and version < than


class _Exams:
    """Each exam is opened once, whatever the number of submissions."""

    def __init__(self, datasets: Sequence[Dataset], results: _Results) -> None:
        self._open: dict[tuple[str, str, str | None], Exam] = {}
        self._datasets = datasets
        self._prints: defaultdict[Asked, set[str]] = defaultdict(set)
        for card in results.cards.values():
            if "questions" in card.exam and not card.made_on:
                self._prints[_asked(card)].add(card.exam["questions"])

    def of(self, dataset: Dataset, split: str, sample: str | None) -> Exam:
        """The exam of a split or of a sample of it. Raises EduRagError."""
        key = dataset.id, split, sample
        if key not in self._open:
            whole = self._open.get((dataset.id, split, None)) or open_exam(dataset, split, None)
            self._open[dataset.id, split, None] = whole
            self._open[key] = sampled(whole, sample) if sample else whole
        return self._open[key]

    def same_questions(self, dataset: Dataset, made: Made) -> bool:
        """Whether all that is known of another version's questions says that they are this dataset's very questions."""
        known = set(self._prints.get(made.asked, ()))
        for other in self._datasets:
            is_its_own = (other.manifest.name, version_of(other.manifest.version)) == made.asked[:2]
            if is_its_own and made.split in other.splits():
                known.add(self.of(other, made.split, made.sample).prints["questions"])
        return known == {self.of(dataset, made.split, made.sample).prints["questions"]}


def _submissions(folder: Path, faults: list[EduRagError]) -> list[Submission]:
    if not folder.is_dir():
        raise ConfigError(folder, "is no folder", "give the folder that holds the submissions")
    if (folder / SUBMISSION_FILE).is_file():
        raise ConfigError(folder, "is one submission", "give the folder that it lies in, or score it without --all")
    found: list[Submission] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            try:
                found.append(open_submission(path))
            except EduRagError as error:
                faults += _each(error)
    return found


def _jobs_of(dataset: Dataset, submission: Submission, exams: _Exams, results: Path) -> list[Job]:
    version = f"{dataset.manifest.name}-{dataset.manifest.version}"
    jobs = []
    for made in best_for(dataset, predictions_of(submission), lambda made: exams.same_questions(dataset, made)):
        table = f"{made.split}-{made.sample}" if made.sample else made.split
        jobs.append(Job(dataset, submission, made, results / version / table / submission.slug / FILE_NAME))
    return jobs


class _Work:
    """What is done while all is scored again."""

    def __init__(self, results: _Results, exams: _Exams, scored_at: datetime, grading: Grading | None) -> None:
        self._results, self._exams, self._scored_at, self._grading = results, exams, scored_at, grading
        self.moves: list[Move] = []
        self.done: set[Path] = set()
        self.faulty: set[Path] = set()

    def score(self, job: Job) -> None:
        """Score one job and write its scorecard where it is new or differs. Raises EduRagError."""
        exam = self._exams.of(job.dataset, job.made.split, job.made.sample)
        target = target_of(job.submission, job.made, job.dataset)
        for caution in () if target.made_on else of_files([target.path]):
            say(caution)
        card = score_on(exam, target, scored_at=self._scored_at, grading=self._grading).card
        move = move_of(self._results.before(card), card, exam)
        if move is not None or job.scorecard not in self._results.cards:
            write_results(self._results.folder, card, target.path)
        else:
            _mend_copy(job.scorecard.with_name(COPY_NAME), card, target.path)
        self.moves += [move] if move else []
        self.done.add(job.scorecard)


def rescore(
    submissions: Path, datasets: Sequence[Dataset], results: Path, *, scored_at: datetime,
    grading: Grading | None = None,
) -> Rescoring:  # fmt: skip
    """Score every submission's predictions for these datasets again and write what differs under `results`.

    A result that is the same keeps its bytes and its time. A faulty file costs its own result alone and is told in
    `faults`. Results of other datasets and versions stay as they are. Raises ConfigError where there is no folder of
    submissions (one submission is none), or two of the datasets have one name and version.
    """
    versions = [f"{dataset.manifest.name} {dataset.manifest.version}" for dataset in datasets]
    if len(set(versions)) < len(versions):
        raise ConfigError("--dataset", f"{max(versions, key=versions.count)} is given twice", "give it once")
    faults: list[EduRagError] = []
    there = _Results(results)
    exams = _Exams(datasets, there)
    work = _Work(there, exams, scored_at, grading)
    pairs = [(dataset, one) for one in _submissions(submissions, faults) for dataset in datasets]
    with Stage("score", total=len(pairs), bad="not scored") as stage:
        for dataset, submission in pairs:
            n_before = len(work.done)
            with uncollected():
                found = _score_pair(work, dataset, submission, exams, results)
            faults += found
            stage.add("faulty" if found else "done" if len(work.done) > n_before else "no predictions for it")
    faults += [fault for path, found in there.faults.items() if path not in work.done for fault in found]
    return Rescoring(
        datasets=tuple(dataset.id for dataset in datasets), n_unchanged=len(work.done) - len(work.moves),
        moves=tuple(work.moves), kept=tuple(_kept(there, datasets, work)), faults=tuple(faults),
    )  # fmt: skip


def _score_pair(
    work: _Work, dataset: Dataset, submission: Submission, exams: _Exams, results: Path
) -> list[EduRagError]:  # fmt: skip
    """Score all that a submission has for a dataset; return what is wrong with it."""
    faults: list[EduRagError] = []
    try:
        jobs = _jobs_of(dataset, submission, exams, results)
    except EduRagError as error:
        return _each(error)
    for job in jobs:
        try:
            work.score(job)
        except UnjudgedError as error:
            work.faulty.add(job.scorecard)
            faults.append(SubmissionError(job.made.path, error.what, error.remedy))
        except EduRagError as error:
            work.faulty.add(job.scorecard)
            faults += _each(error)
    return faults


def _kept(there: _Results, datasets: Sequence[Dataset], work: _Work) -> Iterator[Kept]:
    for path, card in there.cards.items():
        if path not in work.done:
            why = "its predictions could not be scored" if path in work.faulty else _why_kept(card, datasets)
            yield Kept(scorecard=path.relative_to(there.folder).as_posix(), dataset=card.dataset, why=why)


def _why_kept(card: ScoreCard, datasets: Sequence[Dataset]) -> str:
    name, version, *_ = _asked(card)
    given = [version_of(one.manifest.version) for one in datasets if one.manifest.name == name]
    if version in given:
        return "its predictions are gone"
    if not given:
        return "its dataset was not given"
    if all(version[0] != other[0] for other in given):
        return "another major version, which is never mixed with the ones given"
    return "another version than the ones given"
