"""Count a dataset's sources: the manifest's `sources`, from the scratch tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from builder.config import BuildConfig, crawl_settings
from builder.crawl.searching import answer_to
from builder.deriving.work_tables import WorkTables
from builder.evidence.marked import MARKED
from builder.extract.sentence_splitter import SPLITTER
from builder.inputs import Inputs
from builder.search_results import ANSWERED
from builder.store.reader import StoreReader
from edu_rag.records import HOME_PAGE

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


def sources_of(tables: WorkTables, store: StoreReader, inputs: Inputs) -> dict[str, Any]:
    """The manifest's `sources`: questions, searches, fates of hits, pages and labels, as plain values."""
    n = len(inputs.questions)
    sources: dict[str, Any] = {
        "questions": n,
        "splits": dict(sorted(Counter(question.split for question in inputs.questions).items())),
        "engine": inputs.config.search.engine,
    }
    if not inputs.config.search.chain:
        return sources
    states = dict(sorted(Counter(_states(store, inputs)).items()))
    return sources | {
        "search": crawl_settings(inputs.config)["settings"] | dict(inputs.source),
        "top": inputs.config.search.top,
        "searches": states,
        "unsearched": n - sum(states.get(state, 0) for state in ANSWERED),
        "hits": tables.number("SELECT count(*) FROM hits"),
        "hits_by_outcome": tables.counts("SELECT outcome, count(*) FROM hits GROUP BY outcome"),
        "urls": tables.number("SELECT count(*) FROM urls"),
        "redirected_urls": tables.number("SELECT count(*) FROM urls WHERE n_redirects > 0"),
        "redirects": tables.number("SELECT coalesce(sum(n_redirects), 0) FROM urls"),
        **_pages(tables, n),
        **_labels(tables, inputs.config),
        "extractor": inputs.config.extract.extractor,
        "evidence_methods": [*inputs.config.label.evidence, *([MARKED] if inputs.marks else [])],
        "sentence_splitter": SPLITTER,
    }
