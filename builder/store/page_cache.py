"""The cache of a crawl store: results of its pages under a hash of all that they depend on, which may vanish any time.

Every entry has a digest over its key and its value: one that was damaged on the disk counts as missing. Nothing here is
the truth: a cache that cannot be read is made again, and one that cannot be written is left alone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote

from builder.store.index import row_digest
from edu_rag.progress import say

CACHE_FILE = "pages.cache.sqlite3"
FORMAT = 1
COMMIT_S = 2.0
"""A kill costs at most the entries of so many seconds: they are made again."""
T = TypeVar("T")


class PageCache:
    """Values by key in one file, for one thread. No method raises because of the file; `is_open` says if it works.

    A damaged file is made again, empty. A file that cannot be written (a full disk) is left as it is, and the cache is
    closed. Without `writable` no byte of the folder changes. `quiet`: a cache that cannot be used is no line on stderr.
    Use it in a `with` block, whose end commits.
    """

    def __init__(
        self, folder: Path, *, writable: bool, quiet: bool = False, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = folder / CACHE_FILE
        self._writable, self._quiet = writable, quiet
        self._monotonic = monotonic
        self._base: sqlite3.Connection | None = None
        self._due_at = 0.0
        self._open()

    @property
    def is_open(self) -> bool:
        """Whether values can be had from it, or kept in it."""
        return self._base is not None

    def _open(self) -> None:
        if not self._writable and not self._path.is_file():
            return
        try:
            self._connect()
        except sqlite3.Error:
            self._begin_again()

    def _connect(self) -> None:
        mode = "rwc" if self._writable else "ro"
        place = quote(str(self._path.absolute()))
        base = sqlite3.connect(f"file:{place}?mode={mode}", uri=True, isolation_level=None)
        try:
            if self._writable:
                _prepare(base)
            _refuse_other_format(base)
        except BaseException:
            base.close()
            raise
        self._base = base

    def _begin_again(self) -> None:
        """Make the file again; without the right to write, go on without a cache."""
        self._let_go()
        if not self._writable:
            return
        try:
            self._path.unlink(missing_ok=True)
            self._path.with_name(f"{CACHE_FILE}-journal").unlink(missing_ok=True)
            self._connect()
        except (OSError, sqlite3.Error) as error:
            self._say(error)
            self._let_go()

    def _say(self, error: Exception) -> None:
        if not self._quiet:
            say(f"{self._path}: the cache of extracted pages cannot be used ({error}): pages are extracted without it")

    def _let_go(self) -> None:
        if self._base is not None:
            with suppress(sqlite3.Error):
                self._base.close()
        self._base = None

    def _try(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """The result of an action; None if the file fails."""
        if self._base is None:
            return None
        try:
            return action(self._base)
        except sqlite3.OperationalError as error:  # no room, no right, or in use: the entries themselves are sound
            self._say(error)
            self._let_go()
        except sqlite3.Error:  # damaged
            self._begin_again()
        return None

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, marked as used; None if there is none, or it is damaged."""
        row = self._try(lambda base: _row(base, key))
        if row is None:
            return None
        value, digest = row
        if not isinstance(value, bytes) or digest != row_digest((key, value)):
            return None
        self.use(key)
        return value

    def use(self, key: bytes) -> None:
        """Mark a key as used, whether or not it has a value."""
        if self._writable:
            self._try(lambda base: base.execute("INSERT OR IGNORE INTO temp.used VALUES (?)", (key,)))

    def put(self, key: bytes, value: bytes) -> None:
        """Keep a value, marked as used; it replaces what was there. Does nothing where the file is read only."""
        if not self._writable:
            return

        def write(base: sqlite3.Connection) -> None:
            if not base.in_transaction:
                base.execute("BEGIN")
            row = (key, value, row_digest((key, value)))
            base.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", row)
            if self._monotonic() >= self._due_at:
                base.execute("COMMIT")
                self._due_at = self._monotonic() + COMMIT_S

        self.use(key)
        self._try(write)

    def forget_unused(self) -> None:
        """Delete the entries whose keys were not used since it was opened: other settings or pages made them."""
        if self._writable:
            self._try(_forget_unused)

    def clear(self) -> None:
        """Delete all entries."""
        if self._writable and self._base is not None:
            self._begin_again()

    def close(self) -> None:
        """Commit and let go of the file."""
        if self._base is not None and self._base.in_transaction:
            self._try(lambda base: base.execute("COMMIT"))
        self._let_go()

    def __enter__(self) -> PageCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _prepare(base: sqlite3.Connection) -> None:
    # A power cut may damage the file: then it is made again. So no write waits for the disk.
    base.execute("PRAGMA synchronous=OFF")
    base.execute("PRAGMA temp_store=FILE")
    if base.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        base.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, digest BLOB NOT NULL)")
        base.execute(f"PRAGMA user_version={FORMAT}")
    base.execute("CREATE TEMP TABLE used (key BLOB PRIMARY KEY) WITHOUT ROWID")


def _refuse_other_format(base: sqlite3.Connection) -> None:
    """Raise sqlite3.Error for a file that is not a cache of this format, or whose table cannot be asked."""
    (version,) = base.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise sqlite3.DatabaseError(f"is of format {version}")
    _row(base, b"")


def _row(base: sqlite3.Connection, key: bytes) -> tuple[object, object] | None:
    found: tuple[object, object] | None = base.execute(
        "SELECT value, digest FROM entries WHERE key = ?", (key,)
    ).fetchone()
    return found


def _forget_unused(base: sqlite3.Connection) -> None:
    if base.in_transaction:
        base.execute("COMMIT")
    gone = base.execute("DELETE FROM entries WHERE key NOT IN (SELECT key FROM temp.used)").rowcount
    if gone:
        base.execute("VACUUM")
