"""The usual forms of an answer, recognised in one look: a choice's own text, and a label with it.

The result is that of all rules of `answers-v3`, in a twentieth of the time; tests compare both ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from harness.reading.claims import without_lead
from harness.reading.folding import fold_writing
from harness.reading.patterns import LABEL
from harness.reading.reading_result import Reading, named

BARE = re.compile(r"(?:\([A-Za-z]\) )?[A-Za-z][A-Za-z0-9 ,.;:!?'\"%/=+-]*(?<! )")
"""A line that no wrapper, bullet or trailer can be part of: they need brackets, other signs, or a digit first."""
_LABEL_AND_TEXT = re.compile(r"\(?(?P<label>[A-Za-z])(?P<mark>[).:]) (?P<text>[A-Za-z0-9][A-Za-z0-9 ,.;:'%/=+-]*)")
_DENIES = frozenset({"is", "was", "would", "not", "rather", "instead", "opposed"})
"""Words of the forms that name one choice to deny another, or call one right."""
_LETTERS = re.compile(r"[A-Za-z']+(?: [A-Za-z']+)*[.!]?")
_COMMON = re.compile(r"[A-Za-z0-9 ,.;:!()\"%/=+-]+")
"""A text whose words cannot grow together when signs are folded away, as those of `do_nt` do."""
_WORD = re.compile(r"[a-z0-9]+")
_PART = 4
"""Letters of a word that a choice must have for the word to complete it, a plural's aside."""


def own_text(answer: str, choices: Mapping[str, str]) -> Reading | None:
    """The one choice that has exactly this text, which is printable ASCII and does not read as a label."""
    labels = [label for label, text in choices.items() if text.strip() == answer]
    if len(labels) != 1 or not answer or "?" in answer or "  " in answer:
        return None
    dressed = LABEL.fullmatch(fold_writing(answer))
    return None if dressed and dressed["label"] in choices else named(labels[0], f"the text of choice {labels[0]}")


def label_and_own_text(answer: str, choices: Mapping[str, str]) -> Reading | None:
    """`b) mitosis`: a label and the text of that choice, letter by letter; the mark is `)`, `.` or `:`."""
    match = _LABEL_AND_TEXT.fullmatch(answer)
    label = match["label"].lower() if match else ""
    if match is None or choices.get(label, "").strip() != match["text"]:
        return None
    words = _WORD.findall(match["text"].lower())
    if not _DENIES.isdisjoint(words) or not any(len(word) > 2 and word != "and" for word in words):
        return None  # `b) a and b` may name several
    begin = label + match["mark"]
    if not all(text.isascii() and begin not in text.lower() for text in choices.values()):
        return None  # the whole answer may be the text of a choice
    return named(label, f"label {label} with its text")


@lru_cache(maxsize=256)
def _related(answer: str) -> frozenset[str]:
    """The words, without a plural's letter, that a choice shares with this answer if the two can have to do anything
    with each other; empty for an answer that is not of letters alone.
    """
    if not _LETTERS.fullmatch(answer):
        return frozenset()
    written = answer.lower().rstrip(".!")
    words = [*written.replace("'", "").split(), *without_lead(written).replace("'", "").split()]
    parts = {word[:n] for word in words for n in range(_PART, len(word))}
    pieces = written.replace("'", " ").split()  # `can't.` ends in a `t` that may be a label
    return frozenset({"true", *parts, *words, *pieces, *(word.rstrip("s") for word in words)})


def is_unrelated(answer: str, choices: Mapping[str, str]) -> bool:
    """Whether a short answer of letters shares no word with any choice, and names no label: `I don't know`.

    Its reading does not depend on such choices: only their words could be found in it, or be completed by it.
    """
    related = _related(answer)
    if not related or not related.isdisjoint(choices):
        return False
    for text in choices.values():
        words = _WORD.findall(text.lower()) if _COMMON.fullmatch(text) else []
        if not words or not related.isdisjoint(words) or not related.isdisjoint([word.rstrip("s") for word in words]):
            return False
    return True
