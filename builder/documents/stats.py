"""A dataset's tables in numbers, for its card, its plots and the closing report; read column by column, in batches."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.urls import host_of
from edu_rag.records import HOME_PAGE

CHARACTER_BINS = (0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
"""Lower bounds of the bins that pages are counted in by their number of characters."""
MAX_HOSTS = 20
_TQA_ID = re.compile(r"N?DQ_\d{6}\Z")


def is_tqa_id(question_id: str) -> bool:
    """Whether a question's id has the form of TQA's."""
    return _TQA_ID.match(question_id) is not None


@dataclass(slots=True)
class DatasetStats:
    """Counts over all splits of a dataset folder. Keys are sorted where they are written."""

    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Questions by kind and number of choices."""
    question_flags: Counter[str] = field(default_factory=Counter)
    labels: dict[tuple[str, int], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Gold labels by kind and number of choices."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Hits by fate."""
    failures: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Dropped hits by host, and there by outcome and detail."""
    by_rank: dict[int, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    """Hits by rank and whether they were kept."""
    pages_per_question: Counter[int] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    """Kept pages by host."""
    characters: Counter[int] = field(default_factory=Counter)
    """Kept pages by the lower bound of their bin of characters."""
    languages: Counter[str] = field(default_factory=Counter)
    licenses: Counter[str] = field(default_factory=Counter)
    extractors: Counter[str] = field(default_factory=Counter)
    page_flags: Counter[str] = field(default_factory=Counter)
    leaks: Counter[str] = field(default_factory=Counter)
    leaked_questions: int = 0
    evidence: Counter[str] = field(default_factory=Counter)
    """Questions with evidence, by method; `any` for one method or another."""
    n_questions: int = 0
    n_tqa: int = 0
    """Questions with an id of TQA's: those files hold no other word on where a question is from."""
    n_with_gold: int = 0
    """Questions whose gold is here: those of hidden splits have no gold, evidence or leaks that could be counted."""
    n_pages: int = 0


def _rows(folder: Path, files: Sequence[str], config: str, columns: list[str]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for name in files:
        if name.startswith(f"{config}/") and name.endswith(".parquet"):
            for batch in pq.ParquetFile(folder / name).iter_batches(batch_size=500, columns=columns):
                yield from batch.to_pylist()


def _of_questions(stats: DatasetStats, folder: Path, files: Sequence[str]) -> None:
    shape: dict[str, tuple[str, int]] = {}
    for row in _rows(folder, files, "questions", ["question_id", "kind", "choices", "flags"]):
        shape[row["question_id"]] = (row["kind"], len(row["choices"]))
        stats.question_flags.update(row["flags"])
    stats.kinds.update(shape.values())
    stats.n_questions = len(shape)
    stats.n_tqa = sum(map(is_tqa_id, shape))
    for row in _rows(folder, files, "gold", ["question_id", "answer"]):
        stats.n_with_gold += row["question_id"] in shape
        if row["answer"] is not None and row["question_id"] in shape:
            stats.labels[shape[row["question_id"]]][row["answer"]] += 1


def _of_hits(stats: DatasetStats, folder: Path, files: Sequence[str]) -> None:
    pages: Counter[str] = Counter()
    asked, seen = "", set[str]()  # a question's hits are adjacent; two of them may lead to one page
    for row in _rows(folder, files, "hits", ["question_id", "page_id", "url", "rank", "outcome", "detail"]):
        stats.outcomes[row["outcome"]] += 1
        if row["outcome"] != "kept":
            cause = f"{row['outcome']} {row.get('detail') or ''}".rstrip()
            stats.failures[host_of(row["url"])][cause] += 1
        stats.by_rank[row["rank"]][row["outcome"] == "kept"] += 1
        if row["question_id"] != asked:
            asked, seen = row["question_id"], set()
        if row["page_id"] is not None and row["page_id"] not in seen:
            seen.add(row["page_id"])
            pages[asked] += 1
    stats.pages_per_question.update(pages.values())
    stats.pages_per_question[0] = stats.n_questions - len(pages)


def _of_pages(stats: DatasetStats, folder: Path, files: Sequence[str]) -> None:
    columns = ["page_id", "url", "text", "language", "license", "extractor", "flags"]
    seen: set[str] = set()  # a page may be in two splits
    for row in _rows(folder, files, "pages", columns):
        if row["page_id"] in seen:
            continue
        seen.add(row["page_id"])
        stats.hosts[host_of(row["url"])] += 1
        stats.characters[max(bound for bound in CHARACTER_BINS if bound <= len(row["text"]))] += 1
        stats.languages[row["language"] or "unknown"] += 1
        stats.licenses[row["license"] or "none named"] += 1
        stats.extractors[row["extractor"]] += 1
        stats.page_flags.update(row["flags"])
    stats.n_pages = len(seen)


def _of_labels(stats: DatasetStats, folder: Path, files: Sequence[str]) -> None:
    methods: dict[str, set[str]] = defaultdict(set)
    for row in _rows(folder, files, "evidence", ["question_id", "method"]):
        methods[row["method"]].add(row["question_id"])
        if row["method"] != HOME_PAGE:
            methods["any"].add(row["question_id"])
    stats.evidence.update({method: len(ids) for method, ids in methods.items()})
    leaked = set()
    for row in _rows(folder, files, "leaks", ["question_id", "kind"]):
        stats.leaks[row["kind"]] += 1
        leaked.add(row["question_id"])
    stats.leaked_questions = len(leaked)


def dataset_stats(folder: Path, files: Mapping[str, Any] | Sequence[str]) -> DatasetStats:
    """The numbers of a dataset folder's tables; `files` are their names, relative to the folder."""
    names = sorted(files)
    stats = DatasetStats()
    _of_questions(stats, folder, names)
    _of_hits(stats, folder, names)
    _of_pages(stats, folder, names)
    _of_labels(stats, folder, names)
    return stats
