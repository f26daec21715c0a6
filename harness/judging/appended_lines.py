"""A file of JSON lines that grows by one line at a time: what a judge gave is on the disk before it counts.

A kill may leave the last line without its end. It is cut off, if it is the beginning of a line of ours.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.jsonl import numbered_lines, parse_json, to_line

Row = TypeVar("Row", bound=msgspec.Struct)
_BEGIN = b'{"key":"'
"""How every line of ours begins: `key` is the first field of its rows."""


def append_row(path: Path, row: msgspec.Struct) -> None:
    """Write one row at the end of a file, and wait until it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(to_line(row))
        stream.flush()
        os.fsync(stream.fileno())


def kept_rows(path: Path, row_type: type[Row], what: str, option: str) -> Iterator[tuple[str, Row]]:
    """The place and the row of each line; none if there is no file. `what` names a row in errors (`judgement`).

    Raises DataError for a line that is not one. A last line of ours without its end is cut off first.
    """
    _cut_torn_line(path, what, option)
    for number, line in numbered_lines(path) if path.is_file() else ():
        try:
            row = msgspec.convert(parse_json(line), row_type)
        except (ValueError, msgspec.ValidationError) as error:
            raise DataError(f"{path}:{number}", f"is not a {what}: {str(error)[:200]}", "remove the line") from None
        yield f"{path}:{number}", row


def _cut_torn_line(path: Path, what: str, option: str) -> None:
    """Cut a torn last line of ours. Raises DataError for another's: the cut would destroy a user's text."""
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as stream:
        data = stream.read()
        begin = data.rfind(b"\n") + 1
        rest = data[begin : begin + len(_BEGIN)]
        if rest and not _BEGIN.startswith(rest):
            raise DataError(path, f"is not a file of {what}s: its last line is cut", f"use another {option}")
        stream.truncate(begin)
