"""The dataset folder: the same records give the same bytes, and nothing that was tampered with is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import DataError, RecordError
from edu_rag.files import dataset_writer
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.identity import content_sha256, table_sha256
from edu_rag.files.manifest import FileEntry, Manifest, file_sha256, read_manifest, write_manifest
from edu_rag.files.table_rows import _lists, schema
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, SearchHit, Span, WebPage, page_id_of

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
URLS = ("http://a.example/1", "http://a.example/ü")


def tables() -> dict[str, dict[str, list[Any]]]:
    questions = [
        Question(
            question_id=f"q{n}",
            text="Größe? \u2028 🙂",
            choices={"a": "x", "b": "", "c": "z"},
            kind="matching",
            split="val",
            lesson=None if n else "L_1 plants",
            flags=("truncated",) if n else (),
        )
        for n in (2, 0, 1)
    ]
    pages = [
        WebPage(
            page_id=page_id_of(url),
            url=url,
            title="T",
            text="One. Two.",
            sentences=(Span(0, 4), Span(5, 9)),
            fetched_at=NOW,
            html_sha256="0" * 64,
            extractor="bs4-v1",
            language="en",
            flags=("short",),
        )
        for url in URLS
    ]
    hits = [
        SearchHit(
            question_id="q0",
            page_id=page_id_of(url) if kept else None,
            url=url,
            rank=rank,
            engine="folder",
            query="q",
            searched_at=NOW,
            outcome="kept" if kept else "robots",
        )
        for rank, url, kept in ((3, URLS[0], True), (1, URLS[1], True), (2, "http://b/", False))
    ]
    evidence = [Evidence(question_id="q0", page_id=page_id_of(URLS[0]), start=0, end=4, method="m-v1")]
    gold = [Gold(question_id=f"q{n}", answer="a") for n in (1, 0, 2)]
    records = {"questions": questions, "pages": pages, "hits": hits, "evidence": evidence, "gold": gold}
    return {config: {"val": rows} for config, rows in records.items()}


def write(folder: Path, content: Mapping[str, Mapping[str, Iterable[object]]] | None = None) -> Manifest:
    return write_dataset(
        folder,
        content if content is not None else tables(),
        name="mini",
        version="1.2.3",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="1" * 64,
        sources={"n": 3},
        documents=lambda folder, files: {"README.md": f"# card of {len(files)} files\n".encode()},
    )


def test_records_come_back_as_they_were_written_and_sorted(tmp_path: Path) -> None:
    write(tmp_path / "d")
    dataset, expected = Dataset(tmp_path / "d"), tables()
    assert dataset.splits() == ["val"]
    assert dataset.questions("val") == sorted(expected["questions"]["val"], key=lambda q: q.question_id)
    assert dataset.pages("val") == {page.page_id: page for page in expected["pages"]["val"]}
    assert [hit.rank for hit in dataset.hits("val")["q0"]] == [1, 2, 3]
    assert dataset.evidence("val") == {"q0": expected["evidence"]["val"]}
    assert next(iter(dataset.records("gold", "val", Gold))) == Gold(question_id="q0", answer="a")
    assert [page.url for page in kept_pages(dataset.hits("val")["q0"], dataset.pages("val"))] == [URLS[1], URLS[0]]


def test_the_same_records_give_the_same_bytes_in_another_order_process_time_zone_and_hash_seed(tmp_path: Path) -> None:
    write(tmp_path / "one")
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, 'tests/edu_rag'); import test_edu_rag_dataset as t;"
        "content = {c: {s: list(reversed(r)) for s, r in rows.items()} for c, rows in reversed(t.tables().items())};"
        "t.write(Path(sys.argv[1]), content)"
    )
    env = os.environ | {"PYTHONHASHSEED": "77", "TZ": "Asia/Kolkata", "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "two")], cwd=ROOT, env=env, check=True)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 7
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_the_content_hash_is_over_rows_and_moves_with_any_of_them(tmp_path: Path) -> None:
    first = write(tmp_path / "a")
    content = tables()
    content["gold"]["val"][0] = Gold(question_id="q1", answer="b")
    second = write(tmp_path / "b", content)
    assert first.content_sha256 != second.content_sha256
    assert first.id == f"mini@1.2.3#{first.content_sha256[:8]}"
    assert str(first.release) == "mini@1.2.3"


def test_an_empty_table_is_a_file_one_that_is_not_given_has_none_and_both_are_read_as_empty(tmp_path: Path) -> None:
    content = tables()
    manifest = write(tmp_path / "d", {"questions": content["questions"], "gold": content["gold"], "pages": {"val": []}})
    assert [name for name in manifest.files if name.endswith(".parquet")] == [
        "gold/val-00000-of-00001.parquet",
        "pages/val-00000-of-00001.parquet",
        "questions/val-00000-of-00001.parquet",
    ]
    assert sorted(manifest.contents) == ["gold/val", "questions/val"]
    dataset = Dataset(tmp_path / "d")
    assert (dataset.hits("val"), dataset.pages("val"), dataset.evidence("val")) == ({}, {}, {})


def test_an_older_dataset_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "d")
    (tmp_path / "d" / "stray.txt").write_text("x")
    write(tmp_path / "d", {"questions": tables()["questions"]})
    assert not (tmp_path / "d" / "stray.txt").exists()
    assert not (tmp_path / "d" / "pages").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_foreign_folder_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    write(folder)  # an empty one is free to be used
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "chapter1.txt").write_text("years of work")
    with pytest.raises(DataError, match="exists and is not a dataset folder"):
        write(folder)
    assert (folder / "chapter1.txt").read_text() == "years of work"


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for place in (file, file / "below"):
        with pytest.raises(DataError):
            write(place)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="is not a dataset folder"):
        write(Path())


def test_a_folder_that_breaks_off_while_it_is_written_leaves_the_old_dataset(tmp_path: Path) -> None:
    before = write(tmp_path / "d")
    content = tables()
    content["gold"]["val"].append("no record at all")
    with pytest.raises(Exception):  # noqa: B017, PT011 - whichever error it is, the old dataset must stay
        write(tmp_path / "d", content)
    assert Dataset(tmp_path / "d").manifest == before


@pytest.mark.parametrize("name", ["questions/val-00000-of-00001.parquet", "README.md"])
def test_a_tampered_or_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "d")
    path = tmp_path / "d" / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataError, match="its bytes differ from the manifest's hash"):
        Dataset(tmp_path / "d")
    path.unlink()
    with pytest.raises(DataError, match="is listed in the manifest but missing"):
        Dataset(tmp_path / "d")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "d")
    card = tmp_path / "d" / "README.md"
    (tmp_path / "elsewhere").write_bytes(card.read_bytes())
    card.unlink()
    card.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="missing"):
        Dataset(tmp_path / "d")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "1.2"}, "version: '1.2' is not MAJOR.MINOR.PATCH"),
        ({"version": "01.2.3"}, "version:"),
        ({"name": "Mini Set"}, "name:"),
        ({"files": {"../../etc/passwd": {"sha256": "0"}}}, "files:"),
        ({"files": {"/etc/passwd": {"sha256": "0"}}}, "files:"),
        ({"files": {"a/../b": {"sha256": "0"}}}, "files:"),
        ({"extra": 1}, "extra: unknown field"),
        ({"files": {"README.md": {"sha256": 5}}}, "files:"),
    ],
)
def test_a_manifest_that_breaks_an_invariant_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write(tmp_path / "d")
    path = tmp_path / "d" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))  # the seal is looked at last
    with pytest.raises(DataError, match=r"manifest\.json") as caught:
        read_manifest(tmp_path / "d")
    assert said in str(caught.value)


def test_no_folder_no_manifest_and_no_split_are_one_clear_line_each(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        Dataset(tmp_path / "none")
    with pytest.raises(DataError, match=r"no manifest\.json here"):
        Dataset(tmp_path)
    write(tmp_path / "d")
    dataset = Dataset(tmp_path / "d")
    assert dataset.only_split(None) == "val"
    with pytest.raises(DataError, match="no split 'test': choose --split from val"):
        dataset.only_split("test")
    write(tmp_path / "d", {"questions": {"val": []}})
    with pytest.raises(DataError, match="the dataset is empty"):
        Dataset(tmp_path / "d").only_split(None)


def test_rows_that_break_a_records_invariant_are_named_with_file_and_row(tmp_path: Path) -> None:
    manifest = write(tmp_path / "d")
    name = "gold/val-00000-of-00001.parquet"
    rows = [{"question_id": "q0", "answer": "a", "texts": []}, {"question_id": "q1", "answer": "A", "texts": []}]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema("gold")), tmp_path / "d" / name)
    _vouched(tmp_path / "d", manifest, name, 2)
    with pytest.raises(DataError, match=r"row 2: answer: 'A' is not a label"):
        list(Dataset(tmp_path / "d").records("gold", "val", Gold))


def test_a_manifest_record_with_an_odd_file_name_cannot_exist() -> None:
    with pytest.raises(RecordError):
        Manifest(
            name="mini",
            version="1.0.0",
            created_at="",
            builder="",
            config_sha256="",
            content_sha256="",
            files={"a b": FileEntry(sha256="0")},
        )


def _vouched(folder: Path, manifest: Manifest, name: str, n_rows: int) -> None:
    """Make the manifest agree with a changed file, as a hostile publisher would."""
    files = {**manifest.files, name: FileEntry(sha256=file_sha256(folder / name), rows=n_rows)}
    contents = dict(manifest.contents)
    with suppress(DataError):  # what is not Parquet has no rows to hash
        contents[name.rsplit("-", 3)[0]] = table_sha256([folder / name])
    changed = replace(manifest, files=files, contents=contents, content_sha256=content_sha256(contents))
    write_manifest(folder, changed)


def test_a_table_that_is_no_parquet_is_one_clear_line_though_its_hash_is_right(tmp_path: Path) -> None:
    manifest = write(tmp_path / "d")
    name = "questions/val-00000-of-00001.parquet"
    (tmp_path / "d" / name).write_bytes(b"PAR1 not at all PAR1")
    _vouched(tmp_path / "d", manifest, name, 2)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        Dataset(tmp_path / "d").questions("val")


@pytest.mark.parametrize("choices", [None, [None], [{"label": None, "text": "x"}]])
def test_a_null_where_a_value_must_be_is_named_with_file_and_row(tmp_path: Path, choices: object) -> None:
    manifest = write(tmp_path / "d")
    name = "questions/val-00000-of-00001.parquet"
    row = {"question_id": "q0", "text": "t", "choices": choices, "kind": "multiple_choice", "split": "val", "flags": []}
    pq.write_table(pa.Table.from_pylist([row], schema=schema("questions")), tmp_path / "d" / name)
    _vouched(tmp_path / "d", manifest, name, 1)
    with pytest.raises(DataError, match="row 1"):
        Dataset(tmp_path / "d").questions("val")


def test_an_iterator_is_streamed_in_its_order_and_refused_out_of_order(tmp_path: Path) -> None:
    golds = [Gold(question_id=name, answer="a") for name in ("q1", "q2")]
    questions = [
        Question(question_id=name, text="Which?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val")
        for name in ("q1", "q2")
    ]
    sequence = write(tmp_path / "sequence", {"questions": {"val": questions}, "gold": {"val": golds[::-1]}})
    streamed = write(tmp_path / "streamed", {"questions": {"val": iter(questions)}, "gold": {"val": iter(golds)}})
    assert streamed.files == sequence.files
    with pytest.raises(ValueError, match="comes after"):
        write(tmp_path / "wrong", {"questions": {"val": questions}, "gold": {"val": iter(golds[::-1])}})


def test_a_long_table_is_cut_into_shards_that_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_writer, "SHARD_BYTES", 500)
    monkeypatch.setitem(dataset_writer.ROW_GROUP_ROWS, "questions", 2)
    questions = [
        Question(
            question_id=f"q{n:02}", text="Which?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val"
        )
        for n in range(11)
    ]
    manifest = write(tmp_path / "sharded", {"questions": {"val": questions}})
    shards = [name for name in manifest.files if name.startswith("questions/")]
    assert len(shards) > 2
    assert shards == [f"questions/val-{n:05d}-of-{len(shards):05d}.parquet" for n in range(len(shards))]
    assert sum(manifest.files[name].rows or 0 for name in shards) == 11
    assert [q.question_id for q in Dataset(tmp_path / "sharded").questions("val")] == [q.question_id for q in questions]
    monkeypatch.undo()
    whole = write(tmp_path / "whole", {"questions": {"val": questions}})
    assert whole.content_sha256 == manifest.content_sha256


_TEXT = st.none() | st.text(max_size=3)
_PAIR = st.none() | st.fixed_dictionaries({"label": _TEXT, "text": _TEXT})


@given(st.lists(st.none() | st.lists(_PAIR, max_size=3), max_size=6), st.integers(0, 3), st.booleans())
def test_lists_of_pairs_are_read_as_pyarrow_reads_them(rows: list[Any], start: int, whole: bool) -> None:
    rows = [row or [] for row in rows] if whole else rows
    column = pa.array(rows, pa.list_(pa.struct([("label", pa.string()), ("text", pa.string())])))[start:]
    nothing = {"label": None, "text": None}
    wanted = [
        row if row is None else [((pair or nothing)["label"], (pair or nothing)["text"]) for pair in row]
        for row in column.to_pylist()
    ]
    assert _lists(column) == wanted


@given(st.lists(st.none() | st.lists(_TEXT, max_size=3), max_size=6), st.integers(0, 3))
def test_lists_of_texts_are_read_as_pyarrow_reads_them(rows: list[Any], start: int) -> None:
    column = pa.array(rows, pa.list_(pa.string()))[start:]
    assert _lists(column) == rows[start:]


def test_columns_of_all_shards_come_as_one_table_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_writer, "SHARD_BYTES", 1)
    monkeypatch.setitem(dataset_writer.ROW_GROUP_ROWS, "questions", 2)
    write(tmp_path / "d")
    dataset = Dataset(tmp_path / "d")
    assert len(dataset.files("questions", "val")) == 2
    table = dataset.columns("questions", "val", ("question_id",))
    assert table is not None
    assert table.to_pydict() == {"question_id": ["q0", "q1", "q2"]}
    assert dataset.columns("leaks", "val", ("question_id",)) is None
