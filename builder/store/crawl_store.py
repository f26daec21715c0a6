"""The crawl store, open for its one writer: what was acknowledged is on the disk, in the order that makes it whole.

A response is appended to the WARC file and synced before its row is committed (SQLite, WAL, synchronous FULL). So a
kill, a full disk or a power cut leaves at worst bytes without a row, which the next opening cuts.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from builder.search import ANSWERED
from builder.store.index import (
    FETCH_COLUMNS,
    SEARCH_COLUMNS,
    Fetch,
    Search,
    bring_up_to_date,
    fetch_row,
    pack_responses,
    search_row,
)
from builder.store.lock import bring_back_takedowns, forget_store, is_store, locked, sync_folder
from builder.store.reader import INDEX_FILE, LOCK_FILE, LOG_FILE, NO_STORE_REMEDY, WARC_FILE, StoreReader
from builder.store.settling import row_after
from builder.store.warc import WarcFile, read_record, warc_record
from edu_rag.errors import DataError
from edu_rag.progress import note, say

if TYPE_CHECKING:
    from builder.fetch import Fetched
    from builder.search import SearchResult

__all__ = (
    "INDEX_FILE", "LOCK_FILE", "LOG_FILE", "WARC_FILE", "CrawlStore", "Fetch", "Search", "StoreReader", "forget_store",
    "is_store",
)  # fmt: skip

BATCH = 32
"""Rows per fsync and commit: a kill costs at most these, and they are asked for again."""
BATCH_S = 1.0
"""A commit is due after so long all the same: what comes slowly (a paid search) is committed one by one."""
_REMEDY = "make room and run the same command again to resume"


class CrawlStore(StoreReader):
    """The store in a folder, open for one writer; its methods may be called from several threads.

    `round` is the round of the crawl that rows are written for: 0, and one more with every refresh. After a failed
    write nothing more is written: what a failed fsync left in memory only would look as if it were on the disk.

    Opening it forgets rows whose bytes are gone, so that they are fetched again; where nothing can be fetched,
    `may_forget` is off, and a file that is too short is an error.
    """

    def __init__(
        self, folder: Path, *, create: bool = False, may_forget: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        if not create and not (folder / INDEX_FILE).is_file():
            raise DataError(folder, "is no crawl store", NO_STORE_REMEDY)
        self.round = 0
        self._monotonic = monotonic
        self._searches: dict[tuple[str, str], tuple[Search, bytes]] = {}
        self._fetches: dict[str, Fetch] = {}
        self._due_at = 0.0
        self._is_broken = False
        self._lock = locked(folder)
        try:
            self._open_files(folder)
            super().__init__(folder)
            if not may_forget:
                self._refuse_short_file()
            self._mend()
        except BaseException:
            self._lock.close()
            raise

    def _open_files(self, folder: Path) -> None:
        """Make or update the files, and sync their names, before anything is acknowledged."""
        for left in folder.glob(".*.tmp"):  # of a write that was killed
            left.unlink(missing_ok=True)
        try:
            bring_back_takedowns(folder)
            WarcFile(folder / WARC_FILE, writable=True).close()
            index = sqlite3.connect(folder / INDEX_FILE)
            try:
                index.execute("PRAGMA journal_mode=WAL")
                index.execute("PRAGMA synchronous=FULL")
                bring_up_to_date(index, folder)
            finally:
                index.close()
            sync_folder(folder)
        except (sqlite3.OperationalError, OSError) as error:
            raise DataError(folder, f"cannot be opened: {error}", "make room or mend its permissions") from None
        except sqlite3.DatabaseError as error:
            raise DataError(folder / INDEX_FILE, f"not readable: {error}", "build again with --fresh") from None

    def _connect(self) -> None:
        self._warc = WarcFile(self.folder / WARC_FILE, writable=True)
        self._index = sqlite3.connect(self.folder / INDEX_FILE, check_same_thread=False)
        self._index.execute("PRAGMA synchronous=FULL")

    def __enter__(self) -> CrawlStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(DataError):  # the first error is the one to tell
            self.close()

    def close(self) -> None:
        """Write what is pending and let go of the store."""
        try:
            if not self._is_broken:
                self.flush()
        finally:
            with suppress(sqlite3.Error, OSError):  # what is not written was told; the next opening mends
                super().close()
            self._lock.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn:
            if self._is_broken:
                raise DataError(self.folder, "could not be written before", _REMEDY)
            try:
                yield
            except (OSError, sqlite3.Error) as error:
                self._is_broken = True
                what = getattr(error, "strerror", None) or error
                raise DataError(self.folder, f"cannot be written: {what}", _REMEDY) from None

    def _refuse_short_file(self) -> None:
        ((committed,),) = self._rows("SELECT bytes FROM warc")
        if self._warc.end < committed:
            what = f"holds {self._warc.end:,} of the {committed:,} bytes that its index knows"
            raise DataError(self.folder / WARC_FILE, what, "bring back the whole file, or build with --resume")

    def _mend(self) -> None:
        """Cut bytes without a row: of a record that was being written. Forget rows without bytes: to be refetched."""
        with self._writing():
            with self._index:
                (committed,) = self._index.execute("SELECT bytes FROM warc").fetchone()
                size, before = self._warc.end, self._index.total_changes
                if size < committed:
                    self._index.execute("DELETE FROM fetches WHERE warc_offset + length > ?", (size,))
                end = self._forget_unreadable(min(committed, size))
                if forgotten := self._index.total_changes - before:
                    say(f"{self.folder / WARC_FILE}: {forgotten:,} pages are not there any more, and are fetched again")
                if end != committed:
                    self._index.execute("UPDATE warc SET bytes = ?", (end,))
            if size > end:
                self._warc.cut(end)
                self._warc.sync()

    def _forget_unreadable(self, end: int) -> int:
        """Drop the last rows whose records are not whole (a disk that lied); return where the file is sound."""
        while True:
            row = self._index.execute(
                "SELECT url, warc_offset, length, digest FROM fetches WHERE warc_offset IS NOT NULL"
                " ORDER BY warc_offset DESC LIMIT 1"
            ).fetchone()
            if row is None:
                return end
            url, offset, length, digest = row
            try:
                read_record(self._warc.read(offset, length), digest)
            except ValueError:
                self._index.execute("DELETE FROM fetches WHERE url = ?", (url,))
                end = min(end, offset)
            else:
                return end

    def search(self, question_id: str, engine: str) -> Search | None:
        """What an engine said to a question, committed or not; None where it was not asked."""
        with self._turn:
            pending = self._searches.get((question_id, engine))
            return pending[0] if pending is not None else self._search(question_id, engine)

    def fetch(self, url: str) -> Fetch | None:
        """The fate of a canonical URL, committed or not; None where it was not fetched."""
        with self._turn:
            return self._fetches.get(url) or self._fetch(url)

    def add_search(self, question_id: str, engine: str, query: str, result: SearchResult, at: datetime) -> None:
        """Keep what the engine said, whatever it said. A refusal never replaces an answer to the same query."""
        row = Search(
            question_id=question_id, engine=engine, query=query, state=result.state, reason=result.reason,
            urls=result.urls, searched_at=at, round=self.round,
        )  # fmt: skip
        if result.state not in ANSWERED:
            note("refused", engine=engine, state=result.state, reason=result.reason[:500], question_id=question_id)
        with self._writing():
            before = self.search(question_id, engine)
            is_loss = before is not None and before.query == query and before.state in ANSWERED
            if result.state in ANSWERED or not is_loss:
                self._searches[question_id, engine] = row, pack_responses(result.raw)
                self._flush_if_due()

    def add_fetch(self, got: Fetched) -> str:
        """Append a kept response to the WARC file and queue its row; return the outcome of the row.

        In a refresh an unchanged page keeps its row and its time, and what fails for the moment keeps its old copy.
        """
        digest = hashlib.sha256(got.body).hexdigest() if got.outcome == "kept" else None
        with self._writing():
            row, is_new = row_after(self.fetch(got.url), got, digest, self.round)
            if is_new and digest is not None:
                record = warc_record(got, digest, self.round)
                row = replace(row, offset=self._warc.append(record), length=len(record))
            self._fetches[row.url] = row
            self._flush_if_due()
        return row.outcome

    def _flush_if_due(self) -> None:
        now = self._monotonic()
        if len(self._searches) + len(self._fetches) >= BATCH or now >= self._due_at:
            self.flush()
            self._due_at = self._monotonic() + BATCH_S

    def _settle(self) -> None:
        if self._searches or self._fetches:
            self.flush()

    def flush(self) -> None:
        """Sync the WARC file, then commit the rows that point into it, and how far it is whole."""
        with self._writing():
            if any(fetch.offset is not None for fetch in self._fetches.values()):
                self._warc.sync()
            with self._index:
                self._index.executemany(_ADD_SEARCH, (search_row(*pair) for pair in self._searches.values()))
                self._index.executemany(_ADD_FETCH, map(fetch_row, self._fetches.values()))
                self._index.execute("UPDATE warc SET bytes = ?", (self._warc.end,))
            self._searches.clear()
            self._fetches.clear()


_ADD_SEARCH = f"INSERT OR REPLACE INTO searches ({SEARCH_COLUMNS}, raw) VALUES ({', '.join('?' * 9)})"  # noqa: S608
_ADD_FETCH = f"INSERT OR REPLACE INTO fetches ({FETCH_COLUMNS}) VALUES ({', '.join('?' * 16)})"  # noqa: S608
