"""Which URLs a crawl fetches, in which order: a scratch table on disk, so that memory does not grow with the crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from builder.fetch.fetched import Validators
from builder.urls import host_of

CHUNK_ROWS = 500


class _Conditions(Mapping[str, Validators]):
    """The validators of the URLs that have some, read from the table when a request is made."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def __getitem__(self, url: str) -> Validators:
        row = self._base.execute(
            "SELECT etag, last_modified, final_url FROM wanted WHERE url = ? AND final_url IS NOT NULL", (url,)
        ).fetchone()
        if row is None:
            raise KeyError(url)
        return Validators(etag=row[0], last_modified=row[1], final_url=row[2])

    def __iter__(self) -> Iterator[str]:
        return (url for (url,) in self._base.execute("SELECT url FROM wanted WHERE final_url IS NOT NULL ORDER BY url"))

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(final_url) FROM wanted").fetchone()[0])


class FetchPlan:
    """Distinct URLs, spread over hosts, so that no host's limit holds the others up. Scratch: gone when closed."""

    def __init__(self) -> None:
        # No name: SQLite's own temporary file, which it deletes itself and keeps in memory while it is small.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute(
            "CREATE TABLE wanted (url TEXT PRIMARY KEY, host TEXT NOT NULL, etag TEXT, last_modified TEXT,"
            " final_url TEXT) WITHOUT ROWID"
        )
        self._base.execute("CREATE TABLE queue (place INTEGER PRIMARY KEY, url TEXT NOT NULL)")
        self.conditions: Mapping[str, Validators] = _Conditions(self._base)

    def add(self, url: str, condition: Validators | None = None) -> None:
        """Want a canonical URL; one that is wanted already is not wanted twice."""
        known = (condition.etag, condition.last_modified, condition.final_url) if condition else (None, None, None)
        self._base.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?, ?, ?)", (url, host_of(url), *known))

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(*) FROM wanted").fetchone()[0])

    def urls(self) -> Iterator[str]:
        """The URLs: the first of every host, then the second of every host, and so on; the same order every time."""
        self._base.execute("DELETE FROM queue")
        self._base.execute(
            "INSERT INTO queue (url) SELECT url FROM"
            " (SELECT url, row_number() OVER (PARTITION BY host ORDER BY url) AS turn FROM wanted) ORDER BY turn, url"
        )
        last = 0
        while rows := self._base.execute(
            "SELECT place, url FROM queue WHERE place > ? ORDER BY place LIMIT ?", (last, CHUNK_ROWS)
        ).fetchall():
            yield from (url for _, url in rows)
            last = rows[-1][0]

    def close(self) -> None:
        """Drop the table."""
        self._base.close()
