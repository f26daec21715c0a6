"""Reading a crawl store, row by row in bounded memory; several threads and processes may read the same one."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from builder.search import RawResponse
from builder.store.index import (
    FETCH_COLUMNS,
    SEARCH_COLUMNS,
    VERSION,
    Fetch,
    Search,
    fetch_of,
    refuse_other_version,
    search_of,
    unpack_responses,
    version_of,
)
from builder.store.warc import WarcFile, read_record
from edu_rag.errors import DataError

WARC_FILE, INDEX_FILE, LOCK_FILE, LOG_FILE = "responses.warc.gz", "index.sqlite3", "lock", "build.log.jsonl"
CHUNK_ROWS = 500
NO_STORE_REMEDY = "give the folder DATASET.crawl that `edu-rag build` wrote"


class StoreReader:
    """A crawl store, opened by its folder for reading only. Each worker process opens its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / INDEX_FILE).is_file():
            raise DataError(folder, "is no crawl store", NO_STORE_REMEDY)
        # One statement at a time: a connection's threads would see each other's half-done transactions.
        self._turn = threading.RLock()
        try:
            self._connect()
            refuse_other_version(version_of(self._index), folder, oldest=VERSION)
        except (sqlite3.Error, OSError) as error:
            raise DataError(folder, f"cannot be read: {error}", NO_STORE_REMEDY) from None

    def _connect(self) -> None:
        self._warc = WarcFile(self.folder / WARC_FILE, writable=False)
        place = quote(str((self.folder / INDEX_FILE).absolute()))
        self._index = sqlite3.connect(f"file:{place}?mode=ro", uri=True, check_same_thread=False)

    def close(self) -> None:
        """Let go of the store."""
        self._index.close()
        self._warc.close()

    def _settle(self) -> None:
        """Bring to the index what is not there yet; a reader has nothing to bring."""

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._turn:
            try:
                return self._index.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise DataError(self.folder, f"cannot be read: {error}", "mend the disk, or add --fresh") from None

    def _chunks(self, columns: str, table: str, key: str, where: str, values: tuple[Any, ...]) -> Iterator[Any]:
        # Chunk by chunk by key: no statement stays open, which would keep SQLite's journal from being folded in.
        last = ""
        while True:
            rows = self._rows(
                f"SELECT {columns}, {key} FROM {table} WHERE {where} AND {key} > ? ORDER BY {key} LIMIT {CHUNK_ROWS}",  # noqa: S608 - ours, all of it
                (*values, last),
            )
            yield from (row[:-1] for row in rows)
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
        rows = self._chunks(SEARCH_COLUMNS, "searches", "question_id", "engine = ?", (engine,))
        return (search_of(row) for row in rows)

    def search(self, question_id: str, engine: str) -> Search | None:
        """What an engine said to a question; None where it was not asked."""
        return self._search(question_id, engine)

    def _search(self, question_id: str, engine: str) -> Search | None:
        rows = self._rows(
            f"SELECT {SEARCH_COLUMNS} FROM searches WHERE question_id = ? AND engine = ?",  # noqa: S608 - ours
            (question_id, engine),
        )
        return search_of(rows[0]) if rows else None

    def raw_responses(self, question_id: str, engine: str) -> list[RawResponse]:
        """The engine's own responses to a question."""
        self._settle()
        rows = self._rows("SELECT raw FROM searches WHERE question_id = ? AND engine = ?", (question_id, engine))
        try:
            return unpack_responses(rows[0][0]) if rows else []
        except (zlib.error, msgspec.MsgspecError) as error:
            what = f"{engine}'s responses to {question_id} cannot be read: {error}"
            raise DataError(self.folder / INDEX_FILE, what, "mend the disk, or add --fresh") from None

    def _fetch(self, url: str) -> Fetch | None:
        rows = self._rows(f"SELECT {FETCH_COLUMNS} FROM fetches WHERE url = ?", (url,))  # noqa: S608 - ours
        return fetch_of(rows[0]) if rows else None

    def fetch(self, url: str) -> Fetch | None:
        """The fate of a canonical URL; None where it was not fetched."""
        return self._fetch(url)

    def iter_fetches(self) -> Iterator[Fetch]:
        """All fetches, ordered by URL, in bounded memory."""
        self._settle()
        return (fetch_of(row) for row in self._chunks(FETCH_COLUMNS, "fetches", "url", "1", ()))

    def response(self, fetch: Fetch) -> tuple[bytes, str | None]:
        """Body and HTTP charset of a kept fetch. Raises DataError where the record is not what the row says."""
        if fetch.offset is None or fetch.length is None:
            raise DataError(self.folder, f"{fetch.url} has no stored response")
        path = self.folder / WARC_FILE
        try:
            return read_record(self._warc.read(fetch.offset, fetch.length), fetch.digest)
        except OSError as error:
            raise DataError(path, f"cannot be read: {error.strerror}", "mend the disk, or add --fresh") from None
        except ValueError as error:
            raise DataError(path, f"record at byte {fetch.offset} {error}", "build with --fresh") from None
