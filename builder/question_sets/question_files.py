"""Reading question files of every kind that is known into records, or a list of every fault.

TQA's nested JSON, CRAG's records and flat JSON lines are read here; other tables by `foreign_questions`. Real files are
dirty. The rules, each counted in `QuestionReading.corrected`:
* a blank choice, or a letter left out (a, c, d), is not a choice: the letters after it move up, and the gold with them;
* a gold that is not a letter but equals the text of exactly one choice ("true") means that choice.
Everything else that breaks a record's invariant, or a gold that is not a choice, is a fault; no question is dropped
except those that a table leaves out (pictures, no answer), which are counted.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from builder.question_sets.crag_files import CragRecord, crag_items, is_crag
from builder.question_sets.dataset_sources import (
    MAX_ROWS,
    HubQuestions,
    QuestionSource,
    folder_of,
    folder_tables,
    hub_tables,
    parquet_table,
)
from builder.question_sets.flat_question import KIND_NAMES, MAX_EXTRA, FlatQuestion, extra_json, kind_named
from builder.question_sets.foreign_questions import QuestionTable, TableReading, foreign_questions, split_named
from builder.question_sets.question_columns import ColumnMap, filled, names_of_data, source_name
from builder.question_sets.question_flags import flag_questions
from builder.question_sets.squad_files import is_squad, squad_rows
from builder.question_sets.tqa_files import is_tqa, tqa_records
from builder.urls import canonical_or_none
from edu_rag.errors import DataError, FaultsError, RecordError
from edu_rag.files.foreign_table import (
    ForeignRow,
    array_rows,
    cell_rows,
    decoded,
    grouped,
    json_value,
    kind_of,
    line_rows,
    read_bytes,
)
from edu_rag.files.typed import faults_and_record, first_line
from edu_rag.gold import Gold
from edu_rag.progress import say
from edu_rag.records import LABELS, Kind, Question, page_id_of

SPLIT_NAMES = ("train", "val", "dev", "test")
MAX_FAULTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A question as its file holds it; `cut` says that the file itself shows a text to be cut short."""

    where: str
    flat: FlatQuestion
    cut: bool = False
    extra: str | None = None


@dataclass(slots=True)
class QuestionReading:
    """What was read so far: records, faults, and how many questions each rule of this module corrected."""

    questions: list[Question] = field(default_factory=list)
    golds: list[Gold] = field(default_factory=list)
    faults: list[DataError] = field(default_factory=list)
    corrected: dict[str, list[str]] = field(default_factory=dict)
    cut_ids: set[str] = field(default_factory=set)
    places: dict[str, str] = field(default_factory=dict)
    extra: Counter[str] = field(default_factory=Counter)
    """Columns that are kept as `extra`, with the number of questions that have a value there."""
    extra_lost: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    origins: list[str] = field(default_factory=list)
    """The datasets of the Hub that were read, each with its commit."""
    pages: dict[str, str] = field(default_factory=dict)
    """By question id, the URL of the page that it was taken from."""

    def correct(self, rule: str, question_id: str) -> None:
        """Count a question that a rule corrected."""
        self.corrected.setdefault(rule, []).append(question_id)


def tidy(text: str) -> str:
    """Text in NFC with every run of white space as one space: the only change made to a question's words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _bare(text: str) -> str:
    """A label or a short answer for comparing: case folded, without its final full stop."""
    return tidy(text).casefold().rstrip(".")


def _relabel(choices: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Choices as a, b, c … without blank ones, and the new letter of each letter that the file gives ("" if blank)."""
    given = {_bare(label): tidy(text) for label, text in choices.items()}
    if len(given) != len(choices):
        raise RecordError("choices", "two labels are the same letter")
    odd = [label for label in given if len(label) != 1 or label not in LABELS]
    if odd:
        raise RecordError("choices", f"the label {odd[0]!r} is not a letter", "label the choices a, b, c …")
    moved = dict.fromkeys(sorted(given), "") | dict(zip(sorted(filter(given.get, given)), LABELS, strict=False))
    return {moved[label]: given[label] for label in moved if moved[label]}, moved


def _gold_letter(choices: Mapping[str, str], moved: Mapping[str, str], answer: str) -> tuple[str, bool]:
    """The gold's letter after re-lettering, and whether it was found by the text of its choice.

    Only letters that occur in the file count: a gold "b" of choices a, c, d must not become the new choice b.
    """
    letter = moved.get(_bare(answer))
    if letter == "":
        raise RecordError("answer", f"the gold {answer!r} is a blank choice")
    if letter is not None:
        return letter, False
    same = [label for label, text in choices.items() if _bare(text) == _bare(answer)]
    if len(same) != 1:
        raise RecordError("answer", f"the gold {answer!r} is not one of the choices {', '.join(moved)}")
    return same[0], True


def _records(entry: _Entry, split: str | None, reading: QuestionReading) -> tuple[Question, Gold]:
    question, gold = _question_and_gold(entry, split, reading)
    return question, gold if entry.extra is None else replace(gold, extra=entry.extra)


def _question_and_gold(entry: _Entry, split: str | None, reading: QuestionReading) -> tuple[Question, Gold]:
    flat = entry.flat
    kind = kind_named(flat.type)
    if kind is None:
        raise RecordError("type", f"unknown type {flat.type!r}", f"known are {', '.join(KIND_NAMES)}")
    if flat.split is not None and split is not None and flat.split != split:
        raise RecordError("split", f"says {flat.split!r}, but --split says {split!r}")
    chosen = flat.split or split
    if chosen is None:
        raise RecordError("split", "is not known", "give --split, or a field `split`, or TQA's own file name")
    if kind == "free_text" or isinstance(flat.answer, list):
        return _free_text(flat, kind, chosen)
    choices, moved = _relabel(flat.choices)
    letter, by_text = _gold_letter(choices, moved, flat.answer)
    question = Question(
        question_id=flat.id, text=tidy(flat.question), choices=choices, kind=kind, split=chosen, lesson=_lesson(flat)
    )
    if list(moved) != list(choices):
        reading.correct("choices re-lettered (blank or missing letter)", flat.id)
    if by_text:
        reading.correct("gold given as a choice's text", flat.id)
    return question, Gold(question_id=flat.id, answer=letter, home_page=_home_page(flat))


def _home_page(flat: FlatQuestion) -> str | None:
    if flat.page is None:
        return None
    url = canonical_or_none(flat.page)
    if url is None:
        raise RecordError("page", f"{flat.page!r} is not a web address", "give a full URL, or leave it out")
    return page_id_of(url)


def _lesson(flat: FlatQuestion) -> str | None:
    return tidy(flat.lesson or "") or None


def _free_text(flat: FlatQuestion, kind: Kind, split: str) -> tuple[Question, Gold]:
    if kind != "free_text":
        raise RecordError("answer", f"a list of texts suits free text only, not {flat.type!r}", "give one letter")
    texts = [flat.answer] if isinstance(flat.answer, str) else flat.answer
    question = Question(
        question_id=flat.id,
        text=tidy(flat.question),
        choices=flat.choices,
        kind=kind,
        split=split,
        lesson=_lesson(flat),
    )
    return question, Gold(question_id=flat.id, texts=tuple(tidy(text) for text in texts), home_page=_home_page(flat))


def _is_flat(rows: Sequence[ForeignRow]) -> bool:
    """Whether rows are our own flat questions: then a fault of a field is not hidden by reading it as another's."""
    return any({"id", "type", "question"} <= row.values.keys() for row in rows)


def _flat_entries(rows: Sequence[ForeignRow], reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of flat rows; faults of a row go to the reading, fields that are not read to `extra`."""
    known = {one.name for one in fields(FlatQuestion)}
    for row in rows:
        others = {name: value for name, value in row.values.items() if name not in known}
        own = {name: value for name, value in row.values.items() if name in known}
        faults, flat = faults_and_record(own, FlatQuestion)
        reading.faults += [_flat_fault(row.where, fault, others) for fault in faults]
        if flat is not None:
            extra, lost = extra_json(others)
            reading.extra.update(name for name, value in others.items() if name not in lost and filled(value))
            reading.extra_lost.update(lost)
            yield _Entry(where=row.where, flat=flat, extra=extra)


def _flat_fault(where: str, fault: RecordError, others: Mapping[str, Any]) -> DataError:
    """A fault of a flat row; for a missing field, an unknown one of a similar name is its remedy."""
    close = difflib.get_close_matches(fault.where, others, n=1) if fault.what == "missing field" else []
    remedy = f"did you mean {close[0][:60]!r}?" if close else fault.remedy
    return DataError(f"{where}: {fault.where}", fault.what, remedy)


def _table_entries(table: QuestionTable, given: ColumnMap | None, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of a table of another program; what it leaves out and keeps as `extra` goes to the reading."""
    found = TableReading()
    for question in foreign_questions(table, given, found):
        for rule in question.rules:
            reading.correct(rule, question.flat.id)
        yield _Entry(where=question.where, flat=question.flat, extra=question.extra)
    reading.faults += found.faults
    reading.extra.update(found.extra)
    reading.extra_lost.update(found.extra_lost)
    reading.left_out.update(found.left_out)


def _row_entries(
    rows: Iterable[ForeignRow | DataError],
    path: Path,
    given: ColumnMap | None,
    split: str | None,
    reading: QuestionReading,
) -> Iterator[_Entry]:
    """The questions of rows: flat, or of another program. Rows that could not be read are faults."""
    sound = []
    for row in rows:
        if isinstance(row, DataError):
            reading.faults.append(row)
        else:
            sound.append(row)
        if len(sound) + len(reading.faults) > MAX_ROWS:
            raise DataError(path, f"has over {MAX_ROWS:,} rows", "split it into several files")
    if given is None and _is_flat(sound):
        yield from _flat_entries(sound, reading)
    elif sound:
        name = split or _split_of_name(path)
        yield from _table_entries(QuestionTable(str(path), source_name(path), sound, name), given, reading)


def _crag_entries(path: Path, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of CRAG's own file; faults of a line go to the reading."""
    for number, found, is_lost in crag_items(path, _crag_values):
        where = f"{path}:{number}"
        if isinstance(found, RecordError):
            reading.faults.append(DataError(f"{where}: {found.where}", first_line(found)))
            continue
        if is_lost:
            reading.correct("gold is a lost value, which no answer equals", found["id"])
        yield _Entry(where=where, flat=FlatQuestion(**found))


def _crag_values(
    number: int, record: CragRecord | RecordError
) -> Iterator[tuple[int, dict[str, Any] | RecordError, bool]]:
    """A line of CRAG's file without its pages: its number, the question's values or the fault, and is its gold lost."""
    if isinstance(record, RecordError):
        yield number, record, False
    else:
        yield number, record.flat_values(), record.is_lost


def _tqa_entries(path: Path, lessons: Any, split: str | None, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of TQA's own file; faults of a lesson or a question go to the reading."""
    for where, record in tqa_records(path, lessons):
        if isinstance(record, RecordError):
            reading.faults.append(DataError(f"{where}: {record.where}", first_line(record)))
        else:
            flat = FlatQuestion(**record.flat_values(), split=split or _split_of_name(path))
            yield _Entry(where=where, flat=flat, cut=record.cut)


def _file_entries(path: Path, given: ColumnMap | None, split: str | None, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of a text file of any kind, which its name and its content show."""
    if path.suffix.casefold() == ".bz2" or (path.suffix.casefold() == ".jsonl" and is_crag(path)):
        yield from _crag_entries(path, reading)
        return
    text = decoded(read_bytes(path), path)
    kind = kind_of(path, text)
    if kind == "lines":
        yield from _row_entries(line_rows(text, path), path, given, split, reading)
    elif kind != "json":
        yield from _row_entries(cell_rows(text, path, names_of_data), path, given, split, reading)
    elif is_tqa(value := json_value(text, path), path):
        yield from _tqa_entries(path, value, split, reading)
    else:
        rows = squad_rows(value, path) if is_squad(value) else array_rows(value, path)
        yield from _row_entries(rows, path, given, split, reading)


def _split_of_name(path: Path) -> str | None:
    """The split that a file's name contains: tqa_v1_train.json is train, validation-00000-of-00001.parquet is val."""
    words = {split_named(word) for word in re.split(r"[^a-z0-9]+", path.stem.casefold())}
    found = [split for split in SPLIT_NAMES if split in words]
    return found[0] if len(found) == 1 else None


def _dataset_tables(
    source: QuestionSource, split: str | None, reading: QuestionReading
) -> Sequence[QuestionTable] | None:
    """The tables of a Parquet file, a folder or a dataset of the Hub; None for any other file."""
    if isinstance(source, HubQuestions):
        tables, origin = hub_tables(source, split)
        reading.origins.append(origin)
        return tables
    if (folder := folder_of(source)) is not None:
        return folder_tables(folder, split)
    if source.suffix.casefold() == ".parquet":
        return [parquet_table(source, split or _split_of_name(source))]
    return None


def _entries(
    source: QuestionSource, given: ColumnMap | None, split: str | None, reading: QuestionReading
) -> Iterator[_Entry]:
    tables = _dataset_tables(source, split, reading)
    if tables is not None:
        for table in tables:
            yield from _table_entries(table, given, reading)
    elif isinstance(source, Path):
        yield from _file_entries(source, given, split, reading)


def _refuse_repeat(question_id: str, reading: QuestionReading) -> None:
    if question_id in reading.places:
        raise RecordError("id", f"{question_id!r} is used before, at {reading.places[question_id]}")


def _add(entry: _Entry, split: str | None, reading: QuestionReading) -> None:
    question_id = entry.flat.id
    try:
        _refuse_repeat(question_id, reading)
        question, gold = _records(entry, split, reading)
    except RecordError as error:
        reading.faults.append(DataError(f"{entry.where}: {error.where}", first_line(error)))
        return
    reading.places[question_id] = entry.where
    reading.questions.append(question)
    reading.golds.append(gold)
    if entry.flat.page is not None:
        reading.pages[question_id] = entry.flat.page
    if entry.cut:
        reading.cut_ids.add(question_id)


def read_files(sources: Sequence[QuestionSource], split: str | None, given: ColumnMap | None = None) -> QuestionReading:
    """Read question files into one Reading with unflagged questions; faults are collected, not raised."""
    reading = QuestionReading()
    for source in sources:
        for entry in _entries(source, given, split, reading):
            _add(entry, split, reading)
    return reading


def _refuse_faults(reading: QuestionReading, sources: Sequence[QuestionSource]) -> None:
    """Raise the faults of the files, all at once; equal faults of many rows are one line."""
    if reading.faults:
        raise FaultsError(grouped(reading.faults, MAX_FAULTS))
    if not reading.questions:
        where = ", ".join(map(str, sources))
        left_out = "; ".join(f"left out, {why}: {n:,}" for why, n in reading.left_out.items())
        what = f"holds no questions ({left_out})" if left_out else "holds no questions"
        raise DataError(where, what, "give a file with at least one question")


def _notes(reading: QuestionReading) -> Iterator[str]:
    """One line for each kind of correction, of rows left out, and for the columns kept as `extra`."""
    for rule, ids in reading.corrected.items():
        yield f"{rule}: {len(ids):,} ({', '.join(ids[:3])}{' …' if len(ids) > 3 else ''})"
    for why, n in reading.left_out.items():
        yield f"left out, {why}: {n:,}"
    if reading.extra:
        names = [f"{name[:60]!r}" + _similar(name) for name, _ in reading.extra.most_common(12)]
        more = f" and {len(reading.extra) - len(names):,} more" if len(reading.extra) > len(names) else ""
        yield f"columns kept as `extra`, which no system sees: {', '.join(names)}{more}"
    if reading.extra_lost:
        names = [repr(name[:60]) for name, _ in reading.extra_lost.most_common(12)]
        yield f"values left out of `extra` (bytes, or over {MAX_EXTRA:,} characters): {', '.join(names)}"


def _similar(name: str) -> str:
    """A question where a column's name looks like a slip of one that is read."""
    optional = [one.name for one in fields(FlatQuestion)]
    close = difflib.get_close_matches(name.casefold(), optional, n=1, cutoff=0.8)
    return f" (did you mean {close[0]!r}?)" if close else ""


class ReadQuestions(NamedTuple):
    """Questions (flagged) and their golds, both sorted by id. `origins` are the datasets of the Hub that they come
    from, `pages` the URLs of pages that they were taken from, by question id.
    """

    questions: list[Question]
    golds: list[Gold]
    origins: list[str]
    pages: Mapping[str, str]


def read_question_set(
    sources: Sequence[QuestionSource], split: str | None, given: ColumnMap | None = None
) -> ReadQuestions:
    """Questions from files, folders and datasets of the Hub, in any of the layouts that are known.

    `split` is for files that do not say it (a field, or a name such as tqa_v1_val.json), and chooses one of a dataset.
    `given` names columns. Raises FaultsError with
    the faults of all files, or DataError when there is no question at all. Prints on stderr what was corrected.
    """
    for source in sources:
        if isinstance(source, Path) and source.exists() and not (source.is_file() or source.is_dir()):
            raise DataError(source, "is not a regular file", "save the questions to a file, and give that")
    reading = read_files(sources, split, given)
    _refuse_faults(reading, sources)
    for note in _notes(reading):
        say(f"questions: {note}")
    questions = sorted(flag_questions(reading.questions, reading.cut_ids), key=lambda q: q.question_id)
    return ReadQuestions(questions, sorted(reading.golds, key=lambda g: g.question_id), reading.origins, reading.pages)


def read_questions(paths: Sequence[QuestionSource], split: str | None) -> tuple[list[Question], list[Gold]]:
    """The questions and golds of `read_question_set`."""
    found = read_question_set(paths, split)
    return found.questions, found.golds
