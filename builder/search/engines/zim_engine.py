"""The `zim` engine: ZIM files (Wikipedia, LibreTexts, CK-12 …), searched by their own index and served on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from builder.search.combine import fused
from builder.search.query_words import telling_words
from builder.search.settings import ZimConfig
from builder.search_results import SearchResult
from builder.sites.site_folders import HostMap, checked_host
from builder.sites.site_server import Archived, serve_archives
from edu_rag.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from libzim.reader import Archive
    from libzim.search import Searcher

NAME = "zim"
MAX_WORDS = 24
MAX_ENTRY_BYTES = 64_000_000
_METADATA = ("Name", "Title", "Date", "Language", "Publisher", "License", "Source")


def word_sets(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The sets of words that a page must hold all of, strictest first; `words` come rarest first.

    A ZIM's index knows no OR. So: all words; all but one, the most common left out first; only the rarest ones, down
    to two; each alone.
    """
    words = tuple(words)
    if words:
        yield words
    if len(words) > 2:
        yield from (words[:i] + words[i + 1 :] for i in reversed(range(len(words))))
    yield from (words[:n] for n in range(len(words) - 2, 1, -1))
    if len(words) > 1:
        yield from ((word,) for word in words)


class ZimSite:
    """One ZIM file under one host name."""

    def __init__(self, host: str, archive: Archive, searcher: Searcher) -> None:
        self.host = host
        self._archive = archive
        self._searcher = searcher

    @classmethod
    def open(cls, path: Path, host: str) -> ZimSite:
        """Open a ZIM file. Raises ConfigError if it is not a ZIM file, or has no full-text index."""
        try:
            from libzim.reader import Archive
            from libzim.search import Searcher
        except ImportError:
            raise MissingExtraError("engine zim", "needs libzim", 'pip install "edu-rag-bench[build]"') from None
        if not path.is_file():
            raise ConfigError(path, "no such ZIM file", "name it under [search.zim] files")
        try:
            archive = Archive(path)
        except RuntimeError as error:
            raise ConfigError(path, f"cannot be read as a ZIM file: {str(error)[:200]}", "download it again") from None
        if not archive.has_fulltext_index:
            what = "has no full-text index, so it cannot be searched"
            raise ConfigError(path, what, "take an edition with one (their names do not say `nopic` or `mini` only)")
        return cls(host, archive, Searcher(archive))

    def _query(self, words: Sequence[str]) -> Any:
        from libzim.search import Query

        return self._searcher.search(Query().set_query(" ".join(words)))

    def _known_words(self, query: str) -> list[str]:
        """The query's telling words that the index holds, rarest first."""
        words = telling_words(query)[: 4 * MAX_WORDS]
        counts = {word: int(self._query([word]).getEstimatedMatches()) for word in words}
        return sorted((word for word in words if counts[word]), key=lambda word: (counts[word], word))[:MAX_WORDS]

    def search(self, query: str, n: int) -> list[str]:
        """URLs of the best n articles: those that hold the most of the rarest words, each set by the index's BM25."""
        paths: dict[str, None] = {}
        for words in word_sets(self._known_words(query)):
            paths.update(dict.fromkeys(self._query(words).getResults(0, n)))
            if len(paths) >= n:
                break
        return [self.url(path) for path in paths][:n]

    def url(self, path: str) -> str:
        """The URL of an entry."""
        return f"http://{self.host}/{quote(path, safe='/:,@=&+$()~*!')}"

    def answer(self, url: str) -> Archived | None:
        """An entry as HTTP: its bytes, or a redirect to where it points; None if there is none."""
        path = unquote(urlsplit(url).path[1:])
        if not self._archive.has_entry_by_path(path):
            return None
        entry = self._archive.get_entry_by_path(path)
        if entry.is_redirect:
            return Archived(status=302, location=self.url(entry.get_redirect_entry().path))
        item = entry.get_item()
        if item.size > MAX_ENTRY_BYTES:
            return Archived(status=413)
        return Archived(content_type=item.mimetype or "application/octet-stream", body=bytes(item.content))

    def source(self) -> dict[str, str]:
        """The file's identity: its own id, checksum and metadata."""
        identity = {"uuid": str(self._archive.uuid)}
        if self._archive.has_checksum:
            identity["checksum"] = str(self._archive.checksum)
        known = set(self._archive.metadata_keys)
        return identity | {
            key.lower(): self._archive.get_metadata(key).decode("utf-8", "replace") for key in _METADATA if key in known
        }


def host_of_file(path: Path, hosts: Mapping[str, str]) -> str:
    """A ZIM file's host name: the one that the settings give, or one made from its file name, under `.zim`."""
    if path.name in hosts:
        return checked_host(hosts[path.name], path, "[search.zim.hosts]")
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:50].strip("-")
    return checked_host(f"{stem or 'archive'}.zim", path, "[search.zim.hosts]")


class ZimEngine:
    """All ZIM files of the settings; of several, the results are fused by reciprocal rank, in the files' order."""

    name = NAME

    def __init__(self, sites: Sequence[ZimSite]) -> None:
        self._sites = tuple(sites)

    @classmethod
    def open(cls, config: ZimConfig) -> ZimEngine:
        """Open the files that the settings name. Raises ConfigError for a file that cannot be searched or served."""
        if not config.files:
            raise ConfigError("engine zim", "has no ZIM file", "name some under [search.zim] files")
        sites: dict[str, Path] = {}
        for path in map(Path, config.files):
            host = host_of_file(path, config.hosts)
            if host in sites:
                raise ConfigError(path, f"has the host name {host} of {sites[host].name}", "name one under hosts")
            sites[host] = path
        stray = sorted(set(config.hosts) - {path.name for path in sites.values()})
        if stray:
            raise ConfigError("engine zim", f"[search.zim.hosts] names {stray[0]}, which is not one of its files")
        return cls([ZimSite.open(path, host) for host, path in sites.items()])

    def search(self, query: str, n: int) -> SearchResult:
        """The best n articles of all files."""
        try:
            found = fused((site.host, site.search(query, n)) for site in self._sites)
        except RuntimeError as error:  # libzim's own, for a file that is damaged inside
            return SearchResult(state="failed", reason=f"the index cannot be read: {str(error)[:200]}")
        if not found:
            return SearchResult(state="none", reason="no article holds any of the query's words")
        return SearchResult(state="hits", urls=tuple(url for url, _ in found[:n]))

    @contextmanager
    def serving(self) -> Iterator[HostMap]:
        """While entered, the files' entries answer on loopback under their host names."""
        with serve_archives({site.host: site.answer for site in self._sites}) as port:
            yield {site.host: ("127.0.0.1", port) for site in self._sites}

    def source(self) -> Mapping[str, Any]:
        """The files by host: their ids, checksums and metadata."""
        return {"archives": {site.host: site.source() for site in self._sites}}
