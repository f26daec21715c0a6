"""The `folder` engine: a local full-text index over folders of HTML pages, which it also serves over loopback HTTP."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builder.search import HostMap, SearchResult
from builder.search.settings import FolderConfig
from builder.site_server import serve_sites
from builder.sites import Site, read_sites
from edu_rag.errors import ConfigError

NAME = "folder"
TITLE_WEIGHT = 2.0
MAX_INDEXED_CHARACTERS = 1_000_000
_STOP_WORDS = """
a about after all also an and any are as at be been before between both but by can could did do does each few
following for from had has have he her his how i if in into is it its made make many may more most much not of on
one or other our out over own same she should so some such than that the their them then there these they this those
through to under up very was we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def match_expression(query: str) -> str:
    """The query as an FTS5 expression: its words, quoted and OR-ed, stop words dropped; empty where it has no word."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))
    telling = [word for word in words if word not in STOP_WORDS] or words
    return " OR ".join(f'"{word}"' for word in telling)


def _title_and_text(html: bytes) -> tuple[str, str]:
    from builder.decode import decode
    from builder.page_text import page_title, parse_html

    tree = parse_html(decode(html, None))
    if tree is None:
        return "", ""
    title = page_title(tree)
    for element in tree.xpath("//script | //style | //noscript | //template | //title | //comment()"):
        element.drop_tree()
    return title, " ".join(" ".join(tree.itertext()).split())[:MAX_INDEXED_CHARACTERS]


def indexed_pages(site: Site) -> Iterator[tuple[str, str, str]]:
    """URL, title and text of all that the engine knows of a site: its HTML pages, and routes with `index_text`."""
    special = {site.url(path): route.index_text for path, route in site.routes.items()}
    for url, path in site.pages():
        if special.get(url) is None:
            yield (url, *_title_and_text(path.read_bytes()))
    for url, text in sorted(special.items()):
        if text is not None:
            yield url, "", text


class FolderEngine:
    """SQLite FTS5 (porter, unicode61) ranked by its bm25(), title weighted double, ties by URL."""

    name = NAME

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = tuple(sites)
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize='porter unicode61')"
        )
        for site in self._sites:
            self._index.executemany("INSERT INTO page VALUES (?, ?, ?)", indexed_pages(site))

    @classmethod
    def open(cls, config: FolderConfig) -> FolderEngine:
        """Read and index the folder of web sites that the settings name."""
        engine = cls(read_sites(Path(config.sites), config.hosts))
        if engine._index.execute("SELECT 1 FROM page LIMIT 1").fetchone() is None:
            raise ConfigError(config.sites, "its folders hold no HTML page", "give the folder whose folders are sites")
        return engine

    def search(self, query: str, n: int) -> SearchResult:
        """The best n pages for the query's words."""
        expression = match_expression(query)
        if not expression:
            return SearchResult(state="none", reason="the query has no word")
        rows = self._index.execute(
            "SELECT url FROM page WHERE page MATCH ? ORDER BY round(bm25(page, 0.0, ?, 1.0), 9), url LIMIT ?",
            (expression, TITLE_WEIGHT, n),
        ).fetchall()
        if not rows:
            return SearchResult(state="none", reason="no page holds any of the query's words")
        return SearchResult(state="hits", urls=tuple(url for (url,) in rows))

    @contextmanager
    def serving(self) -> Iterator[HostMap]:
        """While entered, the sites answer on loopback under their own host names."""
        with serve_sites(self._sites) as port:
            yield {site.host: ("127.0.0.1", port) for site in self._sites}

    def source(self) -> Mapping[str, Any]:
        """The hosts and the hash of each site's files."""
        return {"sites": {site.host: site.sha256() for site in self._sites}}
