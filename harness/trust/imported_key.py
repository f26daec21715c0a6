"""Notice a file of questions that is imported as predictions: its key would be read as answers, and score 100 %."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from harness.trust.implausible import MIN_PERFECT

MIN_SEEN = 5
"""Fewer right answers are no sign of anything."""
MOST_GOLD = 99
"""Per cent of MIN_PERFECT answers and more: a key in which a few cells were changed is still a key."""
ACCEPT = "--all-correct"
"""The option that imports such a file."""


class _Answered(msgspec.Struct):
    question_id: str
    answer: str | None = None


def key_caution(path: Path, lines: bytes, questions: Mapping[str, Question], dataset: Dataset, split: str) -> str:
    """A caution if a few answers of an imported file are all the gold; '' if not, or if the gold is not known.

    `lines` are the predictions as JSON lines. Raises DataError for a file of MIN_PERFECT answers and more of which
    MOST_GOLD per cent or more are the gold.
    """
    known = {gold.question_id: gold for gold in dataset.records("gold", split, Gold)}
    is_gold = [
        _is_gold(row.answer, known[row.question_id], questions[row.question_id])
        for row in msgspec.json.Decoder(_Answered).decode_lines(lines)
        if row.answer is not None and row.question_id in known
    ]
    n, n_gold = len(is_gold), sum(is_gold)
    if n < MIN_SEEN or n_gold * 100 < n * (MOST_GOLD if n >= MIN_PERFECT else 100):
        return ""
    # Rounded down: 100 % are all.
    count = f"all {n:,} answers" if n_gold == n else f"{n_gold:,} of {n:,} answers ({n_gold * 1_000 // n / 10} %)"
    what = f"{count} are the gold, as in a file of questions with their key"
    remedy = "name the column of your system's answers with --map answer=COLUMN"
    if n >= MIN_PERFECT:
        raise DataError(path, what, f"{remedy}, or add {ACCEPT} if they are your system's")
    return f"WARNING: {path}: {what}: if they are not your system's, {remedy}"


def _is_gold(answer: str, gold: Gold, question: Question) -> bool:
    accepted = gold.texts if gold.answer is None else (gold.answer, question.choices.get(gold.answer, gold.answer))
    return answer.strip().casefold() in {text.strip().casefold() for text in accepted}
