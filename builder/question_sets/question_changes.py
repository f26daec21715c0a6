"""Whether a crawl store was made from the questions that a build is given: other ones are another dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError
from edu_rag.files.jsonl import read_records
from edu_rag.gold import Gold
from edu_rag.names import Version
from edu_rag.records import Question

_REMEDY = "raise the major version in build.toml or with --version, add --fresh, or choose another --out"


class QuestionChanges(NamedTuple):
    """How many questions came, went, and stayed with another text, choice, split or gold."""

    added: int
    removed: int
    changed: int

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.removed:,} removed, {self.changed:,} changed"


def _by_id(questions: Sequence[Question], golds: Sequence[Gold]) -> Mapping[str, tuple[Question, Gold | None]]:
    gold_of = {gold.question_id: gold for gold in golds}
    return {question.question_id: (question, gold_of.get(question.question_id)) for question in questions}


def question_changes(
    before: tuple[Sequence[Question], Sequence[Gold]], now: tuple[Sequence[Question], Sequence[Gold]]
) -> QuestionChanges | None:
    """Compare two sets of questions with their gold; None if they are equal. Order is not a difference."""
    old, new = _by_id(*before), _by_id(*now)
    n_changed = sum(old[question_id] != new[question_id] for question_id in old.keys() & new.keys())
    changes = QuestionChanges(len(new.keys() - old.keys()), len(old.keys() - new.keys()), n_changed)
    return changes if any(changes) else None


def stored_questions(questions: Path, gold: Path) -> tuple[Sequence[Question], Sequence[Gold]] | None:
    """The content of a store's two files; None if a kill left one unwritten. Raises DataError."""
    if not (questions.is_file() and gold.is_file()):
        return None
    return [item for _, item in read_records(questions, Question)], [item for _, item in read_records(gold, Gold)]


def refuse_changes(folder: Path, changes: QuestionChanges, old: str, new: str) -> None:
    """Raise DataError unless the major version rises: results of two sets of questions must never share a table."""
    if Version.parse(new).major <= Version.parse(old).major:
        raise DataError(folder, f"was made from other questions ({changes})", _REMEDY)
