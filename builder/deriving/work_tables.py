"""The scratch tables of one derivation: the intermediate data between crawl store and dataset, on disk, not in memory.

They sort, join and count (SQLite), so that a derivation's memory does not grow with the number of pages. Nothing in
them outlives the derivation.
"""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from builder.deriving.page_stage import PageResult
from builder.lost_hits import cause_of
from edu_rag.records import Evidence, Leak, SearchHit, WebPage

_SCHEMA = """
CREATE TABLE wanted (url TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE urls (
  url TEXT PRIMARY KEY, outcome TEXT NOT NULL, page_url TEXT, n_redirects INTEGER NOT NULL, detail TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE pages (
  page_url TEXT PRIMARY KEY, fetch_url TEXT NOT NULL, outcome TEXT, page_id TEXT, n_chars INTEGER, tool TEXT,
  flags TEXT, page BLOB, signature BLOB
);
CREATE TABLE leaks (question_id TEXT, page_id TEXT, start INTEGER, end INTEGER, kind TEXT);
CREATE TABLE splits (question_id TEXT PRIMARY KEY, split TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE hits (split TEXT, question_id TEXT, rank INTEGER, page_id TEXT, cause TEXT, hit BLOB);
CREATE TABLE evidence (split TEXT, question_id TEXT, method TEXT, evidence BLOB);
CREATE VIEW pair AS SELECT DISTINCT split, question_id, page_id FROM hits WHERE page_id IS NOT NULL;
CREATE VIEW kept AS SELECT DISTINCT page_id FROM hits WHERE page_id IS NOT NULL;
CREATE VIEW kept_leak AS
  SELECT split, question_id, page_id, start, end, kind FROM leaks JOIN splits USING (question_id)
  WHERE EXISTS (SELECT 1 FROM hits WHERE hits.page_id = leaks.page_id AND hits.split = splits.split);
"""
_INDEXES = ("CREATE INDEX page_by_id ON pages (page_id)", "CREATE INDEX hit_by_page ON hits (page_id, split)")
CACHED_CHARACTERS = 10_000_000
"""Characters of the pages that are kept unpacked, in about 30 MB: neighbouring questions share many."""
_encode, _decode = msgspec.msgpack.encode, msgspec.msgpack.decode


class WorkTables:
    """Scratch tables in a separate folder, which is deleted when they are closed."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._base = sqlite3.connect(folder / "work.sqlite3", isolation_level=None)
        # Nothing here must survive a crash: a killed derivation is done again.
        self._base.execute("PRAGMA journal_mode=OFF")
        self._base.execute("PRAGMA synchronous=OFF")
        self._base.execute("PRAGMA temp_store=FILE")
        self._base.executescript(_SCHEMA)
        self._base.execute("BEGIN")  # one transaction for everything: no statement waits for its own write to disk
        self._cache: OrderedDict[str, WebPage] = OrderedDict()
        self._n_cached = 0

    def __enter__(self) -> WorkTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add_url(self, url: str, outcome: str, page_url: str | None, n_redirects: int, detail: str = "") -> None:
        """A canonical URL of a hit with the fate of its fetch; `page_url` is the page it ended at, if kept."""
        row = url, outcome, page_url, n_redirects, detail
        self._base.execute("INSERT OR IGNORE INTO urls VALUES (?, ?, ?, ?, ?)", row)
        if page_url is not None:
            # Of several URLs that end at one page, the first in order represents it: they come sorted.
            self._base.execute("INSERT OR IGNORE INTO pages (page_url, fetch_url) VALUES (?, ?)", (page_url, url))

    def want(self, urls: Iterable[str]) -> None:
        """Canonical URLs of hits, each counted once."""
        self._base.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", [(url,) for url in urls])

    def wanted(self) -> Iterator[str]:
        """The canonical URLs of all hits, in order."""
        return (url for (url,) in self._base.execute("SELECT url FROM wanted ORDER BY url"))

    def url_causes(self) -> Iterator[tuple[str, str]]:
        """The canonical URLs of all hits, in order, each with what its hits are counted as if it was not kept."""
        rows = self._base.execute("SELECT url, outcome, detail FROM urls ORDER BY url")
        return ((url, cause_of(outcome, detail)) for url, outcome, detail in rows)

    def page_fetches(self) -> Iterator[tuple[str, str]]:
        """(page URL, the fetched URL that stands for it), ordered by page URL."""
        # Read in slices: results are written to the same table meanwhile.
        last = ""
        while rows := self._base.execute(
            "SELECT page_url, fetch_url FROM pages WHERE page_url > ? ORDER BY page_url LIMIT 500", (last,)
        ).fetchall():
            yield from rows
            last = rows[-1][0]

    def n_pages(self) -> int:
        """The number of pages to extract."""
        return int(self._base.execute("SELECT count(*) FROM pages").fetchone()[0])

    def add_result(self, page_url: str, result: PageResult) -> None:
        """Add the page stage's result for a page."""
        page = result.page
        packed = zlib.compress(_encode(page), 1) if page is not None else None
        self._base.execute(
            "UPDATE pages SET outcome = ?, page_id = ?, n_chars = ?, tool = ?, flags = ?, page = ?, signature = ?"
            " WHERE page_url = ?",
            (
                result.outcome,
                page and page.page_id,
                page and len(page.text),
                page and page.extractor,
                page and " ".join(page.flags),
                packed,
                result.signature,
                page_url,
            ),
        )
        self._base.executemany(
            "INSERT INTO leaks VALUES (?, ?, ?, ?, ?)",
            [(leak.question_id, leak.page_id, leak.start, leak.end, leak.kind) for leak in result.leaks],
        )

    def end_of_pages(self) -> None:
        """Say that all results are in: the tables are indexed."""
        for statement in _INDEXES:
            self._base.execute(statement)

    def fate(self, url: str) -> tuple[str, str, str | None]:
        """Outcome, its detail, and page id of a hit's canonical URL."""
        row = self._base.execute(
            "SELECT urls.outcome, detail, pages.outcome, page_id FROM urls LEFT JOIN pages USING (page_url)"
            " WHERE url = ?",
            (url,),
        ).fetchone()
        fetched, detail, extracted, page_id = row
        return (fetched, detail, None) if fetched != "kept" else (extracted, "", page_id)

    def page(self, page_id: str) -> WebPage:
        """A page by its id; the last ones asked for are kept unpacked."""
        if page_id in self._cache:
            self._cache.move_to_end(page_id)
            return self._cache[page_id]
        (packed,) = self._base.execute("SELECT page FROM pages WHERE page_id = ?", (page_id,)).fetchone()
        page = _decode(zlib.decompress(packed), type=WebPage)
        self._cache[page_id] = page
        self._n_cached += len(page.text)
        while self._n_cached > CACHED_CHARACTERS and len(self._cache) > 1:
            self._n_cached -= len(self._cache.popitem(last=False)[1].text)
        return page

    def signature(self, page_id: str) -> bytes:
        """The signature of a page's text, for finding repeats."""
        return bytes(self._base.execute("SELECT signature FROM pages WHERE page_id = ?", (page_id,)).fetchone()[0])

    def add_question(self, split: str, question_id: str, hits: Iterable[SearchHit], found: Iterable[Evidence]) -> None:
        """The hits and the evidence of one question."""
        self._base.execute("INSERT INTO splits VALUES (?, ?)", (question_id, split))
        self._base.executemany(
            "INSERT INTO hits VALUES (?, ?, ?, ?, ?, ?)",
            [
                (split, hit.question_id, hit.rank, hit.page_id, cause_of(hit.outcome, hit.detail), _encode(hit))
                for hit in hits
            ],
        )
        self._base.executemany(
            "INSERT INTO evidence VALUES (?, ?, ?, ?)",
            [(split, item.question_id, item.method, _encode(item)) for item in found],
        )

    def hits(self, split: str) -> Iterator[SearchHit]:
        """A split's hits, by question and rank: questions were added in order."""
        rows = self._base.execute("SELECT hit FROM hits WHERE split = ? ORDER BY rowid", (split,))
        return (_decode(hit, type=SearchHit) for (hit,) in rows)

    def evidence(self, split: str) -> Iterator[Evidence]:
        """A split's evidence, by question and position."""
        rows = self._base.execute("SELECT evidence FROM evidence WHERE split = ? ORDER BY rowid", (split,))
        return (_decode(item, type=Evidence) for (item,) in rows)

    def pages(self, split: str) -> Iterator[WebPage]:
        """The pages that hits of a split lead to, by id."""
        rows = self._base.execute(
            "SELECT page FROM pages WHERE page_id IN (SELECT page_id FROM hits WHERE split = ?) ORDER BY page_id",
            (split,),
        )
        return (_decode(zlib.decompress(page), type=WebPage) for (page,) in rows)

    def leaks(self, split: str) -> Iterator[Leak]:
        """The leaks of a split's questions on pages of the same split, in the table's order."""
        rows = self._base.execute(
            "SELECT question_id, page_id, start, end, kind FROM kept_leak WHERE split = ?"
            " ORDER BY question_id, page_id, start, end, kind",
            (split,),
        )
        for question_id, page_id, start, end, kind in rows:
            yield Leak(question_id=question_id, page_id=page_id, start=start, end=end, kind=kind)

    def number(self, sql: str) -> Any:
        """One value of a query over the tables: for the manifest's counts."""
        return self._base.execute(sql).fetchone()[0]

    def counts(self, sql: str) -> dict[str, int]:
        """The rows (name, count) of a query over the tables, by name."""
        return dict(sorted(self._base.execute(sql).fetchall()))

    def flags(self) -> dict[str, int]:
        """Pages in the dataset by flag."""
        rows = self._base.execute(
            "SELECT flags, count(*) FROM kept JOIN pages USING (page_id) WHERE flags != '' GROUP BY flags"
        )
        counts: Counter[str] = Counter()
        for flags, n in rows:
            counts.update(dict.fromkeys(flags.split(), n))
        return dict(sorted(counts.items()))
