"""A dataset is what its rows are: they are hashed again as the writer hashed them, and the manifest is sealed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_edu_rag_dataset import tables, write

from edu_rag.errors import DataError
from edu_rag.files import dataset_writer, identity
from edu_rag.files.dataset import Dataset
from edu_rag.files.identity import absent_tables, row_faults, table_sha256, tables_of
from edu_rag.files.manifest import FileEntry, Manifest, file_sha256, manifest_bytes, read_manifest, write_manifest
from edu_rag.files.table_rows import schema
from edu_rag.records import Leak, Question, Span, WebPage, page_id_of

GOLD = "gold/val-00000-of-00001.parquet"


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the values of a manifest's file, and leave the rest of its bytes as the writer has them."""
    path = folder / "manifest.json"
    values = json.loads(path.read_bytes())
    edit(values)
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    content = tables()
    content["leaks"] = {
        "val": [Leak(question_id="q0", page_id=page_id_of("http://a.example/1"), start=0, end=4, kind="leak_key")]
    }
    write(tmp_path / "d", content)
    return tmp_path / "d"


def test_the_rows_of_every_table_have_the_hash_that_the_writer_gave_them(folder: Path) -> None:
    manifest = read_manifest(folder)
    there = tables_of(manifest.files)
    assert sorted(there) == [f"{c}/val" for c in ("evidence", "gold", "hits", "leaks", "pages", "questions")]
    assert {table: table_sha256(folder / name for name in names) for table, names in there.items()} == manifest.contents
    assert identity.content_sha256(manifest.contents) == manifest.content_sha256
    assert list(row_faults(folder, manifest)) == []


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(
    st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=2, max_size=4), st.none() | TEXT), min_size=1, max_size=6),
    st.lists(st.tuples(TEXT, st.none() | TEXT, st.integers(0, 10**12)), max_size=4),
    st.sampled_from([1, 10**9]),
)
def test_whatever_the_rows_hold_reader_and_writer_hash_the_same(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Any], read: list[Any], shard: int
) -> None:
    questions = [
        Question(
            question_id=f"q{n}",
            text=text,
            choices=dict(zip("abcd", choices, strict=False)),
            kind="matching",
            split="val",
            lesson=lesson,
        )
        for n, (text, choices, lesson) in enumerate(asked)
    ]
    pages = [
        WebPage(
            page_id=page_id_of(f"http://a.example/{n}"),
            url=f"http://a.example/{n}",
            title=text,
            text=text,
            sentences=(Span(0, len(text)),),
            fetched_at=dataset_time(micros),
            html_sha256="0" * 64,
            extractor="x",
            language=language,
        )
        for n, (text, language, micros) in enumerate(read)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset_writer, "SHARD_BYTES", shard)
        patch.setitem(dataset_writer.ROW_GROUP_ROWS, "questions", 2)
        place = tmp_path_factory.mktemp("d") / "d"
        manifest = write(place, {"questions": {"val": questions}, "pages": {"val": pages}})
    assert list(row_faults(place, manifest)) == []


def dataset_time(micros: int) -> Any:
    """A time with microseconds."""
    from datetime import UTC, datetime, timedelta

    return datetime(1995, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def relist(folder: Path, **fields: Any) -> Manifest:
    """List the gold's file as it is, as somebody who changed it would."""
    before = read_manifest(folder)
    entry = FileEntry(sha256=file_sha256(folder / GOLD), rows=pq.read_metadata(folder / GOLD).num_rows)
    after = replace(before, files={**before.files, GOLD: entry}, **fields)
    write_manifest(folder, after)
    return after


def test_changed_gold_under_its_old_content_hash_is_refused_at_opening(folder: Path) -> None:
    rows = [{**row, "answer": "b"} for row in pq.read_table(folder / GOLD).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema("gold")), folder / GOLD)
    relist(folder)
    with pytest.raises(DataError, match=r"gold/val-00000-of-00001\.parquet: its rows have the hash .* for gold/val"):
        Dataset(folder)


def test_the_same_rows_in_other_parquet_bytes_have_the_same_content_hash(folder: Path) -> None:
    before = read_manifest(folder)
    pq.write_table(pq.read_table(folder / GOLD), folder / GOLD, compression="none")
    after = relist(folder)
    assert after.files[GOLD] != before.files[GOLD]
    assert Dataset(folder).id == before.id


def test_another_column_type_is_refused_though_its_values_are_the_same(folder: Path) -> None:
    table = pq.read_table(folder / GOLD)
    pq.write_table(table.cast(table.schema.set(1, pa.field("answer", pa.large_string()))), folder / GOLD)
    relist(folder)
    with pytest.raises(DataError, match="its columns are not those of this table"):
        Dataset(folder)


def test_a_row_that_cannot_be_read_is_named_with_file_and_row(folder: Path) -> None:
    rows = pq.read_table(folder / GOLD).to_pylist()
    texts = pa.array([b"a", b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
    table = pa.Table.from_pylist(rows, schema=schema("gold")).set_column(1, schema("gold").field("answer"), texts)
    pq.write_table(table, folder / GOLD)
    relist(folder)
    with pytest.raises(DataError, match=r"00000-of-00001\.parquet: row 2: cannot be read"):
        Dataset(folder)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda values: values.update(created_at="2020-01-01T00:00:00Z"), "its seal (seal_sha256) is not the hash"),
        (lambda values: values["sources"].update(n=4), "its seal (seal_sha256) is not the hash"),
        (lambda values: values.update(seal_sha256="0" * 64), "its seal (seal_sha256) is not the hash"),
        (lambda values: values.update(seal_sha256=None), "its seal (seal_sha256) is not the hash"),
        (lambda values: values.pop("seal_sha256"), "has no seal (seal_sha256): it was written by an older edu-rag"),
        (lambda values: values["sources"].update(n=10**19 * 9), "its seal (seal_sha256) is not the hash"),
    ],
)
def test_a_manifest_that_was_changed_after_it_was_sealed_is_refused(
    folder: Path, edit: Callable[[dict[str, Any]], None], said: str
) -> None:
    change(folder, edit)
    with pytest.raises(DataError) as caught:
        read_manifest(folder)
    assert str(caught.value).startswith(f"{folder / 'manifest.json'}: {said}")


@pytest.mark.parametrize("spoil", [lambda raw: raw + b"\n", lambda raw: raw.replace(b"  ", b"\t", 1), bytes.rstrip])
def test_a_manifest_of_the_same_fields_in_other_bytes_is_refused(folder: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = folder / "manifest.json"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DataError, match="its bytes are not those that edu-rag writes"):
        Dataset(folder)


def test_the_seal_is_the_hash_of_all_other_fields_as_compact_json(folder: Path) -> None:
    values = json.loads((folder / "manifest.json").read_bytes())
    seal = values.pop("seal_sha256")
    compact = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    assert hashlib.sha256(compact).hexdigest() == seal


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), JSON, max_size=4))
def test_whatever_the_sources_say_a_written_manifest_reads_back_sealed(tmp_path: Path, sources: dict[str, Any]) -> None:
    manifest = Manifest(
        name="mini", version="1.0.0", created_at="", builder="", config_sha256="", content_sha256="", sources=sources
    )
    write_manifest(tmp_path, manifest)
    assert manifest_bytes(read_manifest(tmp_path)) == (tmp_path / "manifest.json").read_bytes()


def without(folder: Path, table: str, **sources: Any) -> Manifest:
    """The dataset without one table's files, and other sources."""
    before = read_manifest(folder)
    for name in tables_of(before.files)[table]:
        (folder / name).unlink()
    files = {name: entry for name, entry in before.files.items() if (folder / name).exists()}
    after = replace(before, files=files, sources={**before.sources, **sources})
    write_manifest(folder, after)
    return after


@pytest.mark.parametrize("table", ["gold/val", "evidence/val", "leaks/val"])
def test_a_hidden_splits_gold_may_be_left_out_and_the_rest_is_verified(folder: Path, table: str) -> None:
    before = read_manifest(folder)
    after = without(folder, table, hidden_splits=["val"])
    assert Dataset(folder).id == before.id
    assert absent_tables(after) == [table]


@pytest.mark.parametrize(("table", "hidden"), [("gold/val", []), ("gold/val", ["test"]), ("hits/val", ["val"])])
def test_any_other_absence_is_a_fault(folder: Path, table: str, hidden: list[str]) -> None:
    without(folder, table, hidden_splits=hidden)
    with pytest.raises(DataError, match=f"lists no file of the table {table}"):
        Dataset(folder)


def test_a_table_that_the_content_hash_does_not_know_is_a_fault(folder: Path) -> None:
    before = read_manifest(folder)
    contents = {table: rows for table, rows in before.contents.items() if table != "leaks/val"}
    write_manifest(folder, replace(before, contents=contents, content_sha256=identity.content_sha256(contents)))
    with pytest.raises(DataError, match="lists no hash of the table leaks/val in `contents`"):
        Dataset(folder)
    write_manifest(folder, replace(before, contents=contents))
    said = [str(fault) for fault in row_faults(folder, read_manifest(folder))]
    assert "content_sha256 is not the hash of `contents`" in said[0]
    assert len(said) == 2


def test_rows_changed_for_publishing_are_taken_of_pages_beside_a_hidden_split_alone(folder: Path) -> None:
    before = read_manifest(folder)
    name = tables_of(before.files)["pages/val"][0]
    rows = [{**row, "flags": []} for row in pq.read_table(folder / name).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema("pages")), folder / name)
    files = {**before.files, name: FileEntry(sha256=file_sha256(folder / name), rows=len(rows))}
    published = {"pages/val": table_sha256([folder / name])}
    hidden = {**before.sources, "hidden_splits": ["val"]}
    write_manifest(folder, replace(before, files=files, published=published, sources=hidden))
    assert Dataset(folder).id == before.id
    write_manifest(folder, replace(before, files=files, published=published))
    with pytest.raises(DataError, match="pages/val was changed for publishing"):
        Dataset(folder)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "verified"


def count_readings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []

    def counted(folder: Path, manifest: Manifest) -> Any:
        seen.append(folder)
        return row_faults(folder, manifest)

    monkeypatch.setattr(identity, "row_faults", counted)
    return seen


def test_rows_are_read_once_for_each_manifest(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_readings(monkeypatch)
    Dataset(folder)
    Dataset(folder)
    assert len(seen) == 1
    (entry,) = cache.iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])  # cut off, as by a full disk
    Dataset(folder)
    assert len(seen) == 2
    write_manifest(folder, replace(read_manifest(folder), created_at="2001-01-01T00:00:00Z"))
    Dataset(folder)
    assert len(seen) == 3
    assert len(list(cache.iterdir())) == 2


def test_a_file_that_changes_after_it_was_verified_is_seen(folder: Path, cache: Path) -> None:
    Dataset(folder)
    raw = bytearray((folder / GOLD).read_bytes())
    raw[len(raw) // 2] ^= 1
    (folder / GOLD).write_bytes(raw)
    with pytest.raises(DataError, match="its bytes differ"):
        Dataset(folder)


def test_what_is_wrong_is_not_kept(folder: Path, cache: Path) -> None:
    without(folder, "hits/val")
    for _ in range(2):
        with pytest.raises(DataError, match="lists no file of the table hits/val"):
            Dataset(folder)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "file"))
    seen = count_readings(monkeypatch)
    Dataset(folder)
    Dataset(folder)
    assert len(seen) == 2


def test_the_cache_is_bounded_and_the_oldest_entries_go(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "MAX_VERIFIED", 3)
    for number in range(5):
        identity.keep_verified(f"key-{number}")
    assert len(list(cache.iterdir())) == 3
    assert identity.was_verified("key-4")


def test_the_cache_is_in_the_users_folder() -> None:
    folder = identity.verified_folder
    assert folder({"EDU_RAG_CACHE": "/own", "XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/own/verified")
    assert folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/edu-rag/verified")
    assert folder({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/edu-rag/verified")
    assert folder({}) is None
