"""Which column of a table holds what: found by name, by a ready mapping, or given with `--map`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError, DataError

ROLES = ("question", "choices", "wrong", "answer", "id", "type", "split", "lesson", "page", "context")
"""The roles of columns. `wrong`: choices that are not the answer; `context`: a text that belongs to the question."""
FIRST = "first"
"""With `--map first=0` or `first=1`: the number of the first choice, where answers are numbers."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "beingasked", "questiontext", "questionstem", "stem", "query", "prompt", "problem"),
    "choices": ("choices", "answerchoices", "options", "questionchoices", "candidates", "answeroptions"),
    "answer": (
        "answer",
        "correctanswer",
        "answerkey",
        "correctanswerkey",
        "correctoption",
        "correctchoice",
        "correctlabel",
        "gold",
        "answers",
        "correct",
        "label",
        "target",
        "cop",
    ),
    "wrong": ("incorrectanswers", "wronganswers", "distractors"),
    "id": ("id", "questionid", "qid", "globalid", "instanceid", "uid"),
    "type": ("type", "questionsubtype", "questiontype", "kind"),
    "split": ("split",),
    "lesson": ("lesson", "lessonname"),
    "page": ("page",),
}
"""Names of columns by what they hold, the likeliest first; in lower case, letters and digits alone."""
_CHOICE = re.compile(r"(?:(?:option|choice|opt|op|ans|answer)(?:text)?)?(?P<label>[a-j]|\d)\Z")
_WRONG = re.compile(r"(?:distractor|incorrectanswer|wronganswer)\d+\Z")
_DATA_OF_MMLU = 4
"""The least columns of a file without a first row of names: the question, two choices and the letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """The columns of each role; roles without a column are left out. Columns that no role uses are `extra`."""

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int | None = None
    picture: str | None = None
    """A column that is filled where a question needs a picture; such questions are left out."""

    def used(self) -> frozenset[str]:
        """The names of all columns that are read."""
        named = {name for names in self.columns.values() for name in names}
        return frozenset(named | ({self.picture} if self.picture else set()))

    def column(self, role: str) -> str | None:
        """The one column of a role; None if there is none."""
        return next(iter(self.columns.get(role, ())), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyMapping:
    """The columns of a known dataset that their names alone do not explain; it applies where all of `needs` exist."""

    name: str
    needs: frozenset[str]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int | None = None
    picture: str | None = None


READY: Sequence[ReadyMapping] = (
    ReadyMapping(
        name="ScienceQA",
        needs=frozenset({"question", "choices", "answer", "hint", "image"}),
        columns={"context": ("hint",)},
        first=0,
        picture="image",
    ),
    ReadyMapping(name="MMLU", needs=frozenset({"question", "subject", "choices", "answer"}), first=0),
    ReadyMapping(
        name="SQuAD", needs=frozenset({"title", "context", "question", "answers"}), columns={"lesson": ("title",)}
    ),
)


def plain(name: str) -> str:
    """A column's name for comparing: lower case, letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def parse_map(options: Sequence[str]) -> ColumnMap | None:
    """`--map ROLE=COLUMN[,COLUMN …]` options; None if there is none. Raises ConfigError."""
    columns: dict[str, tuple[str, ...]] = {}
    first: int | None = None
    for option in options:
        role, equals, names = option.partition("=")
        role = role.strip().casefold()
        if not equals or not names.strip() or role not in (*ROLES, FIRST):
            close = difflib.get_close_matches(role, (*ROLES, FIRST), n=1)
            remedy = f"did you mean {close[0]!r}?" if close and equals else f"roles are {', '.join((*ROLES, FIRST))}"
            raise ConfigError("--map", f"{option!r} is not ROLE=COLUMN", remedy)
        if role == FIRST:
            if names.strip() not in ("0", "1"):
                raise ConfigError("--map", f"{option!r}: the first choice is number 0 or 1", "give first=0 or first=1")
            first = int(names)
        elif role in columns:
            raise ConfigError("--map", f"{role!r} is given twice", "give each role once; list columns with commas")
        else:
            columns[role] = tuple(name.strip() for name in names.split(","))
    return ColumnMap(columns=columns, first=first) if options else None


def _resolved(names: tuple[str, ...], known: Mapping[str, str], role: str, where: object) -> tuple[str, ...]:
    """The columns that `--map` names, which may differ in case. Raises DataError for one that does not exist."""
    whole = ",".join(names)
    if whole in known.values():
        return (whole,)
    found = []
    for name in names:
        column = name if name in known.values() else known.get(plain(name))
        if column is None:
            close = difflib.get_close_matches(name, known.values(), n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"columns are {shown(list(known.values()))}"
            raise DataError(where, f"has no column {name!r} for {role}", remedy)
        found.append(column)
    return tuple(found)


def shown(names: Sequence[str], most: int = 12) -> str:
    """Names as one short list."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(name[:60] for name in names[:most]) + more


def _series(columns: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if pattern.match(plain(column)))


def label_of_column(column: str) -> str | None:
    """The label in the name of a column of one choice: `b` of `option_b`, `2` of `choice2`."""
    match = _CHOICE.match(plain(column))
    return match["label"] if match else None


def _by_name(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    known = {plain(column): column for column in reversed(columns)}
    found: dict[str, tuple[str, ...]] = {}
    for role, names in _NAMES.items():
        for name in names:
            if name in known:
                found[role] = (known[name],)
                break
    if "choices" not in found and len(series := _series(columns, _CHOICE)) >= 2:
        found["choices"] = series
    if "wrong" not in found and (series := _series(columns, _WRONG)):
        found["wrong"] = series
    if "choices" in found:
        found.pop("wrong", None)
    return found


def find_columns(columns: Sequence[str], given: ColumnMap | None, where: object) -> ColumnMap:
    """The columns of a table by role: those given, then those of a ready mapping, then those with a known name.

    Raises DataError if no column holds the question or the answer, or if a given column does not exist.
    """
    found = ColumnMap(columns=_by_name(columns))
    for ready in READY:
        if ready.needs <= set(columns):
            merged = {**found.columns, **ready.columns}
            found = ColumnMap(columns=merged, first=ready.first, picture=ready.picture)
            break
    if given is not None:
        known = {plain(column): column for column in reversed(columns)}
        own = {role: _resolved(names, known, role, where) for role, names in given.columns.items()}
        kept = _without(found.columns, own)
        found = replace(found, columns={**kept, **own}, first=found.first if given.first is None else given.first)
    for role in ("question", "answer"):
        if role not in found.columns:
            remedy = f"name it with --map {role}=COLUMN"
            raise DataError(where, f"no column is known to hold the {role}; its columns are {shown(columns)}", remedy)
    return found


def _without(found: Mapping[str, tuple[str, ...]], own: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The columns found by name, without those that given roles replace; `choices` and `wrong` replace each other."""
    taken = {name for names in own.values() for name in names}
    replaced = {"choices", "wrong"} if {"choices", "wrong"} & own.keys() else set()
    return {role: names for role, names in found.items() if role not in replaced and not taken & set(names)}


def names_of_data(cells: Sequence[str]) -> list[str] | None:
    """Names for a first row that is data already: MMLU's own files are question, choices and letter, without names."""
    if len(cells) < _DATA_OF_MMLU or any(plain(cell) in _NAMES["question"] for cell in cells):
        return None
    letters = [chr(ord("A") + place) for place in range(len(cells) - 2)]
    return ["question", *letters, "answer"] if cells[-1].strip().upper() in letters else None


def source_name(path: Path | str) -> str:
    """The start of the ids of questions that have none: a file's or a dataset's name, as a-z, 0-9 and hyphens."""
    stem = path.stem if isinstance(path, Path) else path
    return re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-")[:40] or "question"


def filled(value: Any) -> bool:
    """Whether a cell holds anything."""
    return value is not None and not (isinstance(value, str) and not value.strip())
