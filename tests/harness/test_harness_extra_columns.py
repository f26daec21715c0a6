"""Columns that a question file holds besides the question are kept, and no system ever sees them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.build import build
from builder.config import read_config
from edu_rag.files.dataset import Dataset
from edu_rag.files.table_rows import REVEALS_GOLD, schema
from edu_rag.gold import Gold
from edu_rag.records import Question
from harness.exam import open_exam
from harness.running.run import Manner, run_submission
from harness.running.task import question_line, read_task
from harness.submission.folder import open_submission

MARK = "kept-away-from-systems-9f31"
ECHO = """
import sys
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    print(repr(question), file=sys.stderr)
    return SystemAnswer(answer="a")
serve(answer)
"""


@pytest.fixture
def marked(tmp_path: Path) -> Dataset:
    """A dataset whose question file has an explanation that gives the answer away."""
    rows = [
        {"question": f"What melts in case {n}?", "choices": ["ice", "fire"], "answer": "ice", "explanation": MARK}
        for n in range(5)
    ]
    (tmp_path / "quiz.json").write_text(json.dumps(rows), encoding="utf-8")
    config = read_config(None, {"name": "marked", "search": {"engine": "none"}})
    build([tmp_path / "quiz.json"], tmp_path / "dataset", config)
    return Dataset(tmp_path / "dataset")


def test_extra_is_a_part_of_the_gold_which_no_code_that_asks_systems_can_import(marked: Dataset) -> None:
    assert {json.loads(gold.extra or "")["explanation"] for gold in marked.records("gold", "test", Gold)} == {MARK}
    assert "extra" not in {field.name for field in dataclasses.fields(Question)}
    assert [config for config in ("questions", "hits", "pages", "gold") if "extra" in schema(config).names] == ["gold"]
    assert "gold" in REVEALS_GOLD  # so a hidden split's extra is not published either


def test_the_task_and_every_line_of_it_hold_nothing_of_extra(marked: Dataset) -> None:
    task = read_task(marked, "test", None)
    assert MARK not in repr(task)
    for question in marked.questions("test"):
        line = question_line(question, [], "r1")
        assert MARK.encode() not in line
        assert set(json.loads(line)) == {"id", "text", "choices", "kind", "pages"}
    exam = open_exam(marked, "test", None)
    assert all(MARK in (gold.extra or "") for gold in exam.gold.values())


@pytest.mark.usefixtures("sandbox_here")
def test_a_system_that_prints_all_it_gets_prints_nothing_of_extra(
    marked: Dataset, write_system: Callable[..., Path]
) -> None:
    folder = write_system(ECHO)
    path = run_submission(open_submission(folder), marked, "test", None, Manner())
    log = path.with_suffix(".log").read_text(encoding="utf-8")
    assert log.count("What melts in case") == 5
    for file in folder.rglob("*"):
        if file.is_file():
            assert MARK.encode() not in file.read_bytes(), file


def test_a_dataset_without_extra_has_the_columns_and_hash_of_older_versions(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folders = {}
    for name, more in (("without", {}), ("empty", {"explanation": ""}), ("with", {"explanation": MARK})):
        row = {"id": "q1", "question": "What?", "choices": ["ice", "fire"], "answer": "ice", **more}
        (tmp_path / f"{name}.json").write_text(json.dumps([row]), encoding="utf-8")
        config = read_config(None, {"name": "one", "search": {"engine": "none"}})
        folders[name] = build([tmp_path / f"{name}.json"], tmp_path / name, config)
    files = {name: manifest.files["gold/test-00000-of-00001.parquet"] for name, manifest in folders.items()}
    assert files["without"] == files["empty"]
    assert folders["without"].content_sha256 == folders["empty"].content_sha256 != folders["with"].content_sha256
    columns = pq.read_schema(tmp_path / "without" / "gold" / "test-00000-of-00001.parquet").names
    assert columns == ["question_id", "answer", "texts", "home_page"]
    assert "extra_columns" not in folders["without"].sources
