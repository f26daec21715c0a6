"""Tables that other programs wrote: CSV, TSV, JSON arrays and JSON lines, in the encodings that occur, as rows.

A file may come from a stranger: its bytes, columns and cells are bounded, and a row with a fault costs that row only.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import DataError
from edu_rag.files.jsonl import MAX_JSON_BYTES, MAX_LINE_BYTES, JsonFaultError, parse_json
from edu_rag.files.mistyped import type_name

MAX_BYTES = 256_000_000
"""Of one file: over a hundred thousand questions, or a million predictions."""
MAX_COLUMNS = 1_000
MAX_CELL = 131_072
"""Characters of one cell of CSV: the limit of Python's reader, which is one for the whole process."""
SUFFIXES: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "lines",
    ".ndjson": "lines",
}
"""Kinds of files by the ends of their names."""
_UNREADABLE: Mapping[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("is an Excel workbook or another ZIP archive", "export the sheet as CSV in UTF-8, or unpack it"),
    b"\xd0\xcf\x11\xe0": ("is an old Excel workbook", "export the sheet as CSV in UTF-8"),
    b"\x1f\x8b": ("is packed by gzip", "unpack it first"),
    b"BZh": ("is packed by bzip2", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("is packed by zstd", "unpack it first"),
    b"PAR1": ("is a Parquet file under another name", "name it .parquet"),
    b"%PDF": ("is a PDF", "export its table as CSV"),
    b"SQLite format 3": ("is an SQLite database", "export its table as CSV"),
}
"""The first bytes of files of other kinds."""
_MARKS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEPARATOR_LINE = re.compile(r"sep=([,;|\t])\r?\n", re.IGNORECASE)
_HEAD_BYTES = 4_096


class ForeignRow(NamedTuple):
    """One row: its place (`FILE:7`, or `FILE: item 7` of a JSON array), and its values by column.

    Values are texts in CSV and TSV, and JSON values otherwise.
    """

    where: str
    values: dict[str, Any]


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file. Raises DataError if it cannot be read, is too large, or is clearly not text."""
    try:
        if path.exists() and not path.is_file():
            raise DataError(path, "is not a regular file", "give a file")
        with path.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None
    if len(raw) > max_bytes:
        raise DataError(path, f"is over {max_bytes:,} bytes", "split it into several files")
    for magic, (what, remedy) in _UNREADABLE.items():
        if raw.startswith(magic):
            raise DataError(path, what, remedy)
    return raw


def _encoding_of(raw: bytes) -> str:
    """The encoding that a byte order mark names; without a mark UTF-8, or UTF-16 if every other byte is a NUL."""
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return name
    head = raw[:_HEAD_BYTES]
    odd, even = head[1::2].count(0), head[::2].count(0)
    if max(odd, even) > len(head) // 5 and min(odd, even) < len(head) // 100 + 1:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def decoded(raw: bytes, path: Path) -> str:
    """The text of a file in UTF-8, UTF-16 or UTF-32, without its byte order mark.

    Raises DataError naming the line with the first byte that does not fit, or with a NUL.
    """
    encoding = _encoding_of(raw)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        line = raw[: error.start].count(b"\n") + 1
        what = f"not {name}: byte 0x{raw[error.start]:02x} does not fit"
        raise DataError(f"{path}:{line}", what, "save the file as UTF-8") from None
    if (place := text.find("\0")) >= 0:
        raise DataError(f"{path}:{_line_of(text, place)}", "holds a NUL character", "save the file as text in UTF-8")
    return text


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def json_value(text: str, path: Path) -> Any:
    """The one JSON value of a text. Raises DataError naming the line of the fault, where it is one place."""
    if len(text) > MAX_JSON_BYTES:  # its values take twenty times the memory
        what = f"is one JSON value of over {MAX_JSON_BYTES:,} characters"
        raise DataError(path, what, "write JSON lines, one object a line")
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"))
    except JsonFaultError as error:
        where = path if error.position is None else f"{path}:{_line_of(text, error.position)}"
        raise DataError(where, error.what, "correct the JSON") from None


def is_lines(text: str) -> bool:
    """Whether a text is JSON lines: its first line is a whole object, and more follow."""
    first, _, rest = text.lstrip().partition("\n")
    if not (first.startswith("{") and rest.strip()):
        return False
    try:
        return isinstance(parse_json(first.encode("utf-8", "surrogatepass")), dict)
    except JsonFaultError:
        return False


def line_rows(text: str, path: Path) -> Iterator[ForeignRow | DataError]:
    """The rows of JSON lines; blank lines are skipped. A line that is not an object is a fault."""
    for number, line in enumerate(io.StringIO(text), 1):  # not splitlines, which cuts at U+2028 inside of texts
        where = f"{path}:{number}"
        if not line.strip():
            continue
        raw = line.encode("utf-8", "surrogatepass")
        if len(raw) > MAX_LINE_BYTES:
            yield DataError(where, f"line is over {MAX_LINE_BYTES:,} bytes", "shorten it")
            continue
        try:
            yield _object_row(where, parse_json(raw))
        except JsonFaultError as error:
            yield DataError(where, str(error), "correct the JSON")


def _object_row(where: str, value: Any) -> ForeignRow | DataError:
    if not isinstance(value, dict):
        return DataError(where, f"is {type_name(value)}, not an object with fields", "give one a row")
    if len(value) > MAX_COLUMNS:
        return DataError(where, f"has {len(value):,} fields, at most {MAX_COLUMNS:,} are read", "leave some out")
    return ForeignRow(where, value)


def item_rows(values: Sequence[Any], place: str) -> Iterator[ForeignRow | DataError]:
    """The rows of a JSON array, numbered from 1. An item that is not an object is a fault."""
    for number, value in enumerate(values, 1):
        yield _object_row(f"{place}: item {number}", value)


def _delimiter_of(text: str, path: Path) -> str:
    """The character between the cells: the most frequent one of the first line, outside of quoted cells."""
    if SUFFIXES.get(path.suffix.casefold()) == "tsv":
        return "\t"
    first = re.sub(r'"[^"]*"', "", text[:1_000_000].lstrip("\r\n").partition("\n")[0])
    counts = {mark: first.count(mark) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])


def _header(cells: Sequence[str], where: str) -> list[str]:
    """The names of the columns; one without a name is `column N`. Raises DataError."""
    if len(cells) > MAX_COLUMNS:
        raise DataError(where, f"has {len(cells):,} columns, at most {MAX_COLUMNS:,} are read", "leave some out")
    names = [" ".join(cell.split()) or f"column {number}" for number, cell in enumerate(cells, 1)]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(where, f"two columns are named {twice[0]!r}", "give each column its own name in the first row")
    return names


def _records(text: str, path: Path, delimiter: str, quoting: int) -> Iterator[tuple[int, list[str]]]:
    """Each row's first line and cells, blank rows left out. Raises DataError."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
    while True:
        begin = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}:{begin}", *_csv_fault(str(error))) from None
        if any(cell.strip() for cell in cells):
            yield begin, cells


def _csv_fault(message: str) -> tuple[str, str]:
    """The message of the module csv about a row in our words, and the remedy."""
    if "field limit" in message:
        return f"a cell has over {MAX_CELL:,} characters", "shorten it, or close its quote"
    if "unexpected end" in message:
        return "a quoted cell that begins in this row does not end", "close its quote"
    if "expected after" in message:
        return "a quoted cell goes on after its closing quote", "double each quote inside of a quoted cell"
    return f"cannot be read as a row: {message}", "write the file again as CSV"


def _no_names(cells: Sequence[str]) -> Sequence[str] | None:
    return None


Naming = Callable[[Sequence[str]], Sequence[str] | None]
"""Given the first row: names for the columns where that row is data already, else None."""


def cell_rows(text: str, path: Path, names_of_data: Naming = _no_names) -> Iterator[ForeignRow | DataError]:
    """The rows of CSV or TSV, whose first row names the columns. A row with more or fewer cells is a fault.

    The delimiter is a comma, semicolon, tab or bar. Raises DataError for a file without columns, or with a quoted cell
    that does not end.
    """
    skipped = 0
    if named := _SEPARATOR_LINE.match(text):  # a line that Excel writes and reads
        delimiter, text, skipped = named[1], text[named.end() :], 1
    else:
        delimiter = _delimiter_of(text, path)
    quoting = csv.QUOTE_MINIMAL
    if delimiter == "\t" and not _is_quoted(text, path):
        quoting = csv.QUOTE_NONE
    records = _records(text, path, delimiter, quoting)
    begin, cells = next(records, (1, []))
    if not cells:
        raise DataError(path, "is empty", "give a file whose first row names the columns")
    given = names_of_data(cells)
    names = _header(cells if given is None else given, f"{path}:{begin + skipped}")
    if given is not None:
        yield ForeignRow(f"{path}:{begin + skipped}", dict(zip(names, cells, strict=True)))
    for begin, cells in records:
        where = f"{path}:{begin + skipped}"
        if len(cells) == len(names):
            yield ForeignRow(where, dict(zip(names, cells, strict=True)))
        else:
            what = f"number of cells: {len(cells):,}; columns that the first row names: {len(names):,}"
            yield DataError(where, what, "put cells with a delimiter or a line end between quotes")


def _is_quoted(text: str, path: Path) -> bool:
    """Whether the quotes of a text with tabs are those of cells: plain TSV has none, and a quote is a character."""
    if '"' not in text:
        return False
    try:
        widths = {len(cells) for _, cells in _records(text, path, "\t", csv.QUOTE_MINIMAL)}
    except DataError:
        return False
    return len(widths) == 1


def kind_of(path: Path, text: str) -> str:
    """`csv`, `tsv`, `json` or `lines`, by the end of the name, or else by what the text begins with."""
    found = SUFFIXES.get(path.suffix.casefold())
    if found is None:
        found = "json" if text.lstrip()[:1] in ("[", "{") else "csv"
    return "lines" if found == "json" and is_lines(text) else found


def foreign_rows(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[ForeignRow | DataError]:
    """The rows of a file that another program wrote, in order; a row that cannot be read is its fault instead.

    JSON is an array of objects, or one object with exactly one such array. Raises DataError if the whole file cannot
    be read.
    """
    text = decoded(read_bytes(path, max_bytes), path)
    kind = kind_of(path, text)
    if kind == "lines":
        yield from line_rows(text, path)
    elif kind == "json":
        yield from array_rows(json_value(text, path), path)
    else:
        yield from cell_rows(text, path)


def array_rows(value: Any, path: Path) -> Iterator[ForeignRow | DataError]:
    """The rows of a JSON array of objects, or of the only array in an object. Raises DataError."""
    if isinstance(value, dict):
        lists = [name for name, inner in value.items() if isinstance(inner, list) and inner]
        if len(lists) != 1:
            what = f"is one object, with {len(lists)} lists in it" if lists else "is one object without a list"
            raise DataError(path, what, "give an array of objects")
        yield from item_rows(value[lists[0]], f"{path}: {lists[0][:100]}")
    elif isinstance(value, list):
        yield from item_rows(value, str(path))
    else:
        raise DataError(path, f"holds one value ({type(value).__name__}), not an array", "give an array of objects")


def grouped(faults: Sequence[DataError], most: int = 20) -> list[DataError]:
    """Faults with equal ends as one line each: the first place, and how many more there are; at most `most` lines.

    A fault's end is what it says after its file and row: the same slip on every row is one line.
    """
    groups: dict[tuple[str, str, str], list[DataError]] = {}
    for fault in faults:
        groups.setdefault((_without_place(fault.where), _numberless(fault.what), fault.remedy), []).append(fault)
    lines = [_line_of_group(group) for group in groups.values()]
    if len(lines) <= most:
        return lines
    more = sum(len(group) for group in list(groups.values())[most:])
    return [*lines[:most], DataError(_without_place(lines[0].where), f"… and {more:,} more", "fix these first")]


_ROW_PLACE = re.compile(r":\d+(?=:|\Z)|: (?:item|row|question|paragraph) [^:]+(?=:|\Z)")


def _without_place(where: str) -> str:
    return _ROW_PLACE.sub("", where)


def _numberless(what: str) -> str:
    """A fault without the values in it, which differ from row to row."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d,]*", "…", what)


def _line_of_group(group: Sequence[DataError]) -> DataError:
    first, n = group[0], len(group) - 1
    if not n:
        return first
    rows = "row" if n == 1 else "rows"
    return DataError(first.where, f"{first.what} (and {n:,} more {rows} with this fault)", first.remedy)
