"""Choices as other datasets write them: lists, maps, texts of either. `answer_letters` reads the answers.

Choices come out as (label, text) pairs in the file's order; the label is None if the file gives no label.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from edu_rag.errors import RecordError
from edu_rag.records import LABELS

Pair = tuple[str | None, str]
MAX_CELL = 100_000
"""Characters of a text that is read as a list or a map."""
_NUMPY = re.compile(r"array\(\s*(\[[^\]]*\])\s*(?:,\s*dtype=[\w'<>|]+\s*)?\)")
"""How pandas writes a list inside of a map into a CSV file."""
_LITERAL = re.compile(r"""'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+\"""")
_NUMPY_LIST = re.compile(rf"\[\s*(?:{_LITERAL.pattern})(?:\s+(?:{_LITERAL.pattern}))+\s*\]")
MAX_ARRAYS = 50
"""Lists of pandas in one cell: more cannot be choices, and a long cell of unclosed ones takes seconds to search."""
LED = re.compile(r"\(?([A-Za-z])[).:]\s+(\S.*)", re.DOTALL)
"""A label that leads a text: `b) ice`."""
_TEXT_NAMES = ("text", "processedText", "value", "choice", "content")
_LABEL_NAMES = ("label", "key", "id", "letter")
_LEADS = (
    re.compile(r"(?:^|(?<=\s))\(([A-Ja-j])\)\s"),
    re.compile(r"(?:^|(?<=\s))([A-Ja-j])[).:]\s"),
    re.compile(r"(?:^|(?<=\s))\(?(\d)[).:]\s"),
)
"""How labels lead the choices of one text: `(a) ice (b) fire`, `a. ice b. fire`, `1) ice 2) fire`."""


def parsed(value: Any) -> Any:
    """A cell's list or map, where its text is JSON or Python's notation; anything else as it is.

    Raises RecordError for a very long text.
    """
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return value
    text = value.strip()
    if len(text) > MAX_CELL:
        raise RecordError("choices", f"a list of over {MAX_CELL:,} characters", "shorten it")
    for read in (json.loads, _of_numpy, ast.literal_eval, _of_pandas):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list | tuple | dict):
            return found
    return value


def _of_numpy(text: str) -> list[Any]:
    """The texts of `['ice' 'fire']`, as pandas writes a list of Parquet into CSV; Python would join them into one."""
    if not _NUMPY_LIST.fullmatch(text):
        raise ValueError("not a list of numpy")
    return [ast.literal_eval(part) for part in _LITERAL.findall(text)]


def _of_pandas(text: str) -> Any:
    if text.count("array(") > MAX_ARRAYS:
        raise ValueError("too many arrays")
    return ast.literal_eval(_NUMPY.sub(r"\1", text))


def unwrapped(value: Any) -> Any:
    """The text inside of an object such as TQA's `{"processedText": ..., "rawText": ...}`, also where a cell of CSV
    holds the object; anything else as it is.
    """
    found = value
    if isinstance(value, str) and value.startswith("{") and any(f"{name}'" in value[:MAX_CELL] for name in _TEXT_NAMES):
        found = parsed(value[: MAX_CELL + 1])
    elif isinstance(value, str):
        return value
    if isinstance(found, Mapping) and isinstance(inner := found.get("processedText"), str):
        return inner
    return value


def _as_text(value: Any) -> str:
    """One choice's text: a text, a number, or an object with the text in it. Raises RecordError."""
    if isinstance(value, Mapping):
        for name in _TEXT_NAMES:
            if name in value:
                return _as_text(value[name])
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise RecordError("choices", f"a choice is a {type(value).__name__}, not a text", "give a list of texts")


def _of_list(values: Sequence[Any]) -> list[Pair]:
    pairs: list[Pair] = []
    for value in values:
        label = next((value[name] for name in _LABEL_NAMES if name in value), None) if isinstance(value, dict) else None
        pairs.append((None if label is None else str(label).strip(), _as_text(value)))
    return _without_leads(pairs) if all(label is None for label, _ in pairs) else pairs


def _without_leads(pairs: list[Pair]) -> list[Pair]:
    """`A. ice`, `B. fire` as labels and texts, where all choices begin with a, b, c … in order."""
    led = [LED.fullmatch(text) for _, text in pairs]
    found = [(mark[1].casefold(), mark[2]) for mark in led if mark is not None]
    is_run = len(found) >= 2 and [label for label, _ in found] == _run("a", len(pairs))
    return list(found) if is_run else pairs


def _of_map(values: Mapping[str, Any]) -> list[Pair]:
    """A map of label to text, or of two lists: `{"text": [...], "label": [...]}`."""
    texts = next((values[name] for name in ("text", "texts", "choices") if isinstance(values.get(name), list)), None)
    if texts is None:
        return [(str(label).strip(), _as_text(value)) for label, value in values.items()]
    labels = next((values[name] for name in ("label", "labels") if isinstance(values.get(name), list)), None)
    if labels is None:
        return _of_list(texts)
    if len(labels) != len(texts):
        raise RecordError("choices", f"{len(labels)} labels for {len(texts)} texts", "give each choice one label")
    return [(str(label).strip(), _as_text(text)) for label, text in zip(labels, texts, strict=True)]


def _of_text(text: str) -> list[Pair]:
    """Choices in one text: led by labels, or separated by line ends, bars or semicolons."""
    for lead in _LEADS:
        marks = list(lead.finditer(text))
        labels = [mark[1].casefold() for mark in marks]
        if len(marks) >= 2 and marks[0].start() == 0 and labels == _run(labels[0], len(labels)):
            ends = [mark.start() for mark in marks[1:]] + [len(text)]
            parts = [text[mark.end() : end].strip(" \t\r\n;,|") for mark, end in zip(marks, ends, strict=True)]
            return list(zip(labels, parts, strict=True))
    for separator in ("\n", "|", ";"):
        if separator in text.strip():
            return [(None, part.strip()) for part in text.strip().split(separator) if part.strip()]
    raise RecordError("choices", f"{text[:60]!r} is not a list of choices", "write it as a JSON list of texts")


def _run(first: str, n: int) -> list[str]:
    """`n` labels in order from `first`: a, b, c … or 1, 2, 3 …."""
    return [chr(ord(first) + place) for place in range(n)]


def choices_of(value: Any) -> list[Pair]:
    """The choices of a cell. Raises RecordError if they cannot be read."""
    found = parsed(value)
    if found is None or (isinstance(found, str) and not found.strip()):
        return []
    if isinstance(found, Mapping):
        return _of_map(found)
    if isinstance(found, list | tuple):
        return _of_list(found)
    if isinstance(found, str):
        return _of_text(found.strip())
    raise RecordError("choices", f"a {type(found).__name__} is not a list of choices", "give a list of texts")


def lettered(pairs: Sequence[Pair]) -> dict[str, str]:
    """Choices by letter: the file's own letters where all have one, else a, b, c … in order. Raises RecordError."""
    if len(pairs) > len(LABELS):
        raise RecordError("choices", f"{len(pairs):,} choices, at most {len(LABELS)} are possible", "leave some out")
    own = [(label or "").casefold().strip("().: ") for label, _ in pairs]
    if len(set(own)) != len(own) and all(own):
        raise RecordError("choices", "two choices have the same label", "give each choice its own label")
    letters = own if all(len(label) == 1 and label in LABELS for label in own) else LABELS
    return {letter: text for letter, (_, text) in zip(letters, pairs, strict=False)}


def letter_of_label(pairs: Sequence[Pair], answer: str) -> str | None:
    """The letter of the choice whose own label is the answer; None if there is none."""
    wanted = answer.casefold().strip("().: \t")
    for letter, (label, _) in zip(lettered(pairs), pairs, strict=True):
        if label is not None and label.casefold().strip("().: ") == wanted:
            return letter
    if all(label is None for label, _ in pairs) and wanted in lettered(pairs):
        return wanted
    return None


def texts_of(value: Any) -> list[str]:
    """Accepted texts of a free-text answer: one text, a list, or an object with `text`, or `value` and `aliases`.

    Raises RecordError if they cannot be read.
    """
    found = parsed(value)
    if isinstance(found, Mapping):
        inner = next((found[name] for name in ("text", "texts") if name in found), None)
        if inner is None and "value" in found:
            inner = [found["value"], *(found.get("aliases") or [])]
        if inner is None:
            raise RecordError("answer", f"an object of {', '.join(map(str, found))[:100]}", "give a text or a list")
        found = inner
    if found is None:
        return []
    texts = [_as_text(item) for item in (found if isinstance(found, list | tuple) else [found])]
    return list(dict.fromkeys(text for text in texts if text.strip()))


def hash_order(question: str, texts: Sequence[str]) -> list[str]:
    """Texts in an order that says nothing about the gold: by SHA-256 of question and text (`hash-order-v1`)."""
    return sorted(texts, key=lambda text: hashlib.sha256(f"{question}\n{text}".encode("utf-8", "replace")).digest())
