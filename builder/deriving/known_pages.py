"""Pages that an earlier build has made: results of the page stage and extractions, kept in the crawl store's cache.

A result depends on the page's bytes and charset, its URL and time, the extractor, the settings, the questions, and the
programs at work. All of them are in its key, so that a key that is found has the value that would be made again. The
dataset is the same with an empty, a full and a damaged cache.
"""

from __future__ import annotations

import hashlib
import platform
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path

import msgspec

import builder
import edu_rag
from builder.deriving.page_stage import PageJob, PageResult, PageSettings
from builder.extract.extract import MAX_PACKED_BYTES, unpacked
from builder.store.page_cache import PageCache

Jobs = Iterable[tuple[str, PageJob]]
Results = Iterable[tuple[str, PageResult]]


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


@cache
def programs_digest() -> bytes:
    """A hash of all programs that may make a page: our own files, the installed packages, and Python.

    A version number would not do for our own: in a checkout the rules change under the same number.
    """
    rules, shared = Path(builder.__file__).parent, Path(edu_rag.__file__).parent
    files = [*rules.rglob("*"), *shared.glob("*.py")]
    sources = sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts)
    named = (part for path in sources for part in (path.name.encode(), path.read_bytes()))
    # As text: parsing the metadata of all packages for names and versions takes a fifth of a second.
    packages = sorted(
        found.read_text("METADATA") or found.read_text("PKG-INFO") or f"{found.name} {found.version}"
        for found in distributions()
    )
    return _digest(platform.python_version().encode(), "\n".join(packages).encode(), *named)


def _is_of(result: PageResult, job: PageJob) -> bool:
    """Whether a page was made from this response: a wrong entry must not become the text of another page."""
    page = result.page
    made_from = (job.url, job.html_sha256, job.fetched_at)
    return page is None or (page.url, page.html_sha256, page.fetched_at) == made_from


class KnownPages:
    """The page stage with a memory.

    It counts the pages that were known (`n_known`), those whose text was known and that only needed labels
    (`n_labelled`), and those that were extracted (`n_extracted`).

    What a worker's limits had a part in is made every time: it depends on the machine. So is a page on which a tool
    raised, since the tool may be repaired.
    """

    def __init__(self, kept: PageCache, settings: PageSettings) -> None:
        self._cache = kept
        self._extractor = _digest(programs_digest(), settings.extract.extractor.encode())
        self._settings = _digest(self._extractor, msgspec.msgpack.encode(settings))
        self._keys: dict[str, tuple[bytes, bytes]] = {}
        """Of the pages in work, by URL: the key of the extraction, and that of the result."""
        self.n_known = self.n_labelled = self.n_extracted = 0

    def run(self, todo: Jobs, make: Callable[[Jobs], Results], add: Callable[[str, PageResult], None]) -> None:
        """Give `add` the result of every job: known ones at once, the others as `make` brings them."""
        missing = self._missing(todo, add)
        first = next(missing, None)
        if first is None:  # no worker is started for nothing
            return
        for page_url, result in make(chain([first], missing)):
            self.keep(page_url, result)
            add(page_url, result)

    def _missing(self, todo: Jobs, add: Callable[[str, PageResult], None]) -> Iterator[tuple[str, PageJob]]:
        for page_url, job in todo:
            found = self.ask(page_url, job)
            if isinstance(found, PageResult):
                add(page_url, found)
            else:
                yield page_url, found

    def ask(self, page_url: str, job: PageJob) -> PageResult | PageJob:
        """The result of a job if it is known; else what is left to do, whose result `keep` takes."""
        extraction, whole = self._keys_of(job)
        found = self._result(whole)
        if found is not None and _is_of(found, job):
            self.n_known += 1
            self._cache.use(extraction)  # for another day, with other settings
            return found
        self._keys[page_url] = extraction, whole
        text = self._extraction(extraction)
        self.n_labelled += bool(text)
        self.n_extracted += not text
        return replace(job, extraction=text, is_packed=self._cache.is_open)

    def _keys_of(self, job: PageJob) -> tuple[bytes, bytes]:
        charset = b"" if job.charset is None else f"charset {job.charset}".encode()
        extraction = _digest(self._extractor, job.html_sha256.encode(), charset)
        whole = _digest(self._settings, extraction, job.url.encode(), job.fetched_at.isoformat().encode())
        return extraction, whole

    def _named(self, key: bytes) -> bytes | None:
        """A stored value, which begins with its own key: one that was stored for another page is not one."""
        value = self._cache.get(key)
        return value.removeprefix(key) if value is not None and value.startswith(key) else None

    def _result(self, key: bytes) -> PageResult | None:
        value = self._named(key)
        try:
            packed = None if value is None else zlib.decompressobj().decompress(value, MAX_PACKED_BYTES)
            return None if packed is None else msgspec.msgpack.decode(packed, type=PageResult)
        except (msgspec.MsgspecError, zlib.error, ValueError):
            return None

    def _extraction(self, key: bytes) -> bytes:
        value = self._named(key) or b""
        try:
            unpacked(value)
        except (msgspec.MsgspecError, zlib.error, ValueError):
            return b""
        return value

    def keep(self, page_url: str, result: PageResult) -> bool:
        """Keep the result of a job that `ask` gave, if the same programs will come to it again; whether that is so."""
        extraction, whole = self._keys.pop(page_url)
        if not result.is_lasting or result.raised:
            return False
        if result.extraction:
            self._cache.put(extraction, extraction + result.extraction)
        self._cache.put(whole, whole + zlib.compress(msgspec.msgpack.encode(replace(result, extraction=b"")), 1))
        return True

    def end(self) -> None:
        """Forget the pages that were not asked for, if any was."""
        if self.n_known or self.n_labelled or self.n_extracted:
            self._cache.forget_unused()
