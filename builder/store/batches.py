"""A batch: the rows that one commit brings to the index, as a record of the WARC file, and read back from it.

Reading all batches in order gives the index, so it can always be made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from builder.store.index import FETCH_COLUMNS, add_rows, fetch_of, row_digest, search_of
from builder.store.warc import Record, metadata_record
from edu_rag.progress import say

FORMAT = 1


class SearchLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `searches`, with the packed responses (in JSON: base 64)."""

    question_id: str
    engine: str
    query: str
    state: str
    reason: str
    hits: str
    searched_at: str
    round: int
    raw: bytes


class FetchLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `fetches`."""

    url: str
    outcome: str
    status: int | None
    n_redirects: int
    final_url: str
    warc_offset: int | None
    length: int | None
    digest: str | None
    fetched_at: str
    detail: str
    etag: str
    last_modified: str
    signals: str
    attempts: int
    round: int
    checked_at: str


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a metadata record of the store."""

    format: int
    searches: list[SearchLine]
    fetches: list[FetchLine]

    def search_rows(self) -> list[tuple[Any, ...]]:
        """The rows as `index.search_row` makes them."""
        return [msgspec.structs.astuple(line) for line in self.searches]

    def fetch_rows(self) -> list[tuple[Any, ...]]:
        """The rows as `index.fetch_row` makes them."""
        return [msgspec.structs.astuple(line) for line in self.fetches]


def batch_record(
    searches: Sequence[tuple[Any, ...]], fetches: Sequence[tuple[Any, ...]], offset: int, store_id: str
) -> bytes:
    """The record of some rows (`index.search_row`, `index.fetch_row`) that is to be written at a byte offset."""
    batch = Batch(
        format=FORMAT, searches=[SearchLine(*row) for row in searches], fetches=[FetchLine(*row) for row in fetches]
    )
    times = [line.searched_at for line in batch.searches] + [line.checked_at for line in batch.fetches]
    return metadata_record(msgspec.json.encode(batch), max(map(datetime.fromisoformat, times)), offset, store_id)


def read_batch(record: Record, store_id: str) -> Batch:
    """The rows in a metadata record of a store. Raises ValueError if it is of another one, or cannot be read."""
    if record.store_id != store_id:
        raise ValueError("is of another store")
    try:
        batch = msgspec.json.decode(record.block, type=Batch)
        for search in batch.search_rows():
            search_of(search[:-1])
        for fetch in batch.fetch_rows():
            fetch_of(fetch)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise ValueError(f"holds no batch that can be read: {error}") from None
    if batch.format != FORMAT:
        raise ValueError(f"holds a batch of format {batch.format}, and this edu-rag reads format {FORMAT}")
    return batch


_SEEN = (
    "CREATE TEMP TABLE seen (place INTEGER PRIMARY KEY, length INTEGER, sha256 TEXT, uri TEXT)",
    "CREATE TEMP TABLE batches (place INTEGER PRIMARY KEY)",
)
# A row whose record is not at its place: cut off, damaged, or in another place after bytes were lost before it.
_DANGLING = (
    f"SELECT {FETCH_COLUMNS}, batch FROM fetches WHERE warc_offset >= ? AND NOT EXISTS"  # noqa: S608 - ours
    " (SELECT 1 FROM temp.seen WHERE place = warc_offset AND seen.length = fetches.length AND sha256 = fetches.digest)"
)


@dataclass(slots=True)
class FoldCounts:
    """The counts of a fold: batches taken, and rows whose record is gone."""

    batches: int = 0
    responses: int = 0
    foreign: int = 0
    """Metadata records of another store, or that cannot be read: left out."""
    gone: int = 0


class Fold:
    """Takes records in the order of the file, and brings their rows into the index in the caller's transaction.

    `start` is the byte from which on records are taken; rows that point to earlier bytes are trusted.
    `store_id` is the store whose batches count: that of the first record that names one, where it is empty.
    `path` names the file in messages.
    """

    def __init__(self, index: sqlite3.Connection, path: Path, store_id: str, start: int) -> None:
        self.path = path
        self.store_id = store_id
        self.last, self.end = -1, start
        self.counts = FoldCounts()
        self.orphans: dict[str, tuple[int, int]] = {}
        """Responses behind the last batch, whose rows were not committed: by record id, offset and length."""
        self._index, self._start = index, start
        for statement in _SEEN:
            index.execute(statement)

    def take(self, record: Record) -> None:
        """Take one whole record."""
        if record.kind == "response":
            length = record.end - record.offset
            place = (record.offset, length, record.sha256, record.uri)
            self._index.execute("INSERT INTO temp.seen VALUES (?, ?, ?, ?)", place)
            self.orphans[record.record_id] = (record.offset, length)
            self.counts.responses += 1
            return
        self.store_id = self.store_id or record.store_id
        if record.kind == "metadata":
            self._take_batch(record)

    def _take_batch(self, record: Record) -> None:
        try:
            batch = read_batch(record, self.store_id)
        except ValueError as error:
            say(f"{self.path}: the record at byte {record.offset:,} {error}: it is left out")
            self.counts.foreign += 1
            return
        add_rows(self._index, batch.search_rows(), batch.fetch_rows(), record.offset)
        self.add_batch(record.offset, record.end)

    def add_batch(self, offset: int, end: int) -> None:
        """Note that the rows of a batch are in the index."""
        self._index.execute("INSERT INTO temp.batches VALUES (?)", (offset,))
        self.counts.batches += 1
        self.last, self.end = offset, end
        self.orphans.clear()

    def finish(self) -> None:
        """Find the records of rows that are not where their row says, and drop the rows that have none."""
        for row in self._index.execute(_DANGLING, (self._start,)).fetchall():
            self._place_again(row)

    def _place_again(self, row: tuple[object, ...]) -> None:
        values = list(row)
        found = self._index.execute(
            "SELECT max(place), length FROM temp.seen WHERE sha256 = ? AND uri = ?", (values[7], values[4])
        ).fetchone()
        if found[0] is None:
            self._index.execute("DELETE FROM fetches WHERE url = ?", (values[0],))
            self.counts.gone += 1
            return
        values[5:7] = found
        self._index.execute(
            "UPDATE fetches SET warc_offset = ?, length = ?, row_digest = ? WHERE url = ?",
            (*found, row_digest(values), values[0]),
        )

    def close(self) -> None:
        """Drop the scratch tables."""
        self._index.execute("DROP TABLE temp.seen")
        self._index.execute("DROP TABLE temp.batches")
