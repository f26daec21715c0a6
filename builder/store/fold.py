"""Make index rows from the records of a WARC file: from all of them, or from those that an index lacks."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from builder.store.batches import read_batch
from builder.store.index import FETCH_COLUMNS, add_rows, row_digest
from builder.store.warc_scan import Record
from edu_rag.progress import say

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
