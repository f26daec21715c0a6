"""board.toml: strict, all faults at once, and a dataset is the one it names or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError, RecordFaultsError
from edu_rag.files.board_file import BoardDataset, BoardFile, check_dataset, check_pinned, read_board_file
from edu_rag.files.manifest import Manifest, manifest_sha256, write_manifest

OURS = Path(__file__).resolve().parents[2] / "leaderboard" / "board.toml"
SHA = "a" * 64


def entry(**changed: object) -> BoardDataset:
    said = {
        "name": "small",
        "version": "1.0.0",
        "content_sha256": SHA,
        "manifest_sha256": SHA,
        "split": "test",
        "samples": ("whole",),
    }
    return BoardDataset(**{**said, **changed})  # type: ignore[arg-type]


def manifest(**changed: str) -> Manifest:
    said = {"name": "small", "version": "1.0.0", "content_sha256": SHA}
    return Manifest(created_at="2000-01-01T00:00:00+00:00", builder="b", config_sha256=SHA, **{**said, **changed})


def test_ours_names_the_datasets_of_the_board_and_says_which_ci_can_have():
    board = read_board_file(OURS)
    assert {dataset.name: dataset.can_be_had for dataset in board.datasets} == {
        "open-textbooks": True,
        "tqa-val": False,
        "edu-rag-mini": True,
    }
    assert board.baselines_team == "EDU-RAG baselines"


def test_every_committed_result_of_a_dataset_on_the_board_is_of_a_sample_that_the_board_names():
    for dataset in read_board_file(OURS).datasets:
        folder = OURS.parent / "results" / dataset.release.folder
        there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        named = {dataset.split if one == "whole" else f"{dataset.split}-{one}" for one in dataset.samples}
        assert there <= named


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": "../small"}, "name: '../small' is not 2-40 of a-z"),
        ({"version": "1.0"}, "version: '1.0' is not MAJOR"),
        ({"content_sha256": SHA[1:]}, "content_sha256"),
        ({"manifest_sha256": ""}, "manifest_sha256: '' is not the SHA-256 of"),
        ({"split": "te/st"}, "split"),
        ({"samples": ("half",)}, "samples: 'half' is neither"),
        ({"samples": ("whole", "whole")}, "names a sample twice"),
        ({"hub": "a/b", "bundled": True}, "hub: is given next to bundled"),
        ({"hub": "a/b"}, "revision: '' is not a full commit"),
        ({"hub": "a/b", "revision": "main"}, "revision: 'main' is not a full commit"),
        ({"revision": "b" * 40}, "hub: '' is not OWNER/NAME"),
        ({"hub": "https://x/y", "revision": "b" * 40}, "hub: 'https://x/y' is not"),
    ],
)
def test_a_dataset_that_breaks_an_invariant_does_not_exist(changed: dict[str, object], told: str):
    with pytest.raises(RecordFaultsError) as error:
        entry(**changed)
    assert any(told in str(fault) for fault in error.value.faults)


def test_all_faults_of_the_file_are_told_at_once(tmp_path: Path):
    path = tmp_path / "board.toml"
    path.write_text(
        'team = "us"\n[[datasets]]\nname = "S"\nversion = "1"\ncontent_sha256 = ""\nmanifest_sha256 = ""\nsplit = "t"\n'
        "samples = []\n"
        f'[[datasets]]\nname = "small"\nversion = "1"\ncontent_sha256 = "{SHA}"\nmanifest_sha256 = "{SHA}"\n'
        'split = "t"\nsamples = ["whole"]\nx = 1\n',
        encoding="utf-8",
    )
    with pytest.raises(FaultsError) as error:
        read_board_file(path)
    told = str(error.value)
    for place in ("team", "baselines_team", "datasets[0].samples", "datasets[1].x"):
        assert place in told


@pytest.mark.parametrize("text", ["", 'baselines_team = "us"\ndatasets = []\n', "x = [", "\xff"])
def test_what_is_no_board_is_refused_with_its_place(tmp_path: Path, text: str):
    path = tmp_path / "board.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EduRagError, match=r"board\.toml"):
        read_board_file(path)


def test_a_dataset_twice_is_a_fault(tmp_path: Path):
    one = (
        f'[[datasets]]\nname = "small"\nversion = "1.0.0"\ncontent_sha256 = "{SHA}"\nmanifest_sha256 = "{SHA}"\n'
        'split = "t"\nsamples = ["whole"]\n'
    )
    path = tmp_path / "board.toml"
    path.write_text(f'baselines_team = "us"\n{one}{one}', encoding="utf-8")
    with pytest.raises(FaultsError, match=r"small-1\.0\.0 is listed twice"):
        read_board_file(path)


@pytest.mark.parametrize("changed", [{"name": "other"}, {"version": "1.0.1"}, {"content_sha256": "b" * 64}])
def test_a_folder_of_another_dataset_is_refused(tmp_path: Path, changed: dict[str, str]):
    write_manifest(tmp_path, manifest(**changed))
    with pytest.raises(ConfigError, match=next(iter(changed))):
        check_dataset(tmp_path, entry())


def test_a_folder_of_the_same_rows_under_another_manifest_is_refused(tmp_path: Path):
    write_manifest(tmp_path, manifest())
    with pytest.raises(
        ConfigError, match=f"manifest_sha256 is {manifest_sha256(manifest())}, and board.toml says {SHA}"
    ):
        check_dataset(tmp_path, entry())


def test_a_dataset_that_the_board_does_not_have_is_refused(tmp_path: Path):
    board = BoardFile(baselines_team="us", datasets=[entry()])
    with pytest.raises(
        ConfigError, match=r"is small@1\.0\.1#aaaaaaaa, which board\.toml does not have: it has small@1"
    ):
        check_pinned(tmp_path, manifest(version="1.0.1"), board)
    pinned = entry(manifest_sha256=manifest_sha256(manifest()))
    assert check_pinned(tmp_path, manifest(), BoardFile(baselines_team="us", datasets=[pinned])) == pinned


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match=r"manifest\.json"):
        check_dataset(tmp_path, entry())
