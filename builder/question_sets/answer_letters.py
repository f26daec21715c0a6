"""Which choice an answer of another dataset names: by its label, its text, or its number, counted from 0 or from 1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from builder.question_sets.choice_cells import LED, Pair, letter_of_label, lettered
from edu_rag.errors import RecordError


def number_in(value: Any) -> int | None:
    """The whole number that a cell holds; None if it holds none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,3}(\.0)?\s*", value, re.ASCII):
        return int(float(value))
    return value if isinstance(value, int) else None


def bare_text(text: str) -> str:
    """A text without case, spacing and final full stops, in which choices and answers are compared."""
    return " ".join(text.casefold().split()).rstrip(".")


def _same(pairs: Sequence[Pair], answer: str) -> list[str]:
    """The letters of the choices with exactly this text."""
    return [letter for letter, text in lettered(pairs).items() if bare_text(text) == bare_text(answer)]


def first_number(numbered: Iterable[tuple[Sequence[Pair], int]]) -> int | None:
    """The number of the first choice, from the choices and numbers of all answers that are numbers.

    It is 0 if 0 occurs, 1 if the number of choices occurs, and None if neither or both do. A number that is the label
    of a choice shows nothing.
    """
    seen: set[int] = set()
    for pairs, number in numbered:
        with suppress(RecordError):  # choices that have no letters are reported when the row is read
            if letter_of_label(pairs, str(number)) is None:
                seen |= {0} if number == 0 else set()
                seen |= {1} if number == len(pairs) else set()
    return seen.pop() if len(seen) == 1 else None


def letter_of_answer(pairs: Sequence[Pair], given: Any, first: int | None, *, is_stated: bool) -> str:
    """The letter of the gold: by its label, its text, or its number; `first` is the number of the first choice.

    `is_stated`: the user stated that number, so a number means a place, not a text. Raises RecordError.
    """
    if isinstance(given, list | dict):
        raise RecordError("answer", f"a {type(given).__name__} is not one choice", "give one label or text")
    number, shown = number_in(given), str(given).strip()
    if (letter := letter_of_label(pairs, shown if number is None else str(number))) is not None:
        return letter
    same = _same(pairs, shown)
    by_number = _by_number(pairs, number, first) if number is not None else None
    if len(same) == 1 and (isinstance(given, str) or by_number is None):
        if by_number not in (None, same[0]) and not is_stated:
            what = f"{shown!r} may be a choice's text or its number"
            raise RecordError("answer", what, "say which number the first choice has: --map first=0 or first=1")
        return same[0] if by_number is None or not is_stated else by_number
    if by_number is not None:
        return by_number
    if led := LED.fullmatch(shown):
        letter = letter_of_label(pairs, led[1])
        if letter is not None and letter in _same(pairs, led[2]):
            return letter
    if number is not None and first is None:
        what = f"{shown!r} is the number of a choice, and no row shows whether the first is 0 or 1"
        raise RecordError("answer", what, "add --map first=0 or --map first=1")
    labels = ", ".join(label or letter for letter, (label, _) in zip(lettered(pairs), pairs, strict=True))
    raise RecordError("answer", f"the gold {shown[:80]!r} is not one of the choices {labels}", "correct it")


def _by_number(pairs: Sequence[Pair], number: int, first: int | None) -> str | None:
    if first is None or not 0 <= number - first < len(pairs):
        return None
    return list(lettered(pairs))[number - first]
