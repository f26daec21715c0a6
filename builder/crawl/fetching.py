"""The fetching half of a crawl: each distinct URL of the hits that the store does not hold yet, or not lately."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl.searching import answer_to
from builder.fetch import Fetched, fetch_all, was_given_up
from builder.fetch.fetched import Validators
from builder.sites.site_folders import HostMap
from builder.store.crawl_store import CrawlStore
from builder.store.settling import is_due, validators_for
from builder.store.takedowns import host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of
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
