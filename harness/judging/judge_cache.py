"""Grades that were paid for once: a file of JSON lines by (question, gold, answer, judge), for re-scoring offline.

It is next to the results, never in a submission's folder: a team that could write it could grade itself.
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
from edu_rag.files.jsonl import numbered_lines, parse_json, to_line
from harness.judging.free_text import JUDGED, FreeTextJudge, Grade

FILE_NAME = "judgements.jsonl"
_BEGIN = b'{"key":"'
"""How every line of ours begins."""


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    outcome: str
    reason: str
    judge: str
    question: str
    gold: list[str]
    answer: str

    def is_of(self, question: str, gold: Sequence[str], answer: str) -> bool:
        """Whether the texts that a reader of the file sees belong to the key: a line cannot show another answer."""
        return (self.question, self.gold, self.answer) == (question, list(gold), answer)


def key_of(question: str, gold: Sequence[str], answer: str, facts: Mapping[str, Any]) -> str:
    """SHA-256 over question, gold texts in their order, answer and the judge's facts."""
    return hashlib.sha256(msgspec.json.encode([question, gold, answer, facts], order="deterministic")).hexdigest()


def _rows(path: Path) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for number, line in numbered_lines(path):
        try:
            row = msgspec.convert(parse_json(line), _Row)
        except (ValueError, msgspec.ValidationError) as error:
            raise DataError(f"{path}:{number}", f"is not a judgement: {str(error)[:200]}", "remove the line") from None
        if row.outcome not in JUDGED:
            raise DataError(f"{path}:{number}", f"unknown outcome {row.outcome[:40]!r}", "remove the line")
        rows[row.key] = row
    return rows


class CachedJudge:
    """A judge whose grades are kept in a file. Unjudged answers are not kept, so that they are judged again."""

    def __init__(self, judge: FreeTextJudge, path: Path) -> None:
        self._judge, self._path = judge, path
        _mend(path)
        self._rows = _rows(path) if path.is_file() else {}

    def facts(self) -> Mapping[str, Any]:
        """Those of the judge inside: a grade from the file is that judge's."""
        return self._judge.facts()

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The kept grade, or a new one, which is on the disk before it is returned."""
        key = key_of(question, gold, answer, self.facts())
        kept = self._rows.get(key)
        if kept is not None and kept.is_of(question, gold, answer):
            return Grade(kept.outcome, kept.reason, kept.judge)  # type: ignore[arg-type]
        grade = self._judge.grade(question, gold, answer)
        if grade.outcome != "unjudged":
            self._rows[key] = _Row(key, grade.outcome, grade.reason, grade.judge, question, list(gold), answer)
            self._append(self._rows[key])
        return grade

    def _append(self, row: _Row) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as stream:
            stream.write(to_line(row))
            stream.flush()
            os.fsync(stream.fileno())


def _mend(path: Path) -> None:
    """Cut off a last line that a kill left without its end, if it is the beginning of one of ours.

    Raises DataError for any other: the file may be a user's text, which truncation would destroy.
    """
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as stream:
        data = stream.read()
        begin = data.rfind(b"\n") + 1
        rest = data[begin : begin + len(_BEGIN)]
        if rest and not _BEGIN.startswith(rest):
            raise DataError(path, "is not a file of judgements: its last line is cut", "use another --judge-cache")
        stream.truncate(begin)
