"""One answer as another program's file states it, under the names of our fields, and how to find values in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from edu_rag.errors import ConfigError, DataError
from edu_rag.look.texts import clip
from harness.submission.predictions_file import OPTIONAL_FIELDS

QUESTION, CHOICES = "question", "choices"
"""The question as it was asked: it finds the question if the id does not, and its choices give letters a meaning."""
FIELDS = ("question_id", QUESTION, CHOICES, "answer", *OPTIONAL_FIELDS, "error")
"""The fields that a file may give, and `--map` may name."""
MAX_COLUMNS_SHOWN = 20
_MAX_NAME = 40
_MAX_DEPTH = 4


class ForeignAnswer(NamedTuple):
    """One answer: its place in the file, and its values by FIELDS and CHOICES."""

    where: str
    values: dict[str, Any]


AnswerOrFault = ForeignAnswer | DataError


def folded(name: str) -> str:
    """A column's name without case, blanks and marks: `Question ID` and `question_id` are one name."""
    return re.sub(r"[\W_]+", "", name.casefold())


def flat(values: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The values of a JSON object by dotted name (`usage.prompt_tokens`); inner objects come under their name too."""
    for name, value in values.items():
        yield f"{prefix}{name}", value
        if isinstance(value, Mapping) and depth < _MAX_DEPTH:
            yield from flat(value, f"{prefix}{name}.", depth + 1)


def id_text(value: Any) -> str:
    """An id as text: programs that read tables make numbers of ids."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def names_shown(names: Iterable[str]) -> str:
    """Names of columns for a message; of very many the first."""
    shown = [clip(name, _MAX_NAME) for name in names]
    more = len(shown) - MAX_COLUMNS_SHOWN
    return ", ".join(shown[:MAX_COLUMNS_SHOWN]) + (f" and {more:,} more" if more > 0 else "") or "none"


def wished_columns(said: Iterable[str]) -> dict[str, str]:
    """`--map FIELD=COLUMN`, each field once. An empty column means that the field is left out.

    Raises ConfigError for a form or field that is not known.
    """
    found: dict[str, str] = {}
    for text in said:
        name, equals, column = text.partition("=")
        name = name.strip()
        if not equals or name not in FIELDS:
            what = f"{text[:80]!r} is not FIELD=COLUMN" if not equals else f"{name[:80]!r} is not a field"
            raise ConfigError("--map", what, f"fields are {', '.join(FIELDS)}")
        if name in found:
            raise ConfigError("--map", f"{name} is given twice", "give each field one column")
        if name == "answer" and not column.strip():
            raise ConfigError("--map", "answer has no column", "name the column with the answers")
        found[name] = column.strip()
    return found


def dug(raw: Any, column: str) -> Any:
    """The value at a dotted name: keys of objects, and places in lists from 0 (`choices.0.text`); None if not there."""
    value = raw
    for name in column.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            return None
    return value


def valued(raw: Mapping[str, Any], wished: Mapping[str, str]) -> dict[str, Any]:
    """The values of the wished columns by field; None for a field that is left out."""
    return {field: dug(raw, column) if column else None for field, column in wished.items()}
