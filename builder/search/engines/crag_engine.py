"""The `crag` engine: the search results that CRAG's own files hold for a question, and their pages, served locally."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from builder.question_sets.crag_files import CragRecord, crag_items
from builder.search.settings import CragConfig
from builder.search_results import SearchResult
from builder.sites.site_folders import HostMap, is_host_name
from builder.sites.site_server import Archived, serve_archives
from builder.urls import canonical_or_none
from edu_rag.errors import ConfigError, RecordError

NAME = "crag"


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _servable(url: str) -> str | None:
    """The canonical URL of a page that can be served under its own host name, or None."""
    canonical = canonical_or_none(url)
    if canonical is None:
        return None
    parts = urlsplit(canonical)
    plain = parts.port is None and "@" not in parts.netloc and is_host_name(parts.hostname or "")
    return canonical if plain else None


class _Hit(NamedTuple):
    """A search result: its address; and the address and the HTML under which its page is served, where it can be."""

    url: str
    servable: str | None = None
    html: bytes | None = None


def _hits(number: int, record: CragRecord | RecordError) -> Iterator[tuple[str, _Hit | None]]:
    """A record's query, and again with each of its hits."""
    if isinstance(record, RecordError):  # the reader of questions reports faults
        return
    query = " ".join(record.query.split())
    yield query, None
    for hit in record.search_results:
        url = _servable(hit.page_url)
        html = hit.html() if url is not None else None
        yield query, _Hit(hit.page_url, url, html.encode("utf-8")) if html else _Hit(hit.page_url)


class CragEngine:
    """A SearchEngine over CRAG's records: a question's own hits in their order, and the HTML that CRAG fetched.

    If several records hold one page, the first HTML that is not empty is served, in the order of the files. A page
    that CRAG could not fetch is a 404.
    """

    name = NAME

    def __init__(self, files: Sequence[Path]) -> None:
        self._urls: dict[str, dict[str, None]] = {}
        self._sources = sorted(_sha256(path) for path in files)
        self._pages = sqlite3.connect("", check_same_thread=False)  # on disk where it grows large
        self._pages.execute("CREATE TABLE page (url TEXT PRIMARY KEY, html BLOB) WITHOUT ROWID")
        for path in files:
            for query, hit in crag_items(path, _hits):
                self._add(query, hit)

    @classmethod
    def open(cls, config: CragConfig) -> CragEngine:
        """Read the files that the settings name. Raises ConfigError if there are none."""
        files = [Path(name) for name in config.files]
        missing = [path for path in files if not path.is_file()]
        if missing or not files:
            where = missing[0] if missing else "[search.crag] files"
            raise ConfigError(where, "is not a file of CRAG", "name some under [search.crag] files")
        return cls(files)

    def _add(self, query: str, hit: _Hit | None) -> None:
        urls = self._urls.setdefault(query, {})
        if hit is None:
            return
        urls[hit.url] = None
        if hit.html is not None:
            self._pages.execute("INSERT OR IGNORE INTO page VALUES (?, ?)", (hit.servable, hit.html))

    def search(self, query: str, n: int) -> SearchResult:
        """The results that the records hold for the query."""
        urls = self._urls.get(" ".join(query.split()))
        if urls is None:
            return SearchResult(state="failed", reason="no record of CRAG's asks this")
        if not urls:
            return SearchResult(state="none", reason="recorded so")
        return SearchResult(state="hits", urls=tuple(urls)[:n])

    def answer(self, url: str) -> Archived | None:
        """The stored page of a URL; None if CRAG has none."""
        key = canonical_or_none(url)
        row = self._pages.execute("SELECT html FROM page WHERE url = ?", (key,)).fetchone()
        return Archived(content_type="text/html; charset=utf-8", body=row[0]) if row else None

    @contextmanager
    def serving(self) -> Iterator[HostMap]:
        """While entered, the hosts of the pages answer on loopback under their own names."""
        urls = [url for urls in self._urls.values() for hit in urls if (url := _servable(hit))]
        hosts = sorted({urlsplit(url).hostname or "" for url in urls})
        with serve_archives(dict.fromkeys(hosts, self.answer)) as port:
            yield dict.fromkeys(hosts, ("127.0.0.1", port))

    def source(self) -> Mapping[str, Any]:
        """The hash of every file, in the order of the hashes."""
        return {"crag": self._sources}
