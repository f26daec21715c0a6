"""Reading a crawl store, row by row in bounded memory; several threads and processes may read the same one."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from builder.search_results import RawResponse
from builder.store.faults import file_fault, index_fault, refetch
from builder.store.index import (
    FETCH_COLUMNS,
    SEARCH_COLUMNS,
    Fetch,
    Search,
    checked,
    fetch_of,
    read_state,
    search_of,
    unpack_responses,
    verify_pages,
    verify_rows,
)
from builder.store.index_files import ReadIndex, lost_index
from builder.store.page_cache import PageCache
from builder.store.refusals import refuse_disagreement
from builder.store.store_folder import INDEX_FILE, LOCK_FILE, LOG_FILE, WARC_FILE
from builder.store.warc import WarcFile, read_record
from edu_rag.errors import DataError

__all__ = ("INDEX_FILE", "LOCK_FILE", "LOG_FILE", "WARC_FILE", "StoreReader")

T = TypeVar("T")
DAMAGE = (sqlite3.Error, msgspec.MsgspecError, zlib.error, ValueError, TypeError, OverflowError, MemoryError)
"""Errors of reading a damaged index: SQLite's (MemoryError: an impossible length), or those of decoding a value."""
CHUNK_ROWS = 500
NO_STORE_REMEDY = "give the folder DATASET.crawl that `edu-rag build` wrote"


class StoreReader:
    """A crawl store, opened by its folder for reading only: no byte of the folder changes. Each process opens its own.

    Opening reads the whole index and compares every row with its digest; a process that was started by one that did
    so is `trusting`, and checks only the rows that it reads.
    """

    def __init__(self, folder: Path, *, trusting: bool = False) -> None:
        self.folder = folder
        self._index_path = folder / INDEX_FILE
        refuse_missing(folder)
        # One statement at a time: a connection's threads would see each other's half-done transactions.
        self._turn = threading.RLock()
        self._open(trusting)

    def _open(self, trusting: bool) -> None:
        self._warc = open_warc(self.folder)
        try:
            self._open_index(trusting)
        except BaseException:
            self._warc.close()
            raise

    def _open_index(self, trusting: bool) -> None:
        opened = reading(self._index_path, lambda: ReadIndex(self.folder))
        try:
            self._index, self._opened = opened.connection, opened
            # A running build has checked the store, and its files agree again only when it ends.
            if not opened.is_live and not trusting:
                reading(self._index_path, lambda: self._verify(opened.is_old))
        except BaseException:
            opened.close()
            raise

    def _verify(self, is_old: bool) -> None:
        verify_pages(self._index)
        verify_rows(self._index)
        state = read_state(self._index)
        refuse_disagreement(self.folder, self._warc, state, is_old=is_old)

    def close(self) -> None:
        """Let go of the store."""
        self._let_go()
        self._warc.close()

    def _let_go(self) -> None:
        self._opened.close()

    def _settle(self) -> None:
        """Add missing rows to the index; a reader has none to add."""

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._turn:
            return reading(self._index_path, lambda: self._index.execute(statement, values).fetchall())

    def _records(self, parse: Callable[[Sequence[Any]], T], rows: list[tuple[Any, ...]]) -> list[T]:
        """Records of rows that end in `batch` and their digest."""
        return reading(self._index_path, lambda: [parse(checked(row)[:-1]) for row in rows])

    def _chunks(
        self, columns: str, table: str, key: str, where: str, values: tuple[Any, ...]
    ) -> Iterator[list[tuple[Any, ...]]]:
        # Chunk by chunk by key: no statement stays open, which would keep SQLite's journal from being folded in.
        last = ""
        while True:
            rows = self._rows(
                f"SELECT {columns}, batch, row_digest, {key} FROM {table}"  # noqa: S608 - ours, all of it
                f" WHERE {where} AND {key} > ? ORDER BY {key} LIMIT {CHUNK_ROWS}",
                (*values, last),
            )
            yield [row[:-1] for row in rows]
            if len(rows) < CHUNK_ROWS:
                return
            last = rows[-1][-1]

    def engines(self) -> list[str]:
        """The names of the engines that were asked, sorted."""
        self._settle()
        return [name for (name,) in self._rows("SELECT DISTINCT engine FROM searches ORDER BY engine")]

    def iter_searches(self, engine: str) -> Iterator[Search]:
        """All searches of an engine, ordered by question, in bounded memory."""
        self._settle()
        chunks = self._chunks(SEARCH_COLUMNS, "searches", "question_id", "engine = ?", (engine,))
        return (search for rows in chunks for search in self._records(search_of, rows))

    def search(self, question_id: str, engine: str) -> Search | None:
        """An engine's answer to a question; None if it was not asked."""
        return self._search(question_id, engine)

    def _search(self, question_id: str, engine: str) -> Search | None:
        rows = self._rows(
            f"SELECT {SEARCH_COLUMNS}, batch, row_digest FROM searches WHERE question_id = ? AND engine = ?",  # noqa: S608 - ours
            (question_id, engine),
        )
        return next(iter(self._records(search_of, rows)), None)

    def raw_responses(self, question_id: str, engine: str) -> list[RawResponse]:
        """The engine's own responses to a question."""
        self._settle()
        rows = self._rows("SELECT raw FROM searches WHERE question_id = ? AND engine = ?", (question_id, engine))
        try:
            return unpack_responses(rows[0][0]) if rows else []
        except (zlib.error, msgspec.MsgspecError, TypeError) as error:
            fault = ValueError(f"{engine}'s responses to {question_id} cannot be read: {error}")
            raise index_fault(self._index_path, fault) from None

    def _fetch(self, url: str) -> Fetch | None:
        statement = f"SELECT {FETCH_COLUMNS}, batch, row_digest FROM fetches WHERE url = ?"  # noqa: S608 - ours
        return next(iter(self._records(fetch_of, self._rows(statement, (url,)))), None)

    def fetch(self, url: str) -> Fetch | None:
        """The fate of a canonical URL; None if it was not fetched."""
        return self._fetch(url)

    def iter_fetches(self) -> Iterator[Fetch]:
        """All fetches, ordered by URL, in bounded memory."""
        self._settle()
        chunks = self._chunks(FETCH_COLUMNS, "fetches", "url", "1", ())
        return (fetch for rows in chunks for fetch in self._records(fetch_of, rows))

    def page_cache(self) -> PageCache:
        """The cache of the store's pages; a reader does not write to it."""
        return PageCache(self.folder, writable=False)

    def response(self, fetch: Fetch) -> tuple[bytes, str | None]:
        """Body and HTTP charset of a kept fetch. Raises DataError if the record does not match the row."""
        if fetch.offset is None or fetch.length is None:
            raise DataError(self.folder, f"{fetch.url} has no stored response")
        path = self.folder / WARC_FILE
        try:
            return read_record(self._warc.read(fetch.offset, fetch.length), fetch.digest)
        except OSError as error:
            raise file_fault(path, error, "read") from None
        except ValueError as error:
            raise DataError(path, f"record at byte {fetch.offset} {error}", refetch(self.folder)) from None


def refuse_missing(folder: Path) -> None:
    """Raise DataError if a folder is not a crawl store, or has lost its index."""
    if (folder / INDEX_FILE).is_file():
        return
    if (folder / WARC_FILE).is_file():
        raise lost_index(folder, "is missing")
    raise DataError(folder, "is not a crawl store", NO_STORE_REMEDY)


def open_warc(folder: Path) -> WarcFile:
    """The WARC file for reading. Raises DataError if it cannot be."""
    try:
        return WarcFile(folder / WARC_FILE, writable=False)
    except FileNotFoundError:
        raise DataError(folder / WARC_FILE, "is missing", "restore it, or build with --resume") from None
    except OSError as error:
        raise file_fault(folder / WARC_FILE, error, "read") from None


def reading(path: Path, read: Callable[[], T]) -> T:
    """The result of `read`; every error that shows damage of the index at `path` becomes one DataError."""
    try:
        return read()
    except DAMAGE as error:
        raise index_fault(path, error) from None
    except OSError as error:
        raise file_fault(path, error, "read") from None
