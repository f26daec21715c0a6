"""TOML that people write: unknown keys are errors, and all faults of a file are reported at once."""

from __future__ import annotations

import hashlib
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from edu_rag.errors import BudgetError, ConfigError, FaultsError, RecordError
from edu_rag.files.typed import faults_and_record
from edu_rag.processes.budget import within_budget

R = TypeVar("R")
MAX_BYTES = 1_000_000
MAX_FAULTS = 50
_MAX_SHOWN = 200
MAX_PARTS = 16
"""Parts of one dotted key: the parser compares each part of a key with all before it."""
MAX_DEPTH = 32
"""Brackets that are open at a time, of arrays, inline tables and headers together."""
SMALL_BYTES = 10_000
"""A file of this size is read in this process: any content takes less time than starting a child."""
_REMEMBERED = 64
_TEXTS = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\Z)?'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)
"""Texts and comments, of which dots and brackets mean nothing; one that does not end goes to the end of the file."""
_BETWEEN_KEYS = re.compile(r"[^\w.\-]+")
_BRACKET = re.compile(r"[\[\]{}]")


class _NotRead(NamedTuple):
    """Why bytes are not read as TOML, and on which line where that is known."""

    what: str
    remedy: str
    line: int | None = None


def read_toml(path: Path, record_type: type[R], *, max_bytes: int = MAX_BYTES) -> R:
    """Read a TOML file as a record. Raises ConfigError, or FaultsError with every fault in it.

    The same bytes are parsed once in a process; all callers share the returned record.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(path, error.strerror or str(error), "give a readable TOML file") from None
    if len(raw) > max_bytes:
        raise ConfigError(path, f"is over {max_bytes:,} bytes", "a settings file is a page or two")
    found = _parsed(raw, record_type)  # type: ignore[arg-type]  # mypy: a type variable is hashable too
    if isinstance(found, _NotRead):
        raise ConfigError(path if found.line is None else f"{path}:{found.line}", found.what, found.remedy)
    faults: list[RecordError] = found[0]
    record: R | None = found[1]
    if record is None:
        listed = [ConfigError(f"{path}: {fault.where[:_MAX_SHOWN]}", fault.what, fault.remedy) for fault in faults]
        more = [ConfigError(path, f"and {len(listed) - MAX_FAULTS:,} more faults")] if len(listed) > MAX_FAULTS else []
        raise FaultsError(listed[:MAX_FAULTS] + more)
    return record


_Found = tuple[list[RecordError], Any] | _NotRead


@lru_cache(maxsize=_REMEMBERED)
def _parsed(raw: bytes, record_type: type[Any]) -> _Found:
    """The faults and the record of the bytes; a file that may be slow is parsed in a child with a budget."""
    try:
        return _parse(raw, record_type) if len(raw) <= SMALL_BYTES else _in_child(raw, record_type)
    except BudgetError as error:
        return _NotRead(error.what, error.remedy)


def _in_child(raw: bytes, record_type: type[Any]) -> _Found:
    # Named by its content: one slow file must not use up the budget of another one.
    return within_budget(_parse, raw, record_type, what=hashlib.sha256(raw).hexdigest())


def _parse(raw: bytes, record_type: type[Any]) -> _Found:
    try:
        text = raw.decode("utf-8")
        return _too_complex(text) or faults_and_record(tomllib.loads(text), record_type)
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or an integer of too many digits
        return _NotRead(f"not TOML: {str(error)[:_MAX_SHOWN]}", "fix the syntax")


def _too_complex(text: str) -> _NotRead | None:
    """Keys of many parts, or deep nesting: looked for in time linear in the text, before the parser sees it."""
    depth = 0
    bare = _TEXTS.sub(lambda text: "\n" * text[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") >= MAX_PARTS and _most_dots(line) >= MAX_PARTS:
            return _NotRead(f"has a key of more than {MAX_PARTS} parts", "write shorter keys", number)
        for bracket in _BRACKET.findall(line):
            depth += 1 if bracket in "[{" else -1
            if depth > MAX_DEPTH:
                return _NotRead(f"is nested deeper than {MAX_DEPTH} levels", "write flat settings", number)
    return None


def _most_dots(line: str) -> int:
    """The most dots of one key; blanks may be around each."""
    return max(word.count(".") for word in _BETWEEN_KEYS.split(line.replace(" ", "").replace("\t", "")))
