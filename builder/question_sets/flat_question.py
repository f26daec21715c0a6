"""A question as a flat question file holds it: what every reader of question files makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from edu_rag.records import Kind

KIND_NAMES: Mapping[str, Kind] = {
    "multiple choice": "multiple_choice",
    "true or false": "true_false",
    "true false": "true_false",
    "matching": "matching",
    "free text": "free_text",
}
MAX_EXTRA = 20_000
"""Characters of one value of `extra`; a longer one is left out."""


def kind_named(name: str) -> Kind | None:
    """The kind that a question file's `type` names; None if it names none."""
    return KIND_NAMES.get(" ".join(name.casefold().replace("_", " ").replace("-", " ").split()))


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


def extra_json(values: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Columns that no part reads as one JSON object, None if they are all empty; and the names of those left out.

    Empty cells are skipped. Bytes (pictures, sounds) and very long values are left out.
    """
    kept: dict[str, Any] = {}
    left_out = []
    for name, value in values.items():
        if value is None or value == "" or value == []:
            continue
        if _fits(value):
            kept[name] = value
        else:
            left_out.append(name)
    return (msgspec.json.encode(kept, enc_hook=str).decode() if kept else None), left_out


def _fits(value: Any) -> bool:
    if _has_bytes(value):
        return False
    return len(value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str)) <= MAX_EXTRA


def _has_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_bytes, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_bytes, value))
    return isinstance(value, bytes | bytearray | memoryview)
