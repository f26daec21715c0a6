"""The crawl store: raw responses as WARC, and an SQLite index of searches and fetches with their states."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import sqlite3
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import msgspec

from builder.fetch import Fetched
from builder.fetch.body import charset_of
from builder.search import RawResponse, SearchResult, State
from edu_rag.errors import DataError

WARC_FILE, INDEX_FILE, LOCK_FILE = "responses.warc.gz", "index.sqlite3", "lock"
_FILES = (WARC_FILE, INDEX_FILE, LOCK_FILE)
BATCH = 32
"""Fetches per fsync and commit: a kill costs at most these, and they are fetched again."""
_NAMESPACE = uuid.UUID("6a1b9a52-2a6f-5d0c-9c59-0d2c4b7f4f10")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS searches (
  question_id TEXT NOT NULL, engine TEXT NOT NULL, query TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  hits TEXT NOT NULL, raw BLOB NOT NULL, searched_at TEXT NOT NULL, PRIMARY KEY (question_id, engine)
);
CREATE TABLE IF NOT EXISTS fetches (
  url TEXT PRIMARY KEY, outcome TEXT NOT NULL, status INTEGER, n_redirects INTEGER NOT NULL, final_url TEXT NOT NULL,
  warc_offset INTEGER, length INTEGER, digest TEXT, fetched_at TEXT NOT NULL, detail TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One row of `searches`: what an engine said to one question."""

    question_id: str
    query: str
    state: State
    reason: str
    urls: tuple[str, ...]
    searched_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One row of `fetches`: the fate of one URL, and where its record lies in the WARC file."""

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


def _pack(raw: Sequence[RawResponse]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode([(item.url, item.status, item.body) for item in raw]), 6)


def _warc_record(got: Fetched, digest: str) -> bytes:
    """One response record as one gzip member; its id is a function of URL and digest."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    # The body is stored inflated, as Common Crawl does it: the header must not claim otherwise.
    hidden = ("content-encoding", "transfer-encoding", "content-length")
    headers = [(f"X-Crawl-{k}" if k.lower() in hidden else k, " ".join(v.split())) for k, v in got.headers.items()]
    headers.append(("Content-Length", str(len(got.body))))
    record = writer.create_warc_record(
        got.final_url, "response", payload=io.BytesIO(got.body),
        http_headers=StatusAndHeaders(f"{got.status} OK", headers, protocol="HTTP/1.1"),
        warc_headers_dict={
            "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(_NAMESPACE, f'{got.url} {digest}')}>",
            "WARC-Date": got.fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    )  # fmt: skip
    writer.write_record(record)
    return out.getvalue()


def _locked(folder: Path) -> IO[str]:
    """Hold a store's folder, made where it is missing, until the file is closed. Raises DataError where it cannot."""
    is_foreign = folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in _FILES)
    if is_foreign:
        raise DataError(folder, "exists and is no crawl store", "name another --out, or move it away")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_FILE).open("w")
    except OSError as error:
        raise DataError(folder, f"cannot be written: {error.strerror}", "name another --out") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise DataError(folder, "another build is using this crawl store", "wait for it to end") from None
    return lock


def forget_store(folder: Path) -> None:
    """Delete a crawl store, readable or not. Raises DataError where it is none, or in use."""
    if folder.exists():
        with _locked(folder):
            shutil.rmtree(folder)


class CrawlStore:
    """The store in a folder, open for one writer. A record is appended and synced before its row is written."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = folder
        if not create and not (folder / INDEX_FILE).is_file():
            raise DataError(folder, "is no crawl store", "give the folder DATASET.crawl that `edu-rag build` wrote")
        self._lock = _locked(folder)
        self._open_files()

    def _open_files(self) -> None:
        # Fetches are written from a worker thread, one at a time.
        self._index = sqlite3.connect(self.folder / INDEX_FILE, check_same_thread=False)
        try:
            self._index.execute("PRAGMA journal_mode=WAL")
            self._index.execute("PRAGMA synchronous=FULL")
            self._index.executescript(_SCHEMA)
            self._warc = (self.folder / WARC_FILE).open("a+b")
            self._cut_torn_tail()
        except (sqlite3.OperationalError, OSError) as error:
            raise DataError(self.folder, f"cannot be opened: {error}", "make room or mend its permissions") from None
        except sqlite3.DatabaseError as error:
            raise DataError(self.folder / INDEX_FILE, f"not readable: {error}", "build again with --fresh") from None
        self._pending: list[tuple[Fetched, int, int, str] | tuple[Fetched, None, None, None]] = []

    def __enter__(self) -> CrawlStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(DataError):  # the first error is the one to tell
            self.close()

    def close(self) -> None:
        """Write what is pending and let go of the store."""
        try:
            self.flush()
        finally:
            self._index.close()
            with suppress(OSError):  # a full disk was told by flush; what did not get there is fetched again
                self._warc.close()
            self._lock.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            what = f"cannot be written: {error}"
            raise DataError(self.folder, what, "make room and run the same command again to resume") from None

    def _cut_torn_tail(self) -> None:
        """Bytes without a row are of a record that was being written: cut. Rows without bytes: forget and refetch."""
        size = self._warc.seek(0, os.SEEK_END)
        with self._index:
            self._index.execute("DELETE FROM fetches WHERE warc_offset + length > ?", (size,))
        (end,) = self._index.execute("SELECT coalesce(max(warc_offset + length), 0) FROM fetches").fetchone()
        if size > end:
            self._warc.truncate(end)
            self._warc.seek(0, os.SEEK_END)

    def add_search(self, question_id: str, engine: str, query: str, result: SearchResult, at: datetime) -> None:
        """Keep what the engine said, whatever it said; a later answer replaces a refusal."""
        row = (
            question_id, engine, query, result.state, result.reason, msgspec.json.encode(result.urls).decode(),
            _pack(result.raw), at.isoformat(),
        )  # fmt: skip
        with self._writing(), self._index:
            self._index.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def searches(self, engine: str) -> Iterator[Search]:
        """All searches of an engine, ordered by question."""
        rows = self._index.execute(
            "SELECT question_id, query, state, reason, hits, searched_at FROM searches WHERE engine = ?"
            " ORDER BY question_id",
            (engine,),
        )
        for question_id, query, state, reason, hits, at in rows:
            urls = tuple(msgspec.json.decode(hits, type=list[str]))
            when = datetime.fromisoformat(at)
            yield Search(question_id=question_id, query=query, state=state, reason=reason, urls=urls, searched_at=when)

    def raw_responses(self, question_id: str, engine: str) -> list[RawResponse]:
        """The engine's own responses to a question."""
        row = self._index.execute(
            "SELECT raw FROM searches WHERE question_id = ? AND engine = ?", (question_id, engine)
        ).fetchone()
        items = msgspec.msgpack.decode(zlib.decompress(row[0])) if row else []
        return [RawResponse(url=url, status=status, body=body) for url, status, body in items]

    def add_fetch(self, got: Fetched) -> None:
        """Append a kept response to the WARC file and queue its row; rows are committed in batches, after an fsync."""
        if got.outcome == "kept":
            digest = hashlib.sha256(got.body).hexdigest()
            record = _warc_record(got, digest)
            with self._writing():
                offset = self._warc.seek(0, os.SEEK_END)
                length = self._warc.write(record)
            self._pending.append((got, offset, length, digest))
        else:
            self._pending.append((got, None, None, None))
        if len(self._pending) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Sync the WARC file, then commit the rows that point into it."""
        with self._writing():
            self._warc.flush()
            os.fsync(self._warc.fileno())
        rows = [
            (g.url, g.outcome, g.status, g.n_redirects, g.final_url, offset, length, digest,
             g.fetched_at.isoformat(), g.detail)
            for g, offset, length, digest in self._pending
        ]  # fmt: skip
        with self._writing(), self._index:
            self._index.executemany("INSERT OR REPLACE INTO fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._pending.clear()

    def fetches(self) -> dict[str, Fetch]:
        """All fetches by URL."""
        rows = self._index.execute(
            "SELECT url, outcome, status, n_redirects, final_url, warc_offset, length, digest, fetched_at, detail"
            " FROM fetches ORDER BY url"
        )
        found: dict[str, Fetch] = {}
        for url, outcome, status, n, final_url, offset, length, digest, at, detail in rows:
            found[url] = Fetch(
                url=url, outcome=outcome, status=status, n_redirects=n, final_url=final_url, offset=offset,
                length=length, digest=digest, fetched_at=datetime.fromisoformat(at), detail=detail,
            )  # fmt: skip
        return found

    def response(self, fetch: Fetch) -> tuple[bytes, str | None]:
        """Body and HTTP charset of a kept fetch. Raises DataError where the record is not what the row says."""
        from warcio.archiveiterator import ArchiveIterator

        if fetch.offset is None or fetch.length is None:
            raise DataError(self.folder, f"{fetch.url} has no stored response")
        member = os.pread(self._warc.fileno(), fetch.length, fetch.offset)
        try:
            record = next(iter(ArchiveIterator(io.BytesIO(member))))
            body: bytes = record.content_stream().read()
            headers: Mapping[str, Any] = {"Content-Type": record.http_headers.get_header("Content-Type") or ""}
        except Exception as error:  # warcio raises many kinds; each means that the record cannot be read
            raise DataError(self.folder / WARC_FILE, f"record at byte {fetch.offset}: {error}") from None
        if hashlib.sha256(body).hexdigest() != fetch.digest:
            raise DataError(
                self.folder / WARC_FILE, f"record at byte {fetch.offset} differs from its hash", "build with --fresh"
            )
        return body, charset_of(headers)
