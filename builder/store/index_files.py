"""The index as a file: opened without changing a byte, and checked against its WARC file.

SQLite writes to the folder of a database in WAL mode even to read it. So an index that was closed is opened as
immutable, under a shared lock that keeps writers out; one that a killed build left with a journal, or of an earlier
version, is read from a private copy; and one that a build is writing now is shared with it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from builder.store.faults import file_fault, rebuild
from builder.store.index import VERSION, WarcState, bring_up_to_date, refuse_other_version, version_of
from builder.store.warc import Record, WarcFile, record_at, scan
from edu_rag.errors import DataError

WARC_FILE, INDEX_FILE, LOCK_FILE, LOG_FILE = "responses.warc.gz", "index.sqlite3", "lock", "build.log.jsonl"
JOURNALS = ("-wal", "-journal")
"""Endings of the files in which SQLite keeps data that is not in the database yet."""


def lost_index(folder: Path, what: str) -> DataError:
    """The error for an index that is not there, or empty."""
    return DataError(folder / INDEX_FILE, what, rebuild(folder))


def _shared_lock(folder: Path) -> int | None:
    """A lock that keeps writers out. None if there is no lock file. Raises BlockingIOError while a build writes."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    return lock


def _connect(path: Path, options: str) -> sqlite3.Connection:
    place = quote(str(path.absolute()))
    return sqlite3.connect(f"file:{place}?{options}", uri=True, check_same_thread=False)


def copied(path: Path, into: Path) -> sqlite3.Connection:
    """A copy of an index and its journals in another folder, open for writing. Raises sqlite3.Error or DataError."""
    target = into / INDEX_FILE
    try:
        for ending in ("", *JOURNALS):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{ending}", f"{target}{ending}")
    except OSError as error:
        raise file_fault(target, error, "written") from None
    return _connect(target, "mode=rw")


class ReadIndex:
    """The index of a store, open for reading. `is_live`: a build is writing it. Raises sqlite3.Error or DataError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / INDEX_FILE
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._lock: int | None = None
        self.is_live = False
        self.is_old = False
        """Whether the index is of an earlier version, whose rows are not in the WARC file."""
        try:
            self._lock = _shared_lock(folder)
        except BlockingIOError:
            self.is_live = True
        try:
            self.connection = _connect(self._path, "mode=ro") if self.is_live else self._quiet()
        except BaseException:
            self._release()
            raise

    def _quiet(self) -> sqlite3.Connection:
        """Open the index while no writer has it open."""
        has_journal = any(_size(self._path, ending) for ending in JOURNALS)
        connection = self._copied() if has_journal else _connect(self._path, "mode=ro&immutable=1")
        try:
            self.is_old = self._version(connection) < VERSION
            if not self.is_old:
                return connection
            if self._copy is None:
                connection.close()
                connection = self._copied()
            bring_up_to_date(connection, self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _version(self, connection: sqlite3.Connection) -> int:
        version = version_of(connection)
        refuse_other_version(version, self._path)
        if version == 0:
            raise lost_index(self._path.parent, "is empty")
        return version

    def _copied(self) -> sqlite3.Connection:
        """A private copy with its journals, into which SQLite may write."""
        self._copy = tempfile.TemporaryDirectory(prefix="edu-rag-index-")
        return copied(self._path, Path(self._copy.name))

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        if self._copy is not None:
            self._copy.cleanup()

    def close(self) -> None:
        """Let go of the index, and let writers in."""
        self.connection.close()
        self._release()


def _size(path: Path, ending: str) -> int:
    with suppress(FileNotFoundError):
        return Path(f"{path}{ending}").stat().st_size
    return 0


def _records(warc: WarcFile, start: int = 0) -> Iterator[Record]:
    return (item for item in scan(warc, start) if isinstance(item, Record))


def refuse_lost_index(folder: Path, warc: WarcFile, what: str) -> None:
    """Raise DataError if a missing index has had rows: a new one would hide the crawled data."""
    kinds = set()
    for record in _records(warc):
        if record.kind == "metadata":
            raise lost_index(folder, what)
        kinds.add(record.kind)
    if kinds == {"response"}:
        remedy = "restore the file from a copy, or build with --fresh"
        raise DataError(folder / INDEX_FILE, f"{what}, and {WARC_FILE} is of a version that kept no rows", remedy)


def refuse_other_store(folder: Path, warc: WarcFile, store_id: str) -> None:
    """Raise DataError if the WARC file names another store than the index does."""
    found = next((record.store_id for record in _records(warc) if record.store_id), store_id)
    if found != store_id:
        what = f"is the index of another crawl store than {WARC_FILE}"
        raise DataError(folder / INDEX_FILE, what, rebuild(folder))


def _is_at(warc: WarcFile, offset: int, store_id: str) -> bool:
    try:
        return record_at(warc, offset).store_id == store_id
    except ValueError:
        return False


def refuse_disagreement(folder: Path, warc: WarcFile, state: WarcState, *, is_old: bool) -> None:
    """Raise DataError if a reader would see less than was committed: pages cut off, or rows that it cannot know.

    `is_old`: the index is of an earlier version, and the rows in the WARC file are at most a part of its rows.
    """
    if state.last >= 0 and not _is_at(warc, state.last, state.id):
        refuse_other_store(folder, warc, state.id)
    if warc.end < state.bytes:
        what = f"holds {warc.end:,} of the {state.bytes:,} bytes that its index knows"
        raise DataError(folder / WARC_FILE, what, "restore the whole file, or build with --resume")
    if is_old:
        return
    found = (record for record in _records(warc, state.bytes) if record.kind == "metadata")
    first = next((record for record in found if record.store_id == state.id or not state.id), None)
    if first is not None:
        what = f"does not know all that {WARC_FILE} holds (from byte {first.offset:,} on)"
        raise DataError(folder / INDEX_FILE, what, rebuild(folder))
