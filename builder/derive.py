"""Deriving: crawl store + settings -> dataset folder, a pure function; `edu-rag replay` is nothing but this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from builder.card import dataset_card
from builder.clock import LOCAL_INSTANT
from builder.config import BuildConfig, config_sha256, crawl_settings
from builder.crawl_search import answered
from builder.crawl_store import CrawlStore, Fetch, Search
from builder.evidence import label_evidence
from builder.extract import Extracted, extract_pages
from builder.language import page_flags
from builder.search import ANSWERED
from builder.sentences import SPLITTER, split_sentences
from builder.urls import canonical_url
from edu_rag import __version__
from edu_rag.dataset_writer import write_dataset
from edu_rag.errors import DataError
from edu_rag.gold import Gold
from edu_rag.manifest import Manifest
from edu_rag.progress import Stage
from edu_rag.records import Evidence, Question, SearchHit, WebPage, page_id_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a store was made from: questions, gold, settings, and what the engine searched."""

    questions: Sequence[Question]
    golds: Sequence[Gold]
    config: BuildConfig
    source: Mapping[str, Any] = field(default_factory=dict)
    started_at: datetime = LOCAL_INSTANT
    """When a dataset without any search was made: there is nothing in its store to tell it by."""


@dataclass(slots=True)
class Derived:
    """The tables before they are written, with the fate of every URL."""

    pages: dict[str, WebPage] = field(default_factory=dict)
    fates: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    hits: list[SearchHit] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


def _canonical(url: str) -> str | None:
    try:
        return canonical_url(url)
    except ValueError:
        return None


def _page_of(url: str, fetch: Fetch, extracted: Extracted, extractor: str) -> WebPage:
    if fetch.digest is None:
        raise ValueError(f"{fetch.url} was kept without a digest")
    return WebPage(
        page_id=page_id_of(url), url=url, title=extracted.title, text=extracted.text,
        sentences=split_sentences(extracted.text), fetched_at=fetch.fetched_at, html_sha256=fetch.digest,
        extractor=extractor, language=extracted.language, license=extracted.license,
        flags=page_flags(extracted.text, extracted.language),
    )  # fmt: skip


def _wanted(searches: Mapping[str, Search]) -> list[str]:
    urls = {_canonical(url) for search in searches.values() for url in search.urls}
    return sorted(url for url in urls if url is not None)


def _representatives(urls: Sequence[str], fetches: Mapping[str, Fetch]) -> dict[str, Fetch]:
    """Kept fetches by the canonical URL of the page they end at; of several, the one whose URL sorts first."""
    chosen: dict[str, Fetch] = {}
    for url in urls:
        fetch = fetches[url]
        if fetch.outcome == "kept":
            chosen.setdefault(_canonical(fetch.final_url) or fetch.final_url, fetch)
    return dict(sorted(chosen.items()))


def _jobs(chosen: Mapping[str, Fetch], store: CrawlStore) -> Iterator[tuple[str, bytes, str | None]]:
    for url, fetch in chosen.items():
        body, charset = store.response(fetch)
        yield url, body, charset


def _extract(chosen: Mapping[str, Fetch], store: CrawlStore, config: BuildConfig, workers: int) -> dict[str, Any]:
    """By page URL: its WebPage, or the outcome that dropped it."""
    extractor = config.extract.extractor
    results: dict[str, WebPage | str] = {}
    with Stage("extract", total=len(chosen)) as stage:
        for url, got in extract_pages(_jobs(chosen, store), extractor, workers):
            if not isinstance(got, Extracted):
                results[url] = "extraction_failed"
            elif len(got.text.encode("utf-8", "replace")) < config.filter.min_bytes:
                results[url] = "short"
            else:
                results[url] = _page_of(url, chosen[url], got, extractor)
            found = results[url]
            stage.add(found if isinstance(found, str) else "kept")
    return results


def _fate(
    url: str | None, fetches: Mapping[str, Fetch], results: Mapping[str, WebPage | str]
) -> tuple[str, str | None]:
    """Outcome and page id of a hit's canonical URL."""
    if url is None:
        return "refused_address", None
    fetch = fetches[url]
    if fetch.outcome != "kept":
        return fetch.outcome, None
    result = results[_canonical(fetch.final_url) or fetch.final_url]
    return (result, None) if isinstance(result, str) else ("kept", result.page_id)


def _hits_of(search: Search, engine: str, fates: Mapping[str, tuple[str, str | None]]) -> Iterator[SearchHit]:
    for rank, url in enumerate(search.urls, start=1):
        outcome, page_id = fates[url]
        yield SearchHit(
            question_id=search.question_id, page_id=page_id, url=url, rank=rank, engine=engine, query=search.query,
            searched_at=search.searched_at, outcome=outcome,
        )  # fmt: skip


def _label(derived: Derived, inputs: Inputs) -> None:
    golds = {gold.question_id: gold for gold in inputs.golds}
    page_ids: dict[str, dict[str, None]] = {}
    for hit in derived.hits:
        if hit.page_id is not None:
            page_ids.setdefault(hit.question_id, {})[hit.page_id] = None
    with Stage("label", total=len(inputs.questions)) as stage:
        for question in inputs.questions:
            pages = [derived.pages[page_id] for page_id in page_ids.get(question.question_id, ())]
            found = label_evidence(question, golds[question.question_id], pages)
            derived.evidence.extend(found)
            stage.add("done")


def derive_tables(store: CrawlStore, inputs: Inputs, workers: int) -> tuple[Derived, dict[str, Search]]:
    """Every hit with its fate, the pages that were kept, and their evidence; and the searches they came from."""
    engine = inputs.config.search.engine
    searches = answered(store, engine, inputs.questions)
    fetches = store.fetches()
    missing = [url for url in _wanted(searches) if url not in fetches]
    if missing:
        what = f"the crawl is not finished: {len(missing):,} URLs are not fetched"
        raise DataError(store.folder, what, "run the same `edu-rag build` again to resume")
    results = _extract(_representatives(_wanted(searches), fetches), store, inputs.config, workers)
    urls = {url for search in searches.values() for url in search.urls}
    derived = Derived(fates={url: _fate(_canonical(url), fetches, results) for url in urls})
    derived.pages = {page.page_id: page for page in results.values() if isinstance(page, WebPage)}
    for search in searches.values():
        derived.hits.extend(_hits_of(search, engine, derived.fates))
    _label(derived, inputs)
    return derived, searches


def _mean(total: float, n: int) -> float:
    return round(total / n, 2) if n else 0.0


def _states(store: CrawlStore, inputs: Inputs, searches: Mapping[str, Search]) -> dict[str, int]:
    """Questions by the state of their search: the five states, and `unsearched` for those never asked."""
    asked = {search.question_id: search.state for search in store.searches(inputs.config.search.engine)}
    states: Counter[str] = Counter()
    for question in inputs.questions:
        state = asked.get(question.question_id, "unsearched")
        # An answer to another wording of the question is no answer to this one.
        stale = state in ANSWERED and question.question_id not in searches
        states["unsearched" if stale else state] += 1
    return dict(sorted(states.items()))


def sources_of(derived: Derived, searches: Mapping[str, Search], store: CrawlStore, inputs: Inputs) -> dict[str, Any]:
    """What the dataset was made from, in numbers: the manifest's `sources`.

    `pages_per_question` is over all questions, `characters_per_page` over the pages of all kept hits, as EDU-RAG's
    Table 4 gives them (3.89 and 8,285).
    """
    n = len(inputs.questions)
    per_question = {(hit.question_id, hit.page_id) for hit in derived.hits if hit.page_id is not None}
    fetches = store.fetches()
    characters = sum(len(derived.pages[page_id].text) for _, page_id in per_question if page_id is not None)
    wanted = [fetches[url] for url in _wanted(searches)]
    sources: dict[str, Any] = {
        "questions": n,
        "splits": dict(sorted(Counter(question.split for question in inputs.questions).items())),
        "engine": inputs.config.search.engine,
    }
    if inputs.config.search.engine == "none":
        return sources
    states = _states(store, inputs, searches)
    return sources | {
        "search": crawl_settings(inputs.config)["settings"] | dict(inputs.source),
        "top": inputs.config.search.top,
        "searches": states,
        "unsearched": n - sum(states.get(state, 0) for state in ANSWERED),
        "hits": len(derived.hits),
        "hits_by_outcome": dict(sorted(Counter(hit.outcome for hit in derived.hits).items())),
        "urls": len(wanted),
        "redirected_urls": sum(fetch.n_redirects > 0 for fetch in wanted),
        "redirects": sum(fetch.n_redirects for fetch in wanted),
        "pages": len(derived.pages),
        "questions_with_pages": len({question_id for question_id, _ in per_question}),
        "pages_per_question": _mean(len(per_question), n),
        "characters_per_page": _mean(characters, len(per_question)),
        "characters_per_distinct_page": _mean(sum(len(p.text) for p in derived.pages.values()), len(derived.pages)),
        "questions_with_evidence": len({item.question_id for item in derived.evidence}),
        "extractor": inputs.config.extract.extractor,
        "sentence_splitter": SPLITTER,
    }


def _created_at(store: CrawlStore, searches: Mapping[str, Search], inputs: Inputs) -> str:
    """When the newest thing in the dataset was searched or fetched: a fact of the store, so a replay repeats it."""
    from builder.clock import parse_instant

    if inputs.config.clock is not None:
        return parse_instant(inputs.config.clock).isoformat()
    times = [search.searched_at for search in searches.values()]
    fetches = store.fetches()
    times += [fetches[url].fetched_at for url in _wanted(searches)]
    return max(times, default=inputs.started_at).isoformat()


def _by_split(inputs: Inputs, derived: Derived) -> dict[str, dict[str, list[Any]]]:
    """The tables by config and split; a page stands in every split that has a hit on it."""
    split_of = {question.question_id: question.split for question in inputs.questions}
    tables: dict[str, dict[str, list[Any]]] = {name: {} for name in ("questions", "gold", "hits", "pages", "evidence")}
    rows: list[tuple[str, Sequence[Any]]] = [
        ("questions", inputs.questions), ("gold", inputs.golds), ("hits", derived.hits), ("evidence", derived.evidence),
    ]  # fmt: skip
    for name, records in rows:
        for record in records:
            tables[name].setdefault(split_of[record.question_id], []).append(record)
    pages = sorted({(split_of[hit.question_id], hit.page_id) for hit in derived.hits if hit.page_id is not None})
    for split, page_id in pages:
        tables["pages"].setdefault(split, []).append(derived.pages[page_id])
    return tables


def derive(store: CrawlStore, inputs: Inputs, out: Path, workers: int) -> Manifest:
    """Write the dataset folder that the store and the settings make: the same bytes for any number of workers."""
    config = inputs.config
    derived, searches = derive_tables(store, inputs, workers)
    sources = sources_of(derived, searches, store, inputs)
    return write_dataset(
        out, _by_split(inputs, derived), name=config.name, version=config.version,
        created_at=_created_at(store, searches, inputs), builder=f"edu-rag-bench {__version__}",
        config_sha256=config_sha256(config), sources=sources,
        card=lambda files: dataset_card(config.name, config.version, sources, files),
    )  # fmt: skip


def with_extractor(inputs: Inputs, extractor: str | None) -> Inputs:
    """The inputs with another extractor: extraction is redone from what is stored."""
    if extractor is None:
        return inputs
    config = replace(inputs.config, extract=replace(inputs.config.extract, extractor=extractor))
    return replace(inputs, config=config)
