"""A table without rows is a file with its columns: every config of a dataset loads."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builder_dataset import tables, write

from builder.dataset.check_dataset import check_folder
from builder.dataset.public_copy import public_copy
from builder.documents.dataset_documents import dataset_documents
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import open_table
from edu_rag.files.identity import verified
from edu_rag.files.manifest import FileEntry, file_sha256, read_manifest, write_manifest
from edu_rag.files.table_rows import COLUMNS_IF_FILLED, CONFIGS, schema
from edu_rag.records import Leak

SOURCES = {"engine": "folder", "hits_by_outcome": {"kept": 5, "robots": 1}, "pages": 3}
EMPTY = ("evidence/test", "leaks/test", "leaks/val")


def made(folder: Path, **more: Any) -> Path:
    """A dataset of two splits: no leaks at all, and evidence in one split only."""
    rows = tables()
    rows["evidence"]["test"] = []
    rows["leaks"] = {"val": [], "test": []}
    return write(folder, rows, sources=SOURCES, **more)


def test_a_table_without_rows_is_a_file_of_its_columns_outside_of_the_content_hash(tmp_path: Path) -> None:
    folder = made(tmp_path / "ds")
    manifest = verified(folder)
    for table in EMPTY:
        name = f"{table}-00000-of-00001.parquet"
        assert (manifest.files[name].rows, table in manifest.contents) == (0, False)
        assert pq.read_schema(folder / name).equals(schema(table.partition("/")[0]))
    rows = tables()
    rows["evidence"].pop("test", None)
    rows.pop("leaks")
    without = write(tmp_path / "without", rows, sources=SOURCES)
    assert read_manifest(without).content_sha256 == manifest.content_sha256
    assert not check_folder(folder).faults
    assert Dataset(folder).columns("leaks", "val", ("question_id",)) is None
    assert list(Dataset(folder).records("leaks", "val", Leak)) == []


@pytest.mark.slow
def test_every_config_loads_with_the_datasets_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    documents = dataset_documents("small", "1.0.0", "2026-01-02T00:00:00+00:00", SOURCES)
    folder = made(tmp_path / "ds", documents=documents)
    for config in CONFIGS:
        streamed = datasets.load_dataset(str(folder), config, streaming=True, cache_dir=str(tmp_path / "cache"))
        for split in streamed:
            assert list(streamed[split].features) == schema(config, COLUMNS_IF_FILLED.get(config, ())).names
            assert (
                len(list(streamed[split]))
                == read_manifest(folder).files[f"{config}/{split}-00000-of-00001.parquet"].rows
            )
    for config in ("evidence", "hits"):
        loaded = datasets.load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))
        assert set(loaded) == ({"val"} if config == "evidence" else {"val", "test"})
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert 'leaks = load_dataset("PATH", "leaks", streaming=True)  # no rows' in text
    assert 'hits = load_dataset("PATH", "hits")\n' in text


def test_rows_cannot_be_hidden_in_a_table_that_is_listed_as_empty(tmp_path: Path) -> None:
    folder = made(tmp_path / "ds")
    name = "leaks/val-00000-of-00001.parquet"
    row = {"question_id": "q1", "page_id": "p" + "0" * 16, "start": 0, "end": 3, "kind": "leak_question"}
    with open_table(folder / name, schema("leaks")) as writer:
        writer.write_table(pa.Table.from_pylist([row], schema=schema("leaks")))
    manifest = read_manifest(folder)
    files = {**manifest.files, name: FileEntry(sha256=file_sha256(folder / name), rows=0)}
    write_manifest(folder, replace(manifest, files=files))
    with pytest.raises(DataError, match=r"leaks/val.*its rows have the hash"):
        Dataset(folder)
    assert any("its rows have the hash" in str(error) for error in check_folder(folder).faults.to_print())


def test_a_hidden_splits_empty_tables_are_not_published_either(tmp_path: Path) -> None:
    with public_copy(Dataset(made(tmp_path / "ds")), ["test"]) as copy:
        assert set(copy.withheld) == {
            f"{config}/test-00000-of-00001.parquet" for config in ("gold", "evidence", "leaks")
        }
        shutil.copytree(copy.folder, tmp_path / "copy")
    assert not check_folder(tmp_path / "copy", ["test"]).faults
