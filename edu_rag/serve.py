"""The loop for Python authors of systems: one JSON question a line in, one JSON answer a line out."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from edu_rag.records import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPage:
    """A page as a system gets it: `sentences` are (start, end) offsets into `text`."""

    page_id: str
    url: str
    title: str
    text: str
    sentences: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemQuestion:
    """A question as a system gets it: under a random id, with its pages in rank order; no gold, no split."""

    id: str
    text: str
    choices: Mapping[str, str]
    kind: str
    pages: tuple[SystemPage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAnswer:
    """What a system may say: `answer` is a label, a text, or None for "I don't know"; the rest is optional.

    `passages` are (page_id, start, end) of what it read; `confidence` is in [0, 1]; `energy_j` is in joules.
    """

    answer: str | None
    response: str | None = None
    confidence: float | None = None
    passages: Sequence[tuple[str, int, int]] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    energy_j: float | None = None


def _reply(question: SystemQuestion, answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> bytes:
    said = answer(question)
    if not isinstance(said, SystemAnswer):
        said = SystemAnswer(answer=said)
    optional = {name: value for name, value in msgspec.to_builtins(said).items() if value not in (None, (), [])}
    reply: dict[str, Any] = {"id": question.id, **optional, "answer": said.answer}
    return msgspec.json.encode(reply)


def _reply_or_error(line: bytes, answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> bytes:
    question = msgspec.json.decode(line, type=SystemQuestion)
    try:
        # Encoding is in here too: an answer that is no JSON (another library's number, half a character) is such a bug.
        return _reply(question, answer)
    except Exception as error:  # the author's bug costs this question only: its traceback goes to stderr
        traceback.print_exc()
        said = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return msgspec.json.encode({"id": question.id, "error": said.encode("utf-8", "replace").decode("utf-8")})


def serve(answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> None:
    """Answer questions from stdin on stdout until stdin ends.

    `answer` gets a SystemQuestion and returns a label, a text, None (= I don't know) or a SystemAnswer. Whatever it
    prints goes to stderr, so that a stray print cannot break the protocol. An exception costs its question only.
    """
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin.buffer:
        out.write(_reply_or_error(line, answer) + b"\n")
        out.flush()
