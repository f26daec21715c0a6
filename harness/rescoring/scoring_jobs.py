"""The scoring work: which predictions may be scored on which dataset (scoring-spec.md, 11), and where results go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import ConfigError, EduRagError, RecordError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.names import DatasetId, QuestionSet, Release
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import FILE_NAME, ResultsFolder, place_of
from harness.exam import Exam, open_exam, sampled
from harness.submission.folder import FILE_NAME as SUBMISSION_FILE
from harness.submission.folder import Submission, behind_link, open_submission, present
from harness.submission.run_record import RunRecord, read_run_record
from harness.submission.target import Target


class PlacedPredictions(NamedTuple):
    """A predictions file of a submission and the questions that its place says it answers."""

    path: Path
    asked: QuestionSet


def predictions_of(submission: Submission) -> Iterator[PlacedPredictions]:
    """The predictions files of a submission at their documented paths."""
    for place in present(submission):
        asked = QuestionSet.of_place(place)
        if asked is not None:
            yield PlacedPredictions(submission.folder / "predictions" / place, asked)


def best_for(
    dataset: Dataset, made: Iterable[PlacedPredictions], same_questions: Callable[[PlacedPredictions], bool]
) -> Iterator[PlacedPredictions]:
    """Of each split and sample, the predictions to score on a dataset: its own version's, else the newest older one's.

    Never those made for a newer version, and those of an older major only where the questions are known to be the same.
    """
    name, version = dataset.manifest.release
    splits = dataset.splits()
    newest: dict[tuple[str, str | None], PlacedPredictions] = {}
    for one in sorted(made, key=lambda one: one.asked.release.version):
        (of, made_for), split, sample = one.asked
        if of != name or made_for > version or split not in splits:
            continue
        if made_for.major == version.major or same_questions(one):
            newest[split, sample] = one
    yield from (newest[key] for key in sorted(newest, key=lambda key: (key[0], key[1] or "")))


def target_of(submission: Submission, made: PlacedPredictions, dataset: Dataset) -> Target:
    """The predictions to score, with the dataset they were made on if that is another one. Raises EduRagError."""
    if behind_link(made.path, submission.folder):
        raise SubmissionError(made.path, "is a link or inside a linked folder", "put the file itself there")
    if not made.path.is_file():
        raise SubmissionError(made.path, "is not a regular file", "put the predictions themselves there")
    record = read_run_record(made.path)
    said = made.asked.release
    if record is None:
        made_on = "" if said == dataset.manifest.release else str(said)
    elif _release_of(record) == said:
        made_on = "" if record.answers_to(dataset.manifest) else record.dataset
    else:  # the place decides what may be scored, and the record could else name a newer version
        what = f"is under {said}, but its run record names {record.dataset[:80]}"
        raise SubmissionError(made.path, what, "put it where it belongs, or run the system again")
    return Target(made.path, submission.facts, made_on, submission.folder)


def _release_of(record: RunRecord) -> Release | None:
    try:
        return DatasetId.parse(record.dataset).release
    except RecordError:
        return None


def on_samples(best: Iterable[PlacedPredictions], tables: Iterable[tuple[str, str]]) -> Iterator[PlacedPredictions]:
    """The predictions to score, and on these samples, given as (split, sample), those of whole splits.

    A sample's own file goes before the whole split's of the same or an older version.
    """
    chosen = {(one.asked.split, one.asked.sample): one for one in best}
    for split, sample in sorted(tables):
        whole, own = chosen.get((split, None)), chosen.get((split, sample))
        if whole is not None and (own is None or own.asked.release.version < whole.asked.release.version):
            chosen[split, sample] = whole._replace(asked=whole.asked._replace(sample=sample))
    yield from (chosen[key] for key in sorted(chosen, key=lambda key: (key[0], key[1] or "")))


class ScoringJob(NamedTuple):
    """One predictions file to score on one dataset, and where among the results its scorecard belongs."""

    dataset: Dataset
    submission: Submission
    made: PlacedPredictions
    scorecard: Path


class Results(ResultsFolder):
    """The results that there are, and which of them a new one replaces."""

    def samples(self, dataset: Dataset) -> set[tuple[str, str]]:
        """The tables of samples among the results of a dataset's version, as (split, sample)."""
        release = dataset.manifest.release
        return {(c.split, c.sample) for c in self.cards.values() if c.sample and c.asked.release == release}

    def before(self, after: ScoreCard) -> ScoreCard | None:
        """The result that a new one replaces, or else the newest one of an older version of the dataset."""
        own = self.cards.get(self.folder / place_of(after) / FILE_NAME)
        if own is not None:
            return own
        older = [card for card in self.cards.values() if _is_older(card, after)]
        return max(older, key=lambda card: card.dataset_id.version, default=None)

    def newer_than(self, card: ScoreCard) -> bool:
        """Whether a newer version's result replaces this one on the board: docs/scoring-spec.md, section 11."""
        major, rule = card.dataset_id.major, card.answers_rule
        newer = (one for one in self.cards.values() if _is_older(card, one))
        return any(one.dataset_id.major == major and one.answers_rule == rule for one in newer)


def _is_older(card: ScoreCard, after: ScoreCard) -> bool:
    if (card.system.slug, card.split, card.sample) != (after.system.slug, after.split, after.sample):
        return False
    old, new = card.dataset_id, after.dataset_id
    return old.name == new.name and old.version < new.version


class OpenExams:
    """Each exam is opened once for all submissions."""

    def __init__(self, datasets: Sequence[Dataset], results: Results) -> None:
        self._open: dict[tuple[str, str, str | None], Exam] = {}
        self._datasets = datasets
        self._prints: defaultdict[QuestionSet, set[str]] = defaultdict(set)
        for card in results.cards.values():
            if "questions" in card.exam and not card.made_on:
                self._prints[card.asked].add(card.exam["questions"])

    def of(self, dataset: Dataset, split: str, sample: str | None) -> Exam:
        """The exam of a split or of a sample of it. Raises EduRagError."""
        key = dataset.id, split, sample
        if key not in self._open:
            whole = self._open.get((dataset.id, split, None)) or open_exam(dataset, split, None)
            self._open[dataset.id, split, None] = whole
            self._open[key] = sampled(whole, sample) if sample else whole
        return self._open[key]

    def same_questions(self, dataset: Dataset, made: PlacedPredictions) -> bool:
        """Whether all that is known of another version's questions says that they are this dataset's very questions."""
        known = set(self._prints.get(made.asked, ()))
        for other in self._datasets:
            if other.manifest.release == made.asked.release and made.asked.split in other.splits():
                known.add(self.of(other, made.asked.split, made.asked.sample).prints["questions"])
        return known == {self.of(dataset, made.asked.split, made.asked.sample).prints["questions"]}


def submissions_in(folder: Path, faults: list[EduRagError]) -> list[Submission]:
    """The submissions of a folder, in order; the faults of unreadable ones go to `faults`. Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(folder, "is not a folder", "give the folder that holds the submissions")
    if (folder / SUBMISSION_FILE).is_file():
        raise ConfigError(folder, "is one submission", "give the folder that contains it, or score it without --all")
    found: list[Submission] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            try:
                found.append(open_submission(path))
            except EduRagError as error:
                faults += each_fault(error)
    return found


class ScoringPlan(NamedTuple):
    """The jobs of one submission on one dataset; or why there are none."""

    dataset: Dataset
    submission: Submission
    jobs: tuple[ScoringJob, ...]
    faults: tuple[EduRagError, ...] = ()


def plans(
    submissions: Sequence[Submission], datasets: Sequence[Dataset], exams: OpenExams, results: Results
) -> list[ScoringPlan]:
    """List the scoring work. A system that answered the whole split is in the tables of its samples too.

    Raises ConfigError if two of the datasets have the same name and version.
    """
    versions = [str(dataset.manifest.release) for dataset in datasets]
    if len(set(versions)) < len(versions):
        raise ConfigError("--dataset", f"{max(versions, key=versions.count)} is given twice", "give it once")
    found: list[ScoringPlan] = []
    for dataset in datasets:
        chosen = [_chosen(dataset, submission, exams) for submission in submissions]
        handed_in = {(one.asked.split, one.asked.sample) for made, _ in chosen for one in made if one.asked.sample}
        tables = {table for table in results.samples(dataset) | handed_in if _can_be(dataset, table, exams)}
        for submission, (made, faults) in zip(submissions, chosen, strict=True):
            jobs = tuple(_jobs(dataset, submission, on_samples(made, tables), results.folder))
            found.append(ScoringPlan(dataset, submission, jobs, faults))
    return sorted(found, key=lambda plan: plan.submission.slug)


def _can_be(dataset: Dataset, table: tuple[str, str], exams: OpenExams) -> bool:
    """Whether a sample can be drawn: if not, only the submission that asked for it has a fault."""
    try:
        exams.of(dataset, *table)
    except EduRagError:
        return False
    return True


def _chosen(
    dataset: Dataset, submission: Submission, exams: OpenExams
) -> tuple[list[PlacedPredictions], tuple[EduRagError, ...]]:
    """The predictions to score on a dataset, or their faults."""
    try:
        same = lambda made: exams.same_questions(dataset, made)  # noqa: E731
        return list(best_for(dataset, predictions_of(submission), same)), ()
    except EduRagError as error:
        return [], tuple(each_fault(error))


def _jobs(
    dataset: Dataset, submission: Submission, chosen: Iterable[PlacedPredictions], results: Path
) -> Iterator[ScoringJob]:
    for made in chosen:
        folder = results / dataset.manifest.release.folder / made.asked.table / submission.slug
        yield ScoringJob(dataset, submission, made, folder / FILE_NAME)
