"""Results of retrieval runs: `verify` makes them again, and `score --all` lists them, also those whose run is gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question

CARD = "tiny-1.0.0/test/my-retriever/retrieval.json"


class RunBoard:
    """Submissions that rank pages, and their results."""

    def __init__(self, folder: Path, dataset: Dataset) -> None:
        self.folder, self.dataset = folder, dataset
        self.submissions, self.results = folder / "submissions", folder / "results"
        self.run = self.submissions / "my-retriever" / "runs" / "tiny-1.0.0" / "test.trec"
        self.card = self.results / CARD

    def score(self, *more: str) -> Result:
        words = ["score", "--all", self.submissions, "--out", self.results, "--dataset", self.dataset.folder, *more]
        return CliRunner().invoke(root, list(map(str, words)))

    def verify(self, *more: object) -> Result:
        words = ["verify", "--results", self.results, "--submissions", self.submissions]
        return CliRunner().invoke(root, list(map(str, [*words, "--dataset", self.dataset.folder, *more])))


@pytest.fixture(scope="module")
def first(
    tmp_path_factory: pytest.TempPathFactory, tiny: Dataset, questions: list[Question]
) -> tuple[RunBoard, Result]:
    board = RunBoard(tmp_path_factory.mktemp("runs"), tiny)
    board.run.parent.mkdir(parents=True)
    board.run.parents[2].joinpath("submission.toml").write_text('name = "My retriever"\nteam = "us"\n')
    pages = sorted(tiny.pages("test"))
    ranked = [(one.question_id, at, page) for one in questions for at, page in enumerate(pages, 1)]
    board.run.write_text("".join(f"{one} Q0 {page} {at} {1 / at} x\n" for one, at, page in ranked))
    return board, board.score()


@pytest.fixture
def board(tmp_path: Path, first: tuple[RunBoard, Result]) -> RunBoard:
    shutil.copytree(first[0].folder, tmp_path, dirs_exist_ok=True)
    return RunBoard(tmp_path, first[0].dataset)


def test_score_all_lists_the_runs_and_misses_no_predictions(first: tuple[RunBoard, Result]) -> None:
    done = first[1]
    assert done.exit_code == 0, done.output
    shown = f"0 result(s) moved, 0 unchanged, 0 kept\nretrieval runs: 1 new\n  new {CARD} (tiny@1.0.0#"
    assert done.stdout.startswith(shown)
    assert "no predictions" not in done.stderr


def test_a_run_that_nobody_touched_is_the_same(board: RunBoard) -> None:
    done = board.verify("--strict")
    assert (done.exit_code, done.stdout) == (0, "1 of 1 are the same when made again\n")


def test_verify_finds_a_result_that_somebody_edited_and_score_all_makes_it_again(board: RunBoard) -> None:
    values = json.loads(board.card.read_text())
    values["evidence"]["metrics"]["P@1"], values["evidence"]["intervals"]["P@1"] = 0.123, [0.1, 0.9]
    values["scored_at"] = "2031-01-01T00:00:00Z"
    board.card.write_text(json.dumps(values))
    done = board.verify()
    assert done.exit_code == 1
    assert f"{CARD}: differs\n  evidence.intervals.P@1: [0.1,0.9] is " in done.stdout
    assert "scored_at" not in done.stdout
    (run,) = json.loads(board.score("--json").stdout)["runs"]
    assert (run["card"], run["status"]) == (CARD, "changed")
    board.card.write_text("{}")
    assert f"{CARD}: differs: " in board.verify().stdout
    assert "retrieval runs: 1 changed" in board.score().stdout
    assert board.verify().exit_code == 0


def test_a_result_without_a_run_is_named_by_both_commands(board: RunBoard) -> None:
    board.run.unlink()
    before = board.card.read_bytes()
    assert f"retrieval runs: 1 kept\n  kept {CARD} (tiny@1.0.0#" in (shown := board.score().stdout)
    assert shown.endswith("): its run is gone\n")
    assert board.card.read_bytes() == before
    done = board.verify()
    assert done.exit_code == 1
    assert f"{CARD}: cannot be made again: its run is gone" in done.stdout


def test_a_result_in_the_place_of_another_system_is_named_by_both_commands(board: RunBoard) -> None:
    other = board.card.parents[1] / "other" / board.card.name
    shutil.copytree(board.card.parent, other.parent)
    why = "is not the place of a result of my-retriever"
    assert why in board.score().stdout
    done = board.verify()
    assert done.exit_code == 1
    assert f"other/retrieval.json: cannot be made again: {why}" in done.stdout


def test_a_run_without_a_result_and_a_broken_run_are_faults_of_the_board(board: RunBoard) -> None:
    stored = board.card.read_bytes()
    board.card.unlink()
    done = board.verify()
    assert done.exit_code == 1
    assert f"{CARD}: not on the board: the run test.trec of my-retriever has no retrieval.json" in done.stdout
    board.run.write_text("q001 Q0 nowhere 1 1 x\n")
    assert board.verify().exit_code == 0, "a faulty run has no result"
    board.card.write_bytes(stored)
    assert f"{CARD}: cannot be made again: " in board.verify().stdout
    assert "its run could not be scored" in board.score().stdout


def test_the_result_of_a_whole_run_on_a_sample_and_that_of_another_dataset_are_told_apart(board: RunBoard) -> None:
    words = ["score", "--run", board.run, "--sample", 12, "--dataset", board.dataset.folder, "--out", board.results]
    assert CliRunner().invoke(root, list(map(str, words))).exit_code == 0
    strange = board.results / CARD.replace("tiny-1.0.0", "tiny-3.0.0")
    strange.parent.mkdir(parents=True)
    strange.write_text(board.card.read_text().replace("tiny@1.0.0", "tiny@3.0.0"))
    done = board.verify()
    assert done.exit_code == 0
    assert done.stdout.endswith("2 of 3 are the same when made again, 1 not given\n")
    assert board.verify("--strict").exit_code == 1
