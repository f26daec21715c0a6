"""The searching half of a crawl: every question is asked of the engines until there is an answer in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from builder.clock import Clock
from builder.search import SearchEngine
from builder.search.combine import Chain, Combined, combined
from builder.search.settings import SearchConfig
from builder.search_results import ANSWERED, SearchResult
from builder.store.crawl_store import CrawlStore, Search
from builder.store.reader import StoreReader
from edu_rag.errors import EngineError
from edu_rag.progress import Stage, say
from edu_rag.records import Question

Sleep = Callable[[float], None]
MAX_FAILURES_IN_A_ROW = 3
FIRST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How an engine is asked: a pause after each question, and when it is limited `retries` waits within `max_wait_s`.

    After `max_failures` failures in a row it is skipped for the rest of the run; None: no such limit.
    """

    retries: int = 0
    max_wait_s: float = 0
    pause_s: float = 0
    max_failures: int | None = None

    @classmethod
    def of(cls, settings: SearchConfig, engine: str) -> Patience:
        """The patience that the settings have with an engine: one that reads files is never waited for."""
        web = settings.web_settings(engine)
        if web is None:
            return cls()
        return cls(
            retries=web.retries, max_wait_s=web.max_wait_s, pause_s=web.pause_s, max_failures=MAX_FAILURES_IN_A_ROW
        )


def query_of(question: Question) -> str:
    """The query for a question: its text without the choices (EDU-RAG section 3), with single spaces."""
    return " ".join(question.text.split())


def _told(result: SearchResult) -> str:
    return f"{result.state}: {result.reason}" if result.reason else result.state


def _ask(engine: SearchEngine, query: str, n: int, patience: Patience, sleep: Sleep) -> SearchResult:
    """Ask once, and again after each wait while the engine says that it is too much."""
    result = engine.search(query, n)
    for attempt in range(patience.retries):
        if result.state != "rate_limited":
            break
        wait_s = result.retry_after_s if result.retry_after_s is not None else FIRST_WAIT_S * 2**attempt
        if wait_s > patience.max_wait_s:
            break
        say(f"engine {engine.name}: {_told(result)}; asked again in {wait_s:,.0f} s")
        sleep(wait_s)
        result = engine.search(query, n)
    return result


def _row(question: Question, store: StoreReader, engine: str) -> Search | None:
    """An engine's stored answer to a question; an answer to another wording of the question does not count."""
    found = store.search(question.question_id, engine)
    return found if found is not None and found.query == query_of(question) else None


def _row_now(question: Question, store: CrawlStore, engine: str) -> Search | None:
    """The same, as far as it was said in this round of the crawl: a refresh asks everything again."""
    row = _row(question, store, engine)
    return row if row is not None and row.round >= store.round else None


def answer_to(question: Question, store: StoreReader, settings: SearchConfig) -> Combined:
    """The answers of the chain's engines to a question, combined: see builder.search.combine.

    After a refresh that an engine refused, its older answer is still used.
    """
    return combined({engine: _row(question, store, engine) for engine in settings.chain}, settings)


def _answer_now(question: Question, store: CrawlStore, settings: SearchConfig) -> Combined:
    return combined({engine: _row_now(question, store, engine) for engine in settings.chain}, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How many questions a run leaves without an answer, and each engine's last refusal."""

    n: int
    refusals: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class _Asking:
    """One engine in this run: its settings, its answers so far, and whether it is still in use."""

    engine: SearchEngine
    patience: Patience
    store: CrawlStore
    top: int
    now: Clock
    sleep: Sleep
    answered: dict[str, str] = field(default_factory=dict)
    """By query, the question whose stored answer serves all questions of the same words."""
    failures: int = 0
    is_out: bool = False
    refusal: str = ""

    def ask(self, question: Question) -> None:
        """Ask, unless it has answered: this question, or another one of the same words."""
        row = _row_now(question, self.store, self.engine.name)
        if self.is_out or (row is not None and row.state in ANSWERED):
            return
        query = query_of(question)
        twin_id = self.answered.get(query)
        twin = self.store.search(twin_id, self.engine.name) if twin_id is not None else None
        if twin is not None:
            result = SearchResult(state=twin.state, urls=twin.urls, reason=twin.reason)
            self.store.add_search(question.question_id, self.engine.name, query, result, twin.searched_at)
            return
        result = _ask(self.engine, query, self.top, self.patience, self.sleep)
        self.store.add_search(question.question_id, self.engine.name, query, result, result.searched_at or self.now())
        self._learn(question, result)
        if self.patience.pause_s and not self.is_out:
            self.sleep(self.patience.pause_s)

    def _learn(self, question: Question, result: SearchResult) -> None:
        if result.state in ANSWERED:
            self.answered[query_of(question)] = question.question_id
        else:
            self.refusal = _told(result)
        self.failures = self.failures + 1 if result.state == "failed" else 0
        # To go on would only turn refusals into losses.
        self.is_out = result.state in ("rate_limited", "blocked") or self.failures == self.patience.max_failures
        if self.is_out:
            say(f"engine {self.engine.name}: {self.refusal}; not asked again in this run")


def _askings(
    questions: Sequence[Question], store: CrawlStore, chain: Chain, settings: SearchConfig, now: Clock, sleep: Sleep
) -> list[_Asking]:
    askings = []
    for engine in chain.engines:
        asking = _Asking(
            engine=engine,
            patience=Patience.of(settings, engine.name),
            store=store,
            top=settings.top,
            now=now,
            sleep=sleep,
        )
        for question in questions:
            row = _row_now(question, store, engine.name)
            if row is not None and row.state in ANSWERED:
                asking.answered.setdefault(row.query, row.question_id)
        askings.append(asking)
    return askings


def search_all(
    questions: Sequence[Question],
    store: CrawlStore,
    chain: Chain,
    settings: SearchConfig,
    now: Clock,
    sleep: Sleep = time.sleep,
) -> Left:
    """Search for every question that has no answer in the store (of this round); return the questions left without one.

    `combined` defines an answer: with `fallback` the engines are asked in order until one has hits; with `fuse`
    all are asked. An engine is not asked again for an answer it has given, and questions with the same words are asked
    once. An engine that stays limited or blocked, or fails three times in a row, is skipped for the rest of the run;
    the next run asks it again, but only questions that still have no answer.
    """
    askings = _askings(questions, store, chain, settings, now, sleep)
    n_left = 0
    with Stage("search", total=len(questions)) as stage:
        for question in questions:
            state = _search_one(question, askings, store, settings)
            n_left += state not in ANSWERED
            if state != "unsearched":
                stage.add("done" if state in ANSWERED else state)
    return Left(n=n_left, refusals=tuple((asking.engine.name, asking.refusal) for asking in askings if asking.refusal))


def _search_one(question: Question, askings: Sequence[_Asking], store: CrawlStore, settings: SearchConfig) -> str:
    """Ask the engines in order until the question is answered; the state that it comes to."""
    answer = _answer_now(question, store, settings)
    for asking in askings:
        if answer.state in ANSWERED:
            break
        asking.ask(question)
        answer = _answer_now(question, store, settings)
    return answer.state


def stop_where_unsearched(left: Left, n_questions: int, engine: str) -> None:
    """Raise EngineError, with the last refusal and how to go on, if questions are left unsearched."""
    if not left.n:
        return
    told = [refusal if name == engine else f"{name} {refusal}" for name, refusal in left.refusals]
    last = f" ({'; '.join(told)})" if told else ""
    raise EngineError(
        f"engine {engine}",
        f"stopped answering{last}; {left.n:,} of {n_questions:,} questions are unsearched",
        "run the same command later to resume, or add --allow-partial to build without them",
    )
