"""A dataset's tables in numbers, column by column and never the gold: the figures of its card, counted again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from edu_rag.files.dataset import Dataset
from edu_rag.files.table_rows import CONFIGS, PAGE_ROWS, reading_parquet
from edu_rag.records import HOME_PAGE

CHARACTER_BINS = (0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
"""Lower bounds of the bins that pages are counted in by their number of characters, as on the dataset's card."""


@dataclass(slots=True)
class Facts:
    """Counts over all splits of a dataset folder."""

    rows: Mapping[str, Mapping[str, int]]
    """By config and split, as the manifest has them."""
    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Questions by kind and number of choices."""
    question_flags: Counter[str] = field(default_factory=Counter)
    fates: Counter[str] = field(default_factory=Counter)
    """Search results by what became of them."""
    by_rank: dict[int, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    """Search results by rank and whether they were kept."""
    pages_per_question: Counter[int] = field(default_factory=Counter)
    n_pages: int = 0
    """Distinct pages: a page may be in two splits."""
    hosts: Counter[str] = field(default_factory=Counter)
    characters: Counter[int] = field(default_factory=Counter)
    """Pages by the lower bound of their bin of characters."""
    languages: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    extractors: Counter[str] = field(default_factory=Counter)
    page_flags: Counter[str] = field(default_factory=Counter)
    with_gold: Counter[str] = field(default_factory=Counter)
    """Questions by kind, of the splits whose gold is there: only those can have evidence and known leaks."""
    evidence: Counter[str] = field(default_factory=Counter)
    """Questions with evidence, by method."""
    with_evidence: Counter[str] = field(default_factory=Counter)
    """Questions with evidence by any method, by kind of question."""
    leaks: Counter[str] = field(default_factory=Counter)
    """Spans of pages that leak, by kind of leak."""
    leaked: Counter[str] = field(default_factory=Counter)
    """Questions that a page of the dataset repeats, by kind of question."""

    @property
    def n_questions(self) -> int:
        """All questions."""
        return self.kinds.total()

    @property
    def n_with_pages(self) -> int:
        """Questions with a page or more."""
        return self.n_questions - self.pages_per_question[0]

    def all_rows(self, config: str) -> int:
        """Rows of a table over all splits."""
        return sum(self.rows.get(config, {}).values())


def rows_of(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Rows by config and split; only tables that are in the folder."""
    found: dict[str, dict[str, int]] = {}
    for name, entry in dataset.manifest.files.items():
        config, _, file = name.partition("/")
        if config in CONFIGS and file.endswith(".parquet"):
            of = found.setdefault(config, {})
            split = file.rsplit("-", 3)[0]
            of[split] = of.get(split, 0) + (entry.rows or 0)
    return {config: found[config] for config in CONFIGS if config in found}


def _lists(dataset: Dataset, config: str, split: str, names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    table = dataset.columns(config, split, names)
    return iter(()) if table is None else zip(*(table[name].to_pylist() for name in names), strict=True)


def _of_questions(facts: Facts, dataset: Dataset, split: str) -> dict[str, str]:
    """Count the questions of a split; return their kinds by id."""
    kinds = {}
    for question_id, kind, choices, flags in _lists(
        dataset, "questions", split, ("question_id", "kind", "choices", "flags")
    ):
        kinds[question_id] = kind
        facts.kinds[kind, len(choices)] += 1
        facts.question_flags.update(flags)
    return kinds


def _of_hits(facts: Facts, dataset: Dataset, split: str, n_questions: int) -> None:
    pages = defaultdict(set)
    columns = ("question_id", "page_id", "rank", "outcome")
    for question_id, page_id, rank, outcome in _lists(dataset, "hits", split, columns):
        facts.fates[outcome] += 1
        facts.by_rank[rank][outcome == "kept"] += 1
        if page_id is not None:
            pages[question_id].add(page_id)
    facts.pages_per_question.update(len(ids) for ids in pages.values())
    facts.pages_per_question[0] += n_questions - len(pages)


def host_of(url: str) -> str:
    """The host of an address, in small letters; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _page_rows(dataset: Dataset, split: str) -> Iterator[tuple[Any, ...]]:
    """Id, address, number of characters, language, licence, extractor and flags; a few pages' texts in memory."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    few = ("page_id", "url", "language", "license", "extractor", "flags")
    for path in dataset.files("pages", split):
        with reading_parquet(path):
            for batch in pq.ParquetFile(path).iter_batches(
                batch_size=PAGE_ROWS, columns=[*few, "text"], use_threads=False
            ):
                lengths = np.asarray(pc.utf8_length(batch.column("text")))
                yield from zip(lengths.tolist(), *(batch.column(name).to_pylist() for name in few), strict=True)


def _of_pages(facts: Facts, dataset: Dataset, split: str, seen: set[str]) -> None:
    for length, page_id, url, language, licence, extractor, flags in _page_rows(dataset, split):
        if page_id in seen:
            continue
        seen.add(page_id)
        facts.n_pages += 1
        facts.hosts[host_of(url)] += 1
        facts.characters[max(bound for bound in CHARACTER_BINS if bound <= length)] += 1
        facts.languages[language or "unknown"] += 1
        facts.licences[licence or "none named"] += 1
        facts.extractors[extractor] += 1
        facts.page_flags.update(flags)


def _of_labels(facts: Facts, dataset: Dataset, split: str, kinds: Mapping[str, str]) -> None:
    methods: dict[str, set[str]] = defaultdict(set)
    for question_id, method in _lists(dataset, "evidence", split, ("question_id", "method")):
        methods[method].add(question_id)
    facts.evidence.update({method: len(ids) for method, ids in methods.items()})
    sentence_level = [ids for method, ids in methods.items() if method != HOME_PAGE]
    facts.with_evidence.update(kinds[one] for one in set().union(*sentence_level) if one in kinds)
    leaked = set()
    for question_id, kind in _lists(dataset, "leaks", split, ("question_id", "kind")):
        facts.leaks[kind] += 1
        leaked.add(question_id)
    facts.leaked.update(kinds[one] for one in leaked if one in kinds)


def facts_of(dataset: Dataset) -> Facts:
    """Count every table but the gold. Raises DataError if a file is not Parquet."""
    facts = Facts(rows_of(dataset))
    golds = facts.rows.get("gold", {})
    seen: set[str] = set()
    for split in dataset.splits():
        kinds = _of_questions(facts, dataset, split)
        _of_hits(facts, dataset, split, len(kinds))
        _of_pages(facts, dataset, split, seen)
        _of_labels(facts, dataset, split, kinds)
        if golds.get(split) or not golds:
            facts.with_gold.update(kinds.values())
    return facts
