"""From plain JSON or TOML values to records: unknown, missing and mistyped fields are all named at once."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, TypeVar

import msgspec

from edu_rag.errors import EduRagError, RecordError, RecordFaultsError
from edu_rag.files.mistyped import mistyped, type_name

R = TypeVar("R")
MAX_UNKNOWN = 20
"""Unknown fields of one record that are listed one by one; the rest is counted. One line can hold 100,000."""
MAX_NAME = 100
"""Characters of an unknown field's name that are shown, and compared with the known names."""


@cache
def _field_types(record_type: type) -> Mapping[str, tuple[Any, bool]]:
    """Of each field of a dataclass: its type, and whether it must be given."""
    hints = typing.get_type_hints(record_type, include_extras=True)
    missing = dataclasses.MISSING
    return {
        f.name: (hints[f.name], f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(record_type)
    }


def _allowed(wanted: Any) -> list[str]:
    """The values of the enumerations in a type, in order; none if there is none."""
    inner = typing.get_args(wanted)
    if typing.get_origin(wanted) is typing.Literal:
        return [str(value) for value in inner]
    return [name for part in inner for name in _allowed(part)]


def _convert(value: Any, wanted: Any, name: str, faults: list[RecordError]) -> Any:
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type) and isinstance(value, Mapping):
        return _build(value, wanted, f"{name}.", faults)
    if typing.get_origin(wanted) is list and isinstance(value, list):
        (inner,) = typing.get_args(wanted)
        if dataclasses.is_dataclass(inner):
            return [_convert(item, inner, f"{name}[{index}]", faults) for index, item in enumerate(value)]
    try:
        return msgspec.convert(value, wanted, strict=True)
    except msgspec.ValidationError as error:
        known, fault = _allowed(wanted), mistyped(str(error))
        faults.append(RecordError(name, fault.what, f"known are {', '.join(known)}" if known else fault.remedy))
    except RecordError as error:
        faults.append(RecordError(f"{name}.{error.where}", error.what, error.remedy))
    return None


@lru_cache(maxsize=1_024)
def _known_instead(name: str, record_type: type) -> str:
    """The remedy for an unknown field. Remembered, since the same slip is made on every line of a file."""
    types = _field_types(record_type)
    close = difflib.get_close_matches(name, types, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(types)}"


def _unknown(values: Mapping[str, Any], record_type: type, prefix: str) -> Iterator[RecordError]:
    """A fault for each of the first unknown fields, and one for all the others together."""
    types = _field_types(record_type)
    unknown = [name for name in values if name not in types]
    for name in unknown[:MAX_UNKNOWN]:
        shown = str(name)[:MAX_NAME]
        yield RecordError(f"{prefix}{shown}", "unknown field", _known_instead(shown, record_type))
    if len(unknown) > MAX_UNKNOWN:
        where = prefix.rstrip(".") or "value"
        yield RecordError(where, f"{len(unknown) - MAX_UNKNOWN:,} more unknown fields", "remove them")


def _build(values: Mapping[str, Any], record_type: type, prefix: str, faults: list[RecordError]) -> Any:
    types = _field_types(record_type)
    before = len(faults)
    faults += _unknown(values, record_type, prefix)
    given: dict[str, Any] = {}
    for name, (wanted, required) in types.items():
        if name in values:
            given[name] = _convert(values[name], wanted, f"{prefix}{name}", faults)
        elif required:
            faults.append(RecordError(f"{prefix}{name}", "missing field", "add it"))
    if len(faults) > before:
        return None
    try:
        return record_type(**given)
    except RecordError as error:
        found = error.faults if isinstance(error, RecordFaultsError) else [error]
        faults += [RecordError(f"{prefix}{fault.where}", fault.what, fault.remedy) for fault in found]
    return None


def faults_and_record(values: Any, record_type: type[R]) -> tuple[list[RecordError], R | None]:
    """Build a record from plain values; return every fault found, and the record when there is none."""
    if not isinstance(values, Mapping):
        return [RecordError("value", f"is {type_name(values)}, not an object with fields", "write one in braces")], None
    faults: list[RecordError] = []
    record = _build(values, record_type, "", faults)
    return faults, record


def to_record(values: Any, record_type: type[R]) -> R:
    """Build a record from plain values; raise RecordError for the first fault (its `where` is the field)."""
    faults, record = faults_and_record(values, record_type)
    if record is None:
        raise faults[0]
    return record


def to_plain(record: object) -> Any:
    """A record as JSON-ready values: dicts, lists, strings, numbers; times as ISO 8601 in UTC."""
    return msgspec.to_builtins(record)


def first_line(error: EduRagError) -> str:
    """Fault and remedy of an error without its place, so that a better place can be put before them."""
    return f"{error.what}: {error.remedy}" if error.remedy else error.what
