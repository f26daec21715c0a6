"""Crawling: questions -> searches -> fetches -> crawl store. Only missing entries are requested."""

from __future__ import annotations

import time
from collections.abc import Sequence

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl.fetching import fetch_missing
from builder.crawl.searching import Sleep, search_all, stop_where_unsearched
from builder.search.chain import Chain
from builder.store.crawl_store import CrawlStore
from edu_rag.records import Question


def crawl(
    questions: Sequence[Question],
    store: CrawlStore,
    chain: Chain,
    config: BuildConfig,
    now: Clock,
    *,
    allow_partial: bool = False,
    sleep: Sleep = time.sleep,
) -> int:
    """Crawl for the questions: searches, then fetches; return how many questions are left unsearched.

    Raises EngineError if the engines give up.
    """
    with chain.serving() as hosts:  # before the first search: a clash of host names must not wait for the last one
        left = search_all(questions, store, chain, config.search, now, sleep)
        if not allow_partial:
            stop_where_unsearched(left, len(questions), chain.name)
        fetch_missing(questions, store, config, hosts, now)
    return left.n
