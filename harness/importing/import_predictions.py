"""From another program's file to predictions of a submission: read, matched to the questions, written whole or not.

The file is read in a child with a budget, as every stranger's file is: a team may import what it was given.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import ConfigError, DataError, FaultsError, SubmissionError
from edu_rag.files.jsonl import to_line, write_file
from edu_rag.look.texts import clip
from edu_rag.names import QuestionSet, is_slug
from edu_rag.processes.budget import default_cpu_s, items_within_budget
from harness.importing.detect_format import Format, detected
from harness.importing.foreign_answer import FIELDS, AnswerOrFault, names_shown
from harness.importing.inspect_log import InspectLog
from harness.importing.lm_eval_samples import LmEvalSamples
from harness.importing.match_answers import ImportQuestions, MatchedAnswers
from harness.importing.table_answers import csv_rows, json_rows, table_answers
from harness.importing.trec_run import TrecRun
from harness.submission.folder import FILE_NAME, Submission, behind_link, open_submission, partial_path
from harness.submission.plain_files import MAX_PREDICTIONS_FILE_BYTES, PREDICTIONS, megabytes
from harness.submission.predictions_file import row_of
from harness.submission.run_record import record_path
from harness.submission.scaffold import Wishes, scaffold, taken_slugs
from harness.submission.slugs import slug_fault

CPU_S = 60.0
"""Processor seconds for a file: logs with all their messages are a hundred times the size of predictions."""
MEMORY_BYTES = 1_000_000_000
MAX_FAULTS = 1_000
"""Faulty rows after which a file is not worth reading on."""
MAX_COLUMN = 40
"""Characters of a column's name that are shown."""
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWishes:
    """The options for reading a file: its format (None: detect it), columns by field, which of several answers to
    take, the number of the first choice if answers are numbers, and whether rows of unknown questions are left out.
    """

    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    pick: str | None = None
    index_base: int | None = None
    skip_unknown: bool = False


class Imported(NamedTuple):
    """The predictions as JSON lines, their number, and notes on how the file was read."""

    lines: bytes
    n_answers: int
    notes: Sequence[str]


def read_foreign(path: Path, questions: ImportQuestions, wishes: ImportWishes) -> Imported:
    """The predictions that a file states.

    Raises DataError, ConfigError, BudgetError, or FaultsError with all faults of the file.
    """
    cpu_s = max(CPU_S, default_cpu_s())
    lines = bytearray()
    with closing(
        items_within_budget(_predictions, path, questions, wishes, what=path, cpu_s=cpu_s, memory_bytes=MEMORY_BYTES)
    ) as batches:
        while True:
            try:
                lines += next(batches)
            except StopIteration as end:
                n_answers, notes = end.value
                return Imported(bytes(lines), n_answers, notes)
            if len(lines) > MAX_PREDICTIONS_FILE_BYTES:
                most = megabytes(MAX_PREDICTIONS_FILE_BYTES)
                remedy = "leave out the model's texts: --map response="
                raise DataError(path, f"makes predictions of over {most}, the most that is accepted", remedy)


def _require_fitting(kind: Format, wishes: ImportWishes) -> None:
    """Raise ConfigError for a wish that would have no effect."""
    if wishes.pick is not None and kind not in ("inspect", "lm-eval"):
        raise ConfigError("--pick", f"has no effect on {kind}", "it is for logs of Inspect and samples of lm-eval")
    if wishes.columns and kind == "trec":
        raise ConfigError("--map", "has no effect on trec", "a run has no columns with names: leave it out")


def _answers(path: Path, questions: ImportQuestions, wishes: ImportWishes, notes: list[str]) -> Iterator[AnswerOrFault]:
    """The answers of a file in its format; `notes` gets what there is to say about it."""
    kind = wishes.format or detected(path)
    _require_fitting(kind, wishes)
    if kind in ("csv", "json"):
        rows = csv_rows(path) if kind == "csv" else json_rows(path)
        table = table_answers(rows, path, wishes.columns, questions.asked)
        columns = sorted(table.columns.items(), key=lambda item: FIELDS.index(item[0]))
        read = ", ".join(f"{name} = {clip(column, MAX_COLUMN)!r}" for name, column in columns)
        notes.append(f"read as {kind}: {read}" + (f"; not read: {names_shown(table.unused)}" * bool(table.unused)))
        yield from table.answers
        return
    notes.append(f"read as {kind}")
    reader: InspectLog | LmEvalSamples | TrecRun
    if kind == "inspect":
        reader = InspectLog(path, wishes.pick, wishes.columns)
    elif kind == "lm-eval":
        reader = LmEvalSamples(path, wishes.pick, wishes.columns)
    else:
        reader = TrecRun(path, questions.lengths)
    yield from reader.answers()
    notes += reader.notes


def _predictions(
    path: Path, questions: ImportQuestions, wishes: ImportWishes
) -> Generator[bytes, None, tuple[int, list[str]]]:
    """The work of the child: JSON lines in batches, in order of id; then the number of answers, and notes."""
    notes: list[str] = []
    matched = MatchedAnswers(questions, wishes.index_base, skip_unknown=wishes.skip_unknown)
    for answer in _answers(path, questions, wishes, notes):
        matched.add(answer)
        if len(matched.faults) >= MAX_FAULTS:
            matched.faults.append(DataError(path, f"has {MAX_FAULTS:,} faulty rows: the rest was not read"))
            break
    faults = matched.all_faults(path)
    if faults:
        raise FaultsError(faults)
    if not matched.found:
        raise DataError(path, "has no answer to a question of this split", "check --dataset, --split and --sample")
    ordered = [matched.found[question_id] for question_id in questions.asked if question_id in matched.found]
    for start in range(0, len(ordered), _BATCH):
        yield b"".join(to_line(row_of(prediction)) for prediction in ordered[start : start + _BATCH])
    return len(ordered), [*notes, *matched.notes()]


class ImportPlace(NamedTuple):
    """Where predictions go: the submission, None if it is to be made, and the file."""

    submission: Submission | None
    path: Path


class ImportedFile(NamedTuple):
    """A predictions file that was written, whether its submission is new, and notes on how the file was read."""

    path: Path
    is_new: bool
    notes: Sequence[str]


def place_for(slug: str, into: Path, asked: QuestionSet, *, force: bool) -> ImportPlace:
    """The place of predictions in the submission `into/slug`.

    Raises SubmissionError if the slug cannot be, or if predictions or a run's record are there and `force` is not set.
    """
    folder = into / slug
    is_there = is_slug(slug) and (folder / FILE_NAME).is_file()
    fault = slug_fault(slug, () if is_there else taken_slugs(into))
    if fault is not None:
        raise fault
    submission = open_submission(folder) if is_there else None
    path = folder / PREDICTIONS / asked.place
    if submission is not None:
        _require_free(path, submission, force=force)
    return ImportPlace(submission, path)


def _require_free(path: Path, submission: Submission, *, force: bool) -> None:
    if behind_link(submission.folder / path.relative_to(path.parents[2]), submission.folder):
        raise SubmissionError(path, "is a link or inside a linked folder", "remove the link")
    there = next((one for one in (path, record_path(path), partial_path(path)) if one.exists()), None)
    if there is not None and not force:
        what = "exists already" if there == path else "belongs to a run, whose predictions have this place"
        raise SubmissionError(there, what, "add --force to replace it")


def write_imported(imported: Imported, place: ImportPlace) -> ImportedFile:
    """Write predictions to their place, whole or not at all, and make the submission where it is new.

    A run's record there is removed: it describes predictions that are replaced. Raises as `scaffold`.
    """
    notes = list(imported.notes)
    if place.submission is None:
        folder = place.path.parents[2]
        scaffold(folder.name, folder.parent, Wishes(predictions_only=True))
    for gone in (record_path(place.path), partial_path(place.path)):
        if gone.exists():
            gone.unlink()
            notes.append(f"removed {gone}: it belongs to the predictions that were replaced")
    write_file(place.path, imported.lines)
    return ImportedFile(place.path, place.submission is None, notes)
