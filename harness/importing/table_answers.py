"""Answers from tables: CSV, TSV, JSON arrays, JSON lines, and JSON objects from question ids to answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import DataError
from edu_rag.files.foreign_table import (
    ForeignRow,
    cell_rows,
    decoded,
    is_lines,
    item_rows,
    json_value,
    line_rows,
    read_bytes,
)
from edu_rag.records import Question
from harness.importing.foreign_answer import AnswerOrFault, folded, names_shown
from harness.importing.map_columns import ID_NAMES, QUESTION_NAMES, map_columns, mapped, unused


class TableAnswers(NamedTuple):
    """The answers of a table, the column of each field, and the columns that are not read."""

    answers: list[AnswerOrFault]
    columns: Mapping[str, str]
    unused: list[str]


def csv_rows(path: Path) -> Iterator[ForeignRow | DataError]:
    """The rows of CSV or TSV. Raises DataError."""
    yield from cell_rows(decoded(read_bytes(path), path), path)


def json_rows(path: Path) -> Iterator[ForeignRow | DataError]:
    """The rows of a JSON file: lines, an array, an object with one array of objects, or one from ids to answers.

    Raises DataError.
    """
    text = decoded(read_bytes(path), path)
    if is_lines(text) or (path.suffix.casefold() in (".jsonl", ".ndjson") and not text.lstrip().startswith("[")):
        yield from line_rows(text, path)
        return
    value = json_value(text, path)
    if isinstance(value, list):
        yield from item_rows(value, str(path))
    elif isinstance(value, dict):
        yield from _object_rows(value, path)
    else:
        raise DataError(path, f"holds one value ({type(value).__name__})", "give an array of objects, or JSON lines")


def _object_rows(value: dict[str, Any], path: Path) -> Iterator[ForeignRow | DataError]:
    lists = [name for name, inner in value.items() if _is_table(inner)]
    if len(lists) > 1:
        what = f"has several lists of objects: {names_shown(lists)}"
        raise DataError(path, what, "save the one with the answers as a file")
    if lists:
        yield from item_rows(value[lists[0]], f"{path}: {lists[0][:100]}")
        return
    if (columns := _columns(value)) is not None:
        for number, cells in enumerate(zip(*columns.values(), strict=True), 1):
            yield ForeignRow(f"{path}: item {number}", dict(zip(columns, cells, strict=True)))
        return
    for number, (question_id, answer) in enumerate(value.items(), 1):
        values = answer if isinstance(answer, dict) else {"answer": answer}
        yield ForeignRow(f"{path}: item {number}", {"question_id": question_id} | values)


def _columns(value: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """The columns of a table that is written column by column, as pandas does: lists, or maps from row to cell."""
    if len(value) < 2 or not any(folded(name) in (*ID_NAMES, *QUESTION_NAMES) for name in value):
        return None
    inner = list(value.values())
    if all(isinstance(one, list) and len(one) == len(inner[0]) for one in inner):
        return dict(value)
    if all(isinstance(one, dict) and one.keys() == inner[0].keys() for one in inner):
        return {name: list(one.values()) for name, one in value.items()}
    return None


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def table_answers(
    rows: Iterable[ForeignRow | DataError], path: Path, wished: Mapping[str, str], known: Mapping[str, Question]
) -> TableAnswers:
    """The answers of a table's rows, with the faults of rows in their places. Raises DataError or ConfigError."""
    read = list(rows)
    good = [row for row in read if isinstance(row, ForeignRow)]
    if not good:
        faults = [row for row in read if isinstance(row, DataError)]
        raise faults[0] if faults else DataError(path, "has no rows", "give a file with an answer a row")
    columns = map_columns(good, wished, known)
    answers: list[AnswerOrFault] = [row if isinstance(row, DataError) else mapped(row, columns) for row in read]
    return TableAnswers(answers, columns, unused(good, columns))
