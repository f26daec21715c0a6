"""Places for vectors: memory, a dataset's own, a read-only file next to the models, and the user's cache.

Keys are hashes over a model's weights and a text, so that no file of vectors holds a text, and no model meets the
vectors of another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from edu_rag.errors import DataError
from edu_rag.files.sentence_vectors import SentenceVectors
from edu_rag.progress import say

FILE = "embeddings.sqlite"
MEMORY_BYTES = 256 << 20
"""Kept in memory at most: 170,000 vectors of all-MiniLM-L6-v2, 85,000 of all-mpnet-base-v2."""
_PAGES = "PRAGMA page_size=8192"
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
"""A vector does not fit into a tree's inner node: rows are in a plain table, found through an index of keys. An older
cache, which is such a tree, is read as well, in almost twice the time."""
_AT_ONCE = 500
"""Keys asked for in one statement; SQLite before 3.32 takes 999 at most."""
_REMEDY = "fill it again with python -P -m baselines.retrieve.warm"
Vectors = dict[bytes, bytes]
"""Key -> float32 bytes. float32, because a vector read back must equal the computed one: halves let near ties swap."""


class Memory:
    """The vectors last used, at most so many bytes of them: pages repeat across questions, and SQLite is slow."""

    def __init__(self, n_bytes: int = MEMORY_BYTES) -> None:
        self._room = n_bytes
        self._held: Vectors = {}

    def read(self, keys: Iterable[bytes]) -> Vectors:
        """The stored vectors for these keys; they count as just used."""
        found = {key: self._held.pop(key) for key in keys if key in self._held}
        self._held |= found
        return found

    def write(self, vectors: Mapping[bytes, bytes]) -> None:
        """Hold these too; those that were not used for longest make room."""
        for key, vector in vectors.items():
            self._room -= len(vector) - len(self._held.pop(key, b""))
            self._held[key] = vector
        oldest = iter(list(self._held)) if self._room < 0 else iter(())
        while self._room < 0 and self._held:
            self._room += len(self._held.pop(next(oldest)))


def select(db: sqlite3.Connection, keys: Sequence[bytes]) -> Vectors:
    """The rows of these keys."""
    found: Vectors = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        # Only question marks are put into the statement.
        found.update(db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some))  # noqa: S608
    return found


class SharedVectors:
    """A file of vectors that is only read, such as $EDU_RAG_MODELS/embeddings.sqlite: it is visible inside the sandbox.

    It is opened as immutable, because SQLite cannot write next to it. Raises DataError if it is not such a file,
    or is being written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        log = path.with_name(path.name + "-wal")
        if log.is_file() and log.stat().st_size:
            raise DataError(path, f"is being written ({log.name} is next to it)", f"use --copy: {_REMEDY}")
        try:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
            self._db.execute("SELECT key, vector FROM vectors LIMIT 1").fetchone()
        except sqlite3.Error as error:
            raise DataError(path, f"is not a file of vectors ({error})", _REMEDY) from None

    def read(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors that are known among these keys. Raises DataError if the file is broken."""
        try:
            return select(self._db, keys)
        except sqlite3.Error as error:
            raise DataError(self._path, f"cannot be read ({error})", _REMEDY) from None


def open_shared(path: Path | None) -> SharedVectors | None:
    """The shared file, where there is one. Raises DataError if it is broken."""
    return None if path is None or not path.is_file() else SharedVectors(path)


def open_dataset_vectors(
    folder: str | None, encoder: str, fingerprint: bytes, dimension: int
) -> SentenceVectors | None:
    """The vectors of the dataset, if they are of this encoder. Raises DataError if their files are broken."""
    if not folder:
        return None
    found = SentenceVectors(Path(folder))
    if found.facts.fingerprint == fingerprint.hex():
        if found.facts.dimension == dimension:
            return found
        what = f"has vectors of {found.facts.dimension:,} numbers, and {encoder} gives {dimension:,}"
        raise DataError(found.path, what, "download the dataset again, or build it again")
    theirs = f"{found.facts.encoder} on {found.facts.back_end}"
    say(f"the dataset's sentence vectors are of another encoder or version ({theirs}): not used for {encoder}")
    return None


def _open_cache(folder: Path | None) -> sqlite3.Connection:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / FILE if folder else ":memory:", timeout=60)
    if folder is not None:
        db.execute(_PAGES)  # of a new file; it changes nothing in another one
        db.execute("PRAGMA journal_mode=WAL").fetchall()  # its commit, which may fail, comes after the first row
        # A lost vector costs milliseconds: no need to wait for the disk at each question.
        db.execute("PRAGMA synchronous=NORMAL")
    with db:
        db.execute(_TABLE)
    return db


class ReadVectors(Protocol):
    """Vectors that are only read."""

    def read(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors that are known among these keys."""
        ...


class VectorStore:
    """Vectors by key, looked for in memory, in files that are only read (`above`, in order), then in the cache.

    New ones go to the cache, which is `embeddings.sqlite` of `folder`; None if there is none.
    """

    def __init__(
        self, folder: Path | None, *, above: Sequence[ReadVectors] = (), memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._memory = Memory(memory_bytes)
        self._above = above
        self._db = None if folder is None else _open_cache(folder)

    def _below(self, keys: Sequence[bytes]) -> Vectors:
        found: Vectors = {}
        left = keys
        for place in self._above:
            found |= place.read(left)
            left = [key for key in keys if key not in found]
            if not left:
                return found
        return found if self._db is None else found | select(self._db, left)

    def read(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors that are known among these distinct keys."""
        found = self._memory.read(keys)
        if len(found) < len(keys):
            below = self._below([key for key in keys if key not in found])
            self._memory.write(below)
            found |= below
        return found

    def write(self, vectors: Vectors) -> None:
        """Keep vectors; an existing one is not replaced."""
        self._memory.write(vectors)
        if self._db is None:
            return
        try:
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", vectors.items())
        except sqlite3.OperationalError:
            # A full disk (the sandbox's /tmp is small) costs the cache, not the answer.
            self._db.close()
            self._db = None


def open_store(
    folder: Path | None,
    shared: Path | None = None,
    of_dataset: SentenceVectors | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> VectorStore:
    """The store with its cache in `folder`, or without where that cannot be used (a sandbox, a full disk).

    Those of the dataset come first: its manifest names their bytes. Raises DataError if the shared file is damaged.
    """
    above = [place for place in (of_dataset, open_shared(shared)) if place is not None]
    try:
        return VectorStore(folder, above=above, memory_bytes=memory_bytes)
    except (OSError, sqlite3.Error):
        return VectorStore(None, above=above, memory_bytes=memory_bytes)


def _stored(source: Path) -> sqlite3.Connection:
    """The current state of a file of vectors. Not immutable: a cache may have rows in its log, and be written
    meanwhile.
    """
    return sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=60)


def rows_of(source: Path) -> Iterator[tuple[bytes, bytes]]:
    """All keys and vectors of a file, sorted by key. Raises DataError if it is not such a file."""
    try:
        with closing(_stored(source)) as db:
            yield from db.execute("SELECT key, vector FROM vectors ORDER BY key")
    except sqlite3.Error as error:
        raise DataError(source, f"is not a file of vectors ({error})", _REMEDY) from None


def publish(target: Path, rows: Iterable[tuple[bytes, bytes]]) -> int:
    """Add these vectors to a shared file. Returns how many vectors it holds then.

    It is written under a temporary name and renamed, so that a run that reads the old one can continue. Raises
    DataError where it cannot be written.
    """
    partial = target.with_name(target.name + ".partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        with closing(sqlite3.connect(partial)) as db:
            db.execute(_PAGES)
            db.execute("PRAGMA journal_mode=OFF")  # a half-written one is thrown away
            db.execute(_TABLE)
            for some in (rows_of(target) if target.is_file() else (), rows):
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", some)
            db.commit()
            (held,) = db.execute("SELECT count(*) FROM vectors").fetchone()
        partial.replace(target)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):  # the first error is the one to report
            partial.unlink(missing_ok=True)
        raise DataError(target, f"cannot be written ({error})", "free some disk space, or use another --to") from None
    return int(held)
