"""A file of JSON lines that grows by one line at a time: what a judge gave is on the disk before it counts.

A kill may leave the last line without its end. It is cut off, if it is the beginning of a line of ours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from itertools import islice
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
        fcntl.flock(stream, fcntl.LOCK_EX)  # no other process cuts the line while it is written
        stream.write(to_line(row))
        stream.flush()
        os.fsync(stream.fileno())


def kept_rows(
    path: Path, row_type: type[Row], what: str, option: str, *, read_only: bool = False
) -> Iterator[tuple[str, Row]]:
    """The place and the row of each line; none if there is no file. `what` names a row in errors (`judgement`).

    Raises DataError for a line that is not one. A last line of ours without its end is cut off first, or, if read only,
    left out.
    """
    n_lines = _n_whole_lines(path, what, option, cut=not read_only)
    for number, line in islice(numbered_lines(path) if n_lines else (), n_lines):
        try:
            row = msgspec.convert(parse_json(line), row_type)
        except (ValueError, msgspec.ValidationError) as error:
            raise DataError(f"{path}:{number}", f"is not a {what}: {str(error)[:200]}", "remove the line") from None
        yield f"{path}:{number}", row


def _n_whole_lines(path: Path, what: str, option: str, *, cut: bool) -> int:
    """The number of lines with their end; a torn last line of ours is cut, once no other process writes to it.

    Raises DataError for another's torn line: the cut would destroy a user's text.
    """
    with contextlib.suppress(FileNotFoundError), path.open("r+b" if cut else "rb") as stream:
        if cut:
            fcntl.flock(stream, fcntl.LOCK_EX)
        data = stream.read()
        begin = data.rfind(b"\n") + 1
        rest = data[begin : begin + len(_BEGIN)]
        if rest and not _BEGIN.startswith(rest):
            raise DataError(path, f"is not a file of {what}s: its last line is cut", f"use another {option}")
        if cut:
            stream.truncate(begin)
        return data.count(b"\n")
    return 0
