"""Questions in the tables of other datasets, as flat questions: columns by `question_columns`, cells by `choice_cells`.

The whole table shows whether numbered answers count from 0 or from 1 (`answer_letters`), and whether questions without
choices ask true or false. A row that needs a picture, or that its source says has no answer, is left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from builder.question_sets.answer_letters import bare_text, first_number, letter_of_answer, number_in
from builder.question_sets.choice_cells import Pair, choices_of, hash_order, lettered, texts_of, unwrapped
from builder.question_sets.flat_question import KIND_NAMES, FlatQuestion, extra_json, kind_named
from builder.question_sets.question_columns import ColumnMap, filled, find_columns, label_of_column, plain
from edu_rag.errors import DataError, RecordError
from edu_rag.files.foreign_table import ForeignRow
from edu_rag.files.mistyped import type_name
from edu_rag.records import LABELS, Kind

MAX_TEXT = 50_000
"""Characters of a question, a choice or an answer: a longer one is a file that was read wrongly."""
DEFAULT_SPLIT = "test"
_SPLITS: Mapping[str, str] = {"validation": "val", "valid": "val"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TRUTHS: Mapping[str, str] = {"true": "a", "false": "b"}
_HASH_ORDER = "choices shuffled by hash-order-v1, since the answer has a column of its own"
_NO_SPLIT = f"split {DEFAULT_SPLIT!r}, since neither file nor --split names one"
_CLEANED = "control characters removed"


class QuestionTable(NamedTuple):
    """Rows that one file, or one split of a dataset, holds."""

    where: str
    """The file or dataset, for messages."""
    name: str
    """The beginning of ids that are made here, for questions without one."""
    rows: Sequence[ForeignRow]
    split: str | None = None
    is_part: bool = False
    """Whether the source has several splits: then a number is not an id, since each split may count from 0."""


class ForeignQuestion(NamedTuple):
    """One question of a table, what else its row holds as JSON, and the rules of `notes` that changed it."""

    where: str
    flat: FlatQuestion
    extra: str | None
    rules: Sequence[str]


@dataclass(slots=True)
class TableReading:
    """The other results of reading a table: columns kept as `extra`, rows left out by reason, and faults."""

    extra: Counter[str] = field(default_factory=Counter)
    extra_lost: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: list[DataError] = field(default_factory=list)


class _NoGoldError(Exception):
    """A row without an answer. `is_meant`: its source says that there is none."""

    def __init__(self, *, is_meant: bool) -> None:
        super().__init__()
        self.is_meant = is_meant


def split_named(name: str) -> str:
    """A source's name of a split as ours: `validation` is `val`."""
    word = re.sub(r"[^a-z0-9_]+", "_", name.strip().casefold())
    return _SPLITS.get(word, word)


def _flattened(row: ForeignRow) -> ForeignRow:
    """A row whose `question` is an object (stem and choices, as ARC's own files have it), with columns of its parts."""
    inner = row.values.get("question")
    if not isinstance(inner, dict):
        return row
    parts = {f"question.{name}": value for name, value in inner.items()}
    return ForeignRow(row.where, {name: value for name, value in row.values.items() if name != "question"} | parts)


def _text(value: Any, field_name: str, rules: list[str]) -> str:
    """A cell's text, without control characters. Raises RecordError if it is none, or too long."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RecordError(field_name, f"is {type_name(value)}, not a text", "write a text")
    text = str(value)
    if len(text) > MAX_TEXT:
        raise RecordError(field_name, f"has {len(text):,} characters, at most {MAX_TEXT:,} are allowed", "shorten it")
    if _CONTROL.search(text):
        rules.append(_CLEANED)
        text = _CONTROL.sub(" ", text)
    return text


class _Reader:
    """Reads the rows of one table."""

    def __init__(self, table: QuestionTable, columns: ColumnMap) -> None:
        self._table = table
        self._columns = columns
        self._first = columns.first
        self._asks_truth = False
        self._is_bare = not any(role in columns.columns for role in ("choices", "wrong"))

    def learn(self, rows: Sequence[ForeignRow]) -> None:
        """Find the rules that need all rows."""
        if self._is_bare:
            answers = [row.values.get(self._columns.column("answer") or "") for row in rows]
            given = [str(answer).strip().casefold() for answer in answers if filled(answer)]
            self._asks_truth = bool(given) and all(answer in _TRUTHS for answer in given)
        elif self._first is None:
            self._first = self._found_first(rows)

    def _found_first(self, rows: Sequence[ForeignRow]) -> int | None:
        """The number of the first choice, as the numbered answers of all rows show it; else None."""
        return first_number(self._numbered(rows))

    def _numbered(self, rows: Sequence[ForeignRow]) -> Iterator[tuple[list[Pair], int]]:
        for row in rows:
            number = number_in(self._cell(row, "answer"))
            if number is not None:
                with suppress(RecordError):  # reported when the row is read
                    yield self._pairs(row), number

    def _cell(self, row: ForeignRow, role: str) -> Any:
        column = self._columns.column(role)
        return None if column is None else row.values.get(column)

    def _pairs(self, row: ForeignRow) -> list[Pair]:
        """The choices of a row, without those of `wrong`. Raises RecordError."""
        names = self._columns.columns.get("choices", ())
        if len(names) == 1:
            return choices_of(row.values.get(names[0]))
        cells = [(label_of_column(name), row.values.get(name)) for name in names]
        labels = [label for label, _ in cells]
        are_labels = None not in labels and len(set(labels)) == len(labels)
        return [(label if are_labels else None, str(cell)) for label, cell in cells if filled(cell)]

    def needs_picture(self, row: ForeignRow) -> bool:
        """Whether the question is one about a picture."""
        value = row.values.get(self._columns.picture) if self._columns.picture is not None else None
        return filled(value) and not (isinstance(value, dict) and all(inner is None for inner in value.values()))

    def question(self, row: ForeignRow, number: int) -> ForeignQuestion:
        """The question of a row. Raises RecordError, and _NoGoldError if there is no answer."""
        rules: list[str] = []
        text = self._question_text(row, rules)
        kind = self._kind(row)
        choices, answer = self._choices_and_answer(row, text, kind or "", rules)
        if kind is None:
            kind = "free_text" if isinstance(answer, list) else "multiple_choice"
            if {bare_text(choice) for choice in choices.values()} == set(_TRUTHS):
                kind = "true_false"
        split, lesson, page = (self._cell(row, role) for role in ("split", "lesson", "page"))
        flat = FlatQuestion(
            id=self._id(row, number),
            type=kind,
            question=text,
            choices=choices,
            answer=answer,
            split=self._split(split, rules),
            lesson=_text(lesson, "lesson", rules) if filled(lesson) else None,
            page=str(page) if filled(page) else None,
        )
        return ForeignQuestion(row.where, flat, None, rules)

    def _kind(self, row: ForeignRow) -> Kind | None:
        """The kind that the row names; None if it names none. Raises RecordError for an unknown one."""
        value = self._cell(row, "type")
        if not filled(value):
            return None
        kind = kind_named(str(value))
        if kind is None:
            raise RecordError("type", f"unknown type {str(value)[:60]!r}", f"known are {', '.join(KIND_NAMES)}")
        return kind

    def _split(self, value: Any, rules: list[str]) -> str:
        if filled(value):
            return split_named(str(value))
        if self._table.split is None:
            rules.append(_NO_SPLIT)
        return self._table.split or DEFAULT_SPLIT

    def _question_text(self, row: ForeignRow, rules: list[str]) -> str:
        value = unwrapped(self._cell(row, "question"))
        if not filled(value):
            raise RecordError("question", "is blank", "fill it, or remove the row")
        text, context = _text(value, "question", rules), self._cell(row, "context")
        return f"{_text(context, 'context', rules)} {text}" if filled(context) else text

    def _id(self, row: ForeignRow, number: int) -> str:
        value = self._cell(row, "id")
        split = f"-{self._table.split}" if self._table.is_part else ""
        if not filled(value):
            return f"{self._table.name}{split}-{number:05d}"
        if not isinstance(value, str | int):
            raise RecordError("id", f"is {type_name(value)}, not a text or a number", "write one of these")
        own = str(value).strip()
        return f"{self._table.name}{split}-{own}" if self._table.is_part and own.isdecimal() else own

    def _choices_and_answer(
        self, row: ForeignRow, text: str, kind: str, rules: list[str]
    ) -> tuple[dict[str, str], str | list[str]]:
        given = unwrapped(self._cell(row, "answer"))
        if given == -1 or not filled(given):  # -1: a split whose answers are kept back, in `datasets`
            raise _NoGoldError(is_meant=False)
        if "wrong" in self._columns.columns:
            return self._mixed(row, text, given, rules)
        if not self._is_bare and (pairs := self._pairs(row)):
            if isinstance(given, list) and len(given) == 1:
                given = given[0]
            choices = {letter: _text(choice, "choices", rules) for letter, choice in lettered(pairs).items()}
            named = self._column_letter(row, pairs, given)
            try:
                return choices, letter_of_answer(pairs, given, self._first, is_stated=self._columns.first is not None)
            except RecordError:
                if named is None:
                    raise
                return choices, named
        if isinstance(given, bool) or self._asks_truth or (kind == "true_false"):
            truth = str(given).strip().casefold()
            if truth not in _TRUTHS:
                raise RecordError("answer", f"{truth[:60]!r} is neither true nor false", "correct it")
            return {"a": "true", "b": "false"}, _TRUTHS[truth]
        texts = [_text(answer, "answer", rules) for answer in texts_of(given)]
        if not texts:
            raise _NoGoldError(is_meant=True)
        return {}, texts

    def _mixed(self, row: ForeignRow, text: str, answer: Any, rules: list[str]) -> tuple[dict[str, str], str]:
        """The answer among the wrong choices, in an order that does not show it."""
        cells = [row.values.get(name) for name in self._columns.columns["wrong"]]
        wrong = [choice for cell in cells if filled(cell) for _, choice in _listed(cell)]
        right = _text(answer, "answer", rules)
        texts = [_text(choice, "choices", rules) for choice in hash_order(text, [*wrong, right])]
        if len(texts) > len(LABELS):
            raise RecordError("choices", f"{len(texts):,} choices, at most {len(LABELS)} are possible")
        if len(same := [choice for choice in texts if bare_text(choice) == bare_text(right)]) > 1:
            raise RecordError("choices", f"{same[0][:60]!r} is both right and wrong", "remove one of them")
        rules.append(_HASH_ORDER)
        return dict(zip(LABELS, texts, strict=False)), LABELS[texts.index(right)]

    def _column_letter(self, row: ForeignRow, pairs: Sequence[Pair], given: Any) -> str | None:
        """The letter of the choice whose column the answer names, as `Opt B` does; None if it names none."""
        names = self._columns.columns.get("choices", ())
        filled_names = [plain(name) for name in names if filled(row.values.get(name))] if len(names) > 1 else []
        wanted = plain(given) if isinstance(given, str) else ""
        place = filled_names.index(wanted) if wanted and filled_names.count(wanted) == 1 else None
        return None if place is None else list(lettered(pairs))[place]


def _listed(cell: Any) -> list[Pair]:
    """The choices of one cell of `wrong`, which may be one text or a list."""
    if isinstance(cell, str) and not cell.strip().startswith(("[", "{")):
        return [(None, cell)]
    if isinstance(cell, int | float):
        return [(None, str(cell))]
    return choices_of(cell)


_MEANT: Mapping[str, Callable[[str], object]] = {"type": kind_named, "page": lambda text: "://" in text}
"""Columns whose name has other meanings too (a type of reasoning, a page's number), and what a value of ours is."""


def _as_meant(roles: ColumnMap, rows: Sequence[ForeignRow], given: ColumnMap | None) -> ColumnMap:
    """The columns, less those of another meaning: no row has a value of ours there."""
    columns = dict(roles.columns)
    for role, is_ours in _MEANT.items():
        column = roles.column(role)
        if column is None or (given is not None and role in given.columns):
            continue
        if not any(is_ours(str(row.values.get(column) or "")) for row in rows):
            del columns[role]
    return replace(roles, columns=columns)


def foreign_questions(table: QuestionTable, given: ColumnMap | None, found: TableReading) -> Iterator[ForeignQuestion]:
    """The questions of a table; faults of rows, rows left out and columns kept as `extra` go to `found`.

    Raises DataError if its columns are not understood.
    """
    rows = [_flattened(row) for row in table.rows]
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    if not rows:
        return
    roles = _as_meant(find_columns(columns, given, table.where), rows, given)
    others = [name for name in columns if name not in roles.used()]
    reader = _Reader(table, roles)
    reader.learn(rows)
    without_gold: list[DataError] = []
    n_read = 0
    for number, row in enumerate(rows, 1):
        if reader.needs_picture(row):
            found.left_out["needs a picture"] += 1
            continue
        try:
            question = reader.question(row, number)
        except _NoGoldError as error:
            if error.is_meant:
                found.left_out["has no answer"] += 1
            else:
                without_gold.append(DataError(f"{row.where}: answer", "is blank", "fill it, or remove the row"))
            continue
        except RecordError as error:
            found.faults.append(DataError(f"{row.where}: {error.where}", error.what, error.remedy))
            continue
        n_read += 1
        extra, lost = extra_json({name: row.values.get(name) for name in others})
        found.extra.update(name for name in others if name not in lost and filled(row.values.get(name)))
        found.extra_lost.update(lost)
        yield question._replace(extra=extra)
    if without_gold and not n_read and not found.faults and table.is_part:
        found.left_out[f"split {table.split!r} is published without answers"] += len(without_gold)
    else:
        found.faults += without_gold
