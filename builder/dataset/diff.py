"""Compare two versions of a dataset, by a streaming merge of their sorted tables; name the version step required."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from builder.dataset.check_files import RECORDS
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.table_rows import CONFIGS, SORT_KEYS
from edu_rag.names import Step, Version
from edu_rag.records import WebPage

STEPS: tuple[Step, ...] = ("none", "patch", "minor", "major")
WHY = {
    "major": "questions or gold changed",
    "minor": "pages, evidence or labels changed",
    "patch": "only metadata changed",
    "none": "nothing changed",
}


def larger(first: Step, second: Step) -> Step:
    """The larger of two steps."""
    return max(first, second, key=STEPS.index)


def fits(old: Version, new: Version, demanded: Step) -> bool:
    """Whether `new` comes after `old` by at least the step demanded; without a change both may be the same."""
    if demanded == "none":
        return new >= old
    return new >= old.raised(demanded)


IDENTITY: Mapping[str, tuple[str, ...]] = {**SORT_KEYS, "hits": ("question_id", "url")}
"""The columns that identify a row. A hit that moved to another rank is the same hit."""
EXAMPLES = 5
LABEL_FIELDS = frozenset({"lesson", "flags"})
"""Fields of a question that no system answers by: a change of them moves slices, never an answer."""


@dataclass(slots=True)
class TableDiff:
    """Rows of one table (all splits) by kind of change, with examples, and the fields that changed."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, name: str) -> None:
        """Count one row that was added, removed or changed."""
        setattr(self, what, getattr(self, what) + 1)
        examples = self.examples.setdefault(what, [])
        if len(examples) < EXAMPLES:
            examples.append(name)

    @property
    def total(self) -> int:
        """The number of rows that differ."""
        return self.added + self.removed + self.changed

    def values(self) -> dict[str, Any]:
        """JSON-ready values."""
        counts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        return counts | {"changed_fields": dict(sorted(self.fields.items())), "examples": self.examples}


@dataclass(slots=True)
class DatasetDiff:
    """All changes from one dataset to another, and the version step that they demand."""

    old_id: str
    new_id: str
    tables: dict[str, TableDiff] = field(default_factory=lambda: {config: TableDiff() for config in CONFIGS})
    sentences_added: int = 0
    sentences_removed: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    metadata: list[str] = field(default_factory=list)
    step: Step = "none"
    fault: str | None = None

    def values(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "old": self.old_id,
            "new": self.new_id,
            "demands": self.step,
            "fits": self.fault is None,
            "fault": self.fault,
            "tables": {name: table.values() for name, table in self.tables.items()},
            "sentences": {"added": self.sentences_added, "removed": self.sentences_removed},
            "hit_outcomes": {f"{old} -> {new}": n for (old, new), n in sorted(self.outcomes.items())},
            "metadata": self.metadata,
        }


def _groups(dataset: Dataset, config: str, split: str) -> Iterator[tuple[str, list[Any]]]:
    """The rows of a table by their first key (a question or a page), in order; one group is in memory."""
    first = SORT_KEYS[config][0]
    records: Iterator[Any] = dataset.records(config, split, RECORDS[config])
    for key, group in groupby(records, key=lambda record: str(getattr(record, first))):
        yield key, list(group)


def _merged(
    old: Iterator[tuple[str, list[Any]]], new: Iterator[tuple[str, list[Any]]]
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs of groups of the same key, an empty list where a side lacks it."""
    left, right = next(old, None), next(new, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left[0] < right[0]):
            if left is not None:
                yield left[1], []
            left = next(old, None)
        elif left is None or right[0] < left[0]:
            yield [], right[1]
            right = next(new, None)
        else:
            yield left[1], right[1]
            left, right = next(old, None), next(new, None)


def _by_identity(rows: list[Any], config: str) -> dict[tuple[Any, ...], Any]:
    """Rows by what identifies them; a repeated one (an engine may give a URL twice) also by its count."""
    found: dict[tuple[Any, ...], Any] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        key = tuple(getattr(row, name) for name in IDENTITY[config])
        found[(*key, seen[key])] = row
        seen[key] += 1
    return found


def _changed_fields(old: Any, new: Any) -> list[str]:
    return [f.name for f in fields(old) if getattr(old, f.name) != getattr(new, f.name)]


class _Comparer:
    """Compares groups of rows and adds the differences to a DatasetDiff."""

    def __init__(self, found: DatasetDiff) -> None:
        self._found = found

    def compare(self, config: str, split: str, old_rows: list[Any], new_rows: list[Any]) -> None:
        """Compare the rows of one question or page."""
        old, new = _by_identity(old_rows, config), _by_identity(new_rows, config)
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                name = _name(config, split, key)
                if config == "pages":
                    name += f" {(new.get(key) or old[key]).url}"
                self._note(config, name, old.get(key), new.get(key))

    def _note(self, config: str, name: str, old: Any, new: Any) -> None:
        table = self._found.tables[config]
        changed = [] if old is None or new is None else _changed_fields(old, new)
        table.fields.update(changed)
        what = "added" if old is None else "removed" if new is None else "changed"
        table.note(what, f"{name} ({', '.join(changed)})" if changed else name)
        if config == "pages":
            self._sentences(old, new)
        if config == "hits" and "outcome" in changed:
            self._found.outcomes[old.outcome, new.outcome] += 1
        self._found.step = larger(self._found.step, _demanded(config, what, changed))

    def _sentences(self, old: WebPage | None, new: WebPage | None) -> None:
        before = Counter(old.sentence_texts() if old else ())
        after = Counter(new.sentence_texts() if new else ())
        self._found.sentences_removed += (before - after).total()
        self._found.sentences_added += (after - before).total()


def _name(config: str, split: str, key: tuple[Any, ...]) -> str:
    words = [str(part) for part in key[:-1]]
    return f"{split}: {' '.join(words[: 2 if config in ('hits', 'evidence', 'leaks') else 1])}"


def _demanded(config: str, what: str, changed: list[str]) -> Step:
    """The version step of one changed row (design: major = questions or gold, minor = pages, evidence, extraction)."""
    if config not in ("questions", "gold"):
        return "minor"
    return "minor" if what == "changed" and config == "questions" and set(changed) <= LABEL_FIELDS else "major"


def _metadata(old: Dataset, new: Dataset) -> list[str]:
    """What differs in the manifests, rows excepted: names of fields, files and folders that are not tables."""
    names = [n for n in ("name", "builder", "config_sha256", "sources") if _of(old, n) != _of(new, n)]
    files = {name for dataset in (old, new) for name in dataset.manifest.files if not name.endswith(".parquet")}
    files.discard("CHANGES.md")
    changed = [name for name in files if old.manifest.files.get(name) != new.manifest.files.get(name)]
    return names + sorted({f"{name.split('/')[0]}/" if "/" in name else name for name in changed})


def _of(dataset: Dataset, name: str) -> Any:
    return getattr(dataset.manifest, name)


def _fault(found: DatasetDiff, old: Dataset, new: Dataset) -> str | None:
    before, after = old.manifest.release.version, new.manifest.release.version
    if fits(before, after, found.step):
        return None
    wanted = before.raised(found.step)
    return f"version {after} does not fit: {WHY[found.step]} since {before}, so at least {wanted} is due"


def compare_datasets(old: Dataset, new: Dataset, on_config: Callable[[str], None] = lambda _: None) -> DatasetDiff:
    """All that changed from `old` to `new`; memory holds the rows of one question or page at a time."""
    found = DatasetDiff(old_id=old.id, new_id=new.id)
    comparer = _Comparer(found)
    for config in CONFIGS:
        on_config(config)
        for split in sorted({*old.splits(), *new.splits()}):
            for old_rows, new_rows in _merged(_groups(old, config, split), _groups(new, config, split)):
                comparer.compare(config, split, old_rows, new_rows)
    found.metadata = _metadata(old, new)
    if found.metadata:
        found.step = larger(found.step, "patch")
    found.fault = _fault(found, old, new)
    return found


def compare_folders(old: Path, new: Path) -> DatasetDiff:
    """All that changed from one dataset folder to another. Raises DataError if one is damaged."""
    try:
        return compare_datasets(Dataset(old), Dataset(new))
    except UnicodeError as error:
        raise DataError(new, f"holds text that is not Unicode: {error}", "rebuild it") from None
