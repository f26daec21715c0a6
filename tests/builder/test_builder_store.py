from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import sqlite3
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builder_store import fetches, n_searches, records
from warcio.archiveiterator import ArchiveIterator

from builder.fetch import Fetched
from builder.search_results import RawResponse, SearchResult
from builder.store.crawl_store import INDEX_FILE, WARC_FILE, CrawlStore, StoreReader, forget_store
from builder.store.rebuild import rebuild_index
from builder.store.takedowns import TAKEDOWNS_FILE, TakeDown, add_takedown, read_takedowns
from builder.store.warc import WarcFile, scan
from edu_rag.errors import DataError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def fetched(i: int, outcome: str = "kept") -> Fetched:
    return Fetched(
        url=f"http://e.example/{i}",
        final_url=f"http://e.example/{i}?end",
        outcome=outcome,
        fetched_at=NOW,
        status=200,
        headers={"Content-Type": "text/html; charset=latin-1", "Content-Encoding": "gzip", "X": "a\r\n b"},
        body=f"<html>{i}</html>".encode() * 50 if outcome == "kept" else b"",
        n_redirects=1,
        detail="",
    )


def same_store() -> tuple[str, datetime]:
    return "<urn:uuid:00000000-0000-4000-8000-000000000000>", NOW


def filled(folder: Path, n: int = 5) -> None:
    with CrawlStore(folder, create=True, monotonic=lambda: 0.0, new_store=same_store) as store:
        for i in range(n):
            store.add_fetch(fetched(i))
        store.add_fetch(fetched(n, "robots"))


def test_what_was_fetched_comes_back_with_its_bytes_and_charset(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    with CrawlStore(tmp_path / "s") as store:
        found = fetches(store)
        assert len(found) == 6
        assert store.response(found["http://e.example/3"]) == (fetched(3).body, "latin-1")
        row = found["http://e.example/5"]
        assert (row.outcome, row.offset, row.fetched_at, row.n_redirects) == ("robots", None, NOW, 1)
        with pytest.raises(DataError, match="no stored response"):
            store.response(row)


def test_the_warc_file_is_one_gzip_member_a_record_and_readable_by_others(tmp_path: Path) -> None:
    for name in "ab":
        filled(tmp_path / name)
    raw = (tmp_path / "a" / WARC_FILE).read_bytes()
    assert raw == (tmp_path / "b" / WARC_FILE).read_bytes()
    found = list(ArchiveIterator(io.BytesIO(raw), check_digests="raise"))
    read = [
        (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(raw), check_digests="raise")
    ]
    assert Counter(kind for kind, _, _ in read) == {"warcinfo": 1, "response": 5, "metadata": 2}
    assert [uri for kind, uri, _ in read if kind == "response"] == [f"http://e.example/{i}?end" for i in range(5)]
    assert [body for kind, _, body in read if kind == "response"][2] == fetched(2).body
    headers = [record.rec_headers for record in found]
    assert all(head.get_header("WARC-Block-Digest").startswith("sha256:") for head in headers)
    assert {head.get_header("WARC-Warcinfo-ID") for head in headers[1:]} == {same_store()[0]}
    assert found[1].http_headers.get_header("Content-Encoding") is None
    assert raw.count(b"\x1f\x8b\x08") >= len(read)


@pytest.mark.parametrize("torn", [b"\x1f\x8b\x08\x00half a record", b"\0" * 10_000])
def test_a_torn_tail_is_moved_to_a_file_of_its_own_and_named(
    tmp_path: Path, torn: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path / "s")
    path = tmp_path / "s" / WARC_FILE
    whole = path.read_bytes()
    for number in (1, 2):
        path.write_bytes(whole + torn)
        CrawlStore(tmp_path / "s").close()
        assert path.read_bytes() == whole
        kept = tmp_path / "s" / f"responses.damaged-{len(whole)}-{number}"
        assert kept.read_bytes() == torn
        said = f"{path}: the last {len(torn):,} bytes are not a whole record: moved to {kept}"
        assert said in capsys.readouterr().err
    with CrawlStore(tmp_path / "s") as store:
        store.add_fetch(fetched(9))
    with CrawlStore(tmp_path / "s") as store:
        found = fetches(store)
        assert {store.response(found[f"http://e.example/{i}"])[0] for i in (0, 4, 9)} == {
            fetched(i).body for i in (0, 4, 9)
        }


def test_rows_whose_bytes_are_gone_are_forgotten_and_the_other_rows_are_written_again(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    path = tmp_path / "s" / WARC_FILE
    with contextlib.closing(StoreReader(tmp_path / "s")) as reader:
        last = fetches(reader)["http://e.example/4"]
    assert last.offset is not None
    path.write_bytes(path.read_bytes()[: last.offset + 100])
    before = records(tmp_path / "s")
    with CrawlStore(tmp_path / "s") as store:
        assert set(fetches(store)) == {f"http://e.example/{i}" for i in (0, 1, 2, 3, 5)}
        assert store.response(fetches(store)["http://e.example/3"])[0] == fetched(3).body
    assert records(tmp_path / "s")[: len(before)] == before
    (tmp_path / "s" / INDEX_FILE).unlink()
    assert rebuild_index(tmp_path / "s").fetches == 5


def in_batches(folder: Path) -> list[int]:
    """A store of searches and fetches in seven batches; returns the bytes at which its records begin."""
    with CrawlStore(folder, create=True, monotonic=lambda: 0.0, new_store=same_store) as store:
        for part in range(3):
            for i in range(3):
                store.add_search(f"q{part}{i}", "brave", "query", SearchResult(state="hits", urls=("http://e/",)), NOW)
            store.flush()
            for i in range(4):
                store.add_fetch(fetched(10 * part + i, "kept" if i % 2 else "robots"))
            store.flush()
    with contextlib.closing(WarcFile(folder / WARC_FILE, writable=False)) as warc:
        return [item.offset for item in scan(warc, 0)]


def rows_of(folder: Path) -> tuple[dict[str, str], dict[str, int]]:
    with contextlib.closing(StoreReader(folder)) as store:
        return {url: fetch.outcome for url, fetch in fetches(store).items()}, n_searches(store, "brave")


def test_wherever_the_file_was_cut_the_rows_written_again_are_in_both_files(tmp_path: Path) -> None:
    offsets = in_batches(tmp_path / "whole")
    for number, cut in enumerate(sorted({*offsets, *(offset + 20 for offset in offsets)})):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", folder)
        os.truncate(folder / WARC_FILE, cut)
        if 0 < cut < offsets[-1]:
            with pytest.raises(DataError, match="restore the whole file; or the same `edu-rag build` with --resume"):
                rebuild_index(folder)
        CrawlStore(folder).close()
        found, searched = rows_of(folder)
        assert searched == {"hits": 9}
        assert {url for url, outcome in found.items() if outcome == "robots"} == {
            f"http://e.example/{10 * part + i}" for part in range(3) for i in (0, 2)
        }
        rebuild_index(folder)
        assert rows_of(folder) == (found, searched), cut
        with CrawlStore(folder) as store:  # a row after the repair is newer than any that was there
            store.round = 1
            for url in found:
                store.add_fetch(replace(fetched(0, "http_error"), url=url, final_url=url, status=404))
        after, _ = rows_of(folder)
        assert set(after.values()) == {"http_error"}, cut
        rebuild_index(folder)
        assert rows_of(folder)[0] == after, cut


def test_a_changed_record_is_found_by_its_hash(tmp_path: Path) -> None:
    filled(tmp_path / "s", 1)
    with CrawlStore(tmp_path / "s") as store:
        store.add_fetch(fetched(1))
        store.flush()
        first, second = (fetches(store)[f"http://e.example/{i}"] for i in (0, 1))
        assert first.digest == hashlib.sha256(fetched(0).body).hexdigest()
        path = tmp_path / "s" / WARC_FILE
        assert (first.offset, second.offset, second.length) != (None, None, None)
        raw = path.read_bytes()
        other = raw[second.offset : second.offset + second.length]
        path.write_bytes(raw[: first.offset] + other + raw[first.offset + len(other) :])
        with pytest.raises(DataError, match=r"record at byte \d+ differs from its hash: run .*rebuild-index.*--resume"):
            store.response(first)


def test_a_refusal_is_kept_with_its_raw_page_and_replaced_by_a_later_answer(tmp_path: Path) -> None:
    raw = (RawResponse(url="http://engine.example/", status=429, body=b"\0\xffslow down"),)
    with CrawlStore(tmp_path / "s", create=True) as store:
        store.add_search("q1", "google", "why", SearchResult(state="rate_limited", reason="429", raw=raw), NOW)
        assert store.raw_responses("q1", "google") == list(raw)
        store.add_search("q1", "google", "why", SearchResult(state="hits", urls=("http://e.example/é",)), NOW)
        (search,) = store.iter_searches("google")
        assert (search.state, search.urls, search.searched_at) == ("hits", ("http://e.example/é",), NOW)
        assert list(store.iter_searches("folder")) == []


def test_two_builds_do_not_share_a_store(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True), pytest.raises(DataError, match="another process"):
        CrawlStore(tmp_path / "s")
    CrawlStore(tmp_path / "s").close()


def test_what_is_not_a_store_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a crawl store"):
        CrawlStore(tmp_path)
    filled(tmp_path / "s")
    (tmp_path / "s" / INDEX_FILE).write_bytes(b"this is no database, it only looks long enough" * 100)
    for opened in (CrawlStore, StoreReader):
        with pytest.raises(DataError, match=rf"{INDEX_FILE}: is damaged: file is not a database: run .*rebuild-index"):
            opened(tmp_path / "s")


def test_a_store_is_forgotten_whole_unless_it_is_in_use_or_no_store(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    filled(folder)
    with CrawlStore(folder), pytest.raises(DataError, match="another process is using"):
        forget_store(folder)
    assert (folder / WARC_FILE).is_file()
    (folder / INDEX_FILE).write_text("no database")
    forget_store(folder)
    forget_store(folder)
    assert not folder.exists()
    folder.mkdir()
    (folder / "thesis.txt").write_text("long")
    with pytest.raises(DataError, match="is not a crawl store"):
        forget_store(folder)
    with pytest.raises(DataError, match="is not a crawl store"):
        CrawlStore(folder, create=True)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_take_down_list_outlives_its_crawl_even_where_forgetting_is_killed(tmp_path: Path) -> None:
    folder, entry = tmp_path / "s", TakeDown(kind="host", value="bad.example", reason="asked", at=NOW)
    filled(folder)
    add_takedown(folder, entry)
    forget_store(folder)
    assert [path.name for path in folder.iterdir()] == [TAKEDOWNS_FILE]
    filled(folder)
    # What a kill between the two moves leaves behind:
    folder.rename(folder.with_name(".s.old"))
    with CrawlStore(folder, create=True) as store:
        assert read_takedowns(folder).entries == (entry,)
        assert fetches(store) == {}
    forget_store(folder)
    assert read_takedowns(folder).entries == (entry,)
    assert not folder.with_name(".s.old").exists()


def test_take_downs_of_a_forgotten_store_join_those_that_were_added_since(tmp_path: Path) -> None:
    folder, old = tmp_path / "s", tmp_path / ".s.old"
    of = {host: TakeDown(kind="host", value=host, reason="asked", at=NOW) for host in ("one.example", "two.example")}
    for place in (folder, old):
        place.mkdir()
        for entry in of.values() if place == old else list(of.values())[:1]:
            add_takedown(place, entry)
    forget_store(folder)
    assert read_takedowns(folder).entries == tuple(of.values())
    assert not old.exists()


def test_opening_removes_what_killed_writes_left_but_not_a_take_down_list_that_is_being_written(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    filled(folder)
    being_written, left = folder / f".{TAKEDOWNS_FILE}.a1b2.tmp", folder / f".{INDEX_FILE}.tmp"
    for path in (being_written, left):
        path.write_text("{}")
    CrawlStore(folder).close()
    assert being_written.exists()
    assert not left.exists()


def test_responses_of_an_engine_that_rot_are_reported_in_one_line(tmp_path: Path) -> None:
    raw = (RawResponse(url="http://engine.example/", status=200, body=b"{}"),)
    with CrawlStore(tmp_path / "s", create=True) as store:
        store.add_search("q1", "brave", "why", SearchResult(state="none", raw=raw), NOW)
    with contextlib.closing(sqlite3.connect(tmp_path / "s" / INDEX_FILE)) as index, index:
        index.execute("UPDATE searches SET raw = x'0102'")
    with CrawlStore(tmp_path / "s") as store, pytest.raises(DataError, match="brave's responses to q1"):
        store.raw_responses("q1", "brave")
