"""Run a submitted system again, as a maintainer, and compare its answers with the submitted predictions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edu_rag.errors import FaultsError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.processes.budget import within_budget
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.probing.probe_rates import wilson
from harness.reading.answers import read_answer
from harness.reading.folding import fold_article
from harness.running.fingerprint import system_sha256
from harness.running.run import Manner, require_no_network, run_submission
from harness.running.task import task_of
from harness.scoring.cost import cost_of
from harness.submission.folder import Submission, all_faults, open_submission
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import ProbeRun, read_run_record
from harness.submission.target import Target, find_target
from harness.trust.rerun_log import Rerun, own_run

FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A re-run: its line for reruns.jsonl, and for each differing question its id, the old and the new answer."""

    line: Rerun
    different: tuple[tuple[str, str, str], ...]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of questions with the same answer (Wilson)."""
        return wilson(self.line.n_same, self.line.n)


def run_again(
    submission: Submission, dataset: Dataset, split: str, sample: str | None, manner: Manner, made_at: str
) -> Compared:
    """Run a submission's system on a split or a sample, in a scratch copy, and hold it against its predictions there.

    Nothing of the submission is changed. Raises EduRagError: faults of its tree, no predictions, no sandbox, nothing
    answered.
    """
    _, faults = all_faults(submission.folder)
    if faults:
        raise FaultsError(faults)
    require_no_network(submission)
    target = find_target(submission.folder, dataset.manifest, split, sample)
    questions = task_of(dataset, split, sample).questions
    known = {question.question_id for question in dataset.questions(split)}
    handed_in, _ = within_budget(_read, target.path, known, questions, what=target.path)
    with tempfile.TemporaryDirectory(prefix="edu-rag-rerun-") as scratch:
        copy = open_submission(_copied(submission.folder, Path(scratch)))
        made = run_submission(copy, dataset, split, sample, manner)
        again, latency = within_budget(_read, made, known, questions, what=made)
        record = read_run_record(made)
    if record is None:
        raise SubmissionError(submission.folder, "the run left no record", "run it again")
    different = tuple(_different(questions, handed_in, again))
    line = Rerun(
        slug=submission.slug,
        dataset=dataset.id,
        split=split,
        sample=sample,
        system_sha256=record.system_sha256,
        predictions_sha256=file_sha256(target.path),
        n=len(questions),
        n_same=len(questions) - len(different),
        caps=record.caps,
        harness=record.harness,
        made_at=made_at,
        own=False,
        latency_s={name: latency[name] for name in ("median", "p95", "mean") if name in latency},
    )
    return Compared(line=line, different=different)


def _copied(folder: Path, scratch: Path) -> Path:
    """A copy of a submission without its predictions: the system must not see the submitted answers."""
    copy = scratch / folder.name
    left_out = shutil.ignore_patterns("__pycache__")

    def ignored(parent: str, names: list[str]) -> set[str]:
        return left_out(parent, names) | ({"predictions"} if Path(parent) == folder else set())

    shutil.copytree(folder, copy, symlinks=True, ignore=ignored)
    if system_sha256(copy) != system_sha256(folder):
        raise SubmissionError(folder, "changed while it was copied", "run it again")
    return copy


def said(question: Question, prediction: Prediction | None) -> str:
    """Normalise an answer: a label by `answers-v3`, `abstained` or `failed`; other answers as their text."""
    if prediction is None or prediction.status != "ok":
        return FAILED
    if prediction.answer is None:
        return "abstained"
    reading = read_answer(prediction.answer, question.choices)
    if reading.kind == "unparseable":  # as all free text is: it names no choice
        return f"{fold_article(prediction.answer)[:200]!r}"
    return reading.label or reading.kind


def is_same(question: Question, before: Prediction | None, after: Prediction | None) -> bool:
    """Whether two answers to a question come to the same; one that failed is the same as none, not even as itself."""
    return _agree(said(question, before), said(question, after))


def _read(path: Path, known: Collection[str], questions: Sequence[Question]) -> tuple[list[str], Mapping[str, Any]]:
    """Read a predictions file: its normalised answers in the order of the questions, and how long they took."""
    predictions = read_predictions(path, known)
    readings = [said(question, predictions.get(question.question_id)) for question in questions]
    return readings, cost_of(predictions.values(), measured=True).get("latency_s", {})


def _different(
    questions: Sequence[Question], handed_in: Sequence[str], now: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    for question, before, after in zip(questions, handed_in, now, strict=True):
        if not _agree(before, after):
            yield question.question_id, before, after


def _agree(before: str, after: str) -> bool:
    return before == after != FAILED


def own_line(target: Target, dataset: Dataset, made_at: str, probes: Iterable[ProbeRun] = ()) -> Rerun:
    """The line that vouches for a target's predictions by the run record next to them, and for these probes of it.

    Raises SubmissionError if the record is missing or is not of these bytes, this dataset and this system.
    """
    record = read_run_record(target.path)
    if record is None:
        raise SubmissionError(target.path, "has no run record next to it", "run the system with `edu-rag run`")
    now = "" if target.folder is None else system_sha256(target.folder)
    faults = {
        "belongs to other predictions": record.predictions_sha256 != file_sha256(target.path),
        f"is on {record.dataset}, the dataset is {dataset.id}": not record.answers_to(dataset.manifest),
        "belongs to other files of the system": record.system_sha256 != now,
        "belongs to a probe": record.probe is not None,
    }
    found = [what for what, holds in faults.items() if holds]
    if found:
        raise SubmissionError(target.path, f"its run record {' and '.join(found)}", "run the system again")
    return own_run(record, target.system.slug, made_at, probes)


def rerun_values(line: Rerun, different: Sequence[tuple[str, str, str]] = ()) -> dict[str, Any]:
    """The output of `edu-rag rerun --json`."""
    from edu_rag.files.typed import to_plain

    names = ("question_id", "handed_in", "now")
    low, high = wilson(line.n_same, line.n)
    listed = [dict(zip(names, one, strict=True)) for one in different]
    return {**to_plain(line), "agreement": line.n_same / line.n, "interval": [low, high], "different": listed}


def rerun_lines(compared: Compared, limit: int = 10) -> Iterator[str]:
    """The result of a re-run, for a terminal."""
    line, (low, high) = compared.line, compared.interval
    share = f"{100 * line.n_same / line.n:.2f} %   95 % interval {100 * low:.2f} … {100 * high:.2f} %"
    asked = f"{line.split}, {line.sample}" if line.sample else line.split
    yield f"{line.slug} on {line.dataset}, {asked}: {line.n_same:,} of {line.n:,} answers are the same: {share}"
    for question_id, before, after in compared.different[:limit]:
        yield f"  {question_id}: {before} was handed in, now {after}"
    if len(compared.different) > limit:
        yield f"  … and {len(compared.different) - limit:,} more"
