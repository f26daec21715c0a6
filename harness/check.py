"""Everything wrong with a submission or a predictions file, at once, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.records import Question
from harness.answers import read_answer
from harness.predictions import faults_in, read_predictions
from harness.sample import choose, sample_of
from harness.submission import Submission, all_faults, behind_link

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
        if reading.kind == "unparseable" and len(examples) < 3:
            examples.append(f"  {question_id}: {ascii(prediction.answer)[:80]}: {reading.reason}")
    counts = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    return [f"{path}: {len(predictions):,} of {len(questions):,} questions: {counts}", *examples]


def check_predictions(path: Path, questions: Mapping[str, Question] | None) -> Findings:
    """Check one predictions file; without questions only its form."""
    faults: list[EduRagError] = list(faults_in(path, questions))
    if faults or questions is None:
        return Findings(faults, [] if faults else [f"{path}: form is right (--dataset checks ids and answers)"])
    return Findings([], _notes(path, questions))


def _made_for(submission: Submission, dataset: Dataset) -> tuple[dict[Path, str], list[EduRagError]]:
    """The submission's predictions for this dataset (path -> its split and sample), and faults where there are none."""
    folder = submission.folder / "predictions" / f"{dataset.manifest.name}-{dataset.manifest.version}"
    files = {path: path.stem for path in sorted(folder.glob("*.jsonl"))}
    if files or submission.settings.command:
        return files, []
    there = sorted({path.parent.name for path in submission.folder.glob("predictions/*/*.jsonl")})
    what = f"has no predictions for {folder.name} (it has: {', '.join(there) or 'none'})"
    return {}, [SubmissionError(submission.folder, what, "give the dataset that they were made for")]


def _asked(dataset: Dataset, stem: str) -> dict[str, Question]:
    split, _, sample = stem.partition("-")
    questions = dataset.questions(dataset.only_split(split))
    return {q.question_id: q for q in (choose(questions, sample_of(sample)) if sample else questions)}


def check_submission(folder: Path, dataset: Dataset | None) -> Findings:
    """Check a submission folder: its settings, its tree, its predictions."""
    submission, faults = all_faults(folder)
    if submission is None:
        return Findings(faults, [])
    if dataset is None:
        files = dict.fromkeys(sorted(submission.folder.glob("predictions/*/*.jsonl")), "")
    else:
        files, more = _made_for(submission, dataset)
        faults += more
    notes = [f"{submission.folder}: {_KINDS[bool(submission.settings.command)]}"]
    for path, stem in files.items():
        if behind_link(path, submission.folder) or not (path.is_file() or path.is_dir()):
            continue  # a fault of the tree already; a stranger's link may lead to a pipe that never ends
        try:
            found = check_predictions(path, _asked(dataset, stem) if dataset else None)
        except EduRagError as error:
            found = Findings([SubmissionError(path, error.what, error.remedy)], [])
        faults += found.faults
        notes += found.notes
    return Findings(faults, notes)
