"""Reading a store row by row, from threads and other processes; and what a failed write leaves behind."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builder_crash import tree
from builder_store import fetches, n_fetches, n_searches
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.crawl import FetchPlan
from builder.fetch import Fetched
from builder.search_results import SearchResult
from builder.store.batches import Fold
from builder.store.crawl_store import INDEX_FILE, WARC_FILE, CrawlStore, StoreReader, is_due, row_after
from builder.store.index import upgrade_tables
from builder.store.lock import forget_store
from builder.store.open_for_writing import Repair
from builder.store.reader import CHUNK_ROWS
from builder.store.rebuild import rebuild_index
from builder.store.warc import Record, WarcFile, scan
from edu_rag.errors import DataError

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]


def fetched(i: int, outcome: str = "kept", **more: object) -> Fetched:
    body = f"<p>{i}</p>".encode() * 20 if outcome == "kept" else b""
    return Fetched(
        url=f"http://e.example/{i:05}",
        final_url=f"http://e.example/{i:05}",
        outcome=outcome,
        fetched_at=NOW,
        status=200,
        body=body,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with CrawlStore(tmp_path / "s", create=True) as store:
        for i in range(40):
            store.add_fetch(fetched(i, "kept" if i % 4 else "robots"))
        for i in range(7):
            state = "hits" if i % 2 else "none"
            store.add_search(f"q{i}", "folder", "x", SearchResult(state=state), NOW)  # type: ignore[arg-type]
    return tmp_path / "s"


def test_rows_come_in_order_and_counts_come_from_the_index(folder: Path) -> None:
    store = StoreReader(folder)
    urls = [fetch.url for fetch in store.iter_fetches()]
    assert urls == sorted(urls)
    assert len(urls) == 40
    assert n_fetches(store) == {"kept": 30, "robots": 10}
    assert [search.question_id for search in store.iter_searches("folder")] == [f"q{i}" for i in range(7)]
    assert n_searches(store, "folder") == {"hits": 3, "none": 4}
    assert n_searches(store, "google") == {}
    assert store.search("q9", "folder") is None
    assert store.fetch("http://e.example/none") is None
    store.close()


def test_more_rows_than_a_chunk_come_once_each_while_new_ones_are_written(tmp_path: Path) -> None:
    n = CHUNK_ROWS * 2 + 3
    with CrawlStore(tmp_path / "s", create=True) as store:
        for i in range(n):
            store.add_fetch(fetched(i, "timeout"))
        seen = []
        for fetch in store.iter_fetches():
            seen.append(fetch.url)
            if len(seen) % 100 == 0:
                store.add_fetch(fetched(0, "timeout"))
        assert (len(seen), len(set(seen))) == (n, n)


def test_a_batch_that_is_not_committed_yet_is_seen_all_the_same(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True, monotonic=lambda: 0.0) as store:
        store.add_fetch(fetched(0))  # the first is due at once
        store.add_fetch(fetched(1))
        store.add_search("q", "folder", "x", SearchResult(state="none"), NOW)
        reader = StoreReader(tmp_path / "s")
        assert [fetch.url for fetch in reader.iter_fetches()] == [fetched(0).url]
        assert store.fetch(fetched(1).url) is not None
        assert store.search("q", "folder") is not None
        assert reader.search("q", "folder") is None
        store.flush()
        assert reader.search("q", "folder") is not None
        reader.close()


def test_what_comes_slowly_is_committed_one_by_one(tmp_path: Path) -> None:
    times = iter(range(0, 1000, 5))
    with CrawlStore(tmp_path / "s", create=True, monotonic=lambda: float(next(times))) as store:
        reader = StoreReader(tmp_path / "s")
        for i in range(3):
            store.add_search(f"q{i}", "brave", "x", SearchResult(state="none"), NOW)
            assert n_searches(reader, "brave") == {"none": i + 1}
        reader.close()


def test_threads_and_a_process_read_the_same_bytes_while_the_writer_writes(folder: Path) -> None:
    with CrawlStore(folder) as store, ThreadPoolExecutor(4) as pool:
        kept = [fetch for fetch in store.iter_fetches() if fetch.outcome == "kept"]
        bodies = list(pool.map(lambda fetch: store.response(fetch)[0], kept * 5))
        assert bodies == [f"<p>{int(fetch.url[-5:])}</p>".encode() * 20 for fetch in kept] * 5
        code = (
            "import sys; from pathlib import Path; from builder.store.crawl_store import StoreReader\n"
            "s = StoreReader(Path(sys.argv[1])); print(len(s.response(s.fetch('http://e.example/00001'))[0]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{len(fetched(1).body)}\n"


def test_after_a_failed_sync_nothing_more_is_written_and_the_next_opening_uses_what_is_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store = CrawlStore(folder)
    with monkeypatch.context() as patched:
        patched.setattr("builder.store.warc.WarcFile.sync", fail)
        with pytest.raises(DataError, match=rf"{WARC_FILE}: cannot be written: Input/output error: check the disk"):
            store.add_fetch(fetched(100))
    # The bytes may be in memory only: committing their row now would be a lie.
    with pytest.raises(DataError, match="could not be written before"):
        store.add_fetch(fetched(101))
    store.close()
    with pytest.raises(DataError, match=r"does not know all that .* holds .*rebuild-index"):
        StoreReader(folder)
    with CrawlStore(folder) as store:
        assert store.response(fetches(store)[fetched(100).url])[0] == fetched(100).body
        assert n_fetches(store) == {"kept": 31, "robots": 10}


def test_a_full_disk_says_make_room_and_no_other_fault_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(_: object, record: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with CrawlStore(folder) as store, monkeypatch.context() as patched:
        patched.setattr("builder.store.warc.WarcFile.append", fill)
        with pytest.raises(
            DataError, match=rf"{WARC_FILE}: cannot be written: No space left on device: free some disk space"
        ):
            store.add_fetch(fetched(100))


def test_a_last_page_of_zeros_is_forgotten_and_fetched_again_and_no_other_row_is_lost(folder: Path) -> None:
    with StoreReaderOf(folder) as reader:
        last = reader.fetch(fetched(39).url)
    assert last is not None
    assert last.offset is not None
    assert last.length is not None
    with (folder / WARC_FILE).open("r+b") as stream:
        stream.seek(last.offset)
        stream.write(b"\0" * last.length)
    size = (folder / WARC_FILE).stat().st_size
    with CrawlStore(folder) as store:
        if n_fetches(store)["kept"] == 30:  # in the middle: found when it is read
            with pytest.raises(DataError, match=r"record at byte .*rebuild-index"):
                store.response(last)
        assert (folder / WARC_FILE).stat().st_size >= size
    found = rebuild_index(folder)
    assert (found.pages_lost, found.pages, found.fetches, found.searches) == (1, 29, 39, 7)
    with CrawlStore(folder) as store:
        assert store.fetch(last.url) is None
        assert n_fetches(store) == {"kept": 29, "robots": 10}


def test_a_response_that_was_written_before_a_kill_is_used_when_its_page_comes_again(folder: Path) -> None:
    store = CrawlStore(folder, monotonic=lambda: 0.0)
    store.add_fetch(fetched(100))  # due at once
    store.add_fetch(fetched(101))
    store._is_broken = True  # as a kill leaves it: a response without its batch
    store.close()
    size = (folder / WARC_FILE).stat().st_size
    StoreReader(folder).close()
    with CrawlStore(folder, monotonic=lambda: 0.0) as store:
        assert store.fetch(fetched(101).url) is None
        store.add_fetch(fetched(101))
        row = store.fetch(fetched(101).url)
        assert row is not None
        assert row.offset is not None
        assert row.offset < size
        assert store.response(row)[0] == fetched(101).body


class StoreReaderOf:
    """A reader that is closed at the end of a block."""

    def __init__(self, folder: Path) -> None:
        self.reader = StoreReader(folder)

    def __enter__(self) -> StoreReader:
        return self.reader

    def __exit__(self, *_: object) -> None:
        self.reader.close()


def test_what_a_kill_leaves_of_a_forgotten_store_is_no_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class KilledError(BaseException):
        pass

    def die(path: Path, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr("builder.store.lock.shutil.rmtree", die)
        with pytest.raises(KilledError):
            forget_store(folder)
    assert not folder.exists()
    with CrawlStore(folder, create=True) as store:
        assert n_fetches(store) == {}
    forget_store(folder)
    assert list(folder.parent.iterdir()) == []


def test_the_plan_spreads_hosts_and_holds_each_url_once() -> None:
    plan = FetchPlan()
    for path in ("2", "1", "3", "1"):
        plan.add(f"http://a.example/{path}")
    plan.add("http://b.example/9")
    assert len(plan) == 4
    expected = ["http://a.example/1", "http://b.example/9", "http://a.example/2", "http://a.example/3"]
    assert list(plan.urls()) == list(plan.urls()) == expected
    assert list(plan.conditions) == []
    plan.close()


OUTCOMES = st.sampled_from(["kept", "robots", "timeout", "connection", "http_error", "not_html"])
FETCHES = st.builds(
    lambda outcome, status, n: Fetched(
        url="http://e.example/",
        final_url="http://e.example/",
        outcome=outcome,
        fetched_at=NOW,
        status=200 if outcome == "kept" else status,
        body=b"x" * n,
    ),
    OUTCOMES,
    st.sampled_from([404, 429, 500, 503]),
    st.integers(1, 3),
)


@settings(max_examples=200)
@given(st.lists(FETCHES, min_size=1, max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_a_row_is_settled_after_three_tries_a_round_and_a_page_once_kept_is_only_replaced_by_something_definite(
    gots: list[Fetched], next_rounds: list[bool]
) -> None:
    row, crawl_round = None, 0
    for got, is_next in zip(gots, next_rounds, strict=False):
        crawl_round += is_next
        if not is_due(row, crawl_round):
            continue
        digest = "d" * len(got.body) if got.outcome == "kept" else None
        after, is_new = row_after(row, got, digest, crawl_round)
        assert after.round == crawl_round
        assert 1 <= after.attempts <= 3
        if row is not None and row.outcome == "kept" and got.outcome in ("timeout", "connection"):
            assert (after.digest, is_new) == (row.digest, False)
        if got.outcome == "kept":
            assert after.digest == digest
        row = after


def test_what_a_killed_build_left_is_read_without_changing_a_byte(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store:
        store.add_fetch(fetched(1))
        store.flush()
        shutil.copytree(tmp_path / "s", tmp_path / "copy")
    before = tree(tmp_path / "copy")
    assert before[f"{INDEX_FILE}-wal"]
    with StoreReaderOf(tmp_path / "copy") as reader:
        assert reader.fetch(fetched(1).url) is not None
        with pytest.raises(DataError, match="another process is using"):
            CrawlStore(tmp_path / "copy")
    assert tree(tmp_path / "copy") == before


def to_version_2(folder: Path) -> None:
    """Make a store what version 2 would have written: pages alone in the WARC file, and an index without batches."""
    place, moved = 0, {}
    with sqlite3.connect(folder / INDEX_FILE) as index:
        for url, offset, length in index.execute(
            "SELECT url, warc_offset, length FROM fetches WHERE warc_offset IS NOT NULL ORDER BY warc_offset"
        ).fetchall():
            moved[place] = (folder / WARC_FILE).read_bytes()[offset : offset + length]
            index.execute("UPDATE fetches SET warc_offset = ? WHERE url = ?", (place, url))
            place += length
        for table in ("searches", "fetches"):
            for column in ("batch", "row_digest"):
                index.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        index.execute("DROP TABLE warc")
        index.execute("DROP TABLE orphans")
        index.execute("CREATE TABLE warc (bytes INTEGER NOT NULL)")
        index.execute("INSERT INTO warc VALUES (?)", (place,))
        index.execute("PRAGMA user_version = 2")
    index.close()
    (folder / WARC_FILE).write_bytes(b"".join(moved.values()))


def test_a_store_of_version_2_is_read_as_it_is_and_its_rows_go_into_the_warc_file_when_it_is_written(
    folder: Path,
) -> None:
    to_version_2(folder)
    before = tree(folder)
    with StoreReaderOf(folder) as reader:
        kept = [fetch for fetch in reader.iter_fetches() if fetch.digest is not None]
        assert {reader.response(fetch)[0] for fetch in kept} == {fetched(i).body for i in range(40) if i % 4}
        assert n_searches(reader, "folder") == {"hits": 3, "none": 4}
    with pytest.raises(DataError, match=r"is of version 2, .*--resume, which writes them there"):
        rebuild_index(folder)
    assert tree(folder) == before
    CrawlStore(folder).close()
    assert (folder / WARC_FILE).read_bytes().startswith(before[WARC_FILE])
    with StoreReaderOf(folder) as reader:
        rows = fetches(reader)
    (folder / INDEX_FILE).unlink()
    found = rebuild_index(folder)
    assert (found.fetches, found.pages, found.searches, found.pages_lost) == (40, 30, 7, 0)
    with StoreReaderOf(folder) as reader:
        assert fetches(reader) == rows


def test_an_update_that_was_killed_before_the_rows_were_in_the_warc_file_loses_none_to_rebuild_index(
    folder: Path,
) -> None:
    to_version_2(folder)
    with sqlite3.connect(folder / INDEX_FILE) as index:
        upgrade_tables(index, folder / INDEX_FILE)
    index.close()
    before = tree(folder)
    with pytest.raises(DataError, match=r"holds 47 rows that .* does not hold yet: .*--resume, which writes them"):
        rebuild_index(folder)
    assert tree(folder) == before
    CrawlStore(folder).close()
    found = rebuild_index(folder)
    assert (found.fetches, found.pages, found.searches, found.pages_lost) == (40, 30, 7, 0)


def test_an_update_that_was_killed_while_it_wrote_rows_into_the_warc_file_is_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_version_2(folder)

    def killed(self: Repair, fold: Fold) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Repair, "_settle", killed)
        with pytest.raises(KeyboardInterrupt):
            CrawlStore(folder)
    with closing(WarcFile(folder / WARC_FILE, writable=False)) as warc:
        assert any(isinstance(item, Record) and item.kind == "metadata" for item in scan(warc, 0))
    with pytest.raises(DataError, match="holds 47 rows that"):
        rebuild_index(folder)
    CrawlStore(folder).close()
    found = rebuild_index(folder)
    assert (found.fetches, found.pages, found.searches, found.pages_lost) == (40, 30, 7, 0)


def whole_records(folder: Path) -> list[str]:
    with closing(WarcFile(folder / WARC_FILE, writable=False)) as warc:
        return [item.sha256 for item in scan(warc, 0) if isinstance(item, Record)]


@pytest.mark.parametrize("inside", [1, 7, 200])
def test_an_index_of_version_2_of_another_crawl_moves_nothing_of_the_warc_file(
    folder: Path, tmp_path: Path, inside: int
) -> None:
    """Its length ends inside of a record here, which then looked damaged and was cut off before the refusal."""
    with CrawlStore(tmp_path / "other", create=True) as other:
        for i in range(3):
            other.add_fetch(fetched(100 + i))
    for store in (folder, tmp_path / "other"):
        to_version_2(store)
    with sqlite3.connect(folder / INDEX_FILE) as index:
        index.execute("UPDATE warc SET bytes = ?", ((tmp_path / "other" / WARC_FILE).stat().st_size - inside,))
        index.execute("UPDATE fetches SET warc_offset = warc_offset + 1 WHERE warc_offset IS NOT NULL")
    index.close()
    (folder / WARC_FILE).write_bytes((tmp_path / "other" / WARC_FILE).read_bytes())
    before = (folder / WARC_FILE).read_bytes()
    with closing(sqlite3.connect(folder / INDEX_FILE)) as index, index:  # rows that could be in this file
        index.execute("DELETE FROM fetches WHERE warc_offset + length > ?", (len(before),))
    with pytest.raises(DataError, match="does not fit"):
        CrawlStore(folder)
    assert (folder / WARC_FILE).read_bytes() == before
    assert list(folder.glob("responses.damaged-*")) == []


@pytest.mark.parametrize("inside", [1, 7, 200])
def test_a_length_of_version_2_that_ends_inside_a_record_costs_no_record(folder: Path, inside: int) -> None:
    to_version_2(folder)
    records, size = whole_records(folder), (folder / WARC_FILE).stat().st_size
    with closing(sqlite3.connect(folder / INDEX_FILE)) as index, index:
        index.execute("UPDATE warc SET bytes = ?", (size - inside,))
    CrawlStore(folder).close()
    assert whole_records(folder)[: len(records)] == records
    assert list(folder.glob("responses.damaged-*")) == []
    with StoreReaderOf(folder) as reader:
        kept = [fetch for fetch in reader.iter_fetches() if fetch.digest is not None]
        assert {reader.response(fetch)[0] for fetch in kept} == {fetched(i).body for i in range(40) if i % 4}


def test_a_lost_index_of_version_2_is_not_replaced_by_an_empty_one(folder: Path) -> None:
    to_version_2(folder)
    (folder / INDEX_FILE).unlink()
    before = tree(folder)
    told = rf"{INDEX_FILE}: is missing, and {WARC_FILE} is of a version that kept no rows"
    with pytest.raises(DataError, match=told):
        CrawlStore(folder, create=True)
    with pytest.raises(DataError, match="kept no searches and fetches in it: restore"):
        rebuild_index(folder)
    assert tree(folder) == before


def test_a_page_that_holds_a_record_of_another_store_does_not_bring_it_into_the_index(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "forged", create=True) as store:
        store.add_fetch(fetched(666))
    forged = (tmp_path / "forged" / WARC_FILE).read_bytes()
    with CrawlStore(tmp_path / "s", create=True) as store:
        store.add_fetch(fetched(1))
    path = tmp_path / "s" / WARC_FILE
    # What reading on behind damage meets where a page held a whole WARC file.
    path.write_bytes(path.read_bytes() + b"damage" + forged)
    found = rebuild_index(tmp_path / "s")
    assert (found.fetches, found.left_out, len(found.damages)) == (1, 1, 1)
