"""The crawl store, open for its one writer: what is acknowledged is on the disk; how a URL's row settles.

A response is appended to the WARC file. A commit appends a batch, the record of its rows, syncs the file, and then
commits the rows to the index (SQLite, WAL, synchronous FULL). So a kill, a full disk or a power cut leaves at worst
responses without a row, which are used when their page is fetched again, and an index that does not know the last
batch, which the next opening brings into it.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from builder.fetch.body import charset_of
from builder.fetch.fetched import Fetched, Validators, is_transient, validators_of, was_asked
from builder.search_results import ANSWERED
from builder.store.batches import batch_record
from builder.store.faults import MAKE_ROOM, file_fault, index_fault
from builder.store.index import (
    Fetch,
    Search,
    WarcState,
    add_rows,
    fetch_row,
    n_new,
    pack_responses,
    read_state,
    search_row,
    write_state,
)
from builder.store.lock import bring_back_takedowns, forget_store, is_store, locked, sync_folder
from builder.store.open_for_writing import NewStore, Repair, make_index, opened_index
from builder.store.page_cache import PageCache
from builder.store.reader import INDEX_FILE, LOCK_FILE, LOG_FILE, WARC_FILE, StoreReader, reading, refuse_missing
from builder.store.takedowns import TAKEDOWNS_FILE
from builder.store.warc import WarcFile, new_store, read_record, response_id, warc_record
from edu_rag.errors import DataError
from edu_rag.progress import note

if TYPE_CHECKING:
    from builder.search_results import SearchResult


MAX_ATTEMPTS = 3
"""Runs in which a URL that failed for the moment is tried, the first one included."""


def _has_failed_for_now(row: Fetch) -> bool:
    return is_transient(row.outcome, row.status, row.detail)


def is_due(row: Fetch | None, crawl_round: int, max_attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether a URL with this row is to be fetched (again) in this round of the crawl."""
    if row is None or row.round < crawl_round:
        return True
    return _has_failed_for_now(row) and row.attempts < max_attempts


def validators_for(row: Fetch | None) -> Validators | None:
    """The validators for a refresh's conditional request; None if there is no copy that an answer could confirm."""
    if row is None or row.outcome != "kept" or not (row.etag or row.last_modified):
        return None
    return Validators(etag=row.etag, last_modified=row.last_modified, final_url=row.final_url)


def _new_row(got: Fetched, digest: str | None, crawl_round: int, attempts: int) -> Fetch:
    seen = validators_of(got.headers, got.final_url) if got.outcome == "kept" else Validators()
    return Fetch(
        url=got.url,
        outcome=got.outcome,
        status=got.status,
        n_redirects=got.n_redirects,
        final_url=got.final_url,
        offset=None,
        length=None,
        digest=digest,
        fetched_at=got.fetched_at,
        detail=got.detail,
        etag=seen.etag,
        last_modified=seen.last_modified,
        signals=got.signals,
        attempts=attempts,
        round=crawl_round,
        checked_at=got.fetched_at,
    )


def _is_unchanged(before: Fetch | None, got: Fetched, digest: str | None) -> bool:
    if before is None or before.outcome != "kept" or got.outcome != "kept":
        return False
    return got.not_modified or (got.final_url, digest) == (before.final_url, before.digest)


def _is_same_failure(before: Fetch, now: Fetch) -> bool:
    return now.outcome != "kept" and (before.outcome, before.status) == (now.outcome, now.status)


def _confirmed(before: Search | None, now: Search) -> Search:
    """An answer that an engine gives again keeps its time, as a page does that comes again."""
    if before is None or before.state not in ANSWERED:
        return now
    is_same = (before.query, before.state, before.urls) == (now.query, now.state, now.urls)
    return replace(now, searched_at=before.searched_at) if is_same else now


def _signals_now(before: Fetch, got: Fetched) -> tuple[str, ...]:
    # A 304 brings headers but no page: the page's own reservations still apply.
    return tuple(sorted({*before.signals, *got.signals})) if got.not_modified else got.signals


def row_after(before: Fetch | None, got: Fetched, digest: str | None, crawl_round: int) -> tuple[Fetch, bool]:
    """The row of a URL after a fetch, and whether its content is new (its record is still to be written).

    A page that is as it was (304, or the same bytes at the same address) keeps its row and its `fetched_at`; what
    fails for the moment in a refresh keeps the old copy; everything else replaces it. A failure that a refresh finds
    again keeps its `fetched_at` too.
    """
    if before is None:
        return _new_row(got, digest, crawl_round, int(was_asked(got))), True
    if _is_unchanged(before, got, digest):
        seen = validators_of(got.headers, got.final_url)
        return replace(
            before,
            etag=seen.etag or before.etag,
            last_modified=seen.last_modified or before.last_modified,
            signals=_signals_now(before, got),
            attempts=1,
            round=crawl_round,
            checked_at=got.fetched_at,
        ), False
    is_retry = before.round == crawl_round
    fails_for_now = is_transient(got.outcome, got.status, got.detail)
    if fails_for_now and not is_retry and not _has_failed_for_now(before):
        return replace(before, attempts=1, round=crawl_round), False
    row = _new_row(got, digest, crawl_round, (before.attempts if is_retry else 0) + int(was_asked(got)))
    return (row if is_retry or not _is_same_failure(before, row) else replace(row, fetched_at=before.fetched_at)), True


__all__ = (
    "INDEX_FILE",
    "LOCK_FILE",
    "LOG_FILE",
    "WARC_FILE",
    "CrawlStore",
    "Fetch",
    "Search",
    "StoreReader",
    "forget_store",
    "is_store",
)

BATCH = 32
"""Rows per fsync and commit: a kill costs at most these, and they are asked for again."""
BATCH_S = 1.0
"""A commit is due after so many seconds in any case: slow results (a paid search) are committed one by one."""


class CrawlStore(StoreReader):
    """The store in a folder, open for one writer; its methods may be called from several threads.

    `round` is the round of the crawl that rows are written for: 0, and one more with every refresh. After a failed
    write nothing more is written: data that a failed fsync left only in memory would look as if it were on the disk.

    Opening it brings index and WARC file together (builder.store.open_for_writing). It forgets rows whose page is
    gone, so that the page is fetched again. `new_store` names a store that is made here.
    """

    def __init__(
        self,
        folder: Path,
        *,
        create: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        new_store: NewStore = new_store,
    ) -> None:
        if not create:
            refuse_missing(folder)
        self.round = 0
        self._monotonic = monotonic
        self._searches: dict[tuple[str, str], tuple[Search, bytes]] = {}
        self._fetches: dict[str, Fetch] = {}
        self._due_at = 0.0
        self._is_broken = False
        self._lock = locked(folder)
        try:
            self._make_files(folder)
            super().__init__(folder)
        except BaseException:
            self._lock.close()
            raise
        try:
            with self._writing():
                opened = Repair(folder, self._index, self._warc).run(new_store)
        except BaseException:
            super().close()
            self._lock.close()
            raise
        self._store_id, self._orphans = opened.store_id, opened.orphans

    def _make_files(self, folder: Path) -> None:
        """Make the files, or update the index, and sync their names, before anything is acknowledged."""
        try:
            for left in folder.glob(".*.tmp"):  # of a write that was killed
                if not left.name.startswith(f".{TAKEDOWNS_FILE}."):  # a take-down writes it without the store's lock
                    left.unlink(missing_ok=True)
            bring_back_takedowns(folder)
            with closing(WarcFile(folder / WARC_FILE, writable=True)) as warc:
                reading(folder / INDEX_FILE, lambda: make_index(folder, warc))
            sync_folder(folder)
        except OSError as error:
            raise file_fault(folder, error, "written") from None

    def _open(self, trusting: bool) -> None:
        self._warc = WarcFile(self.folder / WARC_FILE, writable=True)
        try:
            self._index = reading(self._index_path, lambda: opened_index(self._index_path))
        except BaseException:
            self._warc.close()
            raise

    def _let_go(self) -> None:
        self._index.close()

    def __enter__(self) -> CrawlStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(DataError):  # the first error is the one to report
            self.close()

    def close(self) -> None:
        """Write pending data and release the store."""
        try:
            if not self._is_broken:
                self.flush()
        finally:
            with suppress(sqlite3.Error, OSError):  # reported already; the next opening repairs
                super().close()
            self._lock.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn:
            if self._is_broken:
                raise DataError(self.folder, "could not be written before", MAKE_ROOM)
            try:
                yield
            except OSError as error:
                self._is_broken = True
                raise file_fault(self._warc.path, error, "written") from None
            except sqlite3.Error as error:
                self._is_broken = True
                raise index_fault(self._index_path, error) from None

    def search(self, question_id: str, engine: str) -> Search | None:
        """An engine's answer to a question, committed or not; None if it was not asked."""
        with self._turn:
            pending = self._searches.get((question_id, engine))
            return pending[0] if pending is not None else self._search(question_id, engine)

    def fetch(self, url: str) -> Fetch | None:
        """The fate of a canonical URL, committed or not; None if it was not fetched."""
        with self._turn:
            return self._fetches.get(url) or self._fetch(url)

    def page_cache(self) -> PageCache:
        """The cache of the store's pages, for its one writer."""
        return PageCache(self.folder, writable=True)

    def add_search(self, question_id: str, engine: str, query: str, result: SearchResult, at: datetime) -> None:
        """Keep the engine's answer, of any state. A refusal never replaces an answer to the same query.

        An answer that is as it was keeps its time.
        """
        row = Search(
            question_id=question_id,
            engine=engine,
            query=query,
            state=result.state,
            reason=result.reason,
            urls=result.urls,
            searched_at=at,
            round=self.round,
        )
        if result.state not in ANSWERED:
            note("refused", engine=engine, state=result.state, reason=result.reason[:500], question_id=question_id)
        with self._writing():
            before = self.search(question_id, engine)
            is_loss = before is not None and before.query == query and before.state in ANSWERED
            if result.state in ANSWERED or not is_loss:
                self._searches[question_id, engine] = _confirmed(before, row), pack_responses(result.raw)
                self._flush_if_due()

    def add_fetch(self, got: Fetched) -> str:
        """Append a kept response to the WARC file and queue its row; return the outcome of the row.

        In a refresh an unchanged page keeps its row and its time, and a page that fails for now keeps its old copy.
        """
        digest = hashlib.sha256(got.body).hexdigest() if got.outcome == "kept" else None
        with self._writing():
            row, is_new = row_after(self.fetch(got.url), got, digest, self.round)
            if is_new and digest is not None:
                offset, length = self._orphan(got, digest) or self._append(got, digest)
                row = replace(row, offset=offset, length=length)
            self._fetches[row.url] = row
            self._flush_if_due()
        return row.outcome

    def _append(self, got: Fetched, digest: str) -> tuple[int, int]:
        record = warc_record(got, digest, self.round, self._store_id)
        return self._warc.append(record), len(record)

    def _orphan(self, got: Fetched, digest: str) -> tuple[int, int] | None:
        """The place of the same response in the file, written by a build that was killed before its commit."""
        place = self._orphans.pop(response_id(got.url, digest, self.round), None)
        if place is None:
            return None
        try:
            _, charset = read_record(self._warc.read(*place), digest)
        except ValueError:  # cut off or damaged since then
            return None
        return place if charset == charset_of(got.headers) else None

    def _flush_if_due(self) -> None:
        now = self._monotonic()
        if len(self._searches) + len(self._fetches) >= BATCH or now >= self._due_at:
            self.flush()
            self._due_at = self._monotonic() + BATCH_S

    def _settle(self) -> None:
        if self._searches or self._fetches:
            self.flush()

    def flush(self) -> None:
        """Append the batch of the pending rows, sync the WARC file, then commit the rows to the index."""
        with self._writing():
            if not self._searches and not self._fetches:
                return
            searches = [search_row(*pair) for pair in self._searches.values()]
            fetches = [fetch_row(fetch) for fetch in self._fetches.values()]
            batch = self._warc.append(batch_record(searches, fetches, self._warc.end, self._store_id))
            self._warc.sync()
            with self._index:
                self._commit(searches, fetches, batch)
            self._searches.clear()
            self._fetches.clear()

    def _commit(self, searches: list[tuple[Any, ...]], fetches: list[tuple[Any, ...]], batch: int) -> None:
        before = read_state(self._index)
        n_searches = n_new(self._index, "searches", "question_id = ? AND engine = ?", (row[:2] for row in searches))
        n_fetches = n_new(self._index, "fetches", "url = ?", (row[:1] for row in fetches))
        add_rows(self._index, searches, fetches, batch)
        state = WarcState(
            bytes=self._warc.end,
            last=batch,
            id=self._store_id,
            searches=before.searches + n_searches,
            fetches=before.fetches + n_fetches,
        )
        write_state(self._index, state)
