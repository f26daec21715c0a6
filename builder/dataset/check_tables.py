"""Checking questions, gold, hits, evidence and leaks: ids, ranks, and that every reference leads somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from builder.dataset.check_files import REBUILD, Tables
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A labelled span of a page, to be compared with the page's text when it is read."""

    start: int
    end: int
    what: str
    method: str | None = None


@dataclass(slots=True)
class Seen:
    """The content of one split's small tables; pages are read later, one at a time."""

    questions: dict[str, Question] = field(default_factory=dict)
    gold: dict[str, Gold] = field(default_factory=dict)
    hits: dict[str, list[SearchHit]] = field(default_factory=dict)
    page_ids: set[str] = field(default_factory=set)
    spans: dict[str, list[PageSpan]] = field(default_factory=dict)


def _check_questions(tables: Tables, split: str, seen: Seen) -> None:
    for question in tables.records("questions", split):
        if question.split != split:
            where = f"{tables.folder}: {question.question_id}"
            tables.faults.add("wrong split", where, f"says split {question.split!r}, but is in {split!r}", REBUILD)
        seen.questions[question.question_id] = question


def _gold_fault(gold: Gold, question: Question | None) -> str | None:
    if question is None:
        return "belongs to an unknown question"
    if (gold.answer is None) != (question.kind == "free_text"):
        return f"does not suit its kind {question.kind}"
    if gold.answer is not None and gold.answer not in question.choices:
        return f"is {gold.answer!r}, which is not one of its choices {', '.join(question.choices)}"
    return None


def _check_gold(tables: Tables, split: str, seen: Seen) -> None:
    if not tables.has("gold", split):
        return  # a hidden split, whose gold is not published
    for gold in tables.records("gold", split):
        fault = _gold_fault(gold, seen.questions.get(gold.question_id))
        if fault is None:
            seen.gold[gold.question_id] = gold
        elif tables.is_whole("questions", split):
            tables.faults.add("gold", f"{tables.folder}: gold of {gold.question_id}", fault, REBUILD)
    if tables.is_whole("gold", split):
        for question_id in sorted(set(seen.questions) - set(seen.gold)):
            where = f"{tables.folder}: question {question_id}"
            tables.faults.add("no gold", where, "has no gold that suits it", "add it or drop the question")


def _check_ranks(tables: Tables, question_id: str, hits: Iterable[SearchHit]) -> None:
    ranks = [hit.rank for hit in hits]
    if ranks != list(range(1, len(ranks) + 1)):
        where = f"{tables.folder}: hits of {question_id}"
        tables.faults.add("ranks", where, f"ranks are {ranks[:12]}, not 1, 2, 3 …", REBUILD)


def _check_hits(tables: Tables, split: str, seen: Seen) -> None:
    for hit in tables.records("hits", split):
        seen.hits.setdefault(hit.question_id, []).append(hit)
        if hit.page_id is not None:
            seen.page_ids.add(hit.page_id)
    for question_id, hits in seen.hits.items():
        _check_ranks(tables, question_id, hits)
        if question_id not in seen.questions and tables.is_whole("questions", split):
            where = f"{tables.folder}: hits of {question_id}"
            tables.faults.add("hits of no question", where, f"hits for unknown question {question_id}", REBUILD)


def _check_evidence(tables: Tables, split: str, seen: Seen) -> None:
    pairs = {(question_id, hit.page_id) for question_id, hits in seen.hits.items() for hit in hits}
    item: Evidence
    for item in tables.records("evidence", split):
        what = f"evidence of {item.question_id} at {item.page_id} {item.start}..{item.end}"
        where = f"{tables.folder}: {what}"
        if item.question_id not in seen.questions and tables.is_whole("questions", split):
            tables.faults.add("evidence", where, "leads nowhere: unknown question", REBUILD)
        elif (item.question_id, item.page_id) not in pairs and tables.is_whole("hits", split):
            tables.faults.add("evidence", where, "leads nowhere: not a hit of the question", REBUILD)
        seen.spans.setdefault(item.page_id, []).append(PageSpan(item.start, item.end, what, item.method))


def read_split(tables: Tables, split: str) -> Seen:
    """The small tables of a split; faults are reported on the way."""
    seen = Seen()
    _check_questions(tables, split, seen)
    _check_gold(tables, split, seen)
    _check_hits(tables, split, seen)
    _check_evidence(tables, split, seen)
    return seen


def read_leaks(tables: Tables, split: str, seen: dict[str, Seen]) -> list[str]:
    """Check a split's leaks, whose pages may be those of any split, so all must have been read.

    Returns the page of every `leak_key`.
    """
    splits, keys = list(seen.values()), []
    leak: Leak
    for leak in tables.records("leaks", split):
        if leak.kind == "leak_key":
            keys.append(leak.page_id)
        what = f"leak of {leak.question_id} at {leak.page_id} {leak.start}..{leak.end}"
        if not any(leak.question_id in other.questions for other in splits):
            tables.faults.add("leak", f"{tables.folder}: {what}", "leads nowhere: unknown question", REBUILD)
        homes = [other for other in splits if leak.page_id in other.page_ids]
        for home in homes:
            home.spans.setdefault(leak.page_id, []).append(PageSpan(leak.start, leak.end, what))
        if not homes:
            tables.faults.add("leak", f"{tables.folder}: {what}", "leads nowhere: unknown page", REBUILD)
    return keys
