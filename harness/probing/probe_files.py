"""The probes next to a predictions file: which belong to it, their answers, and the questions that they answer."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edu_rag.files.manifest import file_sha256
from edu_rag.names import Sample, split_and_sample
from edu_rag.progress import say
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, SystemFacts
from harness.exam import Exam
from harness.probing.probe_questions import DRAWS, EVIDENCE_ONLY, NAMES, REPEAT, may_permute, permute
from harness.submission.folder import behind_link
from harness.submission.predictions_file import predictions_within, read_predictions
from harness.submission.run_record import (
    ProbeRun,
    RunRecord,
    is_measured,
    read_run_record,
    record_path,
    same_system,
)
from harness.submission.target import Target

if TYPE_CHECKING:
    from edu_rag.gold import Gold


_FILE = re.compile(
    rf"(?P<table>[^.]+)\.(?P<probe>{'|'.join(name for name in NAMES if name != REPEAT)}|{REPEAT}-\d+)\.jsonl"
)
_MAX_SHOWN = 3
"""Names of files that are shown for each reason."""


class ProbeAnswers(NamedTuple):
    """One probe's predictions on those questions of an exam that it asked, and the main run's on the same.

    `supported`: ids of the questions with evidence.
    """

    questions: Sequence[Question]
    gold: Mapping[str, Gold]
    run: ProbeRun
    predictions: Mapping[str, Prediction]
    main: Mapping[str, Prediction]
    supported: Collection[str]


def _stale(path: Path, record: RunRecord | None, exam: Exam, main: RunRecord | None) -> str:
    """Why a probe's predictions do not belong next to the main run's, or nothing."""
    if record is None:
        return "without a run record"
    # Evidence is a label: other labels make other pages of evidence.
    if record.dataset != exam.dataset and (
        record.probe == EVIDENCE_ONLY or not record.shown(exam.dataset, exam.shown_sha256)
    ):
        return f"made on {record.dataset}"
    if record.draws != DRAWS:
        return f"drawn by {record.draws or 'no'} rules, not {DRAWS}"
    if main is None:
        return "next to predictions without a run record"
    if not same_system(record, main):
        return "made by another version of the system"
    if record.predictions_sha256 != file_sha256(path):
        return "not what its run record says"
    return ""


class _Beside(NamedTuple):
    """A probe's file next to the predictions: its name in files, how many questions were asked for, why it is stale."""

    path: Path
    probe: str
    n_asked: float
    record: RunRecord | None
    stale: str

    def covers(self, other: _Beside) -> bool:
        """Whether this probe replaces the other: the same kind, up to date, on as many questions or more."""
        kinds = {REPEAT if one.probe.startswith(REPEAT) else one.probe for one in (self, other)}
        return len(kinds) == 1 and not self.stale and self.n_asked >= other.n_asked


def _beside(predictions: Path, exam: Exam) -> Iterator[_Beside]:
    """Every probe of this split next to a predictions file."""
    main = read_run_record(predictions)
    for path in sorted((predictions.parent / "probes").glob(f"{exam.split}*.jsonl")):
        match = _FILE.fullmatch(path.name)
        asked = split_and_sample(match["table"]) if match else None
        if not match or not asked or asked[0] != exam.split:
            continue
        # A stranger's link may lead to a pipe that never ends.
        if not path.is_file() or behind_link(path, predictions.parent):
            continue
        record = read_run_record(path)
        n_asked = Sample.parse(asked[1]).n if asked[1] else math.inf
        yield _Beside(path, match["probe"], n_asked, record, _stale(path, record, exam, main))


def probe_run(name: str, record: RunRecord, dataset: str) -> ProbeRun:
    """What to keep of a probe's record; `name` is the probe's name in files, `dataset` shows what the record's did."""
    return ProbeRun(
        probe=name,
        dataset=dataset,
        sample=record.sample,
        seed=record.seed,
        draws=record.draws,
        predictions_sha256=record.predictions_sha256,
    )


def own_probes(predictions: Path, exam: Exam) -> list[tuple[ProbeRun, Path]]:
    """Every probe of this split that belongs to the main run by the run records, with its file.

    One line reports the files that are left out, except those that another one has replaced.
    """
    found = list(_beside(predictions, exam))
    left_out = [one for one in found if one.stale and not any(other.covers(one) for other in found)]
    if left_out:
        reasons = [f"{_names(group)} ({why})" for why, group in _by_reason(left_out).items()]
        what = f"{len(left_out):,} probe(s) left out: {', '.join(reasons)}"
        say(f"{left_out[0].path.parent}: {what}: `edu-rag probe` makes them again")
    return [
        (probe_run(one.probe, one.record, exam.dataset), one.path)
        for one in found
        if one.record is not None and not one.stale
    ]


def _vouched(predictions: Path, exam: Exam, runs: Collection[ProbeRun]) -> Iterator[tuple[ProbeRun, Path]]:
    """The probes that maintainers vouch for, as far as their files are there with these bytes; others are reported."""
    for run in runs:
        path = run.path(predictions, exam.split)
        fault = ""
        if run.dataset != exam.dataset or run.draws != DRAWS:
            fault = f"made on {run.dataset} by {run.draws}"
        elif not path.is_file() or behind_link(path, predictions.parent) or file_sha256(path) != run.predictions_sha256:
            fault = "not the file that the maintainers vouch for"
        if fault:
            say(f"{path}: left out: {fault}: `edu-rag probe` makes it again")
        else:
            yield run, path


def _by_reason(left_out: Sequence[_Beside]) -> dict[str, list[_Beside]]:
    groups: dict[str, list[_Beside]] = {}
    for one in left_out:
        groups.setdefault(one.stale, []).append(one)
    return groups


def _names(group: Sequence[_Beside]) -> str:
    more = f" and {len(group) - _MAX_SHOWN} more" if len(group) > _MAX_SHOWN else ""
    return ", ".join(one.path.name for one in group[:_MAX_SHOWN]) + more


def remove_replaced(predictions: Path, exam: Exam, made: Collection[Path]) -> None:
    """Remove the stale files of probes that were `made` again on as many questions or more.

    Files that the harness did not write, or that were changed, stay: they may not be reproducible.
    """
    found = list(_beside(predictions, exam))
    fresh = [one for one in found if one.path in made]
    old = [one for one in found if one.stale and is_measured(one.path) and any(new.covers(one) for new in fresh)]
    for one in old:
        for path in (one.path, record_path(one.path), one.path.with_suffix(".log")):
            path.unlink(missing_ok=True)
    if old:
        say(f"{len(old):,} stale probe(s) removed, which these replace: {_names(old)}")


def _fit(probe: str, question: Question) -> bool:
    return may_permute(question) if probe == "permuted" else question.kind != "free_text"


def probe_answers(
    predictions: Path, exam: Exam, vouched: Collection[ProbeRun] | None = None
) -> dict[str, ProbeAnswers]:
    """The answers of each probe next to a predictions file, by its name in files (`repeat-1`); empty without any.

    `vouched` are the probes that maintainers vouch for; None: the run records next to the files are trusted. Of
    several samples, the one with most of the exam's questions counts. Raises DataError for a file that cannot be read.
    """
    candidates = own_probes(predictions, exam) if vouched is None else list(_vouched(predictions, exam, vouched))
    main = read_predictions(predictions, exam.known) if candidates else {}
    best: dict[str, ProbeAnswers] = {}
    for run, path in candidates:
        said = read_predictions(path, exam.known)
        questions = [q for q in exam.questions if q.question_id in said and _fit(run.probe, q)]
        if len(questions) > len(best[run.probe].questions if run.probe in best else ()):
            best[run.probe] = ProbeAnswers(questions, exam.gold, run, said, main, exam.support.evidence.keys())
    return best


OWN_PAGES = ("permuted", "repeat")
"""Probes that give a system the dataset's own pages, so that it can be said where their points went."""


class Answered(NamedTuple):
    """An exam with a system's predictions for it. `probe` is the name of the probe that asked, None for a run."""

    exam: Exam
    system: SystemFacts
    predictions: Mapping[str, Prediction]
    probe: str | None

    @property
    def has_own_pages(self) -> bool:
        """Whether the system was given the pages that the dataset has for the question."""
        return self.probe is None or self.probe.startswith(OWN_PAGES)


def read_answered(exam: Exam, target: Target) -> Answered:
    """Read the questions of a predictions file; the run record next to it says whether a probe asked them.

    A probe's exam holds only the probe's questions, with choices in the probe's order. Raises DataError,
    SubmissionError or BudgetError.
    """
    predictions = predictions_within(target.path, exam.known)
    record = read_run_record(target.path)
    if record is None or record.probe is None:
        return Answered(exam, target.system, predictions, None)
    return Answered(_asked(exam, record, predictions), target.system, predictions, record.probe)


def _asked(exam: Exam, record: RunRecord, predictions: Mapping[str, Prediction]) -> Exam:
    asked = [question for question in exam.questions if question.question_id in predictions]
    if record.probe != "permuted":
        return exam._replace(questions=asked)
    turned = [permute(question, record.seed) for question in asked if may_permute(question)]
    gold = {
        question.question_id: replace(known, answer=permuted.given(known.answer or ""))
        for permuted in turned
        for question in [permuted.question]
        for known in [exam.gold[question.question_id]]
    }
    return exam._replace(questions=[permuted.question for permuted in turned], gold={**exam.gold, **gold})
