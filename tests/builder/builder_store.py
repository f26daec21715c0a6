"""What a crawl store holds, in the forms that tests compare."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

from builder.store.index import Fetch
from builder.store.reader import WARC_FILE, StoreReader
from builder.store.warc import Record, WarcFile, scan


def fetches(store: StoreReader) -> dict[str, Fetch]:
    """All fetches by URL."""
    return {fetch.url: fetch for fetch in store.iter_fetches()}


def n_fetches(store: StoreReader) -> dict[str, int]:
    """Fetched URLs, counted by outcome."""
    return dict(Counter(fetch.outcome for fetch in store.iter_fetches()))


def n_searches(store: StoreReader, engine: str) -> dict[str, int]:
    """Questions asked of an engine, counted by state."""
    return dict(Counter(search.state for search in store.iter_searches(engine)))


def records(folder: Path) -> list[tuple[str, bytes]]:
    """Every whole record of a store's WARC file: its kind and its bytes, in order."""
    with closing(WarcFile(folder / WARC_FILE, writable=False)) as warc:
        found = (item for item in scan(warc, 0) if isinstance(item, Record))
        return [(item.kind, warc.read(item.offset, item.end - item.offset)) for item in found]


def responses(folder: Path) -> list[bytes]:
    """The bytes of every response in a store's WARC file, in order."""
    return [raw for kind, raw in records(folder) if kind == "response"]
