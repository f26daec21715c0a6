"""Results of retrieval runs: `verify` makes them again, and `score --all` lists them, also those whose run is gone."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from harness.rescoring.run_cards import RescoredRun, rescore_runs, rescored_run_lines, verify_runs
from harness.rescoring.verify import Finding

CARD = "tiny-1.0.0/test/my-retriever/retrieval.json"
AT = datetime(2026, 11, 26, tzinfo=UTC)


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

    def rescored(self) -> tuple[list[RescoredRun], list[EduRagError]]:
        return rescore_runs(self.submissions, [self.dataset], self.results, scored_at=AT)

    def verified(self, *datasets: Dataset) -> tuple[list[Finding], list[EduRagError]]:
        return verify_runs(self.results, self.submissions, datasets or [self.dataset])

    def copied(self, place: str, **changed: object) -> str:
        """Another result, made from this one with some values changed, at its place below the results."""
        path = self.results / place / self.card.name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(json.loads(self.card.read_text()) | changed))
        return path.relative_to(self.results).as_posix()

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


def test_each_result_has_its_fate_and_an_unchanged_one_is_not_listed(board: RunBoard) -> None:
    dataset = board.dataset.id
    assert board.rescored() == ([RescoredRun(card=CARD, dataset=dataset, status="unchanged")], [])
    board.card.unlink()
    assert board.rescored() == ([RescoredRun(card=CARD, dataset=dataset, status="new")], [])
    assert json.loads(board.card.read_text())["scored_at"] == "2026-11-26T00:00:00Z"
    runs = [
        RescoredRun(card=f"{status}.json", dataset=dataset, status=status, why=why)  # type: ignore[arg-type]
        for status, why in (("kept", "its run is gone"), ("unchanged", ""), ("new", ""), ("changed", ""), ("new", ""))
    ]
    assert list(rescored_run_lines(runs)) == [
        "retrieval runs: 2 new, 1 changed, 1 unchanged, 1 kept",
        f"  kept kept.json ({dataset}): its run is gone",
        f"  new new.json ({dataset})",
        f"  changed changed.json ({dataset})",
        f"  new new.json ({dataset})",
    ]
    assert list(rescored_run_lines(runs[1:2])) == ["retrieval runs: 1 unchanged"]
    assert list(rescored_run_lines([])) == []


def test_a_result_that_another_version_of_the_harness_made_is_the_same(board: RunBoard) -> None:
    assert board.verified() == ([Finding(file=CARD, status="same")], [])
    values = json.loads(board.card.read_text()) | {
        "harness": "edu-rag-bench 0.0.1",
        "scored_at": "2020-01-01T00:00:00Z",
    }
    board.card.write_text(json.dumps(values))
    assert board.verified() == ([Finding(file=CARD, status="same", harness="edu-rag-bench 0.0.1")], [])


def test_a_result_of_an_older_version_is_superseded_by_a_newer_one_of_the_same_questions(board: RunBoard) -> None:
    hash8 = board.dataset.id[-8:]
    ids = {version: f"tiny@{version}#{hash8}" for version in ("1.1.0", "1.2.0", "3.0.0", "3.1.0", "3.2.0")}
    ids["other"] = f"other@1.9.0#{hash8}"
    words = "another version than the ones given", "another major version, which is never mixed with the ones given"
    minor, major, absent = *words, "its dataset was not given"
    other_system = {"slug": "other", "name": "Other", "team": "us"}
    placed = {
        board.copied("tiny-1.1.0/test/my-retriever", dataset=ids["1.1.0"]): ("superseded", f"{ids['1.1.0']}: {minor}"),
        board.copied("tiny-1.2.0/test/my-retriever", dataset=ids["1.2.0"]): ("not given", f"{ids['1.2.0']}: {minor}"),
        board.copied("other-1.9.0/test/my-retriever", dataset=ids["other"]): (
            "not given",
            f"{ids['other']}: {absent}",
        ),
        # Newer ones, but of another system, another split or a sample.
        board.copied("tiny-3.0.0/test/my-retriever", dataset=ids["3.0.0"]): ("not given", f"{ids['3.0.0']}: {major}"),
        board.copied("tiny-3.1.0/val/my-retriever", dataset=ids["3.1.0"], split="val"): (
            "not given",
            f"{ids['3.1.0']}: {major}",
        ),
    }
    system = json.loads(board.card.read_text())["system"] | other_system
    board.copied("tiny-3.2.0/test/other", dataset=ids["3.2.0"], system=system)
    board.copied("tiny-3.2.0/test-stratified-5-seed-0/my-retriever", dataset=ids["3.2.0"], sample="stratified-5-seed-0")
    found, faults = board.verified()
    assert faults == []
    assert [Path(one.file) for one in found] == sorted(Path(one.file) for one in found)
    fates = {one.file: (one.status, one.why) for one in found}
    assert {file: fates[file] for file in placed} == placed
    assert fates[CARD] == ("same", "")
    kept = {run.card: run.why for run in board.rescored()[0] if run.status == "kept"}
    assert kept == {one.file: one.why.partition(": ")[2] for one in found if one.file != CARD}


def test_a_result_that_cannot_be_read_is_a_fault_unless_it_is_made_again(board: RunBoard) -> None:
    unread = board.results / "tiny-1.0.0" / "test" / "nobody" / "retrieval.json"
    unread.parent.mkdir()
    unread.write_text("{}")
    board.card.write_text("[]")
    found, faults = board.verified()
    assert faults == []
    assert [(one.file, one.status) for one in found] == [
        (CARD, "differs"),
        ("tiny-1.0.0/test/nobody/retrieval.json", "cannot be made again"),
    ]
    assert all(one.why.startswith(f"{board.results / one.file}: ") for one in found)
    runs, faults = board.rescored()
    assert [(run.card, run.status) for run in runs] == [(CARD, "changed")]
    assert [error.where for error in faults] == [str(unread)]


def test_the_fault_of_a_submission_is_why_its_result_is_kept(board: RunBoard) -> None:
    (board.submissions / "my-retriever" / "submission.toml").write_text('name = "My retriever"\n')
    found, faults = board.verified()
    (run,), same_faults = board.rescored()
    assert [str(error) for error in faults] == [str(error) for error in same_faults] != []
    assert found == [Finding(file=CARD, status="cannot be made again", why=str(faults[0]))]
    assert run == RescoredRun(card=CARD, dataset=board.dataset.id, status="kept", why=str(faults[0]))


def test_a_run_that_cannot_be_scored_has_its_faults_and_keeps_its_result(board: RunBoard) -> None:
    board.run.write_text("q001 Q0 nowhere 1 1 x\nq002 Q0\n")
    before = board.card.read_bytes()
    found, faults = board.verified()
    assert faults == []
    (run,), faults = board.rescored()
    assert run == RescoredRun(card=CARD, dataset=board.dataset.id, status="kept", why="its run could not be scored")
    assert found == [Finding(file=CARD, status="cannot be made again", why=str(faults[0]))]
    assert [error.where for error in faults] == [f"{board.run}:1", f"{board.run}:2"]
    assert board.card.read_bytes() == before


def test_a_whole_run_makes_the_results_of_its_samples_again(board: RunBoard) -> None:
    words = ["score", "--run", board.run, "--sample", 12, "--dataset", board.dataset.folder, "--out", board.results]
    assert CliRunner().invoke(root, list(map(str, words))).exit_code == 0
    sample = f"tiny-1.0.0/test-stratified-12-seed-0/my-retriever/{board.card.name}"
    assert [(run.card, run.status) for run in board.rescored()[0]] == [(CARD, "unchanged"), (sample, "unchanged")]
    (board.results / sample).write_text((board.results / sample).read_text().replace('"n": 12', '"n": 13'))
    # One in a wrong place is not made again, also where the run of its questions is there.
    moved = board.results / sample.replace("my-retriever", "other")
    shutil.copytree((board.results / sample).parent, moved.parent)
    fates = {run.card: (run.status, run.why) for run in board.rescored()[0]}
    assert fates[moved.relative_to(board.results).as_posix()] == (
        "kept",
        "is not the place of a result of my-retriever",
    )


def test_a_run_for_a_sample_has_the_result_of_that_sample_alone(board: RunBoard) -> None:
    board.run.rename(board.run.with_name("test-stratified-12-seed-0.trec"))
    board.card.unlink()
    ((run,), faults) = board.rescored()
    assert (run.card, run.status) == ("tiny-1.0.0/test-stratified-12-seed-0/my-retriever/retrieval.json", "new")
    assert faults == []
