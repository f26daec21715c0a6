"""The fetching half of a crawl: each distinct URL of the hits that the store does not hold yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl_search import answered
from builder.crawl_store import CrawlStore, Fetch, Search
from builder.fetch import Fetched, fetch_all
from builder.search import HostMap
from builder.urls import canonical_url, host_of
from edu_rag.progress import Stage
from edu_rag.records import Question


def _needs_fetch(fetch: Fetch | None) -> bool:
    # A host that said "too many requests" has not said what the page is: it is asked once more on the next run.
    return fetch is None or (fetch.outcome == "http_error" and fetch.status == 429)


def urls_to_fetch(searches: Iterable[Search], fetches: Mapping[str, Fetch]) -> list[str]:
    """The distinct canonical URLs of all hits that are not in the store, sorted."""
    wanted: set[str] = set()
    for search in searches:
        for url in search.urls:
            try:
                wanted.add(canonical_url(url))
            except ValueError:
                continue  # derive gives this hit its fate: refused_address
    return sorted(url for url in wanted if _needs_fetch(fetches.get(url)))


def _interleaved(urls: Sequence[str]) -> list[str]:
    """The URLs in an order that spreads them over hosts, so that no host's limit holds the others up."""
    turns: dict[str, int] = {}
    keyed = []
    for url in urls:
        host = host_of(url)
        turns[host] = turns.get(host, 0) + 1
        keyed.append((turns[host], url))
    return [url for _, url in sorted(keyed)]


def fetch_missing(
    questions: Sequence[Question], store: CrawlStore, engine: str, config: BuildConfig, hosts: HostMap, now: Clock
) -> None:
    """Fetch each distinct URL of the questions' hits that the store does not hold yet."""
    urls = urls_to_fetch(answered(store, engine, questions).values(), store.fetches())
    with Stage("fetch", total=len(urls)) as stage:

        def keep(got: Fetched) -> None:
            store.add_fetch(got)
            stage.add(got.outcome)

        fetch_all(_interleaved(urls), config.fetch, hosts, now, keep)
    store.flush()
