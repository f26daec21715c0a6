"""Crawling in rounds: questions -> searches -> fetches -> crawl store. Only what the store lacks is requested."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from builder.clock import Clock
from builder.config import BuildConfig
from builder.fetch import ContactWarning, Fetched, fetch_all, was_given_up
from builder.fetch.fetched import Validators
from builder.fetch.politeness import politeness_key
from builder.search.combine import Chain
from builder.search.pace import Sleep
from builder.search.searching import answer_to, say_refusals, search_all, stop_where_unsearched
from builder.sites.site_folders import HostMap
from builder.store.crawl_store import CrawlStore, is_due, validators_for
from builder.store.takedowns import host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag.errors import DataError
from edu_rag.files.manifest import FILE_NAME, read_manifest
from edu_rag.names import Version
from edu_rag.progress import Stage, note
from edu_rag.records import Question

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


N_LANDMARKS, _ROWS_READ = 8, 5_000


def landmarks_of(store: CrawlStore, config: BuildConfig) -> list[str]:
    """Pages that were kept before, each of another registered host: what answers there shows that the network is up."""
    barred, found = _is_barred(store, config), dict[str, str]()
    for row in islice(store.iter_fetches(), _ROWS_READ):
        if row.outcome == "kept" and len(found) < N_LANDMARKS and not barred(row.url):
            found.setdefault(politeness_key(row.url), row.url)
    return list(found.values())


def fetch_missing(
    questions: Sequence[Question],
    store: CrawlStore,
    config: BuildConfig,
    hosts: HostMap,
    now: Clock,
    on_kept: Callable[[str], None] | None = None,
    warn: ContactWarning | None = None,
) -> None:
    """Fetch each distinct URL of the questions' hits that the store does not hold yet, or not in this round.

    `on_kept` gets the URL of each page that the store has kept, in the thread that writes: it must not wait.
    """
    given_up: set[str] = set()
    with closing(plan_fetches(questions, store, config)) as plan, Stage("fetch", total=len(plan)) as stage:

        def keep(got: Fetched) -> None:
            outcome = store.add_fetch(got)
            stage.add(outcome)
            if outcome == "kept" and on_kept is not None:
                on_kept(got.url)
            host = host_of(got.final_url)
            if was_given_up(got) and host not in given_up:
                given_up.add(host)
                note("host_given_up", host=host, detail=got.detail)

        known = landmarks_of(store, config)
        fetch_all(plan.urls(), config.fetch, hosts, now, keep, validators=plan.conditions, landmarks=known, warn=warn)
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
    on_kept: Callable[[str], None] | None = None,
) -> int:
    """Crawl for the questions: searches, then fetches; return how many questions are left unsearched.

    `on_kept` gets the URL of each page as soon as it is kept, and must not wait. Raises EngineError if the engines give
    up.
    """
    with chain.serving() as hosts:  # before the first search: a clash of host names must not wait for the last one
        warn = ContactWarning(config.fetch)
        left = search_all(questions, store, chain, config.search, now, sleep, before_asking=warn)
        if not allow_partial:
            stop_where_unsearched(left, len(questions), chain.name)
        say_refusals(left)
        fetch_missing(questions, store, config, hosts, now, on_kept, warn)
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


def why_other_version(turn: Round, stored: Round | None, settings_version: str) -> str:
    """Why the dataset gets another version than the settings give, and what to do about it."""
    if stored is not None and (turn.number > stored.number or (turn.number and not stored.is_finished)):
        goes_on = turn.number == stored.number
        what = "the interrupted refresh goes on" if goes_on else "everything is searched and fetched again"
        return f"refresh: {what}; if anything changed, the dataset gets version {turn.version}"
    return (
        f"version: the dataset gets {turn.version} and not the settings' {settings_version}, since an earlier refresh"
        f' or take-down raised it: set version = "{turn.version}" in the settings'
    )
