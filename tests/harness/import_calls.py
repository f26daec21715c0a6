"""Shared by the tests of `edu-rag import`: one call of the command, and the mini benchmark without the builder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_records, to_line
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.commands.import_command import import_

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).with_name("imports")
"""Written by Inspect and lm-eval: bench/import_files.py makes them again."""


@dataclass(frozen=True, slots=True)
class ImportCall:
    """What one import printed, its exit code, and the predictions by question id."""

    code: int
    path: str
    said: str
    predictions: Mapping[str, Mapping[str, Any]]

    def answers(self) -> dict[str, str | None]:
        return {question_id: row["answer"] for question_id, row in self.predictions.items()}


def import_file(file: Path, dataset: Dataset, into: Path, *options: object, slug: str = "my-answers") -> ImportCall:
    """Import a file into a submission below `into`."""
    words = [file, "--dataset", dataset.folder, "--submission", slug, "--in", into, *options]
    result = CliRunner().invoke(import_, list(map(str, words)))
    error = result.exception
    if isinstance(error, EduRagError):
        return ImportCall(1, "", str(error), {})
    if error is not None and not isinstance(error, SystemExit):
        raise error
    if result.exit_code:
        return ImportCall(result.exit_code, "", result.stderr, {})
    path = result.stdout.strip()
    read = [json.loads(to_line(prediction)) for _, prediction in read_records(Path(path), Prediction)]
    rows = {row["question_id"]: row for row in read}
    return ImportCall(0, path, result.stderr, rows)


def refused(file: Path, dataset: Dataset, into: Path, *options: object) -> list[str]:
    """The lines of an import that is refused and leaves nothing."""
    done = import_file(file, dataset, into, *options)
    assert done.code == 1, done
    assert not into.exists() or not list(into.rglob("*")), "a refused file leaves nothing"
    return done.said.splitlines()


def mini_questions() -> list[tuple[Question, str]]:
    """The mini benchmark's questions with their keys."""
    kinds = {"Multiple Choice": "multiple_choice", "True or False": "true_false", "Matching": "matching"}
    rows = map(json.loads, (ROOT / "edu_rag" / "mini" / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        (
            Question(
                question_id=row["id"],
                text=row["question"],
                choices=row["choices"],
                kind=kinds[row["type"]],  # type: ignore[arg-type]
                split=row["split"],
            ),
            row["answer"],
        )
        for row in rows
    ]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path
