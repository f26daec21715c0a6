"""The `folder` engine: a local index over folders of pages and WARC files, which it serves on loopback."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from builder.search.query_words import match_expression
from builder.search.settings import FolderConfig
from builder.search_results import SearchResult
from builder.sites.site_folders import HostMap, Site, is_host_name, read_sites
from builder.sites.site_server import Archived, serve_archives, serve_sites
from builder.urls import canonical_url
from edu_rag.errors import ConfigError
from edu_rag.progress import say

SUFFIXES = (".warc", ".warc.gz")
MAX_BODY_BYTES = 64_000_000
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BLOCK_BYTES = 1_048_576


@dataclass(frozen=True, slots=True, order=True)
class RecordPlace:
    """The position of a response. The order decides between several of one URL: pages before anything else, then the
    newest.

    `date` is the record's own; file and offset only break ties, by name, so that the order of the files says nothing.
    """

    is_page: bool
    is_ok: bool
    date: str
    file: str
    offset: int


def warc_files(paths: Sequence[str]) -> list[Path]:
    """The WARC files among and in the paths, sorted by name. Raises ConfigError if one holds none."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        files = [file for file in path.rglob("*") if file.name.endswith(SUFFIXES)] if path.is_dir() else [path]
        if not files or not all(file.is_file() for file in files):
            raise ConfigError(path, "is neither a WARC file nor a folder of such files", "name .warc or .warc.gz files")
        found.update(dict.fromkeys(files))
    return sorted(found, key=lambda file: (file.name, str(file)))


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _media_type(record: Any) -> str:
    header: str = record.http_headers.get_header("Content-Type") or "application/octet-stream"
    return " ".join(header.split())[:200]


def _status(record: Any) -> int:
    code = record.http_headers.get_statuscode() or ""
    return int(code) if code.isascii() and code.isdigit() and 200 <= int(code) <= 599 else 0


def _key(uri: str | None) -> str | None:
    """The canonical URL of a record's target, or None if it is not a page that we could serve: no host name, a port."""
    try:
        url = canonical_url((uri or "").strip("<>"))
        parts = urlsplit(url)
        if parts.port is not None or "@" in parts.netloc or not is_host_name(parts.hostname or ""):
            return None
    except ValueError:
        return None
    return url


class WarcPages:
    """The responses of some WARC files by canonical URL. Only their places are in memory."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = {f"{number:06d} {path.name}": path for number, path in enumerate(files)}
        self._places: dict[str, RecordPlace] = {}
        for name, path in self._files.items():
            for key, place in self._read(name, path):
                self._places[key] = max(place, self._places.get(key, place))
        if not any(place.is_page for place in self._places.values()):
            raise ConfigError("[search.folder] warcs", "hold no HTML page", "name WARC files of a crawl")

    def _headers(self, path: Path) -> Iterator[tuple[Any, int]]:
        """Every record, its headers alone to be read, with its offset."""
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed

        offset = -1
        with path.open("rb") as handle:
            records = ArchiveIterator(handle, block_size=_BLOCK_BYTES)
            try:
                for record in records:
                    offset = records.get_record_offset()  # reads past the record's body
                    if getattr(record.raw_stream, "limit", 0) > 0:
                        say(f"{path.name}: the record at byte {offset} is incomplete, and left out")
                        continue
                    yield record, offset
            except (ArchiveLoadFailed, EOFError, OSError, ValueError, TypeError, zlib.error) as error:
                if offset < 0:
                    raise ConfigError(
                        path, f"cannot be read as WARC: {str(error)[:200]}", "see `warcio check`"
                    ) from None
                # The tail of a crawl that was cut off; the records before it are valid.
                say(f"{path.name}: not read beyond the record at byte {offset}: {type(error).__name__}")

    def _read(self, name: str, path: Path) -> Iterator[tuple[str, RecordPlace]]:
        for record, offset in self._headers(path):
            if record.rec_type != "response" or record.http_headers is None:
                continue
            key, status = _key(record.rec_headers.get_header("WARC-Target-URI")), _status(record)
            if key is None or not status:
                continue
            date = record.rec_headers.get_header("WARC-Date") or ""
            is_page = status == 200 and _media_type(record).split(";")[0].strip().lower() in _PAGE_TYPES
            yield key, RecordPlace(is_page, status < 300, date, name, offset)

    def _response(self, place: RecordPlace) -> tuple[Any, bytes]:
        """The record at a place, and its body, decoded."""
        from warcio.archiveiterator import ArchiveIterator

        with self._files[place.file].open("rb") as handle:
            handle.seek(place.offset)
            record = next(iter(ArchiveIterator(handle)))
            return record, record.content_stream().read(MAX_BODY_BYTES)

    def hosts(self) -> tuple[str, ...]:
        """The hosts of all URLs, sorted."""
        return tuple(sorted({urlsplit(url).hostname or "" for url in self._places}))

    def pages(self) -> Iterator[tuple[str, bytes, str]]:
        """URL, body and content type of every HTML page, sorted by URL."""
        for url, place in sorted(self._places.items()):
            if place.is_page:
                record, body = self._response(place)
                yield url, body, _media_type(record)

    def answer(self, url: str) -> Archived | None:
        """The stored response for a URL, its body decoded; None if there is none."""
        key = _key(url)
        place = self._places.get(key) if key is not None else None
        if place is None:
            return None
        record, body = self._response(place)
        status = _status(record)
        location = record.http_headers.get_header("Location") if status in _REDIRECTS else None
        if location is not None and not location.isprintable():
            return Archived(status=404)
        return Archived(status=status, content_type=_media_type(record), body=body, location=location)

    def source(self) -> Mapping[str, Any]:
        """The hash of every file, by name and hash, so that neither paths nor the order of the settings matter."""
        return {"warcs": sorted([path.name, _sha256(path)] for path in self._files.values())}


NAME = "folder"
DEFAULT_SITES = "sites"
TITLE_WEIGHT = 2.0
MAX_INDEXED_CHARACTERS = 1_000_000


def _title_and_text(html: bytes, charset: str | None = None) -> tuple[str, str]:
    from builder.extract.decode import decode
    from builder.extract.page_text import page_title, parse_html, xpath

    tree = parse_html(decode(html, charset))
    if tree is None:
        return "", ""
    title = page_title(tree)
    for element in list(tree.iter("script", "style", "noscript", "template", "title")):
        element.drop_tree()
    texts = xpath("descendant::text()")(tree)  # not //text(): what follows </html> is not in the tree
    return title, " ".join(" ".join(texts).split())[:MAX_INDEXED_CHARACTERS]


IndexedPage = tuple[str, str, str]
"""URL, title and text of a page."""
_Reading = tuple[str, Callable[[], tuple[str, str]]]
N_READERS = 2
READ_AHEAD = 16
"""Pages that are read and not yet indexed."""


def _read(pages: Iterable[_Reading]) -> Iterator[IndexedPage]:
    """The pages in their order. Threads read them while SQLite indexes others: parsing takes most of the time."""
    waiting: deque[tuple[str, Future[tuple[str, str]]]] = deque()
    with ThreadPoolExecutor(N_READERS, "read-page") as readers:
        for url, read in pages:
            waiting.append((url, readers.submit(read)))
            if len(waiting) > READ_AHEAD:
                first, found = waiting.popleft()
                yield (first, *found.result())
        for first, found in waiting:
            yield (first, *found.result())


def _untitled(text: str) -> tuple[str, str]:
    return "", text


def _read_file(path: Path) -> tuple[str, str]:
    return _title_and_text(path.read_bytes())


def _of_site(site: Site) -> Iterator[_Reading]:
    special = {site.url(path): route.index_text for path, route in site.routes.items()}
    for url, path in site.pages():
        if special.get(url) is None:
            yield url, partial(_read_file, path)
    for url, text in sorted(special.items()):
        if text is not None:
            yield url, partial(_untitled, text)


def indexed_pages(sites: Iterable[Site]) -> Iterator[IndexedPage]:
    """All that the engine knows of sites: their HTML pages, and routes with `index_text`."""
    return _read(page for site in sites for page in _of_site(site))


def archived_pages(archive: WarcPages) -> Iterator[IndexedPage]:
    """The HTML pages of WARC files."""
    from builder.fetch.body import charset_of

    return _read(
        (url, partial(_title_and_text, body, charset_of({"Content-Type": content_type})))
        for url, body, content_type in archive.pages()
    )


class FolderEngine:
    """SQLite FTS5 (porter, unicode61) ranked by its bm25(), title weighted double, ties by URL.

    URLs have a separate table: FTS5 would read all of a page's text to give one of its columns, for every match.
    """

    name = NAME

    def __init__(self, sites: Sequence[Site], archive: WarcPages | None = None) -> None:
        self._sites = tuple(sites)
        self._archive = archive
        self._index = sqlite3.connect("", check_same_thread=False)  # on disk where it grows large
        self._index.execute(
            "CREATE VIRTUAL TABLE page USING fts5(title, text, content='', tokenize='porter unicode61')"
        )
        self._index.execute("CREATE TABLE address (number INTEGER PRIMARY KEY, url TEXT)")
        self._add(indexed_pages(self._sites))
        if archive is not None:
            self._add(archived_pages(archive))

    def _add(self, pages: Iterable[IndexedPage]) -> None:
        for url, title, text in pages:
            number = self._index.execute("INSERT INTO address (url) VALUES (?)", (url,)).lastrowid
            self._index.execute("INSERT INTO page (rowid, title, text) VALUES (?, ?, ?)", (number, title, text))

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
        if engine._index.execute("SELECT 1 FROM address LIMIT 1").fetchone() is None:
            raise ConfigError(folder, "its folders hold no HTML page", "give the folder whose folders are sites")
        return engine

    def search(self, query: str, n: int) -> SearchResult:
        """The best n pages for the query's words."""
        expression = match_expression(query)
        if not expression:
            return SearchResult(state="none", reason="the query has no word")
        rows = self._index.execute(
            "SELECT round(bm25(page, ?, 1.0), 9), rowid FROM page WHERE page MATCH ?", (TITLE_WEIGHT, expression)
        ).fetchall()
        if not rows:
            return SearchResult(state="none", reason="no page holds any of the query's words")
        worst, _ = nsmallest(n, rows)[-1]
        best = sorted((score, self._url(number)) for score, number in rows if score <= worst)
        return SearchResult(state="hits", urls=tuple(url for _, url in best[:n]))

    def _url(self, number: int) -> str:
        (url,) = self._index.execute("SELECT url FROM address WHERE number = ?", (number,)).fetchone()
        return str(url)

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
