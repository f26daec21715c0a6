"""The loop for Python authors of systems: one JSON question a line in, one JSON answer a line out."""

from __future__ import annotations

import inspect
import math
import operator
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from edu_rag.author_lines import calling_line, returns_of
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
    """A system's answer: `answer` is a label, a text, or None for "I don't know"; the rest is optional.

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


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r:.80} is not a text")
    return str(value)  # another library's string is a str that JSON does not know


def _real(name: str, value: Any) -> float:
    # Not from a text, which float() would accept too; nor from true, which is not a confidence.
    if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"{name}: {value!r:.80} is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}: {number} is not a finite number")
    return number


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: {value!r:.80} is not a whole number")
    return operator.index(value)


def _passages(name: str, value: Any) -> list[tuple[str, int, int]]:
    try:
        triples = [(page_id, start, end) for page_id, start, end in value]
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {value!r:.80} is not a list of (page_id, start, end)") from None
    return [(_text(name, page_id), _whole(name, start), _whole(name, end)) for page_id, start, end in triples]


_PLAIN: Mapping[str, Callable[[str, Any], Any]] = {
    "answer": _text,
    "response": _text,
    "confidence": _real,
    "passages": _passages,
    "input_tokens": _whole,
    "output_tokens": _whole,
    "cost_usd": _real,
    "energy_j": _real,
}
"""Functions that make a field plain: numbers of numpy and torch are accepted.

An impossible value is reported with its field.
"""


def _remedy(said: object, question: SystemQuestion) -> str:
    """What to return instead of a value that is not an answer."""
    if isinstance(said, Mapping):
        return "return SystemAnswer(answer=…), or write serve(any_callable(answer)) with edu_rag.adapters.any_callable"
    if inspect.isawaitable(said):
        return "write serve(any_callable(answer)) with edu_rag.adapters.any_callable, which awaits it"
    if hasattr(said, "__index__") and not isinstance(said, bool) and question.choices:
        labels = list(question.choices)
        index = operator.index(said)
        label = labels[index] if 0 <= index < len(labels) else labels[-1]
        return f"return the label, such as {label!r}: list(question.choices)[{index}] if the first choice is 0"
    return "return a label, a text, None or a SystemAnswer"


def _require_answer(said: object, answer: Callable[..., object], question: SystemQuestion) -> None:
    """Raise TypeError, with the line of the author's function, for a value that is not an answer."""
    if said is None or isinstance(said, str):
        return
    shown = f"{said!r:.80} ({type(said).__name__})"
    if inspect.iscoroutine(said):
        said.close()  # else Python warns on stderr that it was never awaited, after our message
        shown = "a coroutine"  # its repr holds an address, which would differ in every run
    raise TypeError(": ".join(filter(None, [returns_of(answer), f"returned {shown}", _remedy(said, question)])))


def _reply(question: SystemQuestion, answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> bytes:
    said = answer(question)
    if not isinstance(said, SystemAnswer):
        _require_answer(said, answer, question)
        said = SystemAnswer(answer=said)
    else:
        _require_answer(said.answer, answer, question)
    given = {name: getattr(said, name) for name in _PLAIN}
    plain = {name: _PLAIN[name](name, value) for name, value in given.items() if value is not None}
    optional = {name: value for name, value in plain.items() if value != []}
    return msgspec.json.encode({"id": question.id, "answer": None, **optional})


def _reply_or_error(line: bytes, answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> bytes:
    question = msgspec.json.decode(line, type=SystemQuestion)
    try:
        # Encoding is in here too: an answer that is not JSON (a library's number, half a character) is such a bug.
        return _reply(question, answer)
    except Exception as error:  # the author's bug costs this question only: its traceback goes to stderr
        traceback.print_exc()
        said = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return msgspec.json.encode({"id": question.id, "error": said.encode("utf-8", "replace").decode("utf-8")})


def serve(answer: Callable[[SystemQuestion], SystemAnswer | str | None]) -> None:
    """Answer questions from stdin on stdout until stdin ends.

    `answer` gets a SystemQuestion and returns a label, a text, None (= I don't know) or a SystemAnswer. Its prints go
    to stderr, so that a stray print cannot break the protocol. An exception fails only its own question.

    Raises TypeError if `answer` cannot be called.
    """
    if not callable(answer):
        what = f"serve got {answer!r:.80}, which is not a function"
        raise TypeError(f"{calling_line()}: {what}: write serve(answer), without calling it")
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin.buffer:
        out.write(_reply_or_error(line, answer) + b"\n")
        out.flush()
