"""The board's datasets: the bundled one is built, a published one downloaded, and every byte is the one named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builder_dataset import tables
from click.testing import CliRunner
from fake_hub import Hub, serving_hub
from hash_encoder import write_with_vectors

from builder.recipes.make_dataset import make_board_dataset
from edu_rag.__main__ import root
from edu_rag.cli.dataset_group import staged
from edu_rag.errors import ConfigError, DataError, EngineError
from edu_rag.files.board_file import BoardDataset, BoardFile, read_board_file
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256, read_manifest
from publishing.fetch_datasets import chosen, fetch
from publishing.push_dataset import push

BOARD = Path(__file__).resolve().parents[2] / "leaderboard" / "board.toml"
REPO = "school/small"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fetch") / "small"
    write_with_vectors(out, tables())
    return out


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Hub]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the loopback hub speaks the protocol before Xet
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving_hub() as server:
        with staged(Dataset(folder), REPO, ()) as (stage, plan):
            push(stage, plan, token=server.token, endpoint=server.url, private=False)
        server.public = True
        server.requests.clear()
        yield server


@pytest.fixture
def published(hub: Hub, folder: Path) -> BoardDataset:
    manifest = read_manifest(folder)
    return BoardDataset(
        name=manifest.name,
        version=manifest.version,
        content_sha256=manifest.content_sha256,
        split="test",
        samples=("whole",),
        hub=REPO,
        revision=hub.commits[-1][0],
        manifest_sha256=file_sha256(folder / "manifest.json"),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_published_dataset_arrives_byte_for_byte_and_without_a_token(
    hub: Hub, published: BoardDataset, folder: Path, tmp_path: Path
):
    assert list(fetch([published], tmp_path / "out", make_board_dataset, endpoint=hub.url)) == [
        tmp_path / "out" / published.release.folder
    ]
    assert files(tmp_path / "out" / published.release.folder) == files(folder)


def test_what_is_there_is_checked_and_not_downloaded_again(
    hub: Hub, published: BoardDataset, folder: Path, tmp_path: Path
):
    shutil.copytree(folder, tmp_path / published.release.folder)
    assert len(list(fetch([published], tmp_path, make_board_dataset, endpoint=hub.url))) == 1
    assert hub.requests == []
    table = next((tmp_path / published.release.folder / "gold").iterdir())
    table.write_bytes(table.read_bytes() + b"!")
    with pytest.raises(DataError, match="differ from the manifest's hash"):
        list(fetch([published], tmp_path, make_board_dataset, endpoint=hub.url))


@pytest.mark.parametrize("changed", ["gold/", "vectors/vectors.bin"])
def test_a_file_that_the_hub_changed_is_refused_and_nothing_is_left(
    hub: Hub, published: BoardDataset, tmp_path: Path, changed: str
):
    hub.corrupt = next(name for name in hub.commits[-1][1] if name.startswith(changed))
    with pytest.raises(DataError, match="differ"):
        list(fetch([published], tmp_path, make_board_dataset, endpoint=hub.url))
    assert list(tmp_path.iterdir()) == []


def test_another_manifest_is_refused_before_anything_else_is_asked_for(
    hub: Hub, published: BoardDataset, tmp_path: Path
):
    other = replace(published, manifest_sha256="0" * 64)
    with pytest.raises(DataError, match="not the one that board"):
        list(fetch([other], tmp_path, make_board_dataset, endpoint=hub.url))
    assert {request.rpartition("/")[2] for request in hub.requests} == {"manifest.json"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_hub_that_refuses_is_one_line(hub: Hub, published: BoardDataset, tmp_path: Path, status: int):
    hub.status = status
    with pytest.raises(EngineError, match=rf"hub school/small: answered with status {status}"):
        list(fetch([replace(published, name="other-name")], tmp_path, make_board_dataset, endpoint=hub.url))


def test_the_command_says_what_is_not_published_and_prints_folders_alone(tmp_path: Path):
    words = ["dataset", "fetch", "--board", str(BOARD), "--out", str(tmp_path), "--only", "tqa-val"]
    done = CliRunner().invoke(root, words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.search(r"tqa-val@3\.0\.0#[0-9a-f]{8}: not published", done.stderr)


def test_a_bundled_dataset_of_another_hash_is_refused(tmp_path: Path, folder: Path):
    mini = next(dataset for dataset in read_board_file(BOARD).datasets if dataset.bundled)
    shutil.copytree(folder, tmp_path / mini.release.folder)
    with pytest.raises(ConfigError, match="and board"):
        list(fetch([mini], tmp_path, make_board_dataset, endpoint=None))


def test_a_dataset_that_the_operator_put_there_is_checked_and_used_though_it_is_not_published(
    published: BoardDataset, folder: Path, tmp_path: Path
):
    private = replace(published, hub="", revision="")
    assert list(fetch([private], tmp_path, make_board_dataset, endpoint=None)) == []
    shutil.copytree(folder, tmp_path / private.release.folder)
    assert list(fetch([private], tmp_path, make_board_dataset, endpoint=None)) == [tmp_path / private.release.folder]


def test_a_name_that_the_board_does_not_have_is_told_with_those_it_has(published: BoardDataset):
    board = BoardFile(baselines_team="us", datasets=[published])
    assert chosen(board, [published.name]) == [published]
    with pytest.raises(ConfigError, match=f"no dataset 'other': choose from {published.name}"):
        chosen(board, ["other"])
