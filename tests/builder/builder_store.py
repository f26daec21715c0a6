"""What a crawl store holds, in the forms that tests compare."""

from __future__ import annotations

from collections import Counter

from builder.store.index import Fetch
from builder.store.reader import StoreReader


def fetches(store: StoreReader) -> dict[str, Fetch]:
    """All fetches by URL."""
    return {fetch.url: fetch for fetch in store.iter_fetches()}


def n_fetches(store: StoreReader) -> dict[str, int]:
    """Fetched URLs, counted by outcome."""
    return dict(Counter(fetch.outcome for fetch in store.iter_fetches()))


def n_searches(store: StoreReader, engine: str) -> dict[str, int]:
    """Questions asked of an engine, counted by state."""
    return dict(Counter(search.state for search in store.iter_searches(engine)))
