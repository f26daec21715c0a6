"""Reading question files: TQA's nested JSON, CRAG's records and flat JSON lines, into records or a list of every fault.

Real files are dirty. The rules, each counted in `Reading.mended`:
* a blank choice, or a letter left out (a, c, d), is not a choice: the letters after it move up, and the gold with them;
* a gold that is not a letter but equals the text of exactly one choice ("true") means that choice.
Everything else that breaks a record's invariant, or a gold that is not a choice, is a fault; no question is dropped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.question_sets.crag_files import CragRecord, crag_items, is_crag
from builder.question_sets.question_flags import flag_questions
from builder.question_sets.tqa_files import tqa_records
from builder.urls import canonical_or_none
from edu_rag.errors import DataError, EduRagError, FaultsError, RecordError
from edu_rag.files.jsonl import read_values
from edu_rag.files.typed import faults_and_record, first_line
from edu_rag.gold import Gold
from edu_rag.progress import say
from edu_rag.records import LABELS, Kind, Question, page_id_of

KIND_NAMES: Mapping[str, Kind] = {
    "multiple choice": "multiple_choice",
    "true or false": "true_false",
    "true false": "true_false",
    "matching": "matching",
    "free text": "free_text",
}
SPLIT_NAMES = ("train", "val", "test")
MAX_FAULTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatQuestion:
    """One line of a flat question file. `answer` is a letter, or accepted texts where `type` is free text."""

    id: str
    type: str
    question: str
    answer: str | list[str]
    choices: dict[str, str] = field(default_factory=dict)
    split: str | None = None
    lesson: str | None = None
    question_raw: str | None = None
    page: str | None = None
    """The URL of the page that the question was taken from, where that page is part of the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A question as its file holds it; `cut` says that the file itself shows a text to be cut short."""

    where: str
    flat: FlatQuestion
    cut: bool = False


@dataclass(slots=True)
class QuestionReading:
    """What was read so far: records, faults, and how many questions each rule of this module corrected."""

    questions: list[Question] = field(default_factory=list)
    golds: list[Gold] = field(default_factory=list)
    faults: list[EduRagError] = field(default_factory=list)
    mended: dict[str, list[str]] = field(default_factory=dict)
    cut_ids: set[str] = field(default_factory=set)
    places: dict[str, str] = field(default_factory=dict)

    def mend(self, rule: str, question_id: str) -> None:
        """Count a question that a rule corrected."""
        self.mended.setdefault(rule, []).append(question_id)


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
    flat = entry.flat
    kind = KIND_NAMES.get(flat.type.strip().casefold().replace("_", " "))
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
        reading.mend("choices re-lettered (blank or missing letter)", flat.id)
    if by_text:
        reading.mend("gold given as a choice's text", flat.id)
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
    return question, Gold(question_id=flat.id, texts=tuple(tidy(text) for text in texts))


def _flat_entries(path: Path, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of a JSON lines file; faults of a line go to the reading."""
    for number, values in read_values(path):
        where = f"{path}:{number}"
        faults, flat = faults_and_record(values, FlatQuestion)
        reading.faults += [DataError(f"{where}: {fault.where}", first_line(fault)) for fault in faults]
        if flat is not None:
            yield _Entry(where=where, flat=flat)


def _crag_entries(path: Path, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of CRAG's own file; faults of a line go to the reading."""
    for number, found, is_lost in crag_items(path, _crag_values):
        where = f"{path}:{number}"
        if isinstance(found, RecordError):
            reading.faults.append(DataError(f"{where}: {found.where}", first_line(found)))
            continue
        if is_lost:
            reading.mend("gold is a lost value, which no answer equals", found["id"])
        yield _Entry(where=where, flat=FlatQuestion(**found))


def _crag_values(
    number: int, record: CragRecord | RecordError
) -> Iterator[tuple[int, dict[str, Any] | RecordError, bool]]:
    """A line of CRAG's file without its pages: its number, the question's values or the fault, and is its gold lost."""
    if isinstance(record, RecordError):
        yield number, record, False
    else:
        yield number, record.flat_values(), record.is_lost


def _line_entries(path: Path, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of a JSON lines file: CRAG's where its first record is one of CRAG's, else flat."""
    return _crag_entries(path, reading) if is_crag(path) else _flat_entries(path, reading)


def _tqa_entries(path: Path, reading: QuestionReading) -> Iterator[_Entry]:
    """The questions of TQA's own file; faults of a lesson or a question go to the reading."""
    for where, record in tqa_records(path):
        if isinstance(record, RecordError):
            reading.faults.append(DataError(f"{where}: {record.where}", first_line(record)))
        else:
            yield _Entry(where=where, flat=FlatQuestion(**record.flat_values()), cut=record.cut)


def _split_of_name(path: Path) -> str | None:
    """The split that a file's name contains: tqa_v1_train.json is train."""
    words = path.stem.casefold().replace("-", "_").split("_")
    found = [split for split in SPLIT_NAMES if split in words]
    return found[0] if len(found) == 1 else None


READERS: Mapping[str, Callable[[Path, QuestionReading], Iterator[_Entry]]] = {
    ".jsonl": _line_entries,
    ".json": _tqa_entries,
    ".bz2": _crag_entries,
}


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
    if entry.cut:
        reading.cut_ids.add(question_id)


def read_files(paths: Sequence[Path], split: str | None) -> QuestionReading:
    """Read question files into one Reading with unflagged questions; faults are collected, not raised."""
    reading = QuestionReading()
    for path in paths:
        reader = READERS.get(path.suffix.casefold())
        if reader is None:
            raise DataError(path, f"unknown kind of question file {path.suffix!r}", f"known are {', '.join(READERS)}")
        of_file = split or (_split_of_name(path) if reader is _tqa_entries else None)
        for entry in reader(path, reading):
            _add(entry, of_file, reading)
    return reading


def _refuse_faults(reading: QuestionReading, paths: Sequence[Path]) -> None:
    """Raise the faults of the files, all at once; of very many faults the first MAX_FAULTS."""
    faults = list(reading.faults[:MAX_FAULTS])
    if len(reading.faults) > MAX_FAULTS:
        faults.append(DataError(paths[0], f"… and {len(reading.faults) - MAX_FAULTS} more faults", "fix these first"))
    if faults:
        raise FaultsError(faults)
    if not reading.questions:
        raise DataError(", ".join(map(str, paths)), "holds no questions", "give a file with at least one question")


def read_questions(paths: Sequence[Path], split: str | None) -> tuple[list[Question], list[Gold]]:
    """Questions (flagged) and their golds, both sorted by id, from files of either format.

    `split` is for files that do not say it (a field, or a name such as tqa_v1_val.json). Raises FaultsError with
    the faults of all files, or DataError when there is no question at all. Prints on stderr what was corrected.
    """
    for path in paths:
        if path.exists() and not path.is_file():
            raise DataError(path, "is not a regular file", "save the questions to a file, and give that")
    reading = read_files(paths, split)
    _refuse_faults(reading, paths)
    for rule, ids in reading.mended.items():
        say(f"questions: {rule}: {len(ids):,} ({', '.join(ids[:3])}{' …' if len(ids) > 3 else ''})")
    questions = flag_questions(reading.questions, reading.cut_ids)
    return sorted(questions, key=lambda q: q.question_id), sorted(reading.golds, key=lambda g: g.question_id)
