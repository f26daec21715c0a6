"""Checking a dataset folder: every fault at once, and warnings that leave the verdict to a person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.dataset.check_files import Tables
from builder.dataset.check_gold import check_labels
from builder.dataset.check_pages import check_pages
from builder.dataset.check_tables import Seen, read_leaks, read_split
from builder.dataset.findings import Findings
from builder.question_sets.question_flags import unordered_identity
from edu_rag.errors import DataError
from edu_rag.files.identity import absent_tables
from edu_rag.files.table_rows import CONFIGS


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
            "faults": [str(e) for e in self.faults.told()],
            "warnings": [str(e) for e in self.warnings.told()],
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
    told = {page_id for split, ids in keys.items() if split not in secret for page_id in ids}
    for split, tables_of in seen.items():
        check_pages(tables, split, tables_of, known, told if secret else None)
        check_labels(tables, split, tables_of)
    _check_repeats(tables, seen)
    order = {config: number for number, config in enumerate(CONFIGS)}
    rows = sorted(tables.rows_of.items(), key=lambda item: (item[0][1], order[item[0][0]]))
    report.rows = {f"{config}/{split}": n for (config, split), n in rows}
    return report
