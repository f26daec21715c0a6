"""The eleven question types of HyPA-RAG (Kalra et al., table 4), read from `question-types-v1.toml`."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import msgspec

from edu_rag.errors import ConfigError

TYPES_FILE = "question-types-v1"


class QuestionType(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One type: how it is described to the model, and what its questions are made from.

    `passages` is the number of passages; the evidence quotes each of them. `before`: a message comes before the
    question. `distraction`: the writer also gets the title of another page. `answerable` false: the right answer is "I
    don't know".
    """

    name: str = ""
    description: str
    ask: str
    passages: int = 1
    before: bool = False
    distraction: bool = False
    answerable: bool = True


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
