"""Every number of docs/figures/worked-example.md is what the real commands print on exactly that example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from worked_example import PAGE, Row, make, tables

from edu_rag.__main__ import root
from edu_rag.files.dataset import Dataset
from harness.exam import open_exam
from harness.scoring.attribution import attribute
from harness.submission.predictions_file import read_predictions

TABLES = tables(PAGE.read_text(encoding="utf-8"))
QUESTIONS, FIRST, SECOND, SAID, COMPARED = TABLES[1:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("example")
    make(made)
    return made


def run(folder: Path, *words: str) -> Any:
    done = CliRunner().invoke(root, [*words, "--dataset", str(folder / "dataset"), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


def at(values: Any, path: str) -> Any:
    for part in path.replace("/", ".").split("."):
        values = values[int(part)] if isinstance(values, list) else values[part]
    return values


def differing(values: Any, rows: list[Row]) -> list[str]:
    """The rows whose value is not the one found, rounded to as many digits as the page shows."""
    wrong = []
    for row in rows:
        digits = len(row["value"].partition(".")[2])
        found = at(values, row["name"])
        if round(found, digits) != float(row["value"]):
            wrong.append(f"{row['name']}: page {row['value']}, found {found}")
    return wrong


def test_the_page_has_the_tables_of_the_example() -> None:
    assert [len(table) for table in TABLES[:4]] == [3, 10, 10, 10]
    assert (len(SAID), len(COMPARED)) == (35, 5)


@pytest.mark.parametrize(("slug", "rows"), [("first", FIRST), ("second", SECOND)])
def test_every_answer_gets_the_outcome_that_the_page_says(folder: Path, slug: str, rows: list[Row]) -> None:
    run(folder, "score", str(folder / "submissions" / slug), "--verdicts", str(folder / "v.jsonl"))
    verdicts = [json.loads(line) for line in (folder / "v.jsonl").read_text().splitlines()]
    assert [v["outcome"] for v in verdicts] == [row["outcome"] for row in rows]
    for verdict, row in zip(verdicts, rows, strict=True):
        assert row.get("reading", "") in verdict["reason"]


def test_every_lost_point_has_the_cause_that_the_page_says(folder: Path) -> None:
    from harness.judging.outcomes import judge

    exam = open_exam(Dataset(folder / "dataset"), "test", None)
    path = folder / "submissions" / "first" / "predictions" / "example-1.0.0" / "test.jsonl"
    said = read_predictions(path, exam.known)
    causes = []
    for question in exam.questions:
        prediction = said.get(question.question_id)
        verdict = judge(question, exam.gold[question.question_id], prediction)
        causes.append(attribute(question, prediction, verdict, exam.support) or "-")
    assert causes == [row["cause"] for row in FIRST]


def test_every_number_of_the_scorecard_is_the_pages(folder: Path) -> None:
    assert differing(run(folder, "score", str(folder / "submissions" / "first")), SAID) == []


def test_every_number_of_the_comparison_is_the_pages(folder: Path) -> None:
    first, second = (str(folder / "submissions" / slug) for slug in ("first", "second"))
    found = run(folder, "compare", first, second)
    assert differing(found, COMPARED) == []
    assert (found["only_first"], found["only_second"]) == ([], ["q04", "q05", "q06"])
