"""The probes that lie beside a predictions file: which belong to it, and what they answered."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edu_rag.manifest import file_sha256
from edu_rag.progress import say
from edu_rag.records import Question
from edu_rag.results import Prediction
from harness.predictions import read_predictions
from harness.probing.pages import DRAWS
from harness.probing.permute import may_permute
from harness.probing.probes import PROBES, REPEAT
from harness.running.run_record import RunRecord, read_run_record, same_system
from harness.submission import behind_link

if TYPE_CHECKING:
    from edu_rag.gold import Gold
    from harness.score import Exam

_FILE = re.compile(
    r"(?P<split>[a-z0-9_]+)(?:-stratified-\d+-seed-\d+)?"
    rf"\.(?P<probe>{'|'.join(name for name in PROBES if name != REPEAT)}|{REPEAT}-\d+)\.jsonl"
)


class Answered(NamedTuple):
    """One probe's predictions on those questions of an exam that it asked, and the main run's on the same.

    `supported`: ids of the questions with evidence.
    """

    questions: Sequence[Question]
    gold: Mapping[str, Gold]
    record: RunRecord
    predictions: Mapping[str, Prediction]
    main: Mapping[str, Prediction]
    supported: Collection[str]


def _stale(path: Path, record: RunRecord | None, exam: Exam, main: RunRecord | None) -> str:
    """Why a probe's predictions do not belong beside the main run's, or nothing."""
    if record is None:
        return "has no run record"
    if record.dataset != exam.dataset:
        return f"was made on {record.dataset}"
    if record.draws != DRAWS:
        return f"was drawn by {record.draws or 'no'} rules, not {DRAWS}"
    if main is not None and not same_system(record, main):
        return "was made by another version of the system"
    if record.predictions_sha256 != file_sha256(path):
        return "is not what its run record says"
    return ""


def _candidates(predictions: Path, exam: Exam) -> Iterator[tuple[str, Path, RunRecord]]:
    """Probe name in files, file and record of every probe of this split that belongs to the main run."""
    main = read_run_record(predictions)
    for path in sorted((predictions.parent / "probes").glob(f"{exam.split}*.jsonl")):
        match = _FILE.fullmatch(path.name)
        # A stranger's link may lead to a pipe that never ends.
        if not match or match["split"] != exam.split or not path.is_file() or behind_link(path, predictions.parent):
            continue
        record = read_run_record(path)
        why = _stale(path, record, exam, main)
        if why or record is None:
            say(f"{path}: {why}, so it is left out: `edu-rag probe` makes it anew")
        else:
            yield match["probe"], path, record


def _fit(probe: str, question: Question) -> bool:
    return may_permute(question) if probe == "permuted" else question.kind != "free_text"


def probe_answers(predictions: Path, exam: Exam) -> dict[str, Answered]:
    """What each probe beside a predictions file answered, by its name in files (`repeat-1`); empty where none was run.

    Of several samples, the one with most of the exam's questions counts. Raises DataError for a file that cannot be
    read.
    """
    candidates = list(_candidates(predictions, exam))
    main = read_predictions(predictions, exam.known) if candidates else {}
    best: dict[str, Answered] = {}
    for name, path, record in candidates:
        said = read_predictions(path, exam.known)
        questions = [q for q in exam.questions if q.question_id in said and _fit(name, q)]
        if len(questions) > len(best[name].questions if name in best else ()):
            best[name] = Answered(questions, exam.gold, record, said, main, exam.support.evidence.keys())
    return best
