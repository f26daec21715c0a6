"""Predictions among submissions: a file is a scorecard's by its hash alone, whatever it is called."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import fixture_board as made
import fixture_quiz as quiz
import pytest
from click.testing import CliRunner

from edu_rag.errors import ConfigError
from leaderboard.board.collect import collect
from leaderboard.commands import board
from leaderboard.systems.stored_predictions import with_predictions

LINES = b'{"question_id": "Q_0000", "answer": "a"}\n'
SHA256 = hashlib.sha256(LINES).hexdigest()


def lay(submissions: Path, slug: str, place: str, lines: bytes) -> Path:
    path = submissions / slug / "predictions" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines)
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """`one` names a hash and has no file beside it; `two` names none."""
    made.write_card(tmp_path / "results", made.card_of("one", predictions_sha256=SHA256))
    made.write_card(tmp_path / "results", made.card_of("two"))
    return tmp_path / "results"


def found(results: Path, *folders: Path) -> tuple[int, int, dict[str, Path | None]]:
    groups, n_lacking, n_found = with_predictions(collect(results), folders)
    return n_lacking, n_found, {one.card.system.slug: one.predictions for group in groups for one in group.results}


def test_a_file_of_the_right_hash_is_found_under_any_dataset_and_name(results: Path, tmp_path: Path) -> None:
    lay(tmp_path / "submissions", "one", "tqa-2.0.0/val.jsonl", b"something else\n")
    path = lay(tmp_path / "submissions", "one", "tqa-1.0.0/val-again.jsonl", LINES)
    assert found(results, tmp_path / "submissions") == (1, 1, {"one": path, "two": None})


def test_a_file_of_another_hash_or_of_another_system_is_never_believed(results: Path, tmp_path: Path) -> None:
    lay(tmp_path / "submissions", "one", "tqa-1.0.0/val.jsonl", LINES + b"\n")
    lay(tmp_path / "submissions", "two", "tqa-1.0.0/val.jsonl", LINES)
    assert found(results, tmp_path / "submissions") == (1, 0, {"one": None, "two": None})


def test_nothing_behind_a_link_is_read(results: Path, tmp_path: Path) -> None:
    path = lay(tmp_path / "elsewhere", "one", "tqa-1.0.0/val.jsonl", LINES)
    place = tmp_path / "submissions" / "one" / "predictions" / "tqa-1.0.0"
    place.mkdir(parents=True)
    (place / "val.jsonl").symlink_to(path)
    (place.parent / "tqa-1.0.1").symlink_to(path.parent)
    other = tmp_path / "others"
    other.mkdir()
    (other / "one").symlink_to(tmp_path / "elsewhere" / "one")
    assert found(results, tmp_path / "submissions", other)[1] == 0


def test_several_folders_are_searched_and_what_lies_beside_a_scorecard_goes_first(tmp_path: Path) -> None:
    results = tmp_path / "results"
    beside = made.write_card(results, made.card_of("one", predictions_sha256=SHA256), LINES).parent
    made.write_card(results, made.card_of("three", predictions_sha256=SHA256))
    lay(tmp_path / "a", "one", "tqa-1.0.0/val.jsonl", LINES)
    path = lay(tmp_path / "b", "three", "tqa-1.0.0/val.jsonl", LINES)
    (tmp_path / "a" / "three").mkdir()
    n_lacking, n_found, files = found(results, tmp_path / "a", tmp_path / "b")
    assert (n_lacking, n_found) == (1, 1)
    assert files == {"one": next(beside.rglob("predictions.jsonl")), "three": path}


def test_a_folder_that_is_not_there_is_refused(results: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        with_predictions(collect(results), [tmp_path / "none"])


def test_one_command_makes_a_site_that_shows_what_was_said(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    quiz.write_results(tmp_path / "results", dataset)
    for path in sorted((tmp_path / "results").rglob("predictions.jsonl")):
        lay(tmp_path / "submissions", path.parent.name, f"quiz-1.0.0/{path.parents[1].name}.jsonl", path.read_bytes())
        path.unlink()
    arguments = [
        str(tmp_path / "results"),
        "--submissions",
        str(tmp_path / "submissions"),
        "--dataset",
        str(dataset.folder),
        "--out",
        str(tmp_path / "site"),
    ]
    done = CliRunner().invoke(board, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    # gamma's stand nowhere.
    assert "found the predictions of 4 of 5 ranked scorecard(s) among the submissions" in done.output
    shards = sorted((tmp_path / "site" / quiz.FOLDER / "data").iterdir())
    said = [answer[2] for path in shards for q in json.loads(path.read_bytes())["questions"] for answer in q["answers"]]
    assert {"a", "b", "who knows?"} <= set(said)
    for slug in ("alpha", "beta"):
        copy = tmp_path / "site" / "data" / "quiz.v1.val" / slug / "predictions.jsonl"
        assert copy.read_bytes() == (tmp_path / "submissions" / slug / "predictions/quiz-1.0.0/val.jsonl").read_bytes()
