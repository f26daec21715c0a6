"""Crawling: questions -> searches -> fetches -> crawl store. Only what is not in the store yet is asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl_fetch import fetch_missing
from builder.crawl_search import Patience, Sleep, search_all, stop_where_unsearched
from builder.crawl_store import CrawlStore
from builder.search import SearchEngine
from edu_rag.records import Question


def crawl(
    questions: Sequence[Question], store: CrawlStore, engine: SearchEngine, config: BuildConfig, now: Clock,
    *, allow_partial: bool = False, sleep: Sleep = time.sleep,
) -> None:  # fmt: skip
    """Bring home what the questions need: searches, then fetches. Raises EngineError where the engine gives up."""
    left = search_all(questions, store, engine, config.search.top, Patience.of(config), now, sleep)
    if not allow_partial:
        stop_where_unsearched(left, len(questions), store, engine.name)
    with engine.serving() as hosts:
        fetch_missing(questions, store, engine.name, config, hosts, now)
