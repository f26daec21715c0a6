"""Strict JSON lines: every fault is reported as `file:line: field: fault`, and nothing odd slips through."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.files.nesting import MAX_DEPTH, too_deep
from edu_rag.files.typed import first_line, to_plain, to_record

R = TypeVar("R")
MAX_LINE_BYTES = 4_000_000
BLOCK_BYTES = 1_000_000
"""Of lines that are read together."""
MAX_JSON_BYTES = 64_000_000
"""The limit for a JSON file that we wrote; readers of strangers' files pass a smaller one."""


class JsonFaultError(ValueError):
    """A fault of a JSON text; `position` is where it is, in characters from 0, if it is one place."""

    def __init__(self, what: str, position: int | None = None) -> None:
        super().__init__(what if position is None else f"{what} at character {position + 1}")
        self.what = what
        self.position = position


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        repeated = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise JsonFaultError(f"{repeated}: the key is repeated")
    return result


def _refuse_constant(name: str) -> Any:
    raise JsonFaultError(f"{name} is not JSON")


def _none_for_constant(name: str) -> None:
    return None


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise JsonFaultError(f"an integer of {len(digits)} digits is too long")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonFaultError(f"the number {digits[:30]} is too large")
    return value


def parse_json(raw: bytes, *, nan_as_none: bool = False) -> Any:
    """One strict JSON text. Raises ValueError with the fault: duplicate keys, NaN, lone surrogates, depth and such.

    With `nan_as_none`, NaN and Infinity are read as null: other programs write them where a figure is missing.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonFaultError(f"not UTF-8 at byte {error.start + 1}") from None
    if text.startswith("\ufeff"):
        raise JsonFaultError("starts with a byte order mark")
    if too_deep(text):
        raise JsonFaultError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object_of,
            parse_constant=_none_for_constant if nan_as_none else _refuse_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except json.JSONDecodeError as error:
        raise JsonFaultError(f"not JSON: {error.msg.removesuffix(' at')}", error.pos) from None
    if "\\u" in text:  # escapes are the only way in for surrogates: raw ones are not UTF-8
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise JsonFaultError("holds a lone surrogate") from None
    return value


def line_blocks(path: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """The file in blocks of whole lines, each with the number of its first line, counted from 1.

    No line is over MAX_LINE_BYTES. Raises DataError as `numbered_lines`, after the lines before the fault.
    """
    number, rest = 1, b""
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(block_bytes):
                begun = rest + chunk
                end = begun.rfind(b"\n") + 1
                if end:
                    yield from _short_lines(path, number, begun[:end])
                number, rest = number + begun.count(b"\n", 0, end), begun[end:]
                if len(rest) > MAX_LINE_BYTES + 1:  # room for a CR
                    break
            if rest:
                yield from _short_lines(path, number, rest)
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None


def _short_lines(path: Path, number: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    """A block of lines; one by one if any of them may be too long, up to the first that is."""
    if len(block) <= MAX_LINE_BYTES:
        yield number, block
        return
    for place, line in enumerate(block.removesuffix(b"\n").split(b"\n"), number):
        if len(line.removesuffix(b"\r")) > MAX_LINE_BYTES:
            raise DataError(f"{path}:{place}", f"line is over {MAX_LINE_BYTES:,} bytes", "shorten it")
        yield place, line


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, numbered from 1, without line ends. Raises DataError for unreadable or over-long."""
    try:
        with path.open("rb") as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 3):  # room for CR LF, and for a byte too many
                number += 1
                if len(line.removesuffix(b"\n").removesuffix(b"\r")) > MAX_LINE_BYTES:
                    raise DataError(f"{path}:{number}", f"line is over {MAX_LINE_BYTES:,} bytes", "shorten it")
                yield number, line.rstrip(b"\r\n")
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None


def read_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Each line's number and strict JSON value. Raises DataError naming file and line."""
    for number, line in numbered_lines(path):
        if not line.strip():
            raise DataError(f"{path}:{number}", "line is blank", "remove it")
        try:
            yield number, parse_json(line)
        except JsonFaultError as error:
            raise DataError(f"{path}:{number}", str(error)) from None


def read_records(path: Path, record_type: type[R]) -> Iterator[tuple[int, R]]:
    """Each line's number and record. Raises DataError as `file:line: field: fault`."""
    for number, value in read_values(path):
        try:
            yield number, to_record(value, record_type)
        except RecordError as error:
            raise DataError(f"{path}:{number}", f"{error.where}: {first_line(error)}") from None


def to_line(value: object) -> bytes:
    """One record or plain value as a JSON line: keys in the record's order, UTF-8, ends in a newline."""
    return msgspec.json.encode(to_plain(value)) + b"\n"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give the system's errors on writing (a full disk, a broken one) the name of the file that was being written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: temporary name, fsync, rename, fsync of the folder.

    Raises OSError that names the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        _write_file(path, data)


def _write_file(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as stream:  # made here: in a stranger's folder a link may wait under this name
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_records(path: Path, records: Iterable[object]) -> int:
    """Write records as JSON lines, atomically; return their number."""
    lines = [to_line(record) for record in records]
    write_file(path, b"".join(lines))
    return len(lines)


def write_json(path: Path, value: object) -> None:
    """Write one value as indented JSON, atomically, ending in a newline."""
    write_file(path, msgspec.json.format(msgspec.json.encode(to_plain(value)), indent=2) + b"\n")


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """One strict JSON file of at most `max_bytes`. Raises DataError naming the file."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise DataError(path, f"is over {max_bytes:,} bytes", "give a smaller file")
        return parse_json(raw)
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None
    except JsonFaultError as error:
        raise DataError(path, str(error)) from None
