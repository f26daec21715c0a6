"""Open a store for writing: index and WARC file are brought into agreement, and nothing intact is removed.

The WARC file is the truth. Batches that the index lacks are added to it. Rows that the WARC file lacks
(of an earlier version, or because the file was cut) are written to it. Rows whose page is gone are dropped, so
that the page is fetched again. Damaged data at the end of the file is moved to a separate file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from builder.store.batches import Fold, batch_record, read_batch
from builder.store.index import (
    FETCH_COLUMNS,
    SEARCH_COLUMNS,
    WarcState,
    add_rows,
    keep_orphans,
    n_rows,
    n_unwritten,
    read_state,
    upgrade_tables,
    verify_pages,
    verify_rows,
    version_of,
    write_state,
)
from builder.store.lock import sync_folder
from builder.store.refusals import refuse_lost_index, refuse_other_store
from builder.store.store_folder import INDEX_FILE, WARC_FILE
from builder.store.warc import Damage, Record, WarcFile, record_at, scan, warcinfo_record
from edu_rag.errors import DataError
from edu_rag.progress import say

CHUNK_ROWS = 100
"""Rows of one batch where many are written again: with an engine's responses, some megabytes."""
_COPY_BYTES = 1 << 20
_SAMPLE = 64
NewStore = Callable[[], tuple[str, datetime]]


def make_index(folder: Path, warc: WarcFile) -> None:
    """Make the index, or update it. Raises sqlite3.Error, ValueError, or DataError where rows were lost."""
    path = folder / INDEX_FILE
    if not path.exists():
        refuse_lost_index(folder, warc, "is missing")
    with closing(sqlite3.connect(path)) as index:
        if version_of(index) == 0:
            refuse_lost_index(folder, warc, "is empty")
        else:
            verify_pages(index)
        index.execute("PRAGMA journal_mode=WAL").fetchall()  # the commit, which may fail, comes after the first row
        index.execute("PRAGMA synchronous=FULL")
        upgrade_tables(index, path)


def opened_index(path: Path) -> sqlite3.Connection:
    """The index with its rows checked. Raises sqlite3.Error or ValueError."""
    index = sqlite3.connect(path, check_same_thread=False)
    try:
        index.execute("PRAGMA synchronous=FULL")  # reads the file: a full or broken disk shows here first
        verify_rows(index)
    except BaseException:
        with suppress(sqlite3.Error):
            index.close()
        raise
    return index


@dataclass(frozen=True, slots=True)
class Opened:
    """The facts that a writer needs: the store's id, and responses without a row, by record id: offset and length."""

    store_id: str
    orphans: dict[str, tuple[int, int]]


def keep_damaged(warc: WarcFile, end: int) -> Path:
    """Move the bytes after `end` to a new file, synced before the WARC file is cut; return its path."""
    name, number = f"responses.damaged-{end}", 1
    while (path := warc.path.with_name(f"{name}-{number}")).exists():
        number += 1
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as stream:
        for place in range(end, warc.end, _COPY_BYTES):
            stream.write(warc.read(place, min(_COPY_BYTES, warc.end - place)))
        stream.flush()
        os.fsync(stream.fileno())
    temporary.rename(path)
    sync_folder(path.parent)
    warc.cut(end)
    warc.sync()
    return path


def _is_whole(warc: WarcFile, offset: int, store_id: str) -> int:
    """The byte after a batch that is complete with all its pages; 0 if it is not."""
    try:
        record = record_at(warc, offset)
        if record.kind != "metadata":
            return 0
        lines = read_batch(record, store_id).fetches
        for line in lines:
            if line.warc_offset is not None and record_at(warc, line.warc_offset).sha256 != line.digest:
                return 0
    except ValueError:
        return 0
    return record.end


class Repair:
    """One opening of a store for writing. Every OSError and sqlite3.Error is the caller's."""

    def __init__(self, folder: Path, index: sqlite3.Connection, warc: WarcFile) -> None:
        self._folder, self._index, self._warc = folder, index, warc
        self._state = read_state(index)
        self._n_forgotten = 0

    def run(self, new_store: NewStore) -> Opened:
        """Bring index and WARC file together, durably."""
        if self._state.last < 0:
            self._refuse_other_pages()  # before anything of the WARC file is moved
        start = self._start()
        is_short = self._state.last >= 0 and start != self._state.bytes
        fold = Fold(self._index, self._warc.path, self._state.id, start)
        with self._index:
            self._take(fold, start)
            n_taken = fold.counts.batches
            has_changed = n_taken > 0 or fold.counts.gone > 0 or is_short
            if not fold.store_id:
                self._begin(fold, new_store)
                has_changed = True
            if is_short or (self._state.last < 0 and n_unwritten(self._index)):
                self._write_again(fold, start)
                has_changed = True
            if has_changed:
                self._warc.sync()
                self._settle(fold)
            orphans = keep_orphans(self._index, fold.orphans)
        fold.close()
        self._tell(fold, n_taken)
        return Opened(fold.store_id, orphans)

    def _start(self) -> int:
        """The byte up to which index and WARC file agree."""
        state = self._state
        if state.last < 0:
            return self._last_end(state.bytes)
        if _is_whole(self._warc, state.last, state.id) == state.bytes:
            return state.bytes
        known = self._index.execute(
            "SELECT batch FROM fetches UNION SELECT batch FROM searches ORDER BY batch DESC"
        ).fetchall()
        for (offset,) in known:
            if 0 <= offset < state.last and (end := _is_whole(self._warc, offset, state.id)):
                return end
        refuse_other_store(self._folder, self._warc, state.id)
        return 0

    def _last_end(self, most: int) -> int:
        """The end of the last whole record that ends at or before a byte.

        An index of an earlier version states a length that no record confirms: inside of a record it would make a
        whole record look damaged.
        """
        end = 0
        for item in scan(self._warc, 0):
            if item.end > most:
                break
            end = item.end
        return end

    def _take(self, fold: Fold, start: int) -> None:
        """Take the records behind `start`; move damaged data at the end away."""
        end = start
        for item in scan(self._warc, start):
            if isinstance(item, Record):
                fold.take(item)
                end = item.end
            elif item.end < self._warc.end:
                say(f"{self._warc.path}: {_in_words(item)}: they are left in place")
        fold.finish()
        if end < self._warc.end:
            n = self._warc.end - end
            path = keep_damaged(self._warc, end)
            say(f"{self._warc.path}: the last {n:,} bytes are not a whole record: moved to {path}")

    def _begin(self, fold: Fold, new_store: NewStore) -> None:
        """Give the store its id, in a record that a new WARC file begins with."""
        fold.store_id, at = new_store()
        self._warc.append(warcinfo_record(fold.store_id, at))
        fold.end = self._warc.end

    def _write_again(self, fold: Fold, start: int) -> None:
        """Write the rows that are in no whole batch to the WARC file, but for those whose page is gone.

        Their old batches are listed first: a new batch may begin at the very byte where a lost one began.
        """
        self._index.execute(
            "CREATE TEMP TABLE lost AS SELECT batch FROM (SELECT batch FROM searches UNION SELECT batch FROM fetches)"
            " WHERE (batch < 0 OR batch >= ?) AND batch NOT IN (SELECT place FROM temp.batches)",
            (start,),
        )
        where = "batch IN (SELECT batch FROM temp.lost)"
        after: tuple[Any, ...] = ("", "")
        while searches := self._index.execute(
            f"SELECT {SEARCH_COLUMNS}, raw FROM searches WHERE {where}"  # noqa: S608 - ours
            " AND (question_id, engine) > (?, ?) ORDER BY question_id, engine LIMIT ?",
            (*after, CHUNK_ROWS),
        ).fetchall():
            after = searches[-1][:2]
            self._write_batch(fold, searches, [])
        last = ""
        while fetches := self._index.execute(
            f"SELECT {FETCH_COLUMNS} FROM fetches WHERE {where} AND url > ? ORDER BY url LIMIT ?",  # noqa: S608 - ours
            (last, CHUNK_ROWS),
        ).fetchall():
            last = fetches[-1][0]
            self._write_batch(fold, [], [row for row in fetches if self._still_has_page(row)])
        self._index.execute("DROP TABLE temp.lost")

    def _write_batch(self, fold: Fold, searches: list[tuple[Any, ...]], fetches: list[tuple[Any, ...]]) -> None:
        if not searches and not fetches:
            return
        offset = self._warc.append(batch_record(searches, fetches, self._warc.end, fold.store_id))
        add_rows(self._index, searches, fetches, offset, even_over_later=True)
        fold.add_batch(offset, self._warc.end)

    def _has_page(self, offset: int | None, digest: str | None) -> bool:
        try:
            return offset is None or record_at(self._warc, offset).sha256 == digest
        except ValueError:
            return False

    def _still_has_page(self, row: tuple[Any, ...]) -> bool:
        """Whether the record of a row exists; if not, the row is deleted."""
        if self._has_page(row[5], row[7]):
            return True
        self._index.execute("DELETE FROM fetches WHERE url = ?", (row[0],))
        self._n_forgotten += 1
        return False

    def _refuse_other_pages(self) -> None:
        """Refuse an index of an earlier version that does not fit the WARC file at all: rows must not be forgotten."""
        rows = self._index.execute(
            "SELECT warc_offset, digest FROM fetches WHERE warc_offset + length <= ? ORDER BY url LIMIT ?",
            (self._warc.end, _SAMPLE),
        ).fetchall()
        if rows and sum(self._has_page(*row) for row in rows) * 2 < len(rows):
            what = f"does not fit {WARC_FILE}: its pages are not where it says"
            remedy = "restore the two files from one copy, or build with --fresh"
            raise DataError(self._folder / INDEX_FILE, what, remedy)

    def _settle(self, fold: Fold) -> None:
        last = fold.last if fold.last >= 0 else self._state.last
        write_state(self._index, WarcState(bytes=fold.end, last=last, id=fold.store_id, **n_rows(self._index)))

    def _tell(self, fold: Fold, n_taken: int) -> None:
        n_gone = self._n_forgotten + fold.counts.gone
        if n_gone:
            say(f"{self._warc.path}: {n_gone:,} pages are missing, and will be fetched again")
        if n_taken:
            say(f"{self._folder / INDEX_FILE}: brought up to date with {n_taken:,} records of {WARC_FILE}")


def _in_words(damage: Damage) -> str:
    return f"bytes {damage.offset:,} to {damage.end:,} are damaged ({damage.what})"
