"""Grades that were paid for once: a file of JSON lines by (question, gold, answer, judge), for re-scoring offline.

It lies beside the results, never in a submission's folder: whoever could write it could grade himself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import DataError
from edu_rag.jsonl import numbered_lines, parse_json, to_line
from harness.judging.free_text import FreeTextJudge, Grade

FILE_NAME = "judgements.jsonl"
_OUTCOMES = ("correct", "incorrect", "abstained", "unparseable")


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    outcome: str
    reason: str
    judge: str
    question: str = ""
    gold: list[str] = []
    answer: str = ""


def key_of(question: str, gold: Sequence[str], answer: str, facts: Mapping[str, Any]) -> str:
    """SHA-256 over question, gold texts in their order, answer and the judge's facts."""
    return hashlib.sha256(msgspec.json.encode([question, gold, answer, facts], order="deterministic")).hexdigest()


def _rows(path: Path) -> dict[str, Grade]:
    grades: dict[str, Grade] = {}
    for number, line in numbered_lines(path):
        try:
            row = msgspec.convert(parse_json(line), _Row)
        except (ValueError, msgspec.ValidationError) as error:
            raise DataError(f"{path}:{number}", f"is no judgement: {str(error)[:200]}", "remove the line") from None
        if row.outcome not in _OUTCOMES:
            raise DataError(f"{path}:{number}", f"unknown outcome {row.outcome[:40]!r}", "remove the line")
        grades[row.key] = Grade(row.outcome, row.reason, row.judge)  # type: ignore[arg-type]
    return grades


class CachedJudge:
    """A judge whose grades are kept in a file. What is unjudged is not kept, so that it is asked for again."""

    def __init__(self, judge: FreeTextJudge, path: Path) -> None:
        self._judge, self._path = judge, path
        _mend(path)
        self._grades = _rows(path) if path.is_file() else {}

    def facts(self) -> Mapping[str, Any]:
        """Those of the judge inside: a grade from the file is that judge's."""
        return self._judge.facts()

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The kept grade, or a new one, which is on the disk before it is returned."""
        key = key_of(question, gold, answer, self.facts())
        kept = self._grades.get(key)
        if kept is not None:
            return kept
        grade = self._judge.grade(question, gold, answer)
        if grade.outcome != "unjudged":
            self._grades[key] = grade
            self._append(key, grade, question, gold, answer)
        return grade

    def _append(self, key: str, grade: Grade, question: str, gold: Sequence[str], answer: str) -> None:
        row = {"key": key, "outcome": grade.outcome, "reason": grade.reason, "judge": grade.judge}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as stream:
            stream.write(to_line(row | {"question": question, "gold": list(gold), "answer": answer}))
            stream.flush()
            os.fsync(stream.fileno())


def _mend(path: Path) -> None:
    """Cut off a last line that a kill left without its end."""
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as stream:
        data = stream.read()
        if data and not data.endswith(b"\n"):
            stream.truncate(data.rfind(b"\n") + 1)
