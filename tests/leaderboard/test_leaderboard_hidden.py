"""Splits whose gold is not public: no question and no prediction of theirs gets onto the site."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import fixture_board as made
import fixture_quiz as quiz
import pytest
from click.testing import CliRunner

from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import read_manifest, write_manifest
from leaderboard.board import private_gold as hidden
from leaderboard.board.collect import collect
from leaderboard.commands import board

TOML = """baselines_team = "t"
[[datasets]]
name = "quiz"
version = "1.2.0"
content_sha256 = "{sha256}"
manifest_sha256 = "{sha256}"
split = "val"
samples = ["whole"]
hidden_gold = {hidden}
"""


def say_in_manifest(folder: Path) -> None:
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, sources={**manifest.sources, "hidden_splits": ["val"]}))


def build(folder: Path, dataset: Dataset) -> tuple[Path, str]:
    for path in sorted((folder / "results").rglob("predictions.jsonl")):
        copy = (
            folder / "submissions" / path.parent.name / "predictions" / "quiz-1.0.0" / f"{path.parents[1].name}.jsonl"
        )
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        if path.parent.name == "beta":
            path.unlink()  # found among the submissions alone
    arguments = [
        str(folder / "results"),
        "--submissions",
        str(folder / "submissions"),
        "--dataset",
        str(dataset.folder),
        "--out",
        str(folder / "site"),
    ]
    done = CliRunner().invoke(board, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return folder / "site", done.output


@pytest.mark.parametrize("said_by", ["the manifest", "the board's file", "nobody"])
def test_a_hidden_split_shows_neither_questions_nor_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said_by: str
) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    quiz.write_results(tmp_path / "results", dataset)
    toml = TOML.format(sha256="0" * 64, hidden=str(said_by == "the board's file").lower())
    file = tmp_path / "elsewhere.toml"  # a board.toml next to the results would pin the dataset too
    file.write_text(toml, encoding="utf-8")
    monkeypatch.setattr(hidden, "BOARD_FILE", file)
    if said_by == "the manifest":
        say_in_manifest(dataset.folder)
    site, said = build(tmp_path, dataset)
    is_public = said_by == "nobody"
    assert (site / "questions").exists() == is_public
    assert any(site.rglob("predictions.jsonl")) == is_public
    assert ("quiz.v1.val is of a hidden split" in said) == (not is_public)
    texts = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert ("a cell divides" in texts) == is_public
    assert json.loads((site / "board.json").read_bytes())["tables"][0]["rows"]


def test_another_split_of_the_dataset_is_as_public_as_before(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    write_manifest(dataset.folder, replace(dataset.manifest, sources={"hidden_splits": ["test"]}))
    found = hidden.hidden_splits([dataset.folder])
    assert found == {("quiz", "test")}
    made.write_card(tmp_path / "results", made.card_of("one", dataset=dataset.id), b"{}\n")
    (group,) = hidden.without_predictions(collect(tmp_path / "results"), found)
    assert group.results[0].predictions is not None
