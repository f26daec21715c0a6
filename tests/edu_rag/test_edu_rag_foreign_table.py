"""Tables of other programs: encodings, delimiters and nestings are read, and what cannot be read is one right line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import DataError
from edu_rag.files import foreign_table
from edu_rag.files.foreign_table import MAX_COLUMNS, ForeignRow, cell_rows, foreign_rows, grouped

TABLE = 'id,question,answer\r\nq1,"Ice, or ""snow""?\r\nSay.",größer\r\nq2,Why?,b\r\n'
WANTED: list[dict[str, Any]] = [
    {"id": "q1", "question": 'Ice, or "snow"?\r\nSay.', "answer": "größer"},
    {"id": "q2", "question": "Why?", "answer": "b"},
]


def written(tmp_path: Path, data: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return path


def values(path: Path) -> list[dict[str, Any]]:
    rows = list(foreign_rows(path))
    assert all(isinstance(row, ForeignRow) for row in rows), rows
    return [row.values for row in rows if isinstance(row, ForeignRow)]


def first_fault(path: Path) -> str:
    try:
        faults = [row for row in foreign_rows(path) if isinstance(row, DataError)]
    except DataError as error:
        faults = [error]
    return str(faults[0]).replace(str(path), "FILE")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_csv_is_read_in_every_unicode_encoding_with_or_without_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    assert values(written(tmp_path, TABLE.encode(encoding))) == WANTED


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_delimiter_and_line_end_gives_the_same_rows(tmp_path: Path, delimiter: str, end: str) -> None:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(WANTED[0]), delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(WANTED)
    assert values(written(tmp_path, stream.getvalue())) == WANTED


def test_a_separator_line_of_excel_names_the_delimiter_and_does_not_shift_the_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "sep=;\r\nid;text\r\nq1;a, b, c\r\nq2\r\n")
    rows = list(foreign_rows(path))
    assert isinstance(rows[0], ForeignRow)
    assert rows[0].values == {"id": "q1", "text": "a, b, c"}
    assert str(rows[1]).startswith(f"{path}:4: number of cells: 1; columns that the first row names: 2")


def test_quotes_in_plain_tsv_are_characters(tmp_path: Path) -> None:
    path = written(tmp_path, 'id\ttext\nq1\t"Ice" is\nq2\t"open\n', "t.tsv")
    assert [row["text"] for row in values(path)] == ['"Ice" is', '"open']


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", "[{}, {}]"),
        ("t.json", '{{"version": "1", "data": [{}, {}]}}'),
        ("t.jsonl", "{}\n{}\n"),
        ("t.jsonl", "\ufeff{}\r\n\r\n{}"),
        ("t.ndjson", "{}\n{}"),
        ("t.json", "{}\n{}\n"),
        ("t", "[{}, {}]"),
    ],
)
def test_json_arrays_nested_arrays_and_lines_give_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, text.format(*map(json.dumps, WANTED)), name)
    assert values(path) == WANTED


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("t.csv", b"", "FILE: is empty: give a file whose first row names the columns"),
        ("t.csv", b"\xef\xbb\xbf\r\n \r\n", "FILE: is empty: give a file whose first row names the columns"),
        ("t.csv", b"a,b\n1,caf\xe9\n", "FILE:2: not UTF-8: byte 0xe9 does not fit: save the file as UTF-8"),
        ("t.csv", b"a,b\n1,x\x00y\n", "FILE:2: holds a NUL character: save the file as text in UTF-8"),
        ("t.csv", b'a,b\n1,2\n3,"x\n4,5\n', "FILE:3: a quoted cell that begins in this row does not end"),
        ("t.csv", b'a,b\n1,"x" y\n', "FILE:2: a quoted cell goes on after its closing quote: double each quote"),
        ("t.csv", b"a,a\n1,2\n", "FILE:1: two columns are named 'a': give each column its own name"),
        ("t.csv", b"a,b\n1,2\n\n1,2,3\n", "FILE:4: number of cells: 3; columns that the first row names: 2: put cells"),
        ("t.csv", b"a,b\n1," + b"x" * 200_000, "FILE:2: a cell has over 131,072 characters: shorten it"),
        ("t.csv", b"," * 1_000_000, "FILE: is empty: give a file"),
        ("t.csv", b"a" + b",b" * 1_000_000, "FILE:1: has 1,000,001 columns, at most 1,000 are read: leave some out"),
        ("t.csv", b"PK\x03\x04...", "FILE: is an Excel workbook or another ZIP archive: export the sheet as CSV"),
        ("t.json", b'[\n{"a": 1},\n{"a": }\n]', "FILE:3: not JSON: Expecting value: correct the JSON"),
        ("t.json", b'[{"a": 1, "a": 2}]', "FILE: a: the key is repeated: correct the JSON"),
        ("t.json", b'[{"a": 1}, 7]', "FILE: item 2: is a whole number, not an object with fields: give one a row"),
        ("t.json", b'{"a": [1], "b": [2]}', "FILE: is one object, with 2 lists in it: give an array of objects"),
        ("t.json", b"7", "FILE: holds one value (int), not an array: give an array of objects"),
        ("t.json", b"[" * 100_000, "FILE: nested deeper than 32 levels: correct the JSON"),
        ("t.jsonl", b'{"a": 1}\n{"a": NaN}\n', "FILE:2: NaN is not JSON: correct the JSON"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_place_fault_and_remedy(
    tmp_path: Path, name: str, data: bytes, fault: str
) -> None:
    assert first_fault(written(tmp_path, data, name)).startswith(fault)


def test_an_object_with_too_many_fields_is_a_fault_of_its_row(tmp_path: Path) -> None:
    row = {str(n): n for n in range(MAX_COLUMNS + 1)}
    fault = first_fault(written(tmp_path, json.dumps([row]), "t.json"))
    assert fault == "FILE: item 1: has 1,001 fields, at most 1,000 are read: leave some out"


def test_files_larger_than_memory_can_hold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_table, "MAX_JSON_BYTES", 1_000)
    fault = first_fault(written(tmp_path, "[" + "{}," * 400 + "{}]", "t.json"))
    assert fault == "FILE: is one JSON value of over 1,000 characters: write JSON lines, one object a line"
    with pytest.raises(DataError, match="is over 10 bytes: split it into several files"):
        list(foreign_rows(written(tmp_path, TABLE), max_bytes=10))


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    assert first_fault(tmp_path).startswith("FILE: is not a regular file")
    assert first_fault(tmp_path / "none.csv").startswith("FILE: No such file or directory")


def test_equal_faults_are_one_line_with_their_number() -> None:
    faults = [DataError(f"q.csv:{n}: answer", f"the gold {n!r} is not a choice", "fix it") for n in range(2, 9)]
    faults.append(DataError("q.csv:40: text", "is blank"))
    assert [str(fault) for fault in grouped(faults)] == [
        "q.csv:2: answer: the gold 2 is not a choice (and 6 more rows with this fault): fix it",
        "q.csv:40: text: is blank",
    ]
    many = [DataError(f"q.csv:{n}: {'x' * n}", "odd") for n in range(1, 31)]
    assert str(grouped(many)[-1]) == "q.csv: x: … and 10 more: fix these first"


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")), min_size=3, max_size=3),
        min_size=1,
    )
)
def test_what_csv_writes_is_read_again(rows: list[list[str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerow(["a", "b", "c"])
    writer.writerows(rows)
    found = [
        list(row.values.values()) for row in cell_rows(stream.getvalue(), Path("t.csv")) if isinstance(row, ForeignRow)
    ]
    assert found == [row for row in rows if any(cell.strip() for cell in row)]
