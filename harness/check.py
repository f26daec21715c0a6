"""Everything wrong with a submission or a predictions file, at once, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.records import Question
from harness.predictions import faults_in, read_predictions
from harness.reading.answers import read_answer
from harness.running.run_record import require_made_on
from harness.sample import choose, sample_of
from harness.settings_faults import settings_faults
from harness.submission import Submission, all_faults, behind_link

MAX_EXAMPLES = 3
"""Answers that name no single choice, of which so many are shown."""
_KINDS = {True: "runnable (`edu-rag run` makes its predictions)", False: "predictions only"}


class Findings(NamedTuple):
    """The faults that must be mended, and notes that may explain lost points."""

    faults: list[EduRagError]
    notes: list[str]


def _notes(path: Path, questions: Mapping[str, Question]) -> list[str]:
    """How the answers of a faultless file read, by the rules that score uses; gold is not needed for that."""
    predictions = read_predictions(path, questions)
    kinds: Counter[str] = Counter("no line" for question_id in questions if question_id not in predictions)
    examples: list[str] = []
    for question_id, prediction in predictions.items():
        if prediction.status != "ok" or prediction.answer is None:
            kinds["failed" if prediction.status != "ok" else "abstained"] += 1
            continue
        reading = read_answer(prediction.answer, questions[question_id].choices)
        kinds[reading.kind] += 1
        if reading.kind == "unparseable" and len(examples) < MAX_EXAMPLES:
            examples.append(f"  {question_id}: {ascii(prediction.answer)[:80]}: {reading.reason}")
    if kinds["unparseable"] > len(examples):
        examples.append(f"  … and {kinds['unparseable'] - len(examples):,} more")
    counts = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    return [f"{path}: {len(predictions):,} of {len(questions):,} questions: {counts}", *examples]


def check_predictions(path: Path, questions: Mapping[str, Question] | None) -> Findings:
    """Check one predictions file; without questions only its form."""
    faults: list[EduRagError] = list(faults_in(path, questions))
    if faults or questions is None:
        return Findings(faults, [] if faults else [f"{path}: form is right (--dataset checks ids and answers)"])
    return Findings([], _notes(path, questions))


def _files(folder: Path, dataset: Dataset | None) -> list[Path]:
    """The predictions files of a submission's folder: all, or those for one dataset."""
    made_for = f"{dataset.manifest.name}-{dataset.manifest.version}" if dataset else "*"
    return sorted((folder / "predictions").glob(f"{made_for}/*.jsonl"))


def _none_for(submission: Submission, dataset: Dataset) -> SubmissionError:
    there = ", ".join(sorted({path.parent.name for path in _files(submission.folder, None)})) or "none"
    what = f"has no predictions for {dataset.manifest.name}-{dataset.manifest.version} (it has: {there})"
    return SubmissionError(submission.folder, what, "give the dataset that they were made for")


def _asked(dataset: Dataset, stem: str) -> dict[str, Question]:
    split, _, sample = stem.partition("-")
    questions = dataset.questions(dataset.only_split(split))
    return {q.question_id: q for q in (choose(questions, sample_of(sample)) if sample else questions)}


def _check_file(path: Path, dataset: Dataset | None) -> Findings:
    """Check one predictions file of a submission, whose name says the split and the sample."""
    try:
        if dataset is None:
            return check_predictions(path, None)
        require_made_on(path, dataset.id)
        return check_predictions(path, _asked(dataset, path.stem))
    except EduRagError as error:
        return Findings([SubmissionError(path, error.what, error.remedy)], [])


def check_submission(folder: Path, dataset: Dataset | None) -> Findings:
    """Check a submission folder: its settings, its tree, and its predictions even where the settings have faults."""
    submission, faults = all_faults(folder)
    notes: list[str] = []
    files = [] if folder.is_symlink() else _files(folder.absolute(), dataset)
    if submission is not None:
        faults += settings_faults(submission)
        notes.append(f"{submission.folder}: {_KINDS[bool(submission.settings.command)]}")
        if dataset is not None and not files and not submission.settings.command:
            faults.append(_none_for(submission, dataset))
    for path in files:
        if behind_link(path, folder.absolute()) or not (path.is_file() or path.is_dir()):
            continue  # a fault of the tree already; a stranger's link may lead to a pipe that never ends
        found = _check_file(path, dataset)
        faults += found.faults
        notes += found.notes
    return Findings(faults, notes)
