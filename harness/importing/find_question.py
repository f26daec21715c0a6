"""Which question of the dataset an answer of another program's file is for: by id, or by the question's text."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from edu_rag.errors import RecordError
from edu_rag.records import Question
from harness.importing.foreign_answer import CHOICES, QUESTION, id_text

_TAIL = re.compile(r"(?P<head>.*?)(?P<number>[0-9]{1,12})\Z", re.DOTALL)
_MOST_FOR_CLOSE = 20_000
"""Ids that an unknown one is compared with."""
_LONGEST_ID = 200


def plain_text(text: str) -> str:
    """A text as it is compared: without case, and with single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def listed_choices(value: Any) -> list[str]:
    """The texts of choices that a file gives as a list, or as a map from label to text."""
    if isinstance(value, Mapping):
        texts = value.get("text")
        value = texts if isinstance(texts, list) else list(value.values())
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


class QuestionFinder:
    """The questions that are asked, by id and by text. `elsewhere` holds the split of each id of the other splits."""

    def __init__(self, questions: Mapping[str, Question], elsewhere: Mapping[str, str]) -> None:
        self._questions, self._elsewhere = questions, elsewhere
        self._by_text: dict[str, list[str]] = {}
        for question_id, question in questions.items():
            self._by_text.setdefault(plain_text(question.text), []).append(question_id)

    def find(self, values: Mapping[str, Any]) -> str | None:
        """The id of the question, None if there is none: by the id that is given, else by text and choices.

        Raises RecordError if the text is that of another question, as it is where a file numbers its rows.
        """
        given, by_text = id_text(values.get("question_id")), self._with_text(values)
        if given in self._questions:
            if by_text not in (None, given):
                remedy = "leave the ids out: --map question_id="
                raise RecordError("question_id", f"{given!r} has the text of another question, {by_text!r}", remedy)
            return given
        return None if given in self._elsewhere else by_text

    def _with_text(self, values: Mapping[str, Any]) -> str | None:
        text = values.get(QUESTION)
        same = self._by_text.get(plain_text(text), []) if isinstance(text, str) else []
        own = id_text(values.get("question_id"))
        if own in same:
            return own
        if len(same) > 1:
            choices = sorted(map(plain_text, listed_choices(values.get(CHOICES))))
            same = [one for one in same if sorted(map(plain_text, self._questions[one].choices.values())) == choices]
        return same[0] if len(same) == 1 else None

    def split_of(self, values: Mapping[str, Any]) -> str | None:
        """The other split that has this question id, if one has it."""
        return self._elsewhere.get(id_text(values.get("question_id")))

    def named(self, values: Mapping[str, Any]) -> str:
        """The question that an answer names, for a message: its id, or the beginning of its text."""
        given = id_text(values.get("question_id")) or str(values.get(QUESTION) or "")
        return given if len(given) <= 80 else f"{given[:79]}…"

    def suggestion(self, given: str) -> str | None:
        """The known id that is closest to an unknown one; None if none is close, or several are."""
        same = [known for known in self._questions if known.casefold() == given.casefold()]
        if tail := _TAIL.match(given[:_LONGEST_ID]):
            same = same or [known for known in self._questions if _is_same_number(known, tail)]
        if len(same) == 1:
            return same[0]
        known_ids: Sequence[str] = list(self._questions)[:_MOST_FOR_CLOSE]
        close = difflib.get_close_matches(given[:_LONGEST_ID], known_ids, n=1, cutoff=0.8)
        return close[0] if close else None


def _is_same_number(known: str, tail: re.Match[str]) -> bool:
    """Whether a known id ends in the same number, such as `MINI_0007` for `7` or `mini-7`."""
    own = _TAIL.match(known)
    if own is None or int(own["number"]) != int(tail["number"]):
        return False
    heads = [re.sub(r"[\W_]+", "", match["head"].casefold()) for match in (own, tail)]
    return heads[0] == heads[1] or not heads[1]
