"""What is to be scored: every submission's predictions, each with its dataset, its table and its result's place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError
from edu_rag.results import ScoreCard
from edu_rag.scorecards import FILE_NAME, read_scorecard
from harness.carry import Asked, Made, best_for, on_samples, predictions_of, version_of
from harness.score import Exam, open_exam, results_folder, sampled
from harness.submission import FILE_NAME as SUBMISSION_FILE
from harness.submission import Submission, open_submission


class Job(NamedTuple):
    """One predictions file to score on one dataset, and where among the results its scorecard belongs."""

    dataset: Dataset
    submission: Submission
    made: Made
    scorecard: Path


class Results:
    """The scorecards that a results folder holds; `faults` are of those that cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cards: dict[Path, ScoreCard] = {}
        self.faults: dict[Path, list[EduRagError]] = {}
        for path in sorted(folder.rglob(FILE_NAME)) if folder.is_dir() else ():
            try:
                card = read_scorecard(path)
                asked_of(card)
            except EduRagError as error:
                self.faults[path] = each_fault(error)
            except ValueError:
                self.faults[path] = [DataError(path, f"dataset: {card.dataset[:80]!r} is not name@version#hash8")]
            else:
                self.cards[path] = card

    def samples(self, dataset: Dataset) -> set[tuple[str, str]]:
        """The tables of samples that stand among the results of a dataset's version, as (split, sample)."""
        version = dataset.manifest.name, version_of(dataset.manifest.version)
        return {(c.split, c.sample) for c in self.cards.values() if c.sample and asked_of(c)[:2] == version}

    def before(self, after: ScoreCard) -> ScoreCard | None:
        """The result that a new one replaces, or else the newest one of an older version of the dataset."""
        own = self.cards.get(results_folder(self.folder, after) / FILE_NAME)
        if own is not None:
            return own
        older = [card for card in self.cards.values() if _is_older(card, after)]
        return max(older, key=lambda card: asked_of(card)[1], default=None)

    def newer_than(self, card: ScoreCard) -> bool:
        """Whether a result on a newer version stands in a result's place on the board: docs/scoring.md, section 11."""
        major, rule = asked_of(card)[1][0], card.answers_rule
        newer = (one for one in self.cards.values() if _is_older(card, one))
        return any(asked_of(one)[1][0] == major and one.answers_rule == rule for one in newer)


def each_fault(error: EduRagError) -> list[EduRagError]:
    """The faults that an error tells."""
    return list(error.faults) if isinstance(error, FaultsError) else [error]


def asked_of(card: ScoreCard) -> Asked:
    """What a scorecard is on. Raises ValueError where its dataset is no name@version#hash8."""
    name, _, rest = card.dataset.partition("@")
    return name, version_of(rest.partition("#")[0]), card.split, card.sample


def _is_older(card: ScoreCard, after: ScoreCard) -> bool:
    if (card.system.slug, card.split, card.sample) != (after.system.slug, after.split, after.sample):
        return False
    (name, version, *_), (of, than, *_) = asked_of(card), asked_of(after)
    return name == of and version < than


class Exams:
    """Each exam is opened once, whatever the number of submissions."""

    def __init__(self, datasets: Sequence[Dataset], results: Results) -> None:
        self._open: dict[tuple[str, str, str | None], Exam] = {}
        self._datasets = datasets
        self._prints: defaultdict[Asked, set[str]] = defaultdict(set)
        for card in results.cards.values():
            if "questions" in card.exam and not card.made_on:
                self._prints[asked_of(card)].add(card.exam["questions"])

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


def submissions_in(folder: Path, faults: list[EduRagError]) -> list[Submission]:
    """The submissions of a folder, in order; what is wrong with the others goes to `faults`. Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(folder, "is not a folder", "give the folder that holds the submissions")
    if (folder / SUBMISSION_FILE).is_file():
        raise ConfigError(folder, "is one submission", "give the folder that it lies in, or score it without --all")
    found: list[Submission] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            try:
                found.append(open_submission(path))
            except EduRagError as error:
                faults += each_fault(error)
    return found


class Plan(NamedTuple):
    """The jobs of one submission on one dataset; or why there are none."""

    dataset: Dataset
    submission: Submission
    jobs: tuple[Job, ...]
    faults: tuple[EduRagError, ...] = ()


def plans(submissions: Sequence[Submission], datasets: Sequence[Dataset], exams: Exams, results: Results) -> list[Plan]:
    """What there is to score. Who answered the whole split stands in the tables of its samples too.

    Raises ConfigError where two of the datasets have one name and version.
    """
    versions = [f"{dataset.manifest.name} {dataset.manifest.version}" for dataset in datasets]
    if len(set(versions)) < len(versions):
        raise ConfigError("--dataset", f"{max(versions, key=versions.count)} is given twice", "give it once")
    found: list[Plan] = []
    for dataset in datasets:
        chosen = [_chosen(dataset, submission, exams) for submission in submissions]
        handed_in = {(one.split, one.sample) for made, _ in chosen for one in made if one.sample}
        tables = {table for table in results.samples(dataset) | handed_in if _can_be(dataset, table, exams)}
        for submission, (made, faults) in zip(submissions, chosen, strict=True):
            jobs = tuple(_jobs(dataset, submission, on_samples(made, tables), results.folder))
            found.append(Plan(dataset, submission, jobs, faults))
    return sorted(found, key=lambda plan: plan.submission.slug)


def _can_be(dataset: Dataset, table: tuple[str, str], exams: Exams) -> bool:
    """Whether a sample can be drawn: one that cannot is a fault of whoever handed it in, and of nobody else."""
    try:
        exams.of(dataset, *table)
    except EduRagError:
        return False
    return True


def _chosen(dataset: Dataset, submission: Submission, exams: Exams) -> tuple[list[Made], tuple[EduRagError, ...]]:
    """The predictions to score on a dataset; or what is wrong."""
    try:
        same = lambda made: exams.same_questions(dataset, made)  # noqa: E731
        return list(best_for(dataset, predictions_of(submission), same)), ()
    except EduRagError as error:
        return [], tuple(each_fault(error))


def _jobs(dataset: Dataset, submission: Submission, chosen: Iterable[Made], results: Path) -> Iterator[Job]:
    version = f"{dataset.manifest.name}-{dataset.manifest.version}"
    for made in chosen:
        table = f"{made.split}-{made.sample}" if made.sample else made.split
        yield Job(dataset, submission, made, results / version / table / submission.slug / FILE_NAME)
