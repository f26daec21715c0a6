"""Faults of a store's files as one error: the file, the fault, and what to do about it."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from edu_rag.errors import DataError

MAKE_ROOM = "free some disk space and run the same command again to resume"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_CHECK = "check the disk and the permissions, then run the same command again to resume"
_WAIT = "wait for the process that uses it"
_NOT_THE_FILE = {
    sqlite3.SQLITE_BUSY: _WAIT,
    sqlite3.SQLITE_LOCKED: _WAIT,
    sqlite3.SQLITE_IOERR: _CHECK,
    sqlite3.SQLITE_CANTOPEN: _CHECK,
    sqlite3.SQLITE_PERM: _CHECK,
    sqlite3.SQLITE_READONLY: _CHECK,
    sqlite3.SQLITE_FULL: MAKE_ROOM,
}
"""By SQLite's primary result code: faults of the machine. Every other code means that the file is damaged."""


def rebuild(folder: Path) -> str:
    """The remedy for a lost or damaged index."""
    return f"run `edu-rag crawl rebuild-index {folder}`"


def refetch(folder: Path) -> str:
    """The remedy for a damaged record that the index points to."""
    return f"{rebuild(folder)}, then the same `edu-rag build` with --resume"


def index_fault(path: Path, error: Exception) -> DataError:
    """The error for an exception that SQLite or the decoding of a value raised on an index."""
    code = getattr(error, "sqlite_errorcode", None)
    damaged = DataError(path, f"is damaged: {error or type(error).__name__}", rebuild(path.parent))
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return damaged
    remedy = _NOT_THE_FILE.get(code & 0xFF)
    return damaged if remedy is None else DataError(path, f"cannot be read or written: {error}", remedy)


def file_fault(path: Path, error: OSError, verb: str) -> DataError:
    """The error for the system's error on reading or writing a file; `verb` is `read` or `written`."""
    remedy = MAKE_ROOM if error.errno in _NO_ROOM else _CHECK
    return DataError(error.filename or path, f"cannot be {verb}: {error.strerror or error}", remedy)
