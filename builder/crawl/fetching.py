"""The fetching half of a crawl: each distinct URL of the hits that the store does not hold yet, or not lately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from builder.clock import Clock
from builder.config import BuildConfig
from builder.crawl.fetch_plan import FetchPlan
from builder.crawl.searching import answer_to
from builder.fetch import Fetched, fetch_all, was_given_up
from builder.sites.site_folders import HostMap
from builder.store.crawl_store import CrawlStore
from builder.store.settling import is_due, validators_for
from builder.store.takedowns import host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag.progress import Stage, note
from edu_rag.records import Question


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
