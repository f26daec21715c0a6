"""No forged dataset passes as the one that the board pins, whatever was made to fit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from forged_datasets import CONSISTENT, STALE, commands, forged, refusals
from pull_request_trees import hand_in, settings, write_base

from edu_rag.__main__ import root
from edu_rag.errors import DataError
from edu_rag.files import dataset_writer, identity
from edu_rag.files.dataset import Dataset

Trees = tuple[Path, Path]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset, gold: dict[str, str]) -> Trees:
    base, head = write_base(tmp_path_factory.mktemp("trees"), tiny, gold)
    hand_in(head, "new-one", gold, settings("New team"))
    return base, head


def test_the_pinned_dataset_itself_is_taken_by_every_command(trees: Trees, tiny: Dataset, tmp_path: Path) -> None:
    base, head = (shutil.copytree(tree, tmp_path / tree.name) for tree in trees)
    assert refusals(commands(base, head, tiny.folder, tmp_path)) == dict.fromkeys(
        ("score", "score --all", "board", "verify", "pr"), ""
    )


@pytest.mark.parametrize("name", CONSISTENT)
def test_a_consistent_forgery_is_refused_by_every_command(
    trees: Trees, tiny: Dataset, tmp_path: Path, name: str
) -> None:
    folder = forged(tiny.folder, tmp_path / "dataset", CONSISTENT[name])
    if name != "the content hash as a string":
        Dataset(folder)  # it is whole: nothing but the board's pins can refuse it
    for command, said in refusals(commands(*trees, folder, tmp_path)).items():
        assert str(folder) in said, command


@pytest.mark.parametrize("name", STALE)
def test_rows_that_are_not_those_of_the_content_hash_are_refused_without_any_board(
    trees: Trees, tiny: Dataset, tmp_path: Path, name: str
) -> None:
    folder = forged(tiny.folder, tmp_path / "dataset", STALE[name])
    with pytest.raises(DataError, match="its rows have the hash"):
        Dataset(folder)
    words = ["score", str(trees[0] / "submissions" / "half-right"), "--dataset", str(folder)]
    for line in (words, ["dataset", "check", str(folder)]):
        done = CliRunner().invoke(root, line)
        assert done.exit_code == 1
        assert "its rows have the hash" in str(done.exception)


def test_a_dataset_whose_content_hash_begins_with_the_same_eight_digits_is_refused(
    trees: Trees,
    tiny: Dataset,
    gold: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build_dataset: Callable[..., Dataset],
    questions: Any,
) -> None:
    real = identity.content_sha256

    def colliding(contents: dict[str, str]) -> str:  # as if a forger had searched 2 ** 32 datasets
        return tiny.manifest.content_sha256[:8] + real(contents)[8:]

    monkeypatch.setattr(identity, "content_sha256", colliding)
    monkeypatch.setattr(dataset_writer, "content_sha256", colliding)
    other = build_dataset(
        tmp_path / "other", questions, gold | {"q000": "b" if gold["q000"] == "a" else "a"}, pages=True
    )
    assert other.id == tiny.id
    for command, said in refusals(commands(*trees, other.folder, tmp_path)).items():
        assert "content_sha256 is" in said, command
