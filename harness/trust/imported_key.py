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
ACCEPT = "--all-correct"
"""The option that imports such a file."""


class _Answered(msgspec.Struct):
    question_id: str
    answer: str | None = None


def key_caution(path: Path, lines: bytes, questions: Mapping[str, Question], dataset: Dataset, split: str) -> str:
    """A caution if every answer of an imported file is the gold; '' if one is not, or if the gold is not known.

    `lines` are the predictions as JSON lines. Raises DataError for a file of MIN_PERFECT answers and more.
    """
    answers = {row.question_id: row.answer for row in msgspec.json.Decoder(_Answered).decode_lines(lines)}
    known = {gold.question_id: gold for gold in dataset.records("gold", split, Gold)}
    if len(answers) < MIN_SEEN or not all(
        question_id in known and _is_gold(answer, known[question_id], questions[question_id])
        for question_id, answer in answers.items()
    ):
        return ""
    what = f"all {len(answers):,} answers are the gold, as in a file of questions with their key"
    remedy = "name the column of your system's answers with --map answer=COLUMN"
    if len(answers) >= MIN_PERFECT:
        raise DataError(path, what, f"{remedy}, or add {ACCEPT} if they are your system's")
    return f"WARNING: {path}: {what}: if they are not your system's, {remedy}"


def _is_gold(answer: str | None, gold: Gold, question: Question) -> bool:
    if answer is None:
        return False
    accepted = gold.texts if gold.answer is None else (gold.answer, question.choices.get(gold.answer, gold.answer))
    return answer.strip().casefold() in {text.strip().casefold() for text in accepted}
