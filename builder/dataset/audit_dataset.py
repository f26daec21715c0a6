"""Audit a dataset: broken questions and dropped pages, with reasons and examples; as text or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.dataset.audit_pages import PageAudit, audit_pages
from builder.dataset.audit_questions import QuestionAudit, QuestionGroup, audit_questions
from builder.dataset.changes_file import printable
from edu_rag.files.dataset import Dataset
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold

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
        told = f"{n:,} questions ({n / found.n_questions:.1%}; {_counted(sorted(kinds.items()))})"
        yield f"  evidence {method}: {counts['spans']:,} spans, {told}"


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
