"""The pages of one split by id, on disk while pairs are made of them in any order: memory holds a few."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import TracebackType

import msgspec

from builder.dataset.chat_pairs import ReadPage, read_page
from edu_rag.records import WebPage

CACHED_PAGES = 256


class PageShelf:
    """A scratch table of pages; it goes when it is closed."""

    def __init__(self, pages: Iterable[WebPage]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="edu-rag-pages-")
        self._base = sqlite3.connect(Path(self._folder.name) / "pages.sqlite3", isolation_level=None)
        self._base.execute("PRAGMA journal_mode=OFF")  # nothing here must survive a crash
        self._base.execute("PRAGMA synchronous=OFF")
        self._base.execute("CREATE TABLE pages (page_id TEXT PRIMARY KEY, page BLOB) WITHOUT ROWID")
        encoded = ((page.page_id, msgspec.msgpack.encode(page)) for page in pages)
        self._base.execute("BEGIN")
        self._base.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?)", encoded)
        self._base.execute("COMMIT")
        self.ids: list[str] = [row[0] for row in self._base.execute("SELECT page_id FROM pages ORDER BY page_id")]
        self._known = frozenset(self.ids)
        self.page = lru_cache(maxsize=CACHED_PAGES)(self._read)

    def _read(self, page_id: str) -> ReadPage:
        row = self._base.execute("SELECT page FROM pages WHERE page_id = ?", (page_id,)).fetchone()
        if row is None:
            raise KeyError(page_id)
        return read_page(msgspec.msgpack.decode(row[0], type=WebPage))

    def __contains__(self, page_id: str) -> bool:
        return page_id in self._known

    def __enter__(self) -> PageShelf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()
        self._folder.cleanup()
