"""The record that a run leaves next to its predictions: the dataset, the system, its settings, and the time it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError, RecordError, SubmissionError
from edu_rag.files.jsonl import read_json
from edu_rag.files.manifest import Manifest, file_sha256
from edu_rag.files.typed import first_line, to_record
from edu_rag.processes.budget import SMALL_BYTES, within_budget
from harness.submission.folder import Limits
from harness.submission.plain_files import MAX_RECORD_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One finished run. `dataset` is `name@version#hash8`; `system_sha256` is over the submission's own files,
    `answering_sha256` over what of them usually changes an answer (empty in records of older versions).

    `shown_sha256` is over the questions, hits and pages of the split (Manifest.shown_sha256): where it is the same,
    another version differs in its labels only, and these answers are answers to it too. `settings_sha256` is over the
    variables that steer a system, `surroundings_sha256` over Python, packages and our own code; `caps` are what the
    sandbox enforced. `seed` is that of the asking order and of a probe's draws, `draws` names the rules of those.
    `wall_s`: seconds of the last session, in which `n_asked` questions were asked; `n_resumed` answers come from an
    interrupted session before it, `n_cached` from earlier runs, and the rest of `n_questions` was never asked.
    """

    dataset: str
    split: str
    sample: str | None
    system_sha256: str
    harness: str
    limits: Limits
    probe: str | None = None
    draws: str = ""
    seed: int = 0
    shown_sha256: str = ""
    answering_sha256: str = ""
    settings_sha256: str = ""
    surroundings_sha256: str = ""
    predictions_sha256: str = ""
    caps: Mapping[str, Any] = field(default_factory=dict)
    n_questions: int = 0
    n_asked: int = 0
    n_resumed: int = 0
    n_cached: int = 0
    wall_s: float | None = None

    def is_of(self, system_sha256: str, answering_sha256: str) -> bool:
        """Whether a system with these hashes gives the answers of this run, as far as its files decide that."""
        if self.answering_sha256 and answering_sha256:
            return self.answering_sha256 == answering_sha256
        return self.system_sha256 == system_sha256

    def answers_to(self, manifest: Manifest) -> bool:
        """Whether the system was shown this dataset's questions and pages, of the same name and version."""
        return self.shown(manifest.id, manifest.shown_sha256(self.split))

    def shown(self, dataset_id: str, shown_sha256: str) -> bool:
        """As `answers_to`, for a dataset's id and what it shows of the record's split."""
        if self.dataset == dataset_id:
            return True
        same_release = self.dataset.partition("#")[0] == dataset_id.partition("#")[0]
        return same_release and self.shown_sha256 != "" and self.shown_sha256 == shown_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """What maintainers keep of the run record of a probe that they made next to their own run of the system.

    `probe` is its name in files (`repeat-1`), `sample` and `seed` are those of its questions and draws, `draws` names
    the rules of these, and `predictions_sha256` is of its predictions file.
    """

    probe: str
    dataset: str
    sample: str | None
    seed: int
    draws: str
    predictions_sha256: str

    def path(self, predictions: Path, split: str) -> Path:
        """The place of its predictions, next to those of the main run: see section 8 of docs/scoring-spec.md."""
        table = split if self.sample is None else f"{split}-{self.sample}"
        return predictions.parent / "probes" / f"{table}.{self.probe}.jsonl"


def record_path(predictions: Path) -> Path:
    """The place of a predictions file's record: `test.run.json` next to `test.jsonl`."""
    return predictions.with_suffix(".run.json")


def read_run_record(predictions: Path) -> RunRecord | None:
    """The record of a predictions file, or None if there is none. Raises DataError if it is not one."""
    path = record_path(predictions)
    if not path.is_file():
        return None
    if path.stat().st_size > SMALL_BYTES:
        return within_budget(_record, path, what=path)
    return _record(path)


def _record(path: Path) -> RunRecord:
    try:
        return to_record(read_json(path, MAX_RECORD_BYTES), RunRecord)
    except RecordError as error:
        raise DataError(path, f"{error.where}: {first_line(error)}", "run the system again") from None


def require_made_on(predictions: Path, manifest: Manifest) -> None:
    """Raise SubmissionError if a record says that these predictions answer another dataset's questions.

    Two datasets may share name and version and so the file's place; predictions without a record pass.
    """
    record = read_run_record(predictions)
    if record is not None and not record.answers_to(manifest):
        what = f"these predictions were made on {record.dataset}, this dataset is {manifest.id}"
        raise SubmissionError(predictions, what, "run the system on it")


def same_system(first: RunRecord, second: RunRecord) -> bool:
    """Whether two runs were made by one version of a system under one set of settings, as far as is known."""
    settings = {first.settings_sha256, second.settings_sha256} - {""}
    return first.is_of(second.system_sha256, second.answering_sha256) and len(settings) <= 1


def is_measured(predictions: Path) -> bool:
    """Whether the harness made these bytes, so that the latencies are measured: the record next to them proves it."""
    record = read_run_record(predictions)
    return record is not None and record.predictions_sha256 == file_sha256(predictions)
