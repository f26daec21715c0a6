"""Read what a judge replies: one JSON object of known form at the end of the reply, bounded in size and number.

A reply that is not exactly what was asked for gives no value: a missing verdict is never taken for a 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from edu_rag.files.jsonl import JsonFaultError, parse_json
from edu_rag.files.nesting import too_deep
from harness.judging.claims.claim_values import ASSIGNMENTS, IMPORTANCES, Assignment, Nugget
from harness.judging.judge_model import MAX_REPLY_CHARACTERS
from harness.reading.wrappers import without_thought

MAX_CLAIMS = 100
MAX_NUGGETS = 50
N_QUESTIONS = 3
"""The questions that one reply guesses from an answer, as RAGAS asks three times for one."""
MAX_CHARACTERS = 2_000
"""Characters of one claim, nugget or question."""
_MAX_OBJECTS = 50
_DECODER = json.JSONDecoder()
T = TypeVar("T")


class UnreadableReplyError(ValueError):
    """A reply without the object that was asked for; its text follows "the judge gave"."""


def _last_object(text: str) -> str | None:
    """The last JSON object in a text that is in no other one, as it is written; None if there is none."""
    found, at = None, text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return found
        try:
            _, end = _DECODER.raw_decode(text, at)
            found = text[at:end]
        except ValueError:
            found, end = None, at + 1
        at = text.find("{", end)
    raise UnreadableReplyError(f"a reply with over {_MAX_OBJECTS} opening braces")


def object_of(reply: str, key: str) -> dict[str, Any]:
    """The last JSON object of a reply, thoughts aside, with this key. Raises UnreadableReplyError.

    An earlier object never replaces a last one that cannot be read or lacks the key.
    """
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise UnreadableReplyError(f"a reply of over {MAX_REPLY_CHARACTERS:,} characters")
    text = without_thought(reply)
    if text is None:
        raise UnreadableReplyError("a thought that does not end")
    if too_deep(text):
        raise UnreadableReplyError("a reply that is nested too deep")
    written = _last_object(text)
    if written is None:
        raise UnreadableReplyError("a reply that does not end with a JSON object")
    try:
        found = parse_json(written.encode("utf-8", "surrogatepass"))
    except JsonFaultError as error:
        raise UnreadableReplyError(f"an object with a fault: {str(error)[:80]!a}") from None
    if key not in found:
        raise UnreadableReplyError(f"an object without {key!r}")
    return dict(found)


def _items(reply: str, key: str, most: int, read: Callable[[Any], T | None], what: str) -> list[T]:
    values = object_of(reply, key)[key]
    if not isinstance(values, list) or len(values) > most:
        raise UnreadableReplyError(f"{key} that are not a list of at most {most}")
    found = [read(value) for value in values]
    kept = [item for item in found if item is not None]
    if len(kept) != len(values):
        raise UnreadableReplyError(f"{key} that are not all {what}")
    return kept


def _text(value: Any) -> str | None:
    written = isinstance(value, str) and 0 < len(value) <= MAX_CHARACTERS and value.strip()
    return value.strip() if written else None


def _verdict(value: Any) -> bool | None:
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def _nugget(value: Any) -> Nugget | None:
    if not isinstance(value, dict) or value.get("importance") not in IMPORTANCES:
        return None
    text = _text(value.get("text"))
    return None if text is None else Nugget(text, value["importance"])


def _assignment(value: Any) -> Assignment | None:
    return value if isinstance(value, str) and value in ASSIGNMENTS else None


def _as_many(items: Sequence[T], n: int, what: str) -> list[T]:
    if len(items) != n:
        raise UnreadableReplyError(f"{len(items)} {what} for {n}")
    return list(items)


def read_claims(reply: str) -> list[str]:
    """The claims of a text, each once, in order; an empty list is a reply too."""
    return list(dict.fromkeys(_items(reply, "claims", MAX_CLAIMS, _text, "short texts")))


def read_verdicts(reply: str, n: int) -> list[bool]:
    """One verdict (0, 1, true, false) for each of n claims."""
    return _as_many(_items(reply, "verdicts", MAX_CLAIMS, _verdict, "0 or 1"), n, "verdicts")


def read_relevant(reply: str) -> bool:
    """The verdict on one passage."""
    found = _verdict(object_of(reply, "verdict")["verdict"])
    if found is None:
        raise UnreadableReplyError("a verdict that is not 0 or 1")
    return found


def read_questions(reply: str) -> tuple[list[str], bool]:
    """The three questions that an answer seems to reply to, and whether it is noncommittal."""
    found = _as_many(_items(reply, "questions", MAX_CLAIMS, _text, "short texts"), N_QUESTIONS, "questions")
    noncommittal = _verdict(object_of(reply, "noncommittal")["noncommittal"])
    if noncommittal is None:
        raise UnreadableReplyError("a noncommittal that is not 0 or 1")
    return found, noncommittal


def read_nuggets(reply: str) -> list[Nugget]:
    """The nuggets of a reference answer."""
    return _items(reply, "nuggets", MAX_NUGGETS, _nugget, "texts with an importance")


def read_assignments(reply: str, n: int) -> list[Assignment]:
    """One assignment for each of n nuggets."""
    return _as_many(_items(reply, "assignments", MAX_NUGGETS, _assignment, "known words"), n, "assignments")


def read_score(reply: str) -> float:
    """A score from 1 to 5; halves are allowed, as the paper's prompts ask for "between 4 and 5"."""
    found = object_of(reply, "score")["score"]
    if isinstance(found, bool) or not isinstance(found, int | float) or not 1 <= found <= 5:
        raise UnreadableReplyError("a score that is not a number from 1 to 5")
    return float(found)
