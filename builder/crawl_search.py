"""The searching half of a crawl: every question is asked of the engine until there is an answer in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl_store import CrawlStore, Search
from builder.search import ANSWERED, SearchEngine, SearchResult
from builder.search.settings import GoogleConfig
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
