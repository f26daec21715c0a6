"""The index as a file, opened for reading without changing a byte.

SQLite writes to the folder of a database in WAL mode even to read it. So an index that was closed is opened as
immutable, under a shared lock that keeps writers out; one that a killed build left with a journal, or of an earlier
version, is read from a private copy; and one that a build is writing now is shared with it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from builder.store.faults import file_fault, rebuild
from builder.store.index import VERSION, refuse_other_version, upgrade_tables, version_of
from builder.store.lock import shared_lock
from builder.store.store_folder import INDEX_FILE
from edu_rag.errors import DataError

JOURNALS = ("-wal", "-journal")
"""Endings of the files in which SQLite keeps data that is not in the database yet."""


def lost_index(folder: Path, what: str) -> DataError:
    """The error for an index that is not there, or empty."""
    return DataError(folder / INDEX_FILE, what, rebuild(folder))


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
            self._lock = shared_lock(folder)
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
            upgrade_tables(connection, self._path)
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
