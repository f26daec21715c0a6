"""Searching: every question goes to the engines of the chain until it is answered, engines side by side.

Each engine has its own queue and as many threads as it allows requests at once; its pace is its own. Only the calling
thread touches the store, so each answer is stored as soon as it comes.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from builder.clock import Clock
from builder.search import SearchEngine
from builder.search.combine import Chain, Combined, combined
from builder.search.pace import Sleep
from builder.search.settings import SearchConfig
from builder.search.web.failure_causes import NO_WAY, ONLINE
from builder.search_results import ANSWERED, SearchResult
from builder.store.crawl_store import CrawlStore, Search
from builder.store.reader import StoreReader
from edu_rag.errors import EngineError
from edu_rag.look.texts import quoted
from edu_rag.progress import Stage, say
from edu_rag.records import Question

MAX_FAILURES_IN_A_ROW = 3
FIRST_WAIT_S = 30.0
MAX_AWAY_WAIT_S = 30.0
"""The longest wait where the network is away: the waits double from a second on, up to `max_wait_s` in all."""
_SHOWN = 60
"""Characters of a question that an error shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How an engine is asked: `at_once` questions, and when it is limited `retries` waits within `max_wait_s`.

    After `max_failures` failures in a row it is skipped for the rest of the run; None: no such limit. An engine that
    reads files is asked in the calling thread: `at_once` is 0.
    """

    retries: int = 0
    max_wait_s: float = 0
    max_failures: int | None = None
    at_once: int = 0

    @classmethod
    def of(cls, settings: SearchConfig, engine: str) -> Patience:
        """The patience that the settings have with an engine: one that reads files is never waited for."""
        web = settings.web_settings(engine)
        if web is None:
            return cls()
        return cls(
            retries=web.retries, max_wait_s=web.max_wait_s, max_failures=MAX_FAILURES_IN_A_ROW, at_once=web.at_once
        )


def query_of(question: Question) -> str:
    """The query for a question: its text without the choices (EDU-RAG section 3), with single spaces."""
    return " ".join(question.text.split())


def _reported(result: SearchResult) -> str:
    return f"{result.state}: {result.reason}" if result.reason else result.state


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How many questions a run leaves without an answer, the first of them, and each engine's last refusal."""

    n: int
    first: Question | None = None
    refusals: tuple[tuple[str, str], ...] = ()


class _Asker:
    """One engine as its threads see it: a question is asked once, and again after each wait while it is limited.

    It also waits while this machine has no network, or no way through its proxy, if the engine was there before in this
    run.
    """

    def __init__(self, engine: SearchEngine, patience: Patience, top: int, sleep: Sleep) -> None:
        self.engine = engine
        self.patience = patience
        self._top = top
        self._sleep = sleep
        self._gate = threading.Lock()
        self._n_waits = 0
        self._was_there = False

    def ask(self, query: str) -> SearchResult:
        """The engine's answer."""
        result, n_waits = self._search(query)
        n_refused, away_s = 0, 0.0
        while (wait_s := self._wait_s(result, n_refused, away_s)) is not None:
            if result.state == "failed":
                away_s += wait_s
            else:
                n_refused += 1
            self._wait(wait_s, n_waits, _reported(result))
            result, n_waits = self._search(query)
        if away_s and result.state == "failed":
            self._was_there = False  # one question has waited long enough for all of them
        return result

    def _wait_s(self, result: SearchResult, n_refused: int, away_s: float) -> float | None:
        """The seconds until the question is asked again; None if this is the answer."""
        longest_s = self.patience.max_wait_s
        if result.state == "rate_limited" and n_refused < self.patience.retries:
            wait_s = result.retry_after_s if result.retry_after_s is not None else FIRST_WAIT_S * 2**n_refused
            return wait_s if wait_s <= longest_s else None
        is_away = result.state == "failed" and any(why in result.reason for why in (ONLINE, NO_WAY))
        if is_away and self._was_there and away_s < longest_s:
            return min(max(away_s, 1.0), MAX_AWAY_WAIT_S, longest_s - away_s)
        return None

    def _search(self, query: str) -> tuple[SearchResult, int]:
        with self._gate:  # while one question waits for the engine's limit, the others do not ask it
            n_waits = self._n_waits
        result = self.engine.search(query, self._top)
        self._was_there = self._was_there or result.state != "failed"
        return result, n_waits

    def _wait(self, wait_s: float, n_waits: int, why: str) -> None:
        with self._gate:
            if self._n_waits != n_waits:
                return  # another question has waited since this one was refused
            say(f"engine {self.engine.name}: {why}; asked again in {wait_s:,.0f} s")
            self._sleep(wait_s)
            self._n_waits += 1


_Answer = tuple["_Asking", Question, SearchResult | BaseException]


@dataclass(slots=True, kw_only=True, eq=False)
class _Asking:
    """One engine in this run: who waits for it, its answers so far, and whether it is still in use."""

    place: int
    asker: _Asker
    store: CrawlStore
    waiting: deque[Question] = field(default_factory=deque)
    asked: dict[str, list[Question]] = field(default_factory=dict)
    """By query on its way, the other questions of the same words."""
    answered: dict[str, str] = field(default_factory=dict)
    """By query, the question whose stored answer serves all questions of the same words."""
    jobs: queue.SimpleQueue[Question | None] = field(default_factory=queue.SimpleQueue)
    threads: list[threading.Thread] = field(default_factory=list)
    failures: int = 0
    is_out: bool = False
    refusal: str = ""

    @property
    def name(self) -> str:
        return self.asker.engine.name

    def has_answered(self, question: Question) -> bool:
        row = _row_now(question, self.store, self.name)
        return row is not None and row.state in ANSWERED

    def copy_twin(self, question: Question) -> bool:
        """Give the question the stored answer to another one of the same words, if there is one."""
        query = query_of(question)
        twin_id = self.answered.get(query)
        twin = self.store.search(twin_id, self.name) if twin_id is not None else None
        if twin is None:
            self.answered.pop(query, None)
            return False
        result = SearchResult(state=twin.state, urls=twin.urls, reason=twin.reason)
        self.store.add_search(question.question_id, self.name, query, result, twin.searched_at)
        return True

    def learn(self, question: Question, result: SearchResult) -> None:
        if result.state in ANSWERED:
            self.answered[query_of(question)] = question.question_id
        else:
            self.refusal = _reported(result)
        self.failures = self.failures + 1 if result.state == "failed" else 0
        if self.is_out:
            return
        # To go on would only turn refusals into losses.
        self.is_out = result.state in ("rate_limited", "blocked") or self.failures == self.asker.patience.max_failures

    def work(self, answers: queue.SimpleQueue[_Answer]) -> None:
        """Ask what comes, in a thread, until there is no more."""
        while (question := self.jobs.get()) is not None:
            try:
                answers.put((self, question, self.asker.ask(query_of(question))))
            except BaseException as error:  # raised again in the calling thread
                answers.put((self, question, error))


class _Run:
    """The questions of one run on their way through the engines."""

    def __init__(
        self,
        store: CrawlStore,
        chain: Chain,
        settings: SearchConfig,
        now: Clock,
        sleep: Sleep,
        stage: Stage,
        before_asking: Callable[[], None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._now = now
        self._stage = stage
        self._before_asking = before_asking
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._left_ids: set[str] = set()
        self.askings = [
            _Asking(
                place=place,
                asker=_Asker(engine, Patience.of(settings, engine.name), settings.top, sleep),
                store=store,
            )
            for place, engine in enumerate(chain.engines)
        ]

    @contextmanager
    def threads(self) -> Iterator[None]:
        """While entered, each engine of the web has its threads. An error leaves them to end by themselves."""
        for asking in self.askings:
            for number in range(asking.asker.patience.at_once):
                name = f"search-{asking.name}-{number}"
                thread = threading.Thread(target=asking.work, args=(self._answers,), name=name, daemon=True)
                asking.threads.append(thread)
                thread.start()
        try:
            yield
        finally:
            for asking in self.askings:
                for _ in asking.threads:
                    asking.jobs.put(None)
        for asking in self.askings:  # a process with threads cannot fork safely, and the next stages do
            for thread in asking.threads:
                thread.join()

    def search(self, questions: Sequence[Question]) -> None:
        """Bring every question to its answer, or to the end of the chain."""
        for asking in self.askings:
            for question in questions:
                row = _row_now(question, self._store, asking.name)
                if row is not None and row.state in ANSWERED:
                    asking.answered.setdefault(row.query, row.question_id)
        for question in questions:
            self._forward(question, 0)
        while self._start():
            asking, question, result = self._answers.get()
            if isinstance(result, BaseException):
                raise result
            self._take(asking, question, result)

    def left(self, questions: Sequence[Question]) -> Left:
        """What is left of these questions."""
        first = next((question for question in questions if question.question_id in self._left_ids), None)
        refusals = tuple((one.name, one.refusal) for one in self.askings if one.refusal)
        return Left(n=len(self._left_ids), first=first, refusals=refusals)

    def _forward(self, question: Question, place: int) -> None:
        """Let the question wait for the next engine that has to be asked; settle it where there is none."""
        answer = self._answer_now(question)
        while answer.state not in ANSWERED and place < len(self.askings):
            asking = self.askings[place]
            if not asking.is_out and not asking.has_answered(question):
                if not asking.copy_twin(question):
                    asking.waiting.append(question)
                    return
                answer = self._answer_now(question)
            place += 1
        if answer.state not in ANSWERED:
            self._left_ids.add(question.question_id)
        if answer.state != "unsearched":
            self._stage.add("done" if answer.state in ANSWERED else answer.state)

    def _answer_now(self, question: Question) -> Combined:
        rows = {engine: _row_now(question, self._store, engine) for engine in self._settings.chain}
        return combined(rows, self._settings)

    def _start(self) -> bool:
        """Give every engine as many questions as it takes at once; whether any is on its way."""
        is_moving = True
        while is_moving:  # what one engine passes on, another one may take
            started = [self._start_one(asking) for asking in self.askings]
            is_moving = any(started)
        return any(asking.asked for asking in self.askings)

    def _start_one(self, asking: _Asking) -> bool:
        at_once = asking.asker.patience.at_once
        if not asking.waiting or (not asking.is_out and len(asking.asked) >= max(at_once, 1)):
            return False
        question = asking.waiting.popleft()
        query = query_of(question)
        if asking.is_out or asking.has_answered(question) or query in asking.answered:
            self._forward(question, asking.place)
        elif query in asking.asked:
            asking.asked[query].append(question)
        else:
            asking.asked[query] = []
            if at_once:
                self._before_asking()
                asking.jobs.put(question)
            else:
                self._take(asking, question, asking.asker.ask(query))
        return True

    def _take(self, asking: _Asking, question: Question, result: SearchResult) -> None:
        query = query_of(question)
        at = result.searched_at or self._now()
        self._store.add_search(question.question_id, asking.name, query, result, at)
        was_out = asking.is_out
        asking.learn(question, result)
        if asking.is_out and not was_out and not all(one.is_out for one in self.askings):
            # The reason comes once, when the searching ends; the last engine ends it.
            say(f"engine {asking.name}: {result.state}; not asked again in this run")
        twins = asking.asked.pop(query)
        self._forward(question, asking.place + 1)
        for twin in twins:
            self._forward(twin, asking.place)


def search_all(
    questions: Sequence[Question],
    store: CrawlStore,
    chain: Chain,
    settings: SearchConfig,
    now: Clock,
    sleep: Sleep = time.sleep,
    *,
    before_asking: Callable[[], None] = lambda: None,
) -> Left:
    """Search for every question that has no answer in the store (of this round); return the questions left without one.

    `combined` defines an answer: with `fallback` the engines are asked in order until one has hits; with `fuse`
    all are asked. An engine is not asked again for an answer it has given, and questions with the same words are asked
    once. An engine that stays limited or blocked, or fails three times in a row, is skipped for the rest of the run;
    the next run asks it again, but only questions that still have no answer. `before_asking` is called before each
    question to an engine of the web.
    """
    with Stage("search", total=len(questions)) as stage:
        run = _Run(store, chain, settings, now, sleep, stage, before_asking)
        with run.threads():
            run.search(questions)
    return run.left(questions)


def say_refusals(left: Left) -> None:
    """Print the engines' refusals where the build goes on in spite of them."""
    for engine, refusal in left.refusals:
        say(f"engine {engine}: {refusal}")
    if left.n:
        say(f"search: {left.n:,} questions are left unsearched; the same command asks for them again")


def stop_where_unsearched(left: Left, n_questions: int, engine: str) -> None:
    """Raise EngineError, with the last refusal and how to go on, if questions are left unsearched."""
    if not left.n:
        return
    found = [refusal if name == engine else f"{name} {refusal}" for name, refusal in left.refusals]
    last = f" ({'; '.join(found)})" if found else ""
    first = f", first {left.first.question_id} {quoted(left.first.text, _SHOWN)}" if left.first else ""
    raise EngineError(
        f"engine {engine}",
        f"stopped answering{last}; {left.n:,} of {n_questions:,} questions are unsearched{first}",
        "run the same command later to resume, or add --allow-partial to build without them",
    )
