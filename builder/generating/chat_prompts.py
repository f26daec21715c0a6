"""The prompts that a writer and a reader get: versioned files, and page text between tags that it cannot close."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from edu_rag.prompt_text import prompt_sections, untagged

PROMPTS = (
    "write-v2",
    "write-change-v1",
    "write-out-of-scope-v2",
    "write-wrong-v1",
    "read-choices-v1",
    "read-choices-closed-v1",
    "read-one-right-v1",
    "read-answer-v1",
    "read-answer-closed-v1",
)
_MARKER = re.compile(r"\{([a-z]+)\}")


class ChatRequest(NamedTuple):
    """One request to a chat model: its two turns, the most tokens of the reply, and the prompt it was made from.

    `enough` is a pattern: a reply that the limit of tokens cut is used if it begins so. Without it, none is.
    """

    system: str
    user: str
    max_tokens: int
    made_from: str
    enough: str = ""


class _Form(NamedTuple):
    system: str
    user: str
    id: str


@cache
def _form(name: str) -> _Form:
    raw = resources.files("builder.generating").joinpath(f"prompts/{name}.txt").read_bytes()
    sections = prompt_sections(raw)
    return _Form(sections["system"], sections["user"], f"{name}@{hashlib.sha256(raw).hexdigest()[:8]}")


def prompt_ids() -> list[str]:
    """Every prompt as `name@hash8`, for the report."""
    return [_form(name).id for name in PROMPTS]


def fenced(passages: Sequence[str]) -> str:
    """Passages of pages between tags. The text in them is one line each and cannot close a tag or open a turn."""
    return "\n".join(f"<passage_{n}>\n{untagged(text)}\n</passage_{n}>" for n, text in enumerate(passages, 1))


def lettered(choices: Mapping[str, str]) -> str:
    """Choices, one a line."""
    return "\n".join(f"{label}. {untagged(text)}" for label, text in choices.items())


def filled(name: str, values: Mapping[str, str], max_tokens: int, enough: str = "") -> ChatRequest:
    """A prompt with its markers filled in one pass: inserted text is never searched for markers.

    The values are put in as they are, so outside text has to be `untagged`, `fenced` or `lettered` before.
    """
    form = _form(name)
    user = _MARKER.sub(lambda found: values[found[1]], form.user)
    return ChatRequest(form.system, user, max_tokens, form.id, enough)
