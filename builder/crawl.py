"""Crawling in rounds: questions -> searches -> fetches -> crawl store. Only what the store lacks is requested."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from builder.clock import Clock
from builder.config import BuildConfig
from builder.fetch import Fetched, fetch_all, was_given_up
from builder.fetch.fetched import Validators
from builder.search import SearchEngine
from builder.search.combine import Chain, Combined, combined
from builder.search.settings import SearchConfig
from builder.search_results import ANSWERED, SearchResult
from builder.sites.site_folders import HostMap
from builder.store.crawl_store import CrawlStore, Search, is_due, validators_for
from builder.store.reader import StoreReader
from builder.store.takedowns import host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag.errors import DataError, EngineError
from edu_rag.files.manifest import FILE_NAME, read_manifest
from edu_rag.names import Version
from edu_rag.progress import Stage, note, say
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


CHUNK_ROWS = 500


class _Conditions(Mapping[str, Validators]):
    """The validators of the URLs that have some, read from the table when a request is made."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def __getitem__(self, url: str) -> Validators:
        row = self._base.execute(
            "SELECT etag, last_modified, final_url FROM wanted WHERE url = ? AND final_url IS NOT NULL", (url,)
        ).fetchone()
        if row is None:
            raise KeyError(url)
        return Validators(etag=row[0], last_modified=row[1], final_url=row[2])

    def __iter__(self) -> Iterator[str]:
        return (url for (url,) in self._base.execute("SELECT url FROM wanted WHERE final_url IS NOT NULL ORDER BY url"))

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(final_url) FROM wanted").fetchone()[0])


class FetchPlan:
    """Distinct URLs, spread over hosts, so that no host's limit holds the others up. Scratch: gone when closed."""

    def __init__(self) -> None:
        # No name: SQLite's own temporary file, which it deletes itself and keeps in memory while it is small.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute(
            "CREATE TABLE wanted (url TEXT PRIMARY KEY, host TEXT NOT NULL, etag TEXT, last_modified TEXT,"
            " final_url TEXT) WITHOUT ROWID"
        )
        self._base.execute("CREATE TABLE queue (place INTEGER PRIMARY KEY, url TEXT NOT NULL)")
        self.conditions: Mapping[str, Validators] = _Conditions(self._base)

    def add(self, url: str, condition: Validators | None = None) -> None:
        """Want a canonical URL; one that is wanted already is not wanted twice."""
        known = (condition.etag, condition.last_modified, condition.final_url) if condition else (None, None, None)
        self._base.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?, ?, ?)", (url, host_of(url), *known))

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(*) FROM wanted").fetchone()[0])

    def urls(self) -> Iterator[str]:
        """The URLs: the first of every host, then the second of every host, and so on; the same order every time."""
        self._base.execute("DELETE FROM queue")
        self._base.execute(
            "INSERT INTO queue (url) SELECT url FROM"
            " (SELECT url, row_number() OVER (PARTITION BY host ORDER BY url) AS turn FROM wanted) ORDER BY turn, url"
        )
        last = 0
        while rows := self._base.execute(
            "SELECT place, url FROM queue WHERE place > ? ORDER BY place LIMIT ?", (last, CHUNK_ROWS)
        ).fetchall():
            yield from (url for _, url in rows)
            last = rows[-1][0]

    def close(self) -> None:
        """Drop the table."""
        self._base.close()


def hit_urls(questions: Iterable[Question], store: CrawlStore, config: BuildConfig) -> Iterator[str]:
    """The canonical URL of every hit that has one; a page that several questions found comes several times."""
    for question in questions:
        for url, _ in answer_to(question, store, config.search).hits:
            canonical = canonical_or_none(url)
            if canonical is not None:  # derive gives the others their fate: refused_address
                yield canonical


def _is_barred(store: CrawlStore, config: BuildConfig) -> Callable[[str], bool]:
    """Whether a URL must not be requested: blocked hosts and take-downs. Deriving gives these hits their outcomes."""
    takedowns, blocked = read_takedowns(store.folder), frozenset(config.filter.blocked_hosts)

    def barred(url: str) -> bool:
        host = host_of(url)
        return host_is_listed(host, blocked) or takedowns.matches(url, host, None)

    return barred


def plan_fetches(questions: Iterable[Question], store: CrawlStore, config: BuildConfig) -> FetchPlan:
    """The distinct URLs of all hits that are due in this round of the crawl, those with a copy under a condition."""
    plan = FetchPlan()
    barred = _is_barred(store, config)
    for url in hit_urls(questions, store, config):
        row = store.fetch(url)
        if is_due(row, store.round) and not barred(url):
            plan.add(url, validators_for(row))
    return plan


def fetch_missing(
    questions: Sequence[Question], store: CrawlStore, config: BuildConfig, hosts: HostMap, now: Clock
) -> None:
    """Fetch each distinct URL of the questions' hits that the store does not hold yet, or not in this round."""
    given_up: set[str] = set()
    with closing(plan_fetches(questions, store, config)) as plan, Stage("fetch", total=len(plan)) as stage:

        def keep(got: Fetched) -> None:
            stage.add(store.add_fetch(got))
            host = host_of(got.final_url)
            if was_given_up(got) and host not in given_up:
                given_up.add(host)
                note("host_given_up", host=host, detail=got.detail)

        fetch_all(plan.urls(), config.fetch, hosts, now, keep, validators=plan.conditions)
        store.flush()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The round that a store is in.

    Invariants: round 0 is the first crawl; `is_finished`: everything asked was answered.
    """

    number: int = 0
    version: str = "1.0.0"
    is_finished: bool = False


def newer(one: str, other: str) -> str:
    """The higher one of two versions."""
    return max(one, other, key=Version.parse)


def next_minor(version: str) -> str:
    """The version of a dataset whose pages were fetched again: 1.4.2 -> 1.5.0."""
    return str(Version.parse(version).raised("minor"))


def round_of(made_with: dict[str, Any]) -> Round:
    """The round that a store's config.json names. Raises ValueError if its values make no sense.

    A store of the first schema records none: it is in its first round, and counting its URLs shows whether that is
    finished.
    """
    number, finished = made_with.get("round", 0), made_with.get("finished", True)
    version = made_with["config"].get("version", "1.0.0")
    if type(number) is not int or number < 0 or type(finished) is not bool or type(version) is not str:
        raise ValueError("round, finished or version has the wrong type")
    return Round(number=number, version=version, is_finished=finished)


def _version_before(out: Path, stored: Round) -> str:
    return newer(read_manifest(out).version, stored.version) if (out / FILE_NAME).is_file() else stored.version


def next_round(
    stored: Round | None, version: str, out: Path, *, refresh: bool, allow_partial: bool, forced_version: str | None
) -> Round:
    """The round that a build works on, and the version of the dataset it makes.

    `version` is that of the settings; `forced_version`, from the command line, wins over everything. A refresh that
    was cut off is continued. Raises DataError for the refresh of a first crawl that is not finished.
    """
    if stored is None:
        return Round(version=version)
    if refresh and stored.is_finished is False and stored.number == 0 and not allow_partial:
        raise DataError(out, "its first crawl is not finished, so there is nothing to refresh", "build with --resume")
    if refresh and (stored.is_finished or stored.number == 0):
        begun = Round(number=stored.number + 1, version=newer(version, next_minor(_version_before(out, stored))))
    else:
        # A take-down or a refresh may have made a higher one: its number must not be given to other content.
        begun = replace(stored, version=newer(version, stored.version))
    return replace(begun, version=forced_version or begun.version, is_finished=False)
