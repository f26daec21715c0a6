"""Several engines as one: asked together, and their answers combined into one ranked list."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from builder.fetch.settings import USER_AGENT
from builder.search import SearchEngine, open_engines
from builder.search.pace import Sleep
from builder.search.settings import SearchConfig
from builder.search_results import ANSWERED, State
from builder.sites.site_folders import HostMap
from builder.urls import canonical_url
from edu_rag.errors import ConfigError

if TYPE_CHECKING:
    from builder.store.crawl_store import Search


K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009, section 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The answer to one question. `hits` are (url, engine) in rank order, empty unless the state is `hits`."""

    state: State | Literal["unsearched"]
    hits: tuple[tuple[str, str], ...] = ()
    searched_at: datetime | None = None
    query: str = ""
    reason: str = ""

    @property
    def urls(self) -> tuple[str, ...]:
        """The hits' URLs in rank order."""
        return tuple(url for url, _ in self.hits)


def _identity(url: str) -> str:
    try:
        return canonical_url(url)
    except ValueError:
        return url  # no address of a page: it is its own identity, and derive drops it with a reason


def fused(lists: Iterable[tuple[str, Iterable[str]]]) -> list[tuple[str, str]]:
    """Reciprocal rank fusion of (engine, URLs in rank order): (url, engine that ranked it best), best first.

    Two spellings of one page's address are one hit. Ties go by best rank, then by the engines' order, then by URL.
    """
    scores: dict[str, Fraction] = {}
    best: dict[str, tuple[int, int, str, str]] = {}
    for order, (engine, urls) in enumerate(lists):
        ranked: dict[str, str] = {}
        for url in urls:
            ranked.setdefault(_identity(url), url)
        for rank, (page, url) in enumerate(ranked.items(), start=1):
            # Fractions: a sum of floats would depend on the order of the engines.
            scores[page] = scores.get(page, Fraction(0)) + Fraction(1, K + rank)
            best[page] = min(best.get(page, (rank, order, url, engine)), (rank, order, url, engine))
    pages = sorted(scores, key=lambda page: (-scores[page], *best[page][:2], page))
    return [(best[page][2], best[page][3]) for page in pages]


def _refused(searches: Mapping[str, Search | None], chain: Iterable[str]) -> Combined:
    """The obstacle to an answer: the first engine of the chain that has not given one."""
    for engine in chain:
        search = searches.get(engine)
        if search is None:
            continue
        if search.state not in ANSWERED:
            return Combined(
                state=search.state,
                searched_at=search.searched_at,
                query=search.query,
                reason=f"{engine}: {search.reason}" if search.reason else engine,
            )
    return Combined(state="unsearched")


def _answer(given: list[tuple[str, Search]], hits: Iterable[tuple[str, str]], top: int) -> Combined:
    found = tuple(hits)[:top]
    reasons = dict.fromkeys(search.reason for _, search in given if search.reason)
    return Combined(
        state="hits" if found else "none",
        hits=found,
        searched_at=max(search.searched_at for _, search in given),
        query=given[0][1].query,
        reason="" if found else "; ".join(reasons),
    )


def combined(searches_by_engine: Mapping[str, Search | None], settings: SearchConfig) -> Combined:
    """One answer from the engines' own answers to one query; an engine without an answer has None, or is left out.

    - One engine: its answer.
    - `fallback`: the first engine of the chain that has hits answers, even if those before it failed. Where none
      has hits, the answer is `none` only if every engine said so.
    - `fuse`: reciprocal rank fusion of all engines, once every one of them has answered (with hits, or with none).

    Otherwise the question is not answered: the state is the refusal of the first engine that refused, or
    `unsearched`. So a refusal never turns into "no results", and a fused list never depends on who was down that day.
    """
    given = [(engine, search) for engine in settings.chain if (search := searches_by_engine.get(engine)) is not None]
    answers = [(engine, search) for engine, search in given if search.state in ANSWERED]
    all_answered = bool(answers) and len(answers) == len(settings.chain)
    if settings.combine == "fuse" and len(settings.chain) > 1:
        if all_answered:
            return _answer(answers, fused((engine, search.urls) for engine, search in answers), settings.top)
        return _refused(searches_by_engine, settings.chain)
    for engine, search in answers:
        if search.state == "hits":
            return _answer([(engine, search)], ((url, engine) for url in search.urls), settings.top)
    return _answer(answers, (), settings.top) if all_answered else _refused(searches_by_engine, settings.chain)


class Chain:
    """The engines of a build in their order; one engine is a chain of one."""

    def __init__(self, engines: Sequence[SearchEngine]) -> None:
        self.engines = tuple(engines)

    @property
    def name(self) -> str:
        """The engines' names, joined by commas, as in `--engine`."""
        return ",".join(engine.name for engine in self.engines)

    @contextmanager
    def serving(self) -> Iterator[HostMap]:
        """While entered, all hosts that the engines serve. Raises ConfigError if two serve the same one."""
        hosts: dict[str, tuple[str, int]] = {}
        by: dict[str, str] = {}
        with ExitStack() as stack:
            for engine in self.engines:
                for host, address in stack.enter_context(engine.serving()).items():
                    if host in hosts:
                        what = f"is served by the engines {by[host]} and {engine.name}"
                        raise ConfigError(host, what, "give one of them another name under [search.ENGINE.hosts]")
                    hosts[host], by[host] = address, engine.name
            yield hosts

    def source(self) -> Mapping[str, Any]:
        """The source that was searched: the engine's own values, or for several engines `sources` by name."""
        if len(self.engines) == 1:
            return self.engines[0].source()
        return {"sources": {engine.name: dict(engine.source()) for engine in self.engines}}


def open_chain(
    config: SearchConfig, user_agent: str = USER_AGENT, sleep: Sleep = time.sleep, *, proxy: str = ""
) -> Chain | None:
    """The chain that the settings name; None for `none`. Raises ConfigError if an engine cannot be opened."""
    engines = open_engines(config, user_agent, sleep, proxy=proxy)
    return Chain(engines) if engines else None
