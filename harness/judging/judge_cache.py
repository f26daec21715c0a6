"""Grades that were paid for once: a file of JSON lines by (question, gold, answer, judge), for re-scoring offline.

It is next to the results, never in a submission's folder: a team that could write it could grade itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import DataError
from edu_rag.processes.worker_threads import KeyLocks
from harness.judging.appended_lines import append_row, kept_rows
from harness.judging.free_text import JUDGED, FreeTextJudge, Grade

FILE_NAME = "judgements.jsonl"


class _Row(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    key: str
    outcome: str
    reason: str
    judge: str
    question: str
    gold: list[str]
    answer: str
    score: float | None = None

    def is_of(self, question: str, gold: Sequence[str], answer: str) -> bool:
        """Whether the texts that a reader of the file sees belong to the key: a line cannot show another answer."""
        return (self.question, self.gold, self.answer) == (question, list(gold), answer)


def key_of(question: str, gold: Sequence[str], answer: str, facts: Mapping[str, Any]) -> str:
    """SHA-256 over question, gold texts in their order, answer and the judge's facts."""
    return hashlib.sha256(msgspec.json.encode([question, gold, answer, facts], order="deterministic")).hexdigest()


def _rows(path: Path) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for place, row in kept_rows(path, _Row, "judgement", "--judge-cache"):
        if row.outcome not in JUDGED:
            raise DataError(place, f"unknown outcome {row.outcome[:40]!r}", "remove the line")
        rows[row.key] = row
    return rows


class CachedJudge:
    """A judge whose grades are kept in a file. Unjudged answers are not kept, so that they are judged again."""

    def __init__(self, judge: FreeTextJudge, path: Path) -> None:
        self._judge, self._path = judge, path
        self._rows, self._locks = _rows(path), KeyLocks()

    def facts(self) -> Mapping[str, Any]:
        """Those of the judge inside: a grade from the file is that judge's."""
        return self._judge.facts()

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The kept grade, or a new one, which is on the disk before it is returned."""
        key = key_of(question, gold, answer, self.facts())
        with self._locks.of(key):
            return self._grade(key, question, gold, answer)

    def _grade(self, key: str, question: str, gold: Sequence[str], answer: str) -> Grade:
        kept = self._rows.get(key)
        if kept is not None and kept.is_of(question, gold, answer):
            return Grade(kept.outcome, kept.reason, kept.judge, kept.score)  # type: ignore[arg-type]
        grade = self._judge.grade(question, gold, answer)
        if grade.outcome != "unjudged":
            texts = (question, list(gold), answer)
            self._rows[key] = _Row(key, grade.outcome, grade.reason, grade.judge, *texts, grade.score)
            append_row(self._path, self._rows[key])
        return grade
