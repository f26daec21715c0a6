"""What a results folder holds: every scorecard with its place, its predictions, and what is wrong with either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError
from edu_rag.manifest import file_sha256
from edu_rag.results import ScoreCard
from edu_rag.scorecards import FILE_NAME, read_scorecard

PREDICTIONS = "predictions.jsonl"
MAX_BYTES = 16_000_000
"""A scorecard of 100,000 questions with thousands of slices is a tenth of this."""
_DATASET = re.compile(r"([a-z0-9][a-z0-9-]{1,39})@(\d{1,6}\.\d{1,6}\.\d{1,6})#([0-9a-f]{8})\Z")
_SLUG = re.compile(r"[a-z0-9-]{3,40}\Z")
_SPLIT = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_SAMPLE = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One scorecard, without what is large in it. Invariants: names are plain; predictions are those that were scored.

    `predictions` is None where they are not to be found.
    """

    path: Path
    name: str
    version: str
    hash8: str
    split: str
    sample: str | None
    slug: str
    n: int
    ids_sha256: str
    predictions_sha256: str
    predictions: Path | None

    @property
    def dataset(self) -> str:
        """`name@version#hash8`."""
        return f"{self.name}@{self.version}#{self.hash8}"

    @property
    def key(self) -> tuple[object, ...]:
        """Orders the rows of both tables: no two entries share one."""
        version = tuple(int(part) for part in self.version.split("."))
        return self.name, version, self.hash8, self.split, self.sample or "", self.slug


def open_card(path: Path) -> ScoreCard:
    """A scorecard of the folder. Raises EduRagError, with all faults where there are several."""
    if path.is_symlink() or not path.is_file():
        raise DataError(path, "is no regular file", "put the scorecard itself there")
    if path.stat().st_size > MAX_BYTES:
        raise DataError(path, f"is over {MAX_BYTES:,} bytes", "give the file that `edu-rag score` wrote")
    return read_scorecard(path)


def dataset_parts(dataset: str) -> tuple[str, str, str]:
    """Name, version and hash8 of `name@version#hash8`. Raises ValueError."""
    match = _DATASET.match(dataset)
    if match is None:
        raise ValueError("is not name@version#hash8")
    return match[1], match[2], match[3]


def _predictions_beside(path: Path, card: ScoreCard) -> Path | None:
    beside = path.with_name(PREDICTIONS)
    if beside.is_symlink():
        raise DataError(beside, "is a symbolic link", "put the file itself there")
    if not beside.is_file() or not card.predictions_sha256:
        return None
    if file_sha256(beside) != card.predictions_sha256:
        raise DataError(beside, "is not the file that the scorecard scored", "run `edu-rag score` again")
    return beside


def _entry(path: Path) -> Entry:
    card = open_card(path)
    named = ("split", card.split, _SPLIT), ("system.slug", card.system.slug, _SLUG), ("sample", card.sample, _SAMPLE)
    for field, value, rule in named:  # the split becomes a file name, and all of them are printed
        if value is not None and not rule.match(value):
            raise DataError(f"{path}: {field}", f"{value[:80]!r} is not a plain name")
    try:
        name, version, hash8 = dataset_parts(card.dataset)
    except ValueError as error:
        raise DataError(f"{path}: dataset", f"{card.dataset[:80]!r} {error}") from None
    return Entry(
        path=path,
        name=name,
        version=version,
        hash8=hash8,
        split=card.split,
        sample=card.sample,
        slug=card.system.slug,
        n=card.counts.n,
        ids_sha256=card.exam.get("ids", ""),
        predictions_sha256=card.predictions_sha256,
        predictions=_predictions_beside(path, card),
    )


def _twins(entries: Sequence[Entry]) -> Iterator[EduRagError]:
    first: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.key, entry)
        if other is not entry:
            yield DataError(entry.path, f"is a second result beside {other.path}", "leave one of them out")


def read_entries(folder: Path) -> list[Entry]:
    """Every scorecard below a folder, in the order of its rows. Raises FaultsError naming every fault of every file."""
    if not folder.is_dir():
        raise ConfigError(folder, "is no folder", "give the folder that `edu-rag score --out` wrote to")
    entries: list[Entry] = []
    faults: list[EduRagError] = []
    for path in sorted(folder.rglob(FILE_NAME)):
        try:
            entries.append(_entry(path))
        except FaultsError as error:
            faults += error.faults
        except EduRagError as error:
            faults.append(error)
    if not entries and not faults:
        raise DataError(folder, f"holds no {FILE_NAME}", "score a submission first: edu-rag score --out")
    faults += _twins(entries)
    if faults:
        raise FaultsError(faults)
    return sorted(entries, key=lambda entry: entry.key)
