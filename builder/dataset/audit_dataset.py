"""Audit a dataset: broken questions and dropped pages, with reasons and examples; as text or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.dataset.changes_file import printable
from builder.dataset.question_faults import RULES, KeyTest, contradictions, faults_of, key_test
from builder.urls import canonical_or_none, host_of
from edu_rag.files.dataset import Dataset
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold
from edu_rag.records import QUESTION_FLAGS, Evidence, Leak, Question, SearchHit, WebPage


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
    dropped = found.dropped.setdefault(hit.outcome, [])
    if len(dropped) < examples and all(url != hit.url for url, _ in dropped):
        dropped.append((hit.url, hit.question_id))


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


FLAG_MEANINGS: Mapping[str, str] = {
    "meta_choice": "a choice speaks of other choices: never shuffled",
    "duplicate_choices": "two choices are the same text",
    "truncated": "the question or a choice is cut short",
    "context_bound": "needs a neighbour, a passage or a picture that is not here",
    "duplicate_question": "another question has the same text and choices",
}


@dataclass(slots=True)
class QuestionGroup:
    """Questions with one flag or fault: how many, and the first few as (id, text, choices)."""

    meaning: str
    n: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class QuestionAudit:
    """The problems of a split's questions."""

    split: str
    n: int
    kinds: dict[str, int]
    flags: dict[str, QuestionGroup]
    faults: dict[str, QuestionGroup]
    contradictions: list[tuple[str, str]]
    key: KeyTest
    n_clean: int


def _note(group: QuestionGroup, question: Question, gold: Gold | None, examples: int) -> None:
    group.n += 1
    if len(group.examples) < examples:
        answer = gold.answer if gold is not None else None
        example = {"question_id": question.question_id, "text": question.text, "choices": dict(question.choices)}
        group.examples.append(example | {"gold": answer})


def audit_questions(
    split: str, questions: Sequence[Question], gold: Mapping[str, Gold], examples: int
) -> QuestionAudit:
    """Count flags and faults of a split's questions, with `examples` of each. Without gold, its rules find nothing."""
    flags = {flag: QuestionGroup(FLAG_MEANINGS[flag]) for flag in QUESTION_FLAGS}
    faults = {name: QuestionGroup(meaning) for name, (_, meaning) in RULES.items()}
    kinds: dict[str, int] = {}
    n_clean = 0
    for question in questions:
        own = gold.get(question.question_id)
        kinds[question.kind] = kinds.get(question.kind, 0) + 1
        found = faults_of(question, own)
        n_clean += not found and not question.flags
        for flag in question.flags:
            _note(flags[flag], question, own, examples)
        for fault in found:
            _note(faults[fault], question, own, examples)
    return QuestionAudit(
        split=split,
        n=len(questions),
        kinds=dict(sorted(kinds.items())),
        flags=flags,
        faults=faults,
        contradictions=contradictions(questions, gold),
        key=key_test(questions, gold),
        n_clean=n_clean,
    )


EXAMPLES = 3
MAX_HOSTS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The audit of a dataset, split by split."""

    id: str
    questions: list[QuestionAudit]
    pages: list[PageAudit]


def fetch_details(store: Path) -> dict[str, str]:
    """The crawl store's detail of each fetch that was not kept, by canonical URL: the fault, or its status.

    Reads only. Raises DataError if there is no readable store.
    """
    from builder.store.reader import StoreReader

    reader = StoreReader(store)
    try:
        fetches = (fetch for fetch in reader.iter_fetches() if fetch.outcome != "kept")
        return {fetch.url: printable(fetch.detail or str(fetch.status or ""), 60) for fetch in fetches}
    finally:
        reader.close()


def audit(folder: Path, store: Path | None = None, examples: int = EXAMPLES) -> Audit:
    """Audit all splits of a dataset folder. Raises DataError if folder or store is damaged."""
    dataset = Dataset(folder)
    details = fetch_details(store) if store is not None else {}
    questions, pages = [], []
    for split in dataset.splits():
        gold = {item.question_id: item for item in dataset.records("gold", split, Gold)}
        questions.append(audit_questions(split, dataset.questions(split), gold, examples))
        if dataset.files("hits", split):
            pages.append(audit_pages(dataset, split, details, examples))
    return Audit(id=dataset.id, questions=questions, pages=pages)


def _summary(found: PageAudit) -> dict[str, Any]:
    values: dict[str, Any] = to_plain(found)
    values["characters"] = dict(zip(("min", "median", "max"), quartiles(found.characters)[::2], strict=True))
    values["pages_per_question"] = {str(n): count for n, count in sorted(found.pages_per_question.items())}
    return values


def audit_values(found: Audit) -> dict[str, Any]:
    """The audit as JSON-ready values."""
    return {
        "id": found.id,
        "questions": [to_plain(part) for part in found.questions],
        "pages": [_summary(part) for part in found.pages],
    }


def quartiles(ordered: Sequence[int]) -> tuple[int, int, int, int, int]:
    """Smallest, first quartile, median, third quartile and largest of sorted numbers; zeros if there are none."""
    if not ordered:
        return 0, 0, 0, 0, 0
    last = len(ordered) - 1
    a, b, c, d, e = (ordered[round(last * share)] for share in (0, 0.25, 0.5, 0.75, 1))
    return a, b, c, d, e


def _share(n: int, total: int) -> str:
    return f"{n:>8,} {n / total:>7.1%}" if total else f"{n:>8,}        "


def _group_lines(groups: Mapping[str, QuestionGroup], total: int) -> Iterator[str]:
    for name, group in sorted(groups.items(), key=lambda item: -item[1].n):
        if not group.n:
            continue
        yield f"  {name:<20} {_share(group.n, total)}  {group.meaning}"
        for example in group.examples:
            marked = ((label, "*" * (label == example["gold"]), text) for label, text in example["choices"].items())
            choices = " | ".join(f"{mark}{label}. {text}" for label, mark, text in marked)
            yield f"      {example['question_id']}  {printable(example['text'], 100)}"
            yield f"          {printable(choices, 150)}"


def _key_lines(found: QuestionAudit) -> Iterator[str]:
    for first, second in found.contradictions[:EXAMPLES]:
        yield f"  contradiction: {first} and {second} ask the same and have different golds"
    key = found.key
    if key.n:
        said = "no sign of a shifted key"
        if key.is_doubtful:
            said = "DOUBTFUL: the key may be out of step with the choices"
        yield (
            f"  key: of {key.n:,} matching texts that hold one of their own terms, {key.found:,} have it as the gold"
            f" (a random key: {key.expected:.1f}; p = {key.p:.1g}): {said}"
        )


def question_lines(found: QuestionAudit) -> Iterator[str]:
    """The questions' part for a terminal; `*` marks the gold."""
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in found.kinds.items())
    yield f"questions of split {found.split}: {found.n:,} ({kinds}); {found.n_clean:,} without flag or fault"
    yield "flags (column `flags`)"
    yield from _group_lines(found.flags, found.n)
    yield "faults (found now, not stored)"
    yield from _group_lines(found.faults, found.n)
    yield from _key_lines(found)


def _outcome_lines(found: PageAudit) -> Iterator[str]:
    order = sorted(found.outcomes.items(), key=lambda item: (item[0] != "kept", -item[1], item[0]))
    for outcome, n in order:
        details = found.details.get(outcome)
        why = f"  ({_counted(details.most_common(4))})" if details else ""
        yield f"  {outcome:<20} {_share(n, found.n_hits)}{why}"
        for url, question_id in found.dropped.get(outcome, ()):
            yield f"      {printable(url, 110)}  ({question_id})"


def _counted(items: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{printable(name, 60)} {n:,}" for name, n in items)


def _host_lines(found: PageAudit) -> Iterator[str]:
    order = sorted(found.hosts.items(), key=lambda item: (-item[1].total(), item[0]))
    yield f"  {'hosts: ' + format(len(order), ','):<40} {'hits':>8} {'kept':>8}  dropped"
    for host, outcomes in order[:MAX_HOSTS]:
        dropped = Counter({outcome: n for outcome, n in outcomes.items() if outcome != "kept"})
        reasons = _counted(sorted(dropped.items(), key=lambda item: (-item[1], item[0]))[:4])
        yield f"    {printable(host, 38):<38} {outcomes.total():>8,} {outcomes['kept']:>8,}  {reasons}"
    if len(order) > MAX_HOSTS:
        yield f"    … {len(order) - MAX_HOSTS:,} more hosts"


def _label_lines(found: PageAudit) -> Iterator[str]:
    if found.flags:
        yield f"  flags of pages: {_counted(found.flags.most_common())}"
    yield f"  languages: {_counted(found.languages.most_common(5))}; {found.licences:,} pages name a licence"
    for kind, n in sorted(found.leaks.items()):
        pages, questions = found.leaking_pages[kind], found.leaked_questions[kind]
        share = f"{questions:,} questions ({questions / found.n_questions:.1%})"
        yield f"  {kind}: {n:,} spans in {pages:,} pages, of {share}"
    for method, counts in sorted(found.evidence.items()):
        kinds = {kind: n for kind, n in counts.items() if kind != "spans"}
        n = sum(kinds.values())
        share = f"{n:,} questions ({n / found.n_questions:.1%}; {_counted(sorted(kinds.items()))})"
        yield f"  evidence {method}: {counts['spans']:,} spans, {share}"


def page_lines(found: PageAudit) -> Iterator[str]:
    """The pages' part for a terminal."""
    yield f"hits of split {found.split}: {found.n_hits:,}, pages {found.n_pages:,}"
    yield from _outcome_lines(found)
    yield from _host_lines(found)
    low, first, middle, third, high = quartiles(found.characters)
    yield f"  characters a page: {low:,} … {first:,} … median {middle:,} … {third:,} … {high:,}"
    spread = ", ".join(f"{n}: {count:,}" for n, count in sorted(found.pages_per_question.items()))
    yield f"  questions by number of pages: {spread}"
    if found.without_pages:
        yield f"      without a page: {', '.join(found.without_pages)} …"
    yield from _label_lines(found)


def audit_lines(found: Audit) -> Iterator[str]:
    """The whole audit for a terminal."""
    yield found.id
    for questions in found.questions:
        yield ""
        yield from question_lines(questions)
    for pages in found.pages:
        yield ""
        yield from page_lines(pages)
