"""The eleven question types of HyPA-RAG (Kalra et al., table 4), read from `question-types-v3.toml`."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from edu_rag.errors import ConfigError

TYPES_FILE = "question-types-v3"


class QuestionType(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One type: how it is described, and how its questions are made.

    `answers` are the kinds of answers that fit it. `begins` goes into the request for the plain question. `change` is
    what is done with that one, and `ask` the request for it. `parts` are the types of the questions that it is put
    together from, by `join`; without them it is one question. `answerable` false: the right answer is "I don't know".
    """

    name: str = ""
    description: str
    answers: tuple[str, ...] = ()
    change: Literal["", "remark", "situation", "before", "short"] = ""
    ask: str = ""
    begins: str = ""
    parts: tuple[str, ...] = ()
    join: Literal["", "and", "also", "differ"] = ""
    answerable: bool = True

    def part_types(self) -> list[QuestionType]:
        """The type that each of its parts is written in."""
        return [question_types().by_name[name] for name in self.parts or (self.name,)]


class QuestionTypes(NamedTuple):
    """All types by name, in the paper's order, and the SHA-256 of their file."""

    by_name: Mapping[str, QuestionType]
    sha256: str


@cache
def question_types() -> QuestionTypes:
    """The types of the package's own file."""
    raw = resources.files("builder.generating").joinpath(f"{TYPES_FILE}.toml").read_bytes()
    found = msgspec.convert(tomllib.loads(raw.decode()), dict[str, QuestionType])
    named = {name: msgspec.structs.replace(one, name=name) for name, one in found.items()}
    return QuestionTypes(named, hashlib.sha256(raw).hexdigest())


def chosen_types(names: Sequence[str]) -> list[QuestionType]:
    """The types of these names, each once, in the paper's order; all without names. Raises ConfigError."""
    known = question_types().by_name
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError("--types", f"unknown type {unknown[0][:40]!r}", f"known are {', '.join(known)}")
    return [one for name, one in known.items() if not names or name in names]
