"""Where a crawl has got to: what is done, what failed and what waits, by host and by cause; nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.build import read_inputs, read_round
from builder.fetch.fetched import is_transient
from builder.fetch.hit_detail import detail_of
from builder.search.searching import answer_to
from builder.store.crawl_store import MAX_ATTEMPTS, is_due
from builder.store.index import Fetch
from builder.store.lock import is_store
from builder.store.reader import StoreReader
from builder.store.store_folder import store_folder
from builder.store.takedowns import host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of

DONE, LOST, FAILED, WAITING, BARRED = "done", "lost", "failed", "waiting", "barred"
NEVER_ASKED = "not asked yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStatus:
    """Counts of a crawl. `urls` by state; `causes` and `hosts` by state and cause.

    A URL is `done` with a page, `failed` for good, `waiting` if the next run asks for it (for the first time, or again
    after an error that may pass), `lost` if all attempts ended in such errors, so that only a refresh asks for it, and
    `barred` if it is never asked for: a blocked host, or a take-down.
    """

    round: int
    is_finished: bool
    questions: int
    searches: dict[str, int]
    engines: dict[str, dict[str, int]]
    refusals: dict[str, str]
    urls: dict[str, int]
    causes: dict[str, dict[str, int]]
    hosts: dict[str, dict[str, int]]

    def plain(self) -> dict[str, Any]:
        """The status for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    def lines(self, n_hosts: int) -> Iterator[str]:
        """The status for people: the hosts with most failures and waiting URLs first."""
        state = "finished" if self.is_finished else "not finished: the same `edu-rag build` goes on"
        yield f"round {self.round}, {state}"
        yield f"questions  {self.questions:,}: {_counts(self.searches)}"
        for engine, counts in self.engines.items():
            last = f"; last refusal: {self.refusals[engine]}" if engine in self.refusals else ""
            yield f"  {engine:<12} {_counts(counts)}{last}"
        yield f"URLs       {sum(self.urls.values()):,}: {_counts(self.urls)}"
        for name in (LOST, FAILED, WAITING, BARRED):
            if self.causes.get(name):
                yield f"  {name:<8} {_counts(self.causes[name])}"
        if self.urls.get(LOST):
            yield f"lost URLs were requested {MAX_ATTEMPTS} times: `edu-rag build` with --refresh requests them again"
        shown = list(self.hosts.items())[:n_hosts]
        if shown:
            yield f"hosts with lost, failed or waiting URLs: {len(self.hosts):,}"
        for host, counts in shown:
            yield f"  {host:<40} {_counts(counts)}"
        if len(self.hosts) > len(shown):
            yield f"  ... and {len(self.hosts) - len(shown):,} more; --hosts N shows more"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items()) or "none"


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _cause(row: Fetch) -> str:
    return f"{row.outcome} {detail_of(row.outcome, row.status, row.detail)}".rstrip()


def state_of(row: Fetch | None, crawl_round: int) -> tuple[str, str]:
    """The state of a URL and its cause; the cause of `done` is empty."""
    if row is None or row.round < crawl_round:
        return WAITING, NEVER_ASKED
    if row.outcome == "kept":
        return DONE, ""
    if is_due(row, crawl_round):
        return WAITING, _cause(row)
    is_lost = is_transient(row.outcome, row.status, row.detail)
    return LOST if is_lost else FAILED, _cause(row)


class _Tally:
    def __init__(self) -> None:
        self.urls: Counter[str] = Counter()
        self.causes: dict[str, Counter[str]] = {}
        self.hosts: dict[str, Counter[str]] = {}

    def add(self, host: str, state: str, cause: str) -> None:
        self.urls[state] += 1
        if state == DONE:
            return
        self.causes.setdefault(state, Counter())[cause] += 1
        if state != BARRED:
            self.hosts.setdefault(host, Counter())[f"{state}: {cause}"] += 1

    def by_host(self) -> dict[str, dict[str, int]]:
        order = sorted(self.hosts, key=lambda host: (-self.hosts[host].total(), host))
        return {host: _ordered(self.hosts[host]) for host in order}


def find_store(place: Path) -> Path:
    """The crawl store at a path: the folder itself, or the one of the dataset at this path."""
    return place if is_store(place) or not is_store(store_folder(place)) else store_folder(place)


def crawl_status(folder: Path) -> CrawlStatus:
    """The status of a crawl store; a build may be running on it. Raises DataError for another folder."""
    with closing(StoreReader(folder)) as store:
        inputs, turn = read_inputs(folder), read_round(folder)
        crawl_round = turn.number if turn is not None else 0
        config, takedowns = inputs.config, read_takedowns(folder)
        blocked = frozenset(config.filter.blocked_hosts)
        searches: Counter[str] = Counter()
        tally, seen = _Tally(), set[str]()
        for question in inputs.questions:
            answer = answer_to(question, store, config.search)
            searches[answer.state] += 1
            for hit, _ in answer.hits:
                url = canonical_or_none(hit)
                if url is None or url in seen:
                    continue
                seen.add(url)
                host = host_of(url)
                if host_is_listed(host, blocked):
                    tally.add(host, BARRED, "blocked_host")
                elif takedowns.matches(url, host, None):
                    tally.add(host, BARRED, "taken_down")
                else:
                    tally.add(host, *state_of(store.fetch(url), crawl_round))
        engines, refusals = _by_engine(store, config.search.chain)
        return CrawlStatus(
            round=crawl_round,
            is_finished=turn is not None and turn.is_finished,
            questions=len(inputs.questions),
            searches=_ordered(searches),
            engines=engines,
            refusals=refusals,
            urls=_ordered(tally.urls),
            causes={state: _ordered(counts) for state, counts in sorted(tally.causes.items())},
            hosts=tally.by_host(),
        )


def _by_engine(store: StoreReader, chain: tuple[str, ...]) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """The states of each engine's answers, and its last refusal."""
    engines: dict[str, dict[str, int]] = {}
    refusals: dict[str, str] = {}
    for engine in chain:
        counts: Counter[str] = Counter()
        last = ""
        for search in store.iter_searches(engine):
            counts[search.state] += 1
            if search.state not in ("hits", "none") and search.searched_at.isoformat() >= last:
                last, refusals[engine] = search.searched_at.isoformat(), f"{search.state}: {search.reason}"[:300]
        engines[engine] = _ordered(counts)
    return engines, refusals
