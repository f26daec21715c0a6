"""The crawl store's SQLite index: its tables and their versions, and its rows as records."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from builder.search import RawResponse, State
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
        # How far the WARC file is whole: moves in the transaction that commits the rows of what lies before it.
        "CREATE TABLE warc (bytes INTEGER NOT NULL)",
        "INSERT INTO warc SELECT coalesce(max(warc_offset + length), 0) FROM fetches",
    ),
)
"""What each schema version adds to the one before; a store of version 1 was written without saying so."""
VERSION = len(_STEPS)

SEARCH_COLUMNS = "question_id, engine, query, state, reason, hits, searched_at, round"
FETCH_COLUMNS = (
    "url, outcome, status, n_redirects, final_url, warc_offset, length, digest, fetched_at, detail,"
    " etag, last_modified, signals, attempts, round, checked_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One row of `searches`: what an engine said to one question, and in which round of the crawl."""

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
    """One row of `fetches`: the fate of one URL, and where its record lies in the WARC file.

    `fetched_at` is when this content came, `checked_at` when the server last stood by it; `attempts` counts the
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
        question_id=question_id, engine=engine, query=query, state=state, reason=reason, urls=urls,
        searched_at=datetime.fromisoformat(at), round=crawl_round,
    )  # fmt: skip


def search_row(search: Search, raw: bytes) -> tuple[Any, ...]:
    """The values of SEARCH_COLUMNS, and the packed responses."""
    return (
        search.question_id, search.engine, search.query, search.state, search.reason,
        msgspec.json.encode(search.urls).decode(), search.searched_at.isoformat(), search.round, raw,
    )  # fmt: skip


def fetch_of(row: Sequence[Any]) -> Fetch:
    """A record from FETCH_COLUMNS."""
    url, outcome, status, n, final_url, offset, length, digest, at, detail = row[:10]
    etag, last_modified, signals, attempts, crawl_round, checked_at = row[10:]
    return Fetch(
        url=url, outcome=outcome, status=status, n_redirects=n, final_url=final_url, offset=offset, length=length,
        digest=digest, fetched_at=datetime.fromisoformat(at), detail=detail, etag=etag, last_modified=last_modified,
        signals=tuple(msgspec.json.decode(signals, type=list[str])), attempts=attempts, round=crawl_round,
        checked_at=datetime.fromisoformat(checked_at),
    )  # fmt: skip


def fetch_row(fetch: Fetch) -> tuple[Any, ...]:
    """The values of FETCH_COLUMNS."""
    return (
        fetch.url, fetch.outcome, fetch.status, fetch.n_redirects, fetch.final_url, fetch.offset, fetch.length,
        fetch.digest, fetch.fetched_at.isoformat(), fetch.detail, fetch.etag, fetch.last_modified,
        msgspec.json.encode(fetch.signals).decode(), fetch.attempts, fetch.round, fetch.checked_at.isoformat(),
    )  # fmt: skip


def version_of(index: sqlite3.Connection) -> int:
    """The schema version of an index; 0 for a new file."""
    (version,) = index.execute("PRAGMA user_version").fetchone()
    if version:
        return int(version)
    return int(index.execute("SELECT 1 FROM sqlite_master WHERE name = 'fetches'").fetchone() is not None)


def refuse_other_version(version: int, folder: Path, *, oldest: int) -> None:
    """Raise DataError for a store that this program cannot read."""
    if not oldest <= version <= VERSION:
        what = f"is a crawl store of version {version}, and this edu-rag reads version {VERSION}"
        raise DataError(folder, what, "use the edu-rag that wrote it, or build again with --fresh")


def bring_up_to_date(index: sqlite3.Connection, folder: Path) -> None:
    """Make the tables, or add what later versions added, in one transaction. Raises DataError for a newer store."""
    version = version_of(index)
    refuse_other_version(version, folder, oldest=0)
    if version == VERSION:
        return
    with index:
        index.execute("BEGIN IMMEDIATE")
        for step in _STEPS[version:]:
            for statement in step:
                index.execute(statement)
        index.execute(f"PRAGMA user_version = {VERSION}")
