"""The pages' half of an audit: dropped pages with reasons, hosts, flags, leaks, evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from builder.urls import canonical_or_none, host_of
from edu_rag.files.dataset import Dataset
from edu_rag.records import Evidence, Leak, Question, SearchHit, WebPage


@dataclass(slots=True)
class PageAudit:
    """The outcomes of a split's hits, and the content of its pages."""

    split: str
    n_hits: int = 0
    n_pages: int = 0
    n_questions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By outcome: the first few (URL, question id), each URL once."""
    details: dict[str, Counter[str]] = field(default_factory=dict)
    """The crawl store's details by outcome (`404`, `net::timeout`), if the store is at hand."""
    hosts: dict[str, Counter[str]] = field(default_factory=dict)
    """By host: its hits by outcome."""
    flags: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    licences: int = 0
    characters: list[int] = field(default_factory=list)
    pages_per_question: Counter[int] = field(default_factory=Counter)
    without_pages: list[str] = field(default_factory=list)
    leaks: Counter[str] = field(default_factory=Counter)
    leaked_questions: Counter[str] = field(default_factory=Counter)
    leaking_pages: Counter[str] = field(default_factory=Counter)
    evidence: dict[str, Counter[str]] = field(default_factory=dict)
    """By method: questions with evidence by kind, and `spans`."""


def _note_hit(found: PageAudit, hit: SearchHit, details: Mapping[str, str], examples: int) -> None:
    found.n_hits += 1
    found.outcomes[hit.outcome] += 1
    found.hosts.setdefault(host_of(hit.url), Counter())[hit.outcome] += 1
    if hit.outcome == "kept":
        return
    detail = details.get(canonical_or_none(hit.url) or hit.url) if details else None
    if detail:
        found.details.setdefault(hit.outcome, Counter())[detail] += 1
    told = found.dropped.setdefault(hit.outcome, [])
    if len(told) < examples and all(url != hit.url for url, _ in told):
        told.append((hit.url, hit.question_id))


def _hits(found: PageAudit, dataset: Dataset, details: Mapping[str, str], examples: int) -> None:
    kept: dict[str, set[str]] = {}
    for hit in dataset.records("hits", found.split, SearchHit):
        _note_hit(found, hit, details, examples)
        if hit.page_id is not None:
            kept.setdefault(hit.question_id, set()).add(hit.page_id)
    for question in dataset.records("questions", found.split, Question):
        found.n_questions += 1
        n = len(kept.get(question.question_id, ()))
        found.pages_per_question[n] += 1
        if n == 0 and len(found.without_pages) < examples:
            found.without_pages.append(question.question_id)


def _pages(found: PageAudit, dataset: Dataset) -> None:
    for page in dataset.records("pages", found.split, WebPage):
        found.n_pages += 1
        found.flags.update(page.flags)
        found.languages[page.language or "unknown"] += 1
        found.licences += page.license is not None
        found.characters.append(len(page.text))


def _labels(found: PageAudit, dataset: Dataset, kinds: Mapping[str, str]) -> None:
    leaked: dict[str, set[str]] = {}
    leaking: dict[str, set[str]] = {}
    for leak in dataset.records("leaks", found.split, Leak):
        found.leaks[leak.kind] += 1
        leaked.setdefault(leak.kind, set()).add(leak.question_id)
        leaking.setdefault(leak.kind, set()).add(leak.page_id)
    found.leaked_questions = Counter({kind: len(ids) for kind, ids in leaked.items()})
    found.leaking_pages = Counter({kind: len(ids) for kind, ids in leaking.items()})
    seen: set[tuple[str, str]] = set()
    for item in dataset.records("evidence", found.split, Evidence):
        of_method = found.evidence.setdefault(item.method, Counter())
        of_method["spans"] += 1
        if (item.method, item.question_id) not in seen:
            seen.add((item.method, item.question_id))
            of_method[kinds.get(item.question_id, "unknown")] += 1


def audit_pages(dataset: Dataset, split: str, details: Mapping[str, str], examples: int) -> PageAudit:
    """Count the outcomes of a split's hits and the content of its pages, which are read one row group at a time.

    `details` gives, by canonical URL, the crawl store's detail of a fetch that was not kept.
    """
    found = PageAudit(split=split)
    kinds = {question.question_id: question.kind for question in dataset.records("questions", split, Question)}
    _hits(found, dataset, details, examples)
    _pages(found, dataset)
    _labels(found, dataset, kinds)
    found.characters.sort()
    return found
