"""`edu-rag questions` shows what a build would read, and `--map` takes several columns at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from builder.question_sets.source_options import spread_map
from edu_rag.__main__ import main, root
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold

QUIZ = """stem,w,x,key,why
What melts?,fire,ice,ice,Heat.
What burns?,wood,ice,wood,\x1b[31mFuel.
"""
MAP = ("--map", "question=stem", "choices=w,x", "answer=key")


@pytest.fixture
def quiz(tmp_path: Path) -> Path:
    path = tmp_path / "quiz.csv"
    path.write_text(QUIZ, encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, [str(argument) for argument in arguments])


def test_sample_prints_questions_with_their_gold_and_extra_and_no_order_to_the_terminal(quiz: Path) -> None:
    found = run("questions", "sample", quiz, *MAP, "--n", 9)
    assert found.stdout.splitlines() == [
        "quiz-00001 [test, Multiple Choice] What melts?",
        "    a. fire",
        "  * b. ice",
        "    why: Heat.",
        "quiz-00002 [test, Multiple Choice] What burns?",
        "  * a. wood",
        "    b. ice",
        "    why: \N{REPLACEMENT CHARACTER}[31mFuel.",
    ]
    (line,) = run("questions", "sample", quiz, *MAP, "--n", 1, "--json").stdout.splitlines()
    assert json.loads(line)["choices"].keys() == {"a", "b"}


def test_stats_count_what_sample_shows(quiz: Path) -> None:
    found = json.loads(run("questions", "stats", quiz, *MAP, "--json").stdout)
    assert (found["questions"], found["choices"], found["gold_letters"]) == (2, {"2": 2}, {"a": 1, "b": 1})
    assert found["extra_columns"] == {"why": 2}
    shown = run("questions", "stats", quiz, *MAP).stdout.splitlines()
    assert "gold letters             a: 1, b: 1" in shown


def test_convert_writes_what_build_reads_and_never_over_its_source(quiz: Path, tmp_path: Path) -> None:
    out = tmp_path / "questions.jsonl"
    assert run("questions", "convert", quiz, *MAP, "--out", out).exit_code == 0
    assert run("questions", "convert", quiz, *MAP).stdout == out.read_text(encoding="utf-8")
    for name, source in (("one", [quiz, *MAP]), ("two", [out])):
        arguments = ["build", "--questions", *source, "--engine", "none", "--out", tmp_path / name]
        assert run(*arguments).exit_code == 0
    one, two = (Dataset(tmp_path / name) for name in ("one", "two"))
    assert one.id == two.id
    assert {json.loads(gold.extra or "")["why"] for gold in one.records("gold", "test", Gold)} >= {"Heat."}
    assert one.manifest.sources["extra_columns"] == ["why"]


def test_convert_refuses_to_write_over_its_source(quiz: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["questions", "convert", str(quiz), "--out", str(quiz), *MAP])
    assert ended.value.code == 1
    assert "is a file that is read: give another file" in capsys.readouterr().err
    assert quiz.read_text(encoding="utf-8") == QUIZ


@pytest.mark.parametrize(
    ("given", "spread"),
    [
        (["--map", "question=a", "answer=b", "x.csv"], ["--map", "question=a", "--map", "answer=b", "x.csv"]),
        (["--map=question=a", "answer=b", "--n", "2"], ["--map=question=a", "--map", "answer=b", "--n", "2"]),
        (["--map", "question=a", "x=y.csv", "answer=b"], ["--map", "question=a", "x=y.csv", "answer=b"]),
        (["--out", "answer=b"], ["--out", "answer=b"]),
        (["--map", "question=a", "--", "answer=b"], ["--map", "question=a", "--", "answer=b"]),
    ],
)  # fmt: skip
def test_map_takes_the_roles_that_follow_it_and_no_other_argument(given: list[str], spread: list[str]) -> None:
    assert spread_map(given) == spread


def test_a_hub_source_in_another_form_is_wrong_usage(quiz: Path) -> None:
    found = run("questions", "stats", "hf:sciq")
    assert found.exit_code == 2
    assert "hf:sciq: names no dataset of the Hub: give hf:ORG/NAME" in " ".join(found.output.split())
