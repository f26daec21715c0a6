"""Check a dataset folder: questions, gold, pages, evidence and leaks. Every fault at once, and warnings."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import erfc, exp, lgamma, log, sqrt
from pathlib import Path
from typing import Any

from builder.dataset.check_files import REBUILD, Tables
from builder.dataset.check_vectors import check_vectors
from builder.dataset.findings import Findings
from builder.dataset.label_tests import ALPHA, Case, cases_of, label_tests
from builder.extract.sentence_splitter import SPLITTER, split_sentences
from builder.lost_hits import allowed_share, asked_an_engine, counted_by_status, losses_of_hits
from builder.question_sets.question_flags import unordered_identity
from edu_rag.errors import DataError
from edu_rag.files.identity import absent_tables
from edu_rag.files.manifest import VECTORS
from edu_rag.files.table_rows import CONFIGS
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, WebPage


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A labelled span of a page, to be compared with the page's text when it is read; a leak's has no method."""

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


MIN_CASES = 20
"""Below this no test says anything."""
MIN_EXPECTED = 5.0
"""The usual bound of the chi-square approximation (Cochran 1954)."""


def chi_square_p(statistic: float, df: int) -> float:
    """P(chi-square with df degrees of freedom >= statistic), by its finite sum (Abramowitz and Stegun 26.4.4-5)."""
    if statistic <= 0:
        return 1.0
    half = statistic / 2
    if df % 2 == 0:
        return min(1.0, sum(exp(i * log(half) - half - lgamma(i + 1)) for i in range(df // 2)))
    tail = erfc(sqrt(half))
    return min(1.0, tail + sum(exp((i + 0.5) * log(half) - half - lgamma(i + 1.5)) for i in range(df // 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """How often each label is the gold among the questions of one kind and number of choices."""

    kind: str
    n_choices: int
    counts: dict[str, int]
    p: float

    def __str__(self) -> str:
        n = sum(self.counts.values())
        shares = ", ".join(f"{label} {count:,} ({count / n:.0%})" for label, count in self.counts.items())
        return f"{self.kind} with {self.n_choices} choices, n = {n:,}: {shares}; p = {self.p:.1g} against uniform"


def label_counts(cases: Sequence[Case]) -> Iterator[LabelCounts]:
    """The distribution of gold labels by kind and number of choices, with the chi-square test against uniform."""
    groups: dict[tuple[str, int], Counter[str]] = {}
    for case in cases:
        groups.setdefault((case.question.kind, len(case.question.choices)), Counter())[case.gold] += 1
    for (kind, n_choices), found in sorted(groups.items()):
        expected = found.total() / n_choices
        if expected < MIN_EXPECTED:
            continue
        counts = {label: found[label] for label in "abcdefghijklmnopqrstuvwxyz"[:n_choices]}
        statistic = sum((count - expected) ** 2 / expected for count in counts.values())
        yield LabelCounts(kind=kind, n_choices=n_choices, counts=counts, p=chi_square_p(statistic, n_choices - 1))


def check_labels(tables: Tables, split: str, seen: Seen) -> None:
    """Tell uneven labels (a warning) and predictors above chance (a fault; a warning where the source is to blame)."""
    cases = cases_of(list(seen.questions.values()), seen.gold, seen.hits)
    if len(cases) < MIN_CASES:
        return
    where = f"{tables.folder}: split {split}"
    for found in label_counts(cases):
        if found.p <= ALPHA:
            tables.warnings.add("label distribution", where, f"gold labels are uneven: {found}")
    for test in label_tests(cases):
        if test.is_above_chance:
            target = tables.faults if test.is_fault else tables.warnings
            target.add(test.name, where, f"the gold can be guessed without reading by {test}")


RECUT_PAGES = 500
"""Pages of a split that are cut into sentences again: page ids are hashes, so the first ones are a fair sample."""
SHORT_BYTES = 512
"""The paper's 0.5 KB (EDU-RAG section 3.2)."""
WHOLE_SENTENCES = frozenset({"answer-string-v1", "answer-string-v2", "true-false-v1", "embedding-v1"})
"""Evidence methods whose spans are whole sentences."""
_MAIL = re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}\b")


def _span_fault(
    span: PageSpan, page: WebPage, starts: set[int], ends: set[int], *, masks_leaks: bool = False
) -> str | None:
    if span.end > len(page.text):
        return f"leaves the page's text of {len(page.text):,} characters"
    is_masked = masks_leaks and span.method is None
    if is_masked != (not page.text[span.start : span.end].strip()):
        return "is not masked, although this dataset masks leaks" if is_masked else "holds nothing but white space"
    if span.method in WHOLE_SENTENCES and (span.start not in starts or span.end not in ends):
        return f"is not cut at sentence borders, as {span.method} does"
    return None


def _check_spans(tables: Tables, page: WebPage, spans: list[PageSpan]) -> None:
    starts = {start for start, _ in page.sentences}
    ends = {end for _, end in page.sentences}
    masks_leaks = "leaks_masked" in tables.manifest.sources
    for span in spans:
        fault = _span_fault(span, page, starts, ends, masks_leaks=masks_leaks)
        if fault is not None:
            tables.faults.add("span", f"{tables.folder}: {span.what}", fault, REBUILD)


def _uncovered(page: WebPage) -> bool:
    """Whether a character other than white space is outside all sentences."""
    last = 0
    for start, end in page.sentences:
        if page.text[last:start].strip():
            return True
        last = end
    return bool(page.text[last:].strip())


def _check_sentences(tables: Tables, page: WebPage, number: int) -> None:
    where = f"{tables.folder}: page {page.page_id}"
    if any(text != text.strip() for text in page.sentence_texts()):
        tables.faults.add("sentences", where, "a sentence begins or ends in white space", REBUILD)
    if _uncovered(page):
        tables.faults.add("sentences", where, "some of its text is in no sentence", REBUILD)
    same_splitter = tables.manifest.sources.get("sentence_splitter") == SPLITTER
    if same_splitter and number <= RECUT_PAGES and split_sentences(page.text) != page.sentences:
        tables.faults.add("other sentences", where, f"its sentences are not those of {SPLITTER}", REBUILD)


def _masks(tables: Tables) -> bool:
    """Whether the build masked personal data, as the manifest's counts of page flags tell."""
    flags = tables.manifest.sources.get("page_flags")
    return isinstance(flags, dict) and "pii_masked" in flags


def _check_text(tables: Tables, page: WebPage) -> None:
    where = f"{tables.folder}: page {page.page_id} ({page.url})"
    n = len(page.text.encode("utf-8", "replace"))
    if n < SHORT_BYTES:
        tables.warnings.add("short page", where, f"has only {n} bytes of text")
    mail = _MAIL.search(page.text) if _masks(tables) else None
    if mail is not None:
        tables.warnings.add("mail address", where, f"holds a mail address at {mail.start()}, though pages are masked")


def _digest(page: WebPage) -> bytes:
    text = f"{page.html_sha256} {page.title}\0{page.text}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _check_key_flag(tables: Tables, page: WebPage, keys: Collection[str] | None) -> None:
    if keys is not None and "leak_key" in page.flags and page.page_id not in keys:
        where = f"{tables.folder}: page {page.page_id}"
        what = "flag leak_key says that the answer on it is the gold of a hidden question"
        tables.faults.add("hidden gold in flags", where, what, "publish with `edu-rag dataset push --hidden`")


def check_pages(
    tables: Tables, split: str, seen: Seen, known: dict[str, bytes], keys: Collection[str] | None = None
) -> None:
    """Check the pages of a split against what points at them; `known` are the pages of the splits before.

    `keys`, where a split is hidden: the pages that may have the flag `leak_key`.
    """
    found: set[str] = set()
    page: WebPage
    for number, page in enumerate(tables.records("pages", split), 1):
        found.add(page.page_id)
        _check_spans(tables, page, seen.spans.get(page.page_id, []))
        _check_sentences(tables, page, number)
        _check_text(tables, page)
        _check_key_flag(tables, page, keys)
        if known.setdefault(page.page_id, _digest(page)) != _digest(page):
            where = f"{tables.folder}: page {page.page_id}"
            tables.faults.add("page of two texts", where, "has another text in another split", REBUILD)
    if tables.is_whole("pages", split) and tables.is_whole("hits", split):
        _check_references(tables, seen, found)


def _check_references(tables: Tables, seen: Seen, found: set[str]) -> None:
    for fault, ids in (
        ("a hit leads to no page", seen.page_ids - found),
        ("no hit leads to page", found - seen.page_ids),
    ):
        for page_id in sorted(ids):
            tables.faults.add(fault, tables.folder, f"{fault}: {page_id}", REBUILD)


@dataclass(slots=True)
class CheckReport:
    """The result of a check: rows by table, tables left out for a hidden split, faults that make it unfit, and
    warnings.
    """

    id: str
    rows: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    faults: Findings = field(default_factory=Findings)
    warnings: Findings = field(default_factory=Findings)

    def values(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        return {
            "id": self.id,
            "sound": not self.faults,
            "rows": self.rows,
            "absent": self.absent,
            "faults": [str(e) for e in self.faults.to_print()],
            "warnings": [str(e) for e in self.warnings.to_print()],
            "n_faults": len(self.faults),
            "n_warnings": len(self.warnings),
        }


def _hidden(tables: Tables, asked: Collection[str]) -> set[str]:
    """The splits whose gold must not be here: those asked for, and those that the manifest names."""
    return set(asked) | tables.manifest.hidden_splits


def _check_hidden(tables: Tables, split: str, n_keys: int) -> None:
    for config, what in (("gold", "the gold"), ("evidence", "evidence, which reveals the gold,")):
        if tables.has(config, split):
            where = tables.folder / config
            tables.faults.add("hidden gold", where, f"{what} of the hidden split {split!r} is here", "leave it out")
    if n_keys:
        where = tables.folder / "leaks"
        what = f"{n_keys} rows of the hidden split {split!r} show where a page reveals the gold"
        tables.faults.add("hidden gold", where, what, "leave them out")


def _check_repeats(tables: Tables, seen: dict[str, Seen]) -> None:
    """Questions that are in two splits: a system that trains on one split knows the other's."""
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for split, tables_of in seen.items():
        for question_id, question in tables_of.questions.items():
            home, other_id = first.setdefault(unordered_identity(question), (split, question_id))
            if home != split:
                what = f"{question_id} of {split!r} repeats {other_id} of {home!r}: same text and choices"
                tables.warnings.add("question in two splits", tables.folder, what)


_CRAWL_AGAIN = (
    "run the same `edu-rag build` again where the network works, with --refresh where it fetches nothing more"
)
_OF_BEFORE = (
    "an earlier edu-rag wrote this dataset and did not count pages of busy servers as lost, so neither its build nor"
    " its card reports them"
)


def _check_losses(tables: Tables, seen: dict[str, Seen]) -> None:
    """Compare kept, lost and dropped hits: a dataset that lost its pages must not pass as valid."""
    if not asked_an_engine(tables.manifest.sources) or not all(tables.is_whole("hits", split) for split in seen):
        return
    every = (hit for tables_of in seen.values() for hits in tables_of.hits.values() for hit in hits)
    losses = losses_of_hits(every)
    fault = losses.fault(allowed_share(tables.manifest.sources))
    if fault:
        is_counted = counted_by_status(tables.manifest.sources, losses)
        remedy = _CRAWL_AGAIN if is_counted else f"{_CRAWL_AGAIN}; {_OF_BEFORE}"
        tables.faults.add("lost pages", tables.folder, fault, remedy)


def check_folder(folder: Path, hidden: Collection[str] = ()) -> CheckReport:
    """Check a whole dataset folder. Raises DataError only where there is no readable manifest to check by.

    `hidden` names splits whose gold must not be in the folder; the manifest's `sources["hidden_splits"]` adds to them.
    Memory grows with questions, hits and labels, not with the pages' text.
    """
    if not folder.is_dir():
        raise DataError(folder, "no such folder", "give the folder that `edu-rag build` wrote")
    faults, warnings = Findings(), Findings()
    tables = Tables(folder, faults, warnings)
    report = CheckReport(id=tables.manifest.id, absent=absent_tables(tables.manifest), faults=faults, warnings=warnings)
    splits = tables.splits()
    if not splits:
        faults.add("empty", folder, "the dataset is empty", "build it from a question file that has some")
    seen = {split: read_split(tables, split) for split in splits}
    known: dict[str, bytes] = {}
    secret = _hidden(tables, hidden)
    keys = {split: read_leaks(tables, split, seen) for split in seen}
    for split in sorted(secret & keys.keys()):
        _check_hidden(tables, split, len(keys[split]))
    public = {page_id for split, ids in keys.items() if split not in secret for page_id in ids}
    for split, tables_of in seen.items():
        check_pages(tables, split, tables_of, known, public if secret else None)
        check_labels(tables, split, tables_of)
    _check_repeats(tables, seen)
    _check_losses(tables, seen)
    order = {config: number for number, config in enumerate(CONFIGS)}
    rows = sorted(tables.rows_of.items(), key=lambda item: (item[0][1], order[item[0][0]]))
    report.rows = {f"{config}/{split}": n for (config, split), n in rows}
    if n_vectors := check_vectors(tables):  # at the end: it reads rows only where all others are sound
        report.rows[VECTORS] = n_vectors
    return report
