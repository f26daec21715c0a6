"""What a run leaves beside its predictions: on which dataset, by which system, within which limits they were made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edu_rag.errors import DataError, RecordError, SubmissionError
from edu_rag.jsonl import read_json
from edu_rag.typed import first_line, to_record
from harness.submission import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One finished run. `dataset` is `name@version#hash8`; `system_sha256` is over the submission's own files."""

    dataset: str
    split: str
    sample: str | None
    system_sha256: str
    harness: str
    limits: Limits


def record_path(predictions: Path) -> Path:
    """Where the record of a predictions file lies: `test.run.json` beside `test.jsonl`."""
    return predictions.with_suffix(".run.json")


def read_run_record(predictions: Path) -> RunRecord | None:
    """The record of a predictions file, or None where there is none. Raises DataError where it is not one."""
    path = record_path(predictions)
    if not path.is_file():
        return None
    try:
        return to_record(read_json(path), RunRecord)
    except RecordError as error:
        raise DataError(path, f"{error.where}: {first_line(error)}", "run the system again") from None


def require_made_on(predictions: Path, dataset_id: str) -> None:
    """Raise SubmissionError where a record says that these predictions answer another dataset's questions.

    Two datasets may share name and version and so the file's place; predictions without a record pass.
    """
    record = read_run_record(predictions)
    if record is not None and record.dataset != dataset_id:
        what = f"these predictions were made on {record.dataset}, this dataset is {dataset_id}"
        raise SubmissionError(predictions, what, "run the system on it")
