"""The crawl store's SQLite index: its tables and their versions, and its rows as records.

The index is derived from the WARC file: `batch` is the offset of the metadata record that holds a row, and -1 where a
row is not in the WARC file yet (a store of version 1 or 2). Every row carries a digest of its values, since SQLite has
none: a value that was changed on the disk is found when it is read.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from builder.search_results import RawResponse, State
from builder.store.faults import rebuild
from edu_rag.errors import DataError

_STEPS = (
    (
        """CREATE TABLE searches (
  question_id TEXT NOT NULL, engine TEXT NOT NULL, query TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  hits TEXT NOT NULL, raw BLOB NOT NULL, searched_at TEXT NOT NULL, PRIMARY KEY (question_id, engine)
)""",
        """CREATE TABLE fetches (
  url TEXT PRIMARY KEY, outcome TEXT NOT NULL, status INTEGER, n_redirects INTEGER NOT NULL, final_url TEXT NOT NULL,
  warc_offset INTEGER, length INTEGER, digest TEXT, fetched_at TEXT NOT NULL, detail TEXT NOT NULL
)""",
    ),
    (
        "ALTER TABLE searches ADD COLUMN round INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE fetches ADD COLUMN etag TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE fetches ADD COLUMN last_modified TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE fetches ADD COLUMN signals TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE fetches ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE fetches ADD COLUMN round INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE fetches ADD COLUMN checked_at TEXT NOT NULL DEFAULT ''",
        "UPDATE fetches SET checked_at = fetched_at",
        # The end of the WARC file's intact part: it moves in the transaction that commits the rows before it.
        "CREATE TABLE warc (bytes INTEGER NOT NULL)",
        "INSERT INTO warc SELECT coalesce(max(warc_offset + length), 0) FROM fetches",
    ),
    (
        "ALTER TABLE searches ADD COLUMN batch INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE searches ADD COLUMN row_digest BLOB",
        "ALTER TABLE fetches ADD COLUMN batch INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE fetches ADD COLUMN row_digest BLOB",
        "ALTER TABLE warc ADD COLUMN last INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE warc ADD COLUMN id TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE warc ADD COLUMN searches INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE warc ADD COLUMN fetches INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE warc ADD COLUMN row_digest BLOB",
        # Responses that a killed build wrote without committing their rows: used when their page is fetched again.
        "CREATE TABLE orphans (record_id TEXT PRIMARY KEY, warc_offset INTEGER NOT NULL, length INTEGER NOT NULL)",
    ),
)
"""The changes of each schema version; a store of version 1 has no version number."""
VERSION = len(_STEPS)

SEARCH_COLUMNS = "question_id, engine, query, state, reason, hits, searched_at, round"
"""The columns of a search; its packed responses are in `raw`, which has its own checksum (zlib's)."""
FETCH_COLUMNS = (
    "url, outcome, status, n_redirects, final_url, warc_offset, length, digest, fetched_at, detail,"
    " etag, last_modified, signals, attempts, round, checked_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One row of `searches`: an engine's answer to one question, and the round of the crawl."""

    question_id: str
    query: str
    state: State
    reason: str
    urls: tuple[str, ...]
    searched_at: datetime
    engine: str = ""
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One row of `fetches`: the outcome of one URL, and the position of its record in the WARC file.

    `fetched_at` is when this content came, `checked_at` when the server last confirmed it; `attempts` counts the
    tries of this round, and `round` is the last one in which the URL was settled (0: the first crawl).
    """

    url: str
    outcome: str
    status: int | None
    n_redirects: int
    final_url: str
    offset: int | None
    length: int | None
    digest: str | None
    fetched_at: datetime
    detail: str
    checked_at: datetime
    etag: str = ""
    last_modified: str = ""
    signals: tuple[str, ...] = ()
    attempts: int = 1
    round: int = 0


def pack_responses(raw: Sequence[RawResponse]) -> bytes:
    """An engine's responses as one compressed value."""
    return zlib.compress(msgspec.msgpack.encode([(item.url, item.status, item.body) for item in raw]), 6)


def unpack_responses(packed: bytes) -> list[RawResponse]:
    """The inverse of `pack_responses`."""
    items = msgspec.msgpack.decode(zlib.decompress(packed), type=list[tuple[str, int, bytes]])
    return [RawResponse(url=url, status=status, body=body) for url, status, body in items]


def search_of(row: Sequence[Any]) -> Search:
    """A record from SEARCH_COLUMNS."""
    question_id, engine, query, state, reason, hits, at, crawl_round = row
    urls = tuple(msgspec.json.decode(hits, type=list[str]))
    return Search(
        question_id=question_id,
        engine=engine,
        query=query,
        state=state,
        reason=reason,
        urls=urls,
        searched_at=datetime.fromisoformat(at),
        round=crawl_round,
    )


def search_row(search: Search, raw: bytes) -> tuple[Any, ...]:
    """The values of SEARCH_COLUMNS, and the packed responses."""
    return (
        search.question_id,
        search.engine,
        search.query,
        search.state,
        search.reason,
        msgspec.json.encode(search.urls).decode(),
        search.searched_at.isoformat(),
        search.round,
        raw,
    )


def fetch_of(row: Sequence[Any]) -> Fetch:
    """A record from FETCH_COLUMNS."""
    url, outcome, status, n, final_url, offset, length, digest, at, detail = row[:10]
    etag, last_modified, signals, attempts, crawl_round, checked_at = row[10:]
    return Fetch(
        url=url,
        outcome=outcome,
        status=status,
        n_redirects=n,
        final_url=final_url,
        offset=offset,
        length=length,
        digest=digest,
        fetched_at=datetime.fromisoformat(at),
        detail=detail,
        etag=etag,
        last_modified=last_modified,
        signals=tuple(msgspec.json.decode(signals, type=list[str])),
        attempts=attempts,
        round=crawl_round,
        checked_at=datetime.fromisoformat(checked_at),
    )


def fetch_row(fetch: Fetch) -> tuple[Any, ...]:
    """The values of FETCH_COLUMNS."""
    return (
        fetch.url,
        fetch.outcome,
        fetch.status,
        fetch.n_redirects,
        fetch.final_url,
        fetch.offset,
        fetch.length,
        fetch.digest,
        fetch.fetched_at.isoformat(),
        fetch.detail,
        fetch.etag,
        fetch.last_modified,
        msgspec.json.encode(fetch.signals).decode(),
        fetch.attempts,
        fetch.round,
        fetch.checked_at.isoformat(),
    )


def row_digest(values: Sequence[Any]) -> bytes:
    """Eight bytes over the values of a row."""
    return hashlib.blake2b(msgspec.msgpack.encode(list(values)), digest_size=8).digest()


def checked(row: Sequence[Any]) -> Sequence[Any]:
    """A row without its digest, which is its last value. Raises ValueError if they do not fit."""
    *values, digest = row
    if digest != row_digest(values):
        raise ValueError(f"the row of {str(values[0])[:200]!r} differs from its digest")
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcState:
    """The index's knowledge of the WARC file: it is whole up to `bytes`, and `last` is the offset of its last batch.

    -1: no row of the index is in the WARC file. `id` is the store's id, empty if the index does not know it yet.
    """

    bytes: int
    last: int = -1
    id: str = ""
    searches: int = 0
    """Rows in the table, as of the last commit: rows that vanish with a damaged page are missed."""
    fetches: int = 0


def read_state(index: sqlite3.Connection) -> WarcState:
    """The state in the index. Raises ValueError if it is damaged."""
    rows = index.execute("SELECT id, last, bytes, searches, fetches, row_digest FROM warc").fetchall()
    if len(rows) != 1:
        raise ValueError(f"the table warc has {len(rows)} rows")
    store_id, last, n_bytes, n_searches, n_fetches = checked(rows[0])
    return WarcState(bytes=n_bytes, last=last, id=store_id, searches=n_searches, fetches=n_fetches)


def write_state(index: sqlite3.Connection, state: WarcState) -> None:
    """Replace the state in the index, in the caller's transaction."""
    values = (state.id, state.last, state.bytes, state.searches, state.fetches)
    statement = "UPDATE warc SET id = ?, last = ?, bytes = ?, searches = ?, fetches = ?, row_digest = ?"
    index.execute(statement, (*values, row_digest(values)))


def n_rows(index: sqlite3.Connection) -> dict[str, int]:
    """How many searches and fetches there are, counted."""
    return {table: index.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("searches", "fetches")}  # noqa: S608


def n_unwritten(index: sqlite3.Connection) -> int:
    """How many rows have no batch: they came from an earlier version and are not in the WARC file yet."""
    found = (index.execute(f"SELECT count(*) FROM {table} WHERE batch < 0") for table in ("searches", "fetches"))  # noqa: S608
    return sum(rows.fetchone()[0] for rows in found)


def _upsert(table: str, key: str, columns: str) -> str:
    names = columns.split(", ")
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key.split(", "))
    return (
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - ours, all of it
        f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


_ADD_SEARCH = _upsert("searches", "question_id, engine", f"{SEARCH_COLUMNS}, raw, batch, row_digest")
_ADD_FETCH = _upsert("fetches", "url", f"{FETCH_COLUMNS}, batch, row_digest")


def add_rows(
    index: sqlite3.Connection,
    searches: Iterable[tuple[Any, ...]],
    fetches: Iterable[tuple[Any, ...]],
    batch: int,
    *,
    even_over_later: bool = False,
) -> None:
    """Bring a batch's rows (`search_row`, `fetch_row`) into the index, in the caller's transaction.

    A batch that is read again does not bring back a row that a later one replaced. `even_over_later`: it replaces any
    row, for a batch whose place in the file says nothing about its age: rows that were cut off are written again.
    """
    most = "" if even_over_later else " WHERE excluded.batch >= {table}.batch"
    found = ((*row, raw, batch, row_digest((*row, batch))) for *row, raw in searches)
    index.executemany(_ADD_SEARCH + most.format(table="searches"), found)
    index.executemany(
        _ADD_FETCH + most.format(table="fetches"), ((*row, batch, row_digest((*row, batch))) for row in fetches)
    )


def n_new(index: sqlite3.Connection, table: str, where: str, keys: Iterable[tuple[Any, ...]]) -> int:
    """How many of the keys have no row in a table yet."""
    statement = f"SELECT 1 FROM {table} WHERE {where}"  # noqa: S608 - ours
    return sum(index.execute(statement, key).fetchone() is None for key in keys)


def keep_orphans(index: sqlite3.Connection, found: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Remember responses without a row, by record id: offset and length; return these and those known before."""
    rows = ((record_id, *place) for record_id, place in found.items())
    index.executemany("INSERT OR REPLACE INTO orphans VALUES (?, ?, ?)", rows)
    return {row[0]: row[1:] for row in index.execute("SELECT record_id, warc_offset, length FROM orphans")}


def verify_pages(index: sqlite3.Connection) -> None:
    """Let SQLite check its file. Raises sqlite3.Error or ValueError."""
    (found,) = index.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise ValueError(" ".join(str(found).split())[:200])


def verify_rows(index: sqlite3.Connection) -> None:
    """Compare every row with its digest, and the number of rows. Raises sqlite3.Error or ValueError."""
    state = read_state(index)
    for table, n in n_rows(index).items():
        if n != (known := getattr(state, table)):
            raise ValueError(f"holds {n:,} rows of the table {table}, and {known:,} were committed")
    for table, columns, parse in (("searches", SEARCH_COLUMNS, search_of), ("fetches", FETCH_COLUMNS, fetch_of)):
        for row in index.execute(f"SELECT {columns}, batch, row_digest FROM {table}"):  # noqa: S608 - ours
            parse(checked(row)[:-1])


def version_of(index: sqlite3.Connection) -> int:
    """The schema version of an index; 0 for a new file."""
    (version,) = index.execute("PRAGMA user_version").fetchone()
    if version:
        return int(version)
    return int(index.execute("SELECT 1 FROM sqlite_master WHERE name = 'fetches'").fetchone() is not None)


def refuse_other_version(version: int, path: Path) -> None:
    """Raise DataError for an index that this program cannot read."""
    if not 0 <= version <= VERSION:
        what = f"is of version {version}, and this edu-rag reads version {VERSION}"
        remedy = f"use the edu-rag that wrote it, or, where it is damaged, {rebuild(path.parent)}"
        raise DataError(path, what, remedy)


def _add_digests(index: sqlite3.Connection) -> None:
    for table, columns in (("searches", SEARCH_COLUMNS), ("fetches", FETCH_COLUMNS)):
        rows = index.execute(f"SELECT {columns}, batch, rowid FROM {table}")  # noqa: S608 - ours
        digests = ((row_digest(row[:-1]), row[-1]) for row in rows.fetchall())
        index.executemany(f"UPDATE {table} SET row_digest = ? WHERE rowid = ?", digests)  # noqa: S608 - ours
    (n_bytes,) = index.execute("SELECT bytes FROM warc").fetchone()
    counts = n_rows(index)
    write_state(index, WarcState(bytes=n_bytes, searches=counts["searches"], fetches=counts["fetches"]))


def upgrade_tables(index: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or add what later versions added, in one transaction. Raises DataError for a newer index."""
    version = version_of(index)
    refuse_other_version(version, path)
    if version == VERSION:
        return
    with index:
        index.execute("BEGIN IMMEDIATE")
        for step in _STEPS[version:]:
            for statement in step:
                index.execute(statement)
        _add_digests(index)
        index.execute(f"PRAGMA user_version = {VERSION}")
