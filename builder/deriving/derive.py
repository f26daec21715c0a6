"""Deriving: crawl store + settings -> dataset folder, a pure function, and the record of its inputs.

Stored responses go through the page stage in worker processes; questions are then labelled one by one.
Intermediate data is in scratch tables on disk, so that memory stays flat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from builder.clock import LOCAL_INSTANT, parse_instant
from builder.config import BuildConfig, config_sha256, crawl_settings, to_config
from builder.deriving import page_stage
from builder.deriving.duplicates import SeenPages
from builder.deriving.known_pages import Jobs, KnownPages
from builder.deriving.page_stage import PageResult, PageSettings
from builder.deriving.scale import scaled_results
from builder.deriving.vector_writer import write_vectors
from builder.deriving.work_tables import WorkTables
from builder.documents.dataset_documents import dataset_documents
from builder.documents.question_terms import EXTRA_COLUMNS
from builder.evidence import label_evidence
from builder.evidence.given_evidence import MarkedText, marked_evidence
from builder.extract.sentence_splitter import SPLITTER
from builder.fetch.hit_detail import detail_of
from builder.fetch.machine_use_signals import reserves_rights
from builder.lost_hits import LOST_OUTCOMES, MAX_LOST, counts_in_sources, fault_in_sources, is_lost, losses_in_sources
from builder.search.combine import Combined
from builder.search.searching import answer_to
from builder.search_results import ANSWERED
from builder.store.crawl_store import MAX_ATTEMPTS, is_due
from builder.store.index import Fetch
from builder.store.reader import StoreReader
from builder.store.takedowns import TakeDowns, host_is_listed, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag import __version__
from edu_rag.errors import DataError
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.manifest import FileEntry, Manifest
from edu_rag.files.sentence_vectors import Encoders
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold
from edu_rag.progress import Stage, note, say
from edu_rag.records import HOME_PAGE, Evidence, Question, SearchHit, WebPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of a store: questions, gold, settings, and the source that the engine searched."""

    questions: Sequence[Question]
    golds: Sequence[Gold]
    config: BuildConfig
    source: Mapping[str, Any] = field(default_factory=dict)
    started_at: datetime = LOCAL_INSTANT
    """When a dataset without any search was made: there is nothing in its store to tell it by."""
    marks: Mapping[str, Sequence[MarkedText]] = field(default_factory=dict)
    """Evidence that was marked by hand or by a language model, by question id."""
    questions_from: Sequence[str] = ()
    """The datasets of the Hub that the questions were read from, each with its commit."""


def with_changes(
    inputs: Inputs, extractor: str | None, executor: str | None, *, without_vectors: bool = False
) -> Inputs:
    """The inputs with another extractor (extraction is redone from stored responses) or executor, or no vectors."""
    values = to_plain(inputs.config)
    if extractor is not None:
        values["extract"]["extractor"] = extractor
    if executor is not None:
        values["scale"]["executor"] = executor
    if without_vectors:
        values["label"].pop("vectors", None)
    return replace(inputs, config=to_config(values, "command line"))


_WITH = "SELECT count(DISTINCT question_id) FROM evidence WHERE method"


def _mean(total: float | None, n: int) -> float:
    return round((total or 0) / n, 2) if n else 0.0


def _states(store: StoreReader, inputs: Inputs) -> Iterator[str]:
    for question in inputs.questions:
        yield answer_to(question, store, inputs.config.search).state


def _labels(tables: WorkTables, config: BuildConfig) -> dict[str, Any]:
    found = {"page_flags": tables.flags(), "questions_with_evidence": tables.number(f"{_WITH} <> '{HOME_PAGE}'")}
    if HOME_PAGE in config.label.evidence:
        found["questions_with_home_page"] = tables.number(f"{_WITH} = '{HOME_PAGE}'")
    if config.label.leaks:  # no leak found is not the same as none looked for
        found["leaks"] = tables.counts("SELECT kind, count(*) FROM kept_leak GROUP BY kind")
        found["questions_leaked"] = tables.number("SELECT count(DISTINCT question_id) FROM kept_leak")
    if config.filter.leaks == "mask":
        found["leaks_masked"] = tables.number("SELECT count(*) FROM kept_leak")
    return found


def _pages(tables: WorkTables, n_questions: int) -> dict[str, Any]:
    """`pages_per_question` is over all questions, `characters_per_page` over the pages of all kept hits, as EDU-RAG's
    Table 4 gives them (3.89 and 8,285).
    """
    n_pairs, n_pages = tables.number("SELECT count(*) FROM pair"), tables.number("SELECT count(*) FROM kept")
    characters = tables.number("SELECT sum(n_chars) FROM pair JOIN pages USING (page_id)")
    of_distinct = tables.number("SELECT sum(n_chars) FROM kept JOIN pages USING (page_id)")
    return {
        "pages": n_pages,
        "questions_with_pages": tables.number("SELECT count(DISTINCT question_id) FROM pair"),
        "pages_per_question": _mean(n_pairs, n_questions),
        "characters_per_page": _mean(characters, n_pairs),
        "characters_per_distinct_page": _mean(of_distinct, n_pages),
        "extracted_by": tables.counts("SELECT tool, count(*) FROM kept JOIN pages USING (page_id) GROUP BY tool"),
    }


def _beside_questions(inputs: Inputs) -> dict[str, Any]:
    """Where the questions come from, and the columns kept as `extra`; nothing where neither is known."""
    names = sorted({name for gold in inputs.golds if gold.extra for name in msgspec.json.decode(gold.extra)})
    found = {"questions_from": list(inputs.questions_from), EXTRA_COLUMNS: names}
    return {name: value for name, value in found.items() if value}


def sources_of(tables: WorkTables, store: StoreReader, inputs: Inputs) -> dict[str, Any]:
    """The manifest's `sources`: questions, searches, fates of hits, pages and labels, as plain values."""
    n = len(inputs.questions)
    sources: dict[str, Any] = {
        "questions": n,
        "splits": dict(sorted(Counter(question.split for question in inputs.questions).items())),
        "engine": inputs.config.search.engine,
        **inputs.config.questions.as_sources(),
        **_beside_questions(inputs),
    }
    if not inputs.config.search.chain:
        return sources
    if inputs.config.build.max_lost != MAX_LOST:
        sources["max_lost"] = inputs.config.build.max_lost
    states = dict(sorted(Counter(_states(store, inputs)).items()))
    return sources | {
        "search": crawl_settings(inputs.config)["settings"] | dict(inputs.source),
        "top": inputs.config.search.top,
        "searches": states,
        "unsearched": n - sum(states.get(state, 0) for state in ANSWERED),
        "hits": tables.number("SELECT count(*) FROM hits"),
        **counts_in_sources(tables.counts("SELECT cause, count(*) FROM hits GROUP BY cause")),
        "urls": tables.number("SELECT count(*) FROM urls"),
        "redirected_urls": tables.number("SELECT count(*) FROM urls WHERE n_redirects > 0"),
        "redirects": tables.number("SELECT coalesce(sum(n_redirects), 0) FROM urls"),
        **_pages(tables, n),
        **_labels(tables, inputs.config),
        "extractor": inputs.config.extract.extractor,
        "evidence_methods": [
            *inputs.config.label.evidence,
            *sorted({mark.method for marks in inputs.marks.values() for mark in marks}),
        ],
        "sentence_splitter": SPLITTER,
    }


MIN_FAILURES = 10
"""From so many pages on, their failing without exception is the machine's fault and no property of the pages."""
_BROKEN = "look for memory limits and for broken packages, then run the same command again"


class Fates:
    """Why the response of a URL does not become a page, independent of its content."""

    def __init__(self, config: BuildConfig, takedowns: TakeDowns) -> None:
        self._filter = config.filter
        self._takedowns = takedowns

    def of_address(self, url: str, digest: str | None = None) -> str | None:
        """`taken_down` or `blocked_host`, or None."""
        host = host_of(url)
        if self._takedowns.matches(url, host, digest):
            return "taken_down"
        return "blocked_host" if host_is_listed(host, self._filter.blocked_hosts) else None

    def of_fetch(self, fetch: Fetch) -> str:
        """The fate that settings and take-downs give a fetch: its own outcome where they say nothing."""
        if fetch.outcome != "kept":
            return fetch.outcome
        dropped = self.of_address(canonical_or_none(fetch.final_url) or fetch.final_url, fetch.digest)
        if dropped is None and self._filter.reserved_rights and reserves_rights(fetch.signals):
            return "reserved_rights"
        return dropped or "kept"

    def page_url(self, fetch: Fetch) -> str | None:
        """The URL of the page that a fetch becomes, or None if it becomes none."""
        return (canonical_or_none(fetch.final_url) or fetch.final_url) if self.of_fetch(fetch) == "kept" else None


def _wanted(inputs: Inputs, store: StoreReader) -> Iterator[tuple[Combined, list[str]]]:
    """Each question's search with the canonical URLs of its hits."""
    for question in inputs.questions:
        search = answer_to(question, store, inputs.config.search)
        urls = (canonical_or_none(url) for url, _ in search.hits)
        yield search, [url for url in urls if url is not None]


def _take_urls(tables: WorkTables, store: StoreReader, inputs: Inputs) -> datetime:
    """Bring the URLs of all hits into the tables, each with its fate; return the time of the newest thing used.

    Raises DataError if a URL was not fetched: the crawl is not finished.
    """
    fates = Fates(inputs.config, read_takedowns(store.folder))
    times: list[datetime] = []  # the newest so far, if any
    for search, urls in _wanted(inputs, store):
        times = [max([*times, search.searched_at])] if search.searched_at is not None else times
        tables.want(urls)
    n_missing = 0
    for url in tables.wanted():
        dropped, fetch = fates.of_address(url), store.fetch(url)
        if dropped is not None:
            tables.add_url(url, dropped, None, 0)
        elif fetch is None:
            n_missing += 1
        else:
            times = [max([*times, fetch.fetched_at])]
            outcome = fates.of_fetch(fetch)
            detail = detail_of(outcome, fetch.status, fetch.detail)
            tables.add_url(url, outcome, fates.page_url(fetch), fetch.n_redirects, detail)
    if n_missing:
        what = f"the crawl is not finished: {n_missing:,} URLs are not fetched"
        raise DataError(store.folder, what, "run the same `edu-rag build` again to resume")
    return max(times, default=inputs.started_at)


class _Counts:
    """What became of the pages: `add` brings a result into the tables and counts it."""

    def __init__(self, tables: WorkTables, stage: Stage) -> None:
        self._tables, self._stage = tables, stage
        self.raised = Counter[str]()
        self.failures = Counter[str]()
        """Why pages could not be extracted; `none` counts the others."""

    def add(self, page_url: str, result: PageResult) -> None:
        self._tables.add_result(page_url, result)
        self._stage.add(result.outcome)
        self.raised.update(result.raised)
        self.failures.update([result.detail] if result.outcome == "extraction_failed" else ["none"])

    @property
    def is_broken(self) -> bool:
        """Whether not one page could be extracted, and they are too many for that to be their own fault."""
        return bool(self.failures) and "none" not in self.failures and self.failures.total() >= MIN_FAILURES


def page_settings(inputs: Inputs) -> PageSettings:
    """What of the inputs the page stage depends on."""
    config = inputs.config
    return PageSettings(
        extract=config.extract,
        filter=config.filter,
        label=replace(config.label, vectors=None),  # no page depends on it
        questions=inputs.questions,
        golds=inputs.golds,
    )


def _make_pages(tables: WorkTables, store: StoreReader, inputs: Inputs, workers: int) -> None:
    """Run the page stage on every stored response that a hit leads to, if no earlier build has."""
    config, pages, settings = inputs.config, tables.page_fetches(), page_settings(inputs)
    with store.page_cache() as kept:
        known = KnownPages(kept, settings)
        with Stage("extract", total=tables.n_pages()) as stage:
            counts = _Counts(tables, stage)
            if config.scale.executor == "none":
                make = partial(_page_results, settings=settings, workers=workers)
                known.run(page_stage.jobs(pages, store), make, counts.add)
            else:  # its tasks keep their results themselves
                for page_url, result in scaled_results(pages, store.folder, settings, config.scale, workers):
                    counts.add(page_url, result)
        if counts.is_broken:
            kept.clear()  # what a broken machine made must not outlive its repair
            why = ", ".join(f"{reason} {n:,}" for reason, n in counts.failures.most_common(3))
            what = f"not one of {counts.failures.total():,} pages could be extracted ({why})"
            raise DataError(store.folder, what, _BROKEN)
        known.end()
    _say_pages(known, counts)
    tables.end_of_pages()


def _page_results(todo: Jobs, settings: PageSettings, workers: int) -> Iterator[tuple[str, PageResult]]:
    return page_stage.page_results(todo, settings, workers)


def _say_pages(known: KnownPages, counts: _Counts) -> None:
    if known.n_known or known.n_labelled:
        note("known_pages", known=known.n_known, labelled=known.n_labelled, extracted=known.n_extracted)
        fresh = f"{known.n_labelled:,} got new labels, {known.n_extracted:,} were extracted"
        say(f"extract: {known.n_known:,} pages were known, {fresh}")
    for tool, n in sorted(counts.raised.items()):
        note("tool_raised", tool=tool, pages=n)
        say(f"extract: {tool} raised on {n:,} pages: their text is from another tool")


_NO_ADDRESS = ("refused_address", "other", None)


def _hits(question: Question, search: Combined, tables: WorkTables, config: BuildConfig) -> Iterator[SearchHit]:
    """A question's hits with their fates; a page that repeats a better-ranked one of the same question is dropped."""
    if search.searched_at is None:
        return
    seen = SeenPages()
    for rank, (url, engine) in enumerate(search.hits, start=1):
        canonical = canonical_or_none(url)
        outcome, detail, page_id = tables.fate(canonical) if canonical is not None else _NO_ADDRESS
        if page_id is not None and config.filter.duplicates:
            text = tables.page(page_id).text
            repeated = seen.verdict(text, tables.signature(page_id), config.filter.near_duplicate)
            outcome, page_id = (outcome, page_id) if repeated is None else (repeated, None)
        yield SearchHit(
            question_id=question.question_id,
            page_id=page_id,
            url=url,
            rank=rank,
            engine=engine,
            query=search.query,
            searched_at=search.searched_at,
            outcome=outcome,
            detail=detail,
        )


def _label(tables: WorkTables, store: StoreReader, inputs: Inputs) -> None:
    """Give every question its hits and its evidence."""
    golds = {gold.question_id: gold for gold in inputs.golds}
    with Stage("label", total=len(inputs.questions)) as stage:
        for question in inputs.questions:
            search = answer_to(question, store, inputs.config.search)
            hits = list(_hits(question, search, tables, inputs.config))
            pages = [tables.page(page_id) for page_id in dict.fromkeys(hit.page_id for hit in hits) if page_id]
            found = _evidence(question, golds[question.question_id], pages, inputs)
            tables.add_question(question.split, question.question_id, hits, found)
            stage.add("done")


def _evidence(question: Question, gold: Gold, pages: Sequence[WebPage], inputs: Inputs) -> list[Evidence]:
    label = inputs.config.label
    found = label_evidence(question, gold, pages, label.evidence, label.evidence_model)
    found += marked_evidence(question, pages, inputs.marks)
    return sorted(found, key=lambda item: (item.page_id, item.start, item.end, item.method))


def _tables(inputs: Inputs, tables: WorkTables) -> dict[str, dict[str, Any]]:
    """The dataset's tables by config and split; a page is in every split that has a hit on it."""
    by_split: dict[str, dict[str, Any]] = {"questions": {}, "gold": {}}
    split_of = {}
    for question in inputs.questions:
        split_of[question.question_id] = question.split
        by_split["questions"].setdefault(question.split, []).append(question)
    for gold in inputs.golds:
        by_split["gold"].setdefault(split_of[gold.question_id], []).append(gold)
    splits = by_split["questions"]
    streams = {"hits": tables.hits, "pages": tables.pages, "evidence": tables.evidence, "leaks": tables.leaks}
    return by_split | {config: {split: rows(split) for split in splits} for config, rows in streams.items()}


_ONLINE, _LATER = "see that this machine is online", "wait until the busy servers answer again"
_SAME = "run the same `edu-rag build` again: it requests lost pages once more"
_REFRESH = "run the same `edu-rag build` with --refresh, which requests everything again"
_CAUSES = "or add --allow-partial; `edu-rag crawl status` shows hosts and causes"


def _fetch_again(tables: WorkTables, store: StoreReader, sources: Mapping[str, Any]) -> str:
    """How to get the lost pages: the same command requests only those that have attempts left."""
    lost = ((store.fetch(url), cause) for url, cause in tables.url_causes() if is_lost(cause))
    is_busy = {cause not in LOST_OUTCOMES for row, cause in lost if row is not None and is_due(row, row.round)}
    if is_busy:
        first = [words for busy, words in ((False, _ONLINE), (True, _LATER)) if busy in is_busy]
        return f"{', '.join(first)} and {_SAME}, {_CAUSES}"
    if losses_in_sources(sources).n_lost:
        return f"each lost page was requested {MAX_ATTEMPTS} times: {_REFRESH}, {_CAUSES}"
    return f"{_REFRESH}, {_CAUSES}"


def _refuse_losses(
    out: Path, tables: WorkTables, store: StoreReader, sources: Mapping[str, Any], *, allow_partial: bool
) -> None:
    """Raise DataError if too many pages were lost; `allow_partial` makes it a warning."""
    fault = fault_in_sources(sources)
    if not fault:
        return
    note("lost_hits", fault=fault)
    if not allow_partial:
        raise DataError(out, f"is not written: it {fault}", _fetch_again(tables, store, sources))
    say(f"warning: {out} {fault}")


class _MadeBy(NamedTuple):
    """What a manifest says of its making."""

    created_at: str
    builder: str
    config_sha256: str
    sources: Mapping[str, Any]

    def made(self, dataset: Manifest) -> bool:
        """Whether a dataset says the same of its making."""
        values = (dataset.created_at, dataset.builder, dataset.config_sha256, dataset.sources)
        return bool(to_plain(self) == to_plain(_MadeBy(*values)))


class _ChosenVersion:
    """The version of the settings, or that of an earlier dataset with the same content. Called before it is read."""

    def __init__(self, proposed: str, earlier: Manifest | None) -> None:
        self.number = proposed
        self._earlier = earlier

    def __call__(self, content_sha256: str) -> str:
        if self._earlier is not None and self._earlier.content_sha256 == content_sha256:
            self.number = self._earlier.version
        return self.number


def derive(
    store: StoreReader,
    inputs: Inputs,
    out: Path,
    workers: int,
    *,
    allow_partial: bool = False,
    earlier: Manifest | None = None,
    encoders: Encoders | None = None,
) -> Manifest:
    """Write the dataset folder that the store and the settings make: the same bytes for any number of workers.

    If the content is that of the `earlier` dataset, its version stays. Raises DataError, and leaves an older dataset in
    place, if too many pages were lost, unless `allow_partial`.
    """
    config = inputs.config
    out = out.absolute()
    with WorkTables(out.with_name(f".{out.name}.work")) as tables:
        newest = _take_urls(tables, store, inputs)
        _make_pages(tables, store, inputs, workers)
        _label(tables, store, inputs)
        sources = sources_of(tables, store, inputs)
        _refuse_losses(out, tables, store, sources, allow_partial=allow_partial)
        created_at = (parse_instant(config.clock) if config.clock is not None else newest).isoformat()
        made_by = _MadeBy(created_at, f"edu-rag-bench {__version__}", config_sha256(config), sources)
        version = _ChosenVersion(config.version, earlier if earlier is not None and made_by.made(earlier) else None)

        def documents(folder: Path, files: Mapping[str, FileEntry]) -> Mapping[str, bytes]:
            return dataset_documents(config.name, version.number, created_at, sources)(folder, files)

        def attach(folder: Path, files: Mapping[str, FileEntry]) -> Mapping[str, FileEntry]:
            name = config.label.vectors
            return {} if name is None or encoders is None else write_vectors(folder, files, name, encoders)

        return write_dataset(
            out,
            _tables(inputs, tables),
            name=config.name,
            version=version,
            documents=documents,
            attach=attach,
            **made_by._asdict(),
        )
