"""Crawling: questions -> searches -> fetches -> crawl store. Only what is not in the store yet is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.clock import Clock
from builder.config import BuildConfig, GoogleConfig
from builder.crawl_store import CrawlStore, Fetch, Search
from builder.fetch import Fetched, fetch_all
from builder.search import ANSWERED, HostMap, SearchEngine, SearchResult
from builder.urls import canonical_url
from edu_rag.errors import EngineError
from edu_rag.progress import Stage
from edu_rag.records import Question

Sleep = Callable[[float], None]
MAX_FAILURES_IN_A_ROW = 3
FIRST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a limited engine is waited for: `retries` times, each wait at most `max_wait_s`."""

    retries: int
    max_wait_s: float
    pause_s: float

    @classmethod
    def of(cls, config: BuildConfig) -> Patience:
        """The patience that suits the engine: a local one is never waited for."""
        if config.search.engine != "google":
            return cls(retries=0, max_wait_s=0, pause_s=0)
        google: GoogleConfig = config.search.google
        return cls(retries=google.retries, max_wait_s=google.max_wait_s, pause_s=google.pause_s)


def query_of(question: Question) -> str:
    """What the engine is asked: the question without its choices (EDU-RAG section 3), white space made single."""
    return " ".join(question.text.split())


def _ask(engine: SearchEngine, query: str, n: int, patience: Patience, sleep: Sleep) -> SearchResult:
    """Ask once, and again after each wait while the engine says that it is too much."""
    result = engine.search(query, n)
    for attempt in range(patience.retries):
        if result.state != "rate_limited":
            break
        wait_s = result.retry_after_s if result.retry_after_s is not None else FIRST_WAIT_S * 2**attempt
        if wait_s > patience.max_wait_s:
            break
        sleep(wait_s)
        result = engine.search(query, n)
    return result


def answered(store: CrawlStore, engine: str, questions: Iterable[Question]) -> dict[str, Search]:
    """The stored searches, by question, that need no asking again: answered, and for the query of today."""
    queries = {question.question_id: query_of(question) for question in questions}
    return {
        search.question_id: search
        for search in store.searches(engine)
        if search.state in ANSWERED and queries.get(search.question_id) == search.query
    }


def search_all(
    questions: Sequence[Question], store: CrawlStore, engine: SearchEngine, top: int, patience: Patience,
    now: Clock, sleep: Sleep = time.sleep,
) -> int:  # fmt: skip
    """Search for every question that has no answer in the store; return how many are left without one.

    Questions with one query are asked once. Stops at the first question that stays limited or blocked, and after
    three failures in a row: to go on would only turn refusals into losses.
    """
    done = answered(store, engine.name, questions)
    by_query = {search.query: search for search in done.values()}
    failures = 0
    with Stage("search", total=len(questions)) as stage:
        stage.add("done", len(done))
        for question in questions:
            if question.question_id in done:
                continue
            query = query_of(question)
            known = by_query.get(query)
            if known is not None:
                result, at = SearchResult(state=known.state, urls=known.urls, reason=known.reason), known.searched_at
            else:
                result, at = _ask(engine, query, top, patience, sleep), now()
            store.add_search(question.question_id, engine.name, query, result, at)
            if result.state in ANSWERED:
                by_query[query] = Search(
                    question_id=question.question_id, query=query, state=result.state, reason=result.reason,
                    urls=result.urls, searched_at=at,
                )  # fmt: skip
            stage.add("done" if result.state in ANSWERED else result.state)
            failures = failures + 1 if result.state == "failed" else 0
            if result.state in ("rate_limited", "blocked") or failures == MAX_FAILURES_IN_A_ROW:
                break
            if known is None and patience.pause_s:
                sleep(patience.pause_s)
    return len(questions) - len(answered(store, engine.name, questions))


def stop_where_unsearched(n_unsearched: int, n_questions: int, store: CrawlStore, engine: str) -> None:
    """Raise EngineError where questions are left unsearched: the reason of the last refusal, and how to go on."""
    if not n_unsearched:
        return
    refusals = [search for search in store.searches(engine) if search.state not in ANSWERED]
    last = f" ({refusals[-1].state}: {refusals[-1].reason})" if refusals else ""
    raise EngineError(
        f"engine {engine}",
        f"stopped answering{last}; {n_unsearched:,} of {n_questions:,} questions are unsearched",
        "run the same command later to resume, or add --allow-partial to build without them",
    )


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
    from builder.urls import host_of

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
