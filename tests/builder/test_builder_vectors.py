"""`[label] vectors`: the dataset is the same with and without; vectors are made alike, checked, and taken down."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from builder_dataset import LAVA, damage, list_file, tables, write
from click.testing import CliRunner
from hash_encoder import HashEncoders, write_with_vectors

from builder.build import build, replay
from builder.config import BuildConfig, config_sha256, to_config
from builder.dataset.check_dataset import check_folder
from builder.dataset.diff import compare_folders
from builder.dataset.public_copy import public_copy
from builder.deriving import vector_writer
from builder.deriving.vector_writer import LOT, lots
from builder.documents.dataset_documents import dataset_documents, rewrite_documents
from builder.store.store_folder import store_folder
from edu_rag.__main__ import root
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import VECTORS
from edu_rag.files.sentence_vectors import FACTS_FILE, FILES, NUMBERS_FILE

WORDS = ["lava", "ice", "fish", "moon", "leaf", "rock", "river", "sugar", "light", "water"]


def write_web(folder: Path) -> BuildConfig:
    """Two pages and a question about them, and the settings of a build with vectors."""
    sites = folder / "sites" / "one.example"
    sites.mkdir(parents=True)
    for name in ("lava", "ice"):
        body = " ".join(f"{name.title()} is what sentence {i} of this long page is about." for i in range(20))
        (sites / f"{name}.html").write_text(f"<html lang='en'><title>{name}</title><main><p>{body}</p></main></html>")
    (folder / "questions.jsonl").write_text(
        '{"id": "Q1", "split": "val", "type": "Multiple Choice", "question": "What is lava about?", '
        '"choices": {"a": "ice", "b": "lava"}, "answer": "b"}\n'
    )
    settings = {"search": {"folder": {"sites": str(folder / "sites")}}, "filter": {"near_duplicate": 0}}
    return to_config({"name": "two", "label": {"vectors": "hashes"}, **settings}, "test")


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_and_its_replay_write_the_same_vectors_and_without_the_setting_nothing_changes(tmp_path: Path) -> None:
    from dataclasses import replace

    config, questions = write_web(tmp_path), [tmp_path / "questions.jsonl"]
    with_vectors = build(questions, tmp_path / "with", config, encoders=HashEncoders())
    again = replay(store_folder(tmp_path / "with"), tmp_path / "again", encoders=HashEncoders())
    assert files(tmp_path / "again") == files(tmp_path / "with")
    assert not check_folder(tmp_path / "with").faults
    assert check_folder(tmp_path / "with").rows[VECTORS] > 20
    plain = build(questions, tmp_path / "plain", replace(config, label=replace(config.label, vectors=None)))
    assert (plain.id, plain.config_sha256, plain.sources) == (again.id, again.config_sha256, again.sources)
    assert not replay(store_folder(tmp_path / "with"), tmp_path / "bare", without_vectors=True).files.keys() & set(
        FILES
    )
    ours, theirs = files(tmp_path / "plain"), files(tmp_path / "with")
    assert theirs.keys() - ours.keys() == set(FILES)
    assert {name for name in ours if ours[name] != theirs[name]} == {"README.md", "manifest.json"}
    assert (
        f"`vectors/` holds {with_vectors.files[NUMBERS_FILE].rows} vectors of 4 numbers" in theirs["README.md"].decode()
    )


def test_the_setting_does_not_change_the_hash_of_the_settings() -> None:
    assert config_sha256(to_config({"label": {"vectors": "any"}}, "t")) == config_sha256(BuildConfig())


def test_a_dataset_whose_bytes_are_pinned_on_every_machine_cannot_have_vectors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[label\] vectors: a recipe cannot have vectors"):
        build([tmp_path / "no.jsonl"], tmp_path / "ds", to_config({"label": {"vectors": "hashes"}}, "t"))


def test_a_dataset_without_pages_gets_no_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tables()
    write_with_vectors(tmp_path / "ds", {name: made[name] for name in ("questions", "gold")})
    assert not (tmp_path / "ds" / VECTORS).exists()
    assert "there are no pages, so there are no vectors" in capsys.readouterr().err


def test_vectors_that_would_take_too_much_room_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_writer, "MAX_BYTES", 100)
    with pytest.raises(ConfigError, match="take more than"):
        write_with_vectors(tmp_path / "ds")
    assert not (tmp_path / "ds").exists()


@pytest.mark.parametrize("n", [1, LOT - 1, LOT, 2 * LOT, 5 * LOT, 20 * LOT])
def test_a_lot_depends_on_the_texts_alone_and_a_new_text_changes_one_lot(n: int) -> None:
    drawn = random.Random(n)
    keys = sorted(drawn.randbytes(32) for _ in range(n))
    before = list(lots(keys))
    assert [key for lot in before for key in lot] == keys
    assert max(map(len, before)) < 3 * LOT
    after = list(lots(sorted([*keys, drawn.randbytes(32)])))
    assert len([lot for lot in after if lot not in before]) == 1


def test_texts_are_encoded_in_the_order_of_their_keys_and_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoders = HashEncoders()
    monkeypatch.setattr(vector_writer, "LOT", 2)
    write(tmp_path / "ds", attach=lambda folder, files: vector_writer.write_vectors(folder, files, "hashes", encoders))
    texts = [text for lot in encoders.lots for text in lot]
    assert len(encoders.lots) > 3
    assert len(texts) == len(set(texts))
    assert not check_folder(tmp_path / "ds").faults


def test_the_check_reports_damaged_missing_and_foreign_vectors(tmp_path: Path) -> None:
    ds = write_with_vectors(tmp_path / "ds")
    numbers = ds / NUMBERS_FILE
    whole = numbers.read_bytes()
    numbers.write_bytes(b"\0" * 16 + whole[16:])
    assert {"changed file", "vectors"} <= set(check_folder(ds).faults.counts)
    list_file(ds, NUMBERS_FILE, len(whole) // 16)
    (fault,) = check_folder(ds).faults.to_print()
    assert "vectors.bin: the vectors from row 0 on are not all of length 1: rebuild the dataset" in str(fault)
    numbers.unlink()
    assert set(check_folder(ds).faults.counts) == {"missing file"}
    (ds / FACTS_FILE).unlink()
    os.mkfifo(ds / FACTS_FILE)
    assert set(check_folder(ds).faults.counts) == {"missing file"}


def test_rows_that_have_no_texts_are_reported_and_their_vectors_are_not_compared(tmp_path: Path) -> None:
    ds = write_with_vectors(tmp_path / "ds")
    damage(ds, "pages", lambda rows: [{**rows[0], "sentences": None}, *rows[1:]])
    assert set(check_folder(ds).faults.counts) == {"broken row in pages", "a hit leads to no page"}


def test_a_take_down_leaves_no_vector_behind(tmp_path: Path) -> None:
    ds = write_with_vectors(tmp_path / "ds")
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), LAVA, "--reason", "owner asked"])
    assert done.exit_code == 0, done.output
    assert not (ds / VECTORS).exists()
    assert "the sentence vectors are left out" in done.output
    assert not check_folder(ds).faults


def test_a_copy_to_publish_and_a_new_card_keep_the_vectors(tmp_path: Path) -> None:
    ds = write_with_vectors(tmp_path / "ds", documents=dataset_documents("small", "1.0.0", "2026-01-02T00:00:00Z", {}))
    with public_copy(Dataset(ds), ["test"]) as copy:
        assert not check_folder(copy.folder, ["test"]).faults
        assert copy.manifest.files.keys() >= set(FILES)
        assert "## Sentence vectors" in (copy.folder / "README.md").read_text()
        assert Dataset(copy.folder).vectors() == copy.folder / VECTORS
    (ds / "README.md").write_text("another card")
    assert set(FILES) <= set(rewrite_documents(ds).files)
    assert "## Sentence vectors" in (ds / "README.md").read_text()


def test_vectors_alone_are_a_patch(tmp_path: Path) -> None:
    found = compare_folders(write(tmp_path / "old"), write_with_vectors(tmp_path / "new", version="1.0.1"))
    assert (found.step, found.fault) == ("patch", None)
