"""The `folder` engine: a local full-text index over folders of pages and WARC files, which it serves on loopback."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from builder.search.query_words import telling_words
from builder.search.settings import FolderConfig
from builder.search.warc_pages import WarcPages, warc_files
from builder.search_results import SearchResult
from builder.sites.site_folders import HostMap, Site, read_sites
from builder.sites.site_server import serve_archives, serve_sites
from edu_rag.errors import ConfigError

NAME = "folder"
DEFAULT_SITES = "sites"
TITLE_WEIGHT = 2.0
MAX_INDEXED_CHARACTERS = 1_000_000


def match_expression(query: str) -> str:
    """The query as an FTS5 expression: its words, quoted and OR-ed, stop words dropped; empty if it has no word."""
    return " OR ".join(f'"{word}"' for word in telling_words(query))


def _title_and_text(html: bytes, charset: str | None = None) -> tuple[str, str]:
    from builder.extract.decode import decode
    from builder.extract.page_text import page_title, parse_html

    tree = parse_html(decode(html, charset))
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


def archived_pages(archive: WarcPages) -> Iterator[tuple[str, str, str]]:
    """URL, title and text of the HTML pages of WARC files."""
    from builder.fetch.body import charset_of

    for url, body, content_type in archive.pages():
        yield (url, *_title_and_text(body, charset_of({"Content-Type": content_type})))


class FolderEngine:
    """SQLite FTS5 (porter, unicode61) ranked by its bm25(), title weighted double, ties by URL."""

    name = NAME

    def __init__(self, sites: Sequence[Site], archive: WarcPages | None = None) -> None:
        self._sites = tuple(sites)
        self._archive = archive
        self._index = sqlite3.connect("", check_same_thread=False)  # on disk where it grows large
        self._index.execute(
            "CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize='porter unicode61')"
        )
        for site in self._sites:
            self._index.executemany("INSERT INTO page VALUES (?, ?, ?)", indexed_pages(site))
        if archive is not None:
            self._index.executemany("INSERT INTO page VALUES (?, ?, ?)", archived_pages(archive))

    @classmethod
    def open(cls, config: FolderConfig) -> FolderEngine:
        """Read and index the folder of web sites and the WARC files that the settings name."""
        archive = WarcPages(warc_files(config.warcs)) if config.warcs else None
        folder = config.sites if config.sites is not None or archive is not None else DEFAULT_SITES
        sites = read_sites(Path(folder), config.hosts) if folder is not None else []
        twice = sorted({site.host for site in sites} & set(archive.hosts() if archive is not None else ()))
        if twice:
            raise ConfigError(
                twice[0], "is a site and in a WARC file", "give the site another name in [search.folder.hosts]"
            )
        engine = cls(sites, archive)
        if engine._index.execute("SELECT 1 FROM page LIMIT 1").fetchone() is None:
            raise ConfigError(folder, "its folders hold no HTML page", "give the folder whose folders are sites")
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
        hosts: dict[str, tuple[str, int]] = {}
        with ExitStack() as stack:
            if self._sites:
                port = stack.enter_context(serve_sites(self._sites))
                hosts |= {site.host: ("127.0.0.1", port) for site in self._sites}
            if self._archive is not None:
                answers = dict.fromkeys(self._archive.hosts(), self._archive.answer)
                port = stack.enter_context(serve_archives(answers))
                hosts |= dict.fromkeys(answers, ("127.0.0.1", port))
            yield hosts

    def source(self) -> Mapping[str, Any]:
        """The hosts and the hash of each site's files, and the hash of each WARC file."""
        sites = {"sites": {site.host: site.sha256() for site in self._sites}} if self._sites else {}
        return sites | dict(self._archive.source() if self._archive is not None else {})
