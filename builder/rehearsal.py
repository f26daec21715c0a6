"""A dry run: the queries, price, time and disk space of a build, computed from the questions and the settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from builder.config import BuildConfig
from builder.fetch import NO_CONTACT
from builder.search import check_names
from builder.search.searching import answer_to, query_of
from builder.search.settings import SearchConfig, WebEngineConfig, is_offline
from builder.search_results import ANSWERED
from builder.store.lock import is_store
from builder.store.reader import StoreReader
from edu_rag.files.sentence_vectors import MAX_BYTES
from edu_rag.progress import in_words
from edu_rag.records import Question

RESULTS_PER_REQUEST: Mapping[str, int] = {"brave": 20, "serper": 10, "google": 10, "ddgs": 10, "searxng": 10}
"""Results of one request; an engine that is not here answers with all of them at once."""
URLS_PER_S = 16.9
"""Fetching, extracting and labelling on two cores: docs/figures/building.md, bench/end_to_end.py, November 2026."""
STORE_BYTES_PER_URL, DATASET_BYTES_PER_URL, STORE_BYTES_PER_QUERY = 37_000, 3_700, 10_000
"""5 GB of WARC and 0.5 GB of Parquet for 137,000 pages, and a compressed page of results; November 2026."""

SENTENCES_PER_URL, SENTENCES_PER_S, VECTOR_BYTES = 220, 140, 1_568
"""Different sentences of a page of tqa-val; two cores that encode (one wrote 10,711 vectors in 154 s:
docs/figures/sentences.md); a vector of all-MiniLM-L6-v2 with its key. November 2026."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineShare:
    """One engine's part of a build. `is_most`: an upper bound, since it gets only what the engines before it leave.

    `usd` is the price of all requests, the free ones included; `needs` names what is missing on this machine.
    """

    engine: str
    queries: int
    requests: int
    is_most: bool = False
    seconds: float = 0.0
    usd: float = 0.0
    free_requests: int = 0
    free_period: str = ""
    figures_from: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The size of a build. `urls`, and what follows from it, are upper bounds: hits repeat, and searches find fewer.

    `needs` names what its crawl lacks. `sentences` are those that `[label] vectors` encodes, also
    of pages that the crawl store has, if no page is found for two queries.
    """

    questions: int
    queries: int
    answered: int
    engines: tuple[EngineShare, ...]
    search_s: float
    urls: int
    fetch_s: float
    store_bytes: int
    dataset_bytes: int
    free_bytes: int
    sentences: int = 0
    encode_s: float = 0.0
    needs: str = ""

    def lines(self) -> Iterator[str]:
        """The rehearsal as a table for people."""
        yield f"{self.questions:,} questions, {self.queries:,} different queries, {self.answered:,} answered already"
        if self.engines:
            yield f"{'engine':<12} {'queries':>15} {'requests':>15} {'price':>12} {'free':>14} {'time':>12}  figures of"
        for one in self.engines:
            most = "≤ " if one.is_most else ""
            free = f"{one.free_requests:,}/{one.free_period}" if one.free_requests else "-"
            yield (
                f"{one.engine:<12} {most + format(one.queries, ','):>15} {most + format(one.requests, ','):>15}"
                f" {most + '$' + format(one.usd, ',.2f') if one.usd else 'nothing':>12} {free:>14}"
                f" {most + in_words(one.seconds) if one.seconds else '-':>12}  {one.figures_from or '-'}"
            )
        for one in self.engines:
            if one.needs:
                yield f"missing: {one.engine}: {one.needs}"
        if self.needs:
            yield f"missing: {self.needs}"
        if self.search_s:
            yield f"searching  about {in_words(self.search_s)}; engines work side by side"
        yield f"fetching   at most {self.urls:,} URLs, {in_words(self.fetch_s)} at {URLS_PER_S} URLs a second"
        if self.sentences:
            yield (
                f"vectors    at most {self.sentences:,} sentences, {in_words(self.encode_s)} at {SENTENCES_PER_S} a"
                f" second, if no page is found twice; a build with more than about {MAX_BYTES // VECTOR_BYTES:,} stops"
            )
        yield (
            f"disk       at most {self.store_bytes / 1e9:.1f} GB crawl store and {self.dataset_bytes / 1e9:.1f} GB"
            f" dataset; {self.free_bytes / 1e9:.1f} GB free"
        )


def _needs(engine: str, web: WebEngineConfig | None, config: SearchConfig) -> str:
    section: Any = config.adapters.get(engine) or getattr(config, engine, None)
    variable = section.get("key_variable") if isinstance(section, Mapping) else getattr(section, "key_variable", None)
    if variable and not os.environ.get(str(variable), "").strip():
        return f"the environment variable {variable} is not set: export {variable}=KEY with your key for {engine}"
    base_url = section.get("base_url", "-") if isinstance(section, Mapping) else getattr(section, "base_url", "-")
    if web is not None and base_url == "":
        table = f"search.adapters.{engine}" if engine in config.adapters else f"search.{engine}"
        return f'[{table}] base_url is not set: give your instance, as base_url = "http://127.0.0.1:8080"'
    return ""


def _share(engine: str, n_queries: int, config: SearchConfig, *, is_most: bool) -> EngineShare:
    web = config.web_settings(engine)
    n_requests = n_queries * ceil(config.top / RESULTS_PER_REQUEST.get(engine, config.top))
    if web is None:
        return EngineShare(engine=engine, queries=n_queries, requests=n_requests, is_most=is_most)
    return EngineShare(
        engine=engine,
        queries=n_queries,
        requests=n_requests,
        is_most=is_most,
        seconds=round(n_requests * max(web.pause_s, web.answer_s / web.at_once), 1),
        usd=round(n_requests * web.usd_per_1000 / 1_000, 2),
        free_requests=web.free_requests,
        free_period=web.free_period if web.free_requests else "",
        figures_from=web.figures_from,
        needs=_needs(engine, web, config),
    )


def _unanswered(questions: Sequence[Question], config: SearchConfig, store: StoreReader | None) -> dict[str, set[str]]:
    """By engine, the queries that it has not answered yet, of questions that are not answered."""
    left: dict[str, set[str]] = {engine: set() for engine in config.chain}
    for question in questions:
        if store is not None and answer_to(question, store, config).state in ANSWERED:
            continue
        query = query_of(question)
        for engine in config.chain:
            row = store.search(question.question_id, engine) if store is not None else None
            if row is None or row.query != query or row.state not in ANSWERED:
                left[engine].add(query)
    return left


def _free_bytes(place: Path) -> int:
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    return shutil.disk_usage(existing).free


def rehearse(questions: Sequence[Question], config: BuildConfig, store: Path, *, again: bool = False) -> Rehearsal:
    """The size of the build of these questions into this crawl store; what the store has answered is not asked again.

    `again`: as after --fresh or --refresh, which ask everything. Raises ConfigError for an unknown engine.
    """
    search = config.search
    check_names(search)
    store = store.absolute()
    if is_store(store) and not again:
        with closing(StoreReader(store, trusting=True)) as reader:
            left = _unanswered(questions, search, reader)
    else:
        left = _unanswered(questions, search, None)
    falls_back = search.combine == "fallback"
    shares = [
        _share(engine, len(left[engine]), search, is_most=falls_back and place > 0)
        for place, engine in enumerate(search.chain)
    ]
    queries = {query_of(question) for question in questions}
    n_asked = len(set().union(*left.values())) if left else 0
    n_urls = n_asked * search.top
    n_sentences = len(queries) * search.top * SENTENCES_PER_URL if config.label.vectors is not None else 0
    return Rehearsal(
        questions=len(questions),
        queries=len(queries),
        answered=len(queries) - n_asked if search.chain else 0,
        engines=tuple(shares),
        search_s=max((one.seconds for one in shares if not one.is_most), default=0.0),
        urls=n_urls,
        fetch_s=round(n_urls / URLS_PER_S, 1),
        store_bytes=n_urls * STORE_BYTES_PER_URL + n_asked * STORE_BYTES_PER_QUERY,
        dataset_bytes=n_urls * DATASET_BYTES_PER_URL + min(n_sentences * VECTOR_BYTES, MAX_BYTES),
        free_bytes=_free_bytes(store.parent),
        sentences=n_sentences,
        encode_s=round(n_sentences / SENTENCES_PER_S, 1),
        needs=NO_CONTACT if n_asked and not config.fetch.contact and not is_offline(",".join(search.chain)) else "",
    )
