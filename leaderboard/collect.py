"""Reading RESULTS/**/scorecard.json with strictness, and sorting the scorecards into tables that may be compared."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError
from edu_rag.manifest import file_sha256
from edu_rag.results import ScoreCard
from edu_rag.scorecards import FILE_NAME, read_scorecard

PREDICTIONS = "predictions.jsonl"
MAX_BYTES = 16_000_000
"""A scorecard of 100,000 questions with thousands of slices is a tenth of this."""

_DATASET = re.compile(r"([a-z0-9][a-z0-9-]{1,39})@(\d{1,6})\.(\d{1,6})\.(\d{1,6})#([0-9a-f]{8})\Z")
_SLUG = re.compile(r"[a-z0-9-]{3,40}\Z")
_SPLIT = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_SAMPLE = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")
_PLAIN_RULE = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
FIRST_RULE = "answers-v1"
"""Ids of its tables do not name it, so that links to them stay good."""
MAX_RULE = 300
"""Characters of the name of the rules by which answers were read; a judge's name may be part of it."""


class DatasetId(NamedTuple):
    """`name@version#hash8`, taken apart."""

    name: str
    version: tuple[int, int, int]
    hash8: str

    @property
    def major(self) -> int:
        """Questions and gold are the same within a major."""
        return self.version[0]


class TableKey(NamedTuple):
    """What two results must share to stand in one table."""

    name: str
    major: int
    split: str
    sample: str | None
    answers_rule: str

    @property
    def id(self) -> str:
        """A file and fragment name; '.' occurs in none of its parts, so that no two keys share one."""
        rule = None if self.answers_rule == FIRST_RULE else _rule_id(self.answers_rule)
        parts = (self.name, f"v{self.major}", self.split, self.sample, rule)
        return ".".join(part for part in parts if part is not None)


def _rule_id(rule: str) -> str:
    """A rule's name as part of a file name; one that is not plain gets a hash of all of it."""
    if _PLAIN_RULE.match(rule):
        return rule
    plain = re.sub(r"[^a-z0-9]+", "-", rule.casefold()).strip("-")[:40].strip("-")
    return f"{plain}-{hashlib.sha256(rule.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scorecard with its place on disk, and the SHA-256 of its file.

    Invariants: names are plain; the predictions' hash is the scorecard's.
    """

    card: ScoreCard
    dataset: DatasetId
    scored_at: datetime | None
    scorecard: Path
    sha256: str
    predictions: Path | None

    @property
    def predictions_print(self) -> str | None:
        """The SHA-256 of its predictions, read from the file where the scorecard names none; None without a file."""
        if self.predictions is None:
            return None
        return self.card.predictions_sha256 or file_sha256(self.predictions)

    @property
    def key(self) -> TableKey:
        """The table it belongs to."""
        return TableKey(
            self.dataset.name, self.dataset.major, self.card.split, self.card.sample, self.card.answers_rule
        )

    @property
    def age(self) -> tuple[tuple[int, int, int], datetime]:
        """Orders results of one system: dataset version first, then time of scoring."""
        return self.dataset.version, self.scored_at or datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results that share a table, best score first: one of each system, `earlier` the ones it replaced."""

    key: TableKey
    results: tuple[Result, ...]
    earlier: tuple[Result, ...] = ()

    @property
    def n(self) -> int:
        """Questions of the table."""
        return self.results[0].card.counts.n


def dataset_id_of(text: str) -> DatasetId | None:
    """Take `name@version#hash8` apart; None where it is something else."""
    match = _DATASET.match(text)
    if match is None:
        return None
    name, major, minor, patch, hash8 = match.groups()
    return DatasetId(name, (int(major), int(minor), int(patch)), hash8)


def _time_of(text: str) -> datetime | None:
    """An ISO 8601 time with an offset, in UTC. Raises ValueError."""
    if not text:
        return None
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError("has no time zone")
    return when.astimezone(UTC)


def _name_faults(path: Path, card: ScoreCard) -> Iterable[EduRagError]:
    # These names become file names of the site: anything but plain ones could leave its folder.
    if dataset_id_of(card.dataset) is None:
        yield DataError(f"{path}: dataset", f"{card.dataset!r} is not name@version#hash8")
    for field, value, rule in (("split", card.split, _SPLIT), ("system.slug", card.system.slug, _SLUG)):
        if not rule.match(value):
            yield DataError(f"{path}: {field}", f"{value!r} is not a plain name")
    if card.sample is not None and not _SAMPLE.match(card.sample):
        yield DataError(f"{path}: sample", f"{card.sample!r} is not a plain name")


def _value_faults(path: Path, card: ScoreCard) -> Iterable[EduRagError]:
    rule = card.answers_rule
    if not (rule.strip() and rule.isprintable() and len(rule) <= MAX_RULE):
        yield DataError(f"{path}: answers_rule", f"{rule[:80]!r} is no name of rules")
    if not card.counts.n:
        yield DataError(f"{path}: counts", "there is no question in it", "score a split that has questions")
    for name, (low, high) in card.intervals.items():
        if not -1 <= low <= high <= 1:
            yield DataError(f"{path}: intervals.{name}", f"{low}..{high} leaves -1..1")
    try:
        _time_of(card.scored_at)
    except (ValueError, OverflowError) as error:
        yield DataError(f"{path}: scored_at", f"{card.scored_at!r} is no time: {error}", "2026-11-21T09:30:00Z is one")


def _prediction_faults(path: Path, card: ScoreCard) -> Iterable[EduRagError]:
    predictions = path.with_name(PREDICTIONS)
    if predictions.is_symlink():
        yield DataError(predictions, "is a symbolic link", "put the file itself there")
    elif predictions.is_file() and card.predictions_sha256 and file_sha256(predictions) != card.predictions_sha256:
        yield DataError(predictions, "is not the file that the scorecard scored", "run `edu-rag score` again")


def _read(path: Path) -> Result:
    """One scorecard. Raises EduRagError, with all faults where there are several."""
    if path.is_symlink() or not path.is_file():
        raise DataError(path, "is no regular file", "put the scorecard itself there")
    if path.stat().st_size > MAX_BYTES:
        raise DataError(path, f"is over {MAX_BYTES:,} bytes", "give the file that `edu-rag score` wrote")
    card = read_scorecard(path)
    faults = [*_name_faults(path, card), *_value_faults(path, card), *_prediction_faults(path, card)]
    dataset = dataset_id_of(card.dataset)
    if faults or dataset is None:
        raise FaultsError(faults)
    predictions = path.with_name(PREDICTIONS)
    return Result(
        card=card,
        dataset=dataset,
        scored_at=_time_of(card.scored_at),
        scorecard=path,
        sha256=file_sha256(path),
        predictions=predictions if predictions.is_file() else None,
    )


def _hash_faults(results: Sequence[Result]) -> Iterable[EduRagError]:
    """One version of a dataset has one content."""
    first: dict[tuple[str, tuple[int, int, int]], Result] = {}
    for result in results:
        seen = first.setdefault(result.dataset[:2], result)
        if seen.dataset.hash8 != result.dataset.hash8:
            what = f"is scored on {result.card.dataset}, but {seen.scorecard} on {seen.card.dataset}"
            yield DataError(result.scorecard, what, "give changed data a new version, or leave one of them out")


def _table_faults(results: Sequence[Result]) -> Iterable[EduRagError]:
    sizes: dict[TableKey, Result] = {}
    places: dict[tuple[TableKey, str, DatasetId], Result] = {}
    for result in results:
        other = sizes.setdefault(result.key, result)
        if other.card.counts.n != result.card.counts.n:
            what = (
                f"has {result.card.counts.n} questions, but {other.scorecard} of the same table {other.card.counts.n}"
            )
            yield DataError(
                result.scorecard, what, "score both on the same split, or raise the dataset's major version"
            )
        twin = places.setdefault((result.key, result.card.system.slug, result.dataset), result)
        if twin is not result:
            yield DataError(result.scorecard, f"is a second result beside {twin.scorecard}", "leave one of them out")


def _group(key: TableKey, results: Sequence[Result]) -> Group:
    newest: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: result.age):
        newest[result.card.system.slug] = result
    rows = sorted(newest.values(), key=lambda result: (-result.card.counts.score, result.card.system.slug))
    kept = {result.scorecard for result in rows}
    return Group(
        key=key,
        results=tuple(rows),
        earlier=tuple(result for result in results if result.scorecard not in kept),
    )


def _table_order(key: TableKey, n_most: int) -> tuple[int, str, int, bool, str, str, str]:
    """By dataset, the one with most questions (`n_most`) first, newest major first; whole splits before samples."""
    return -n_most, key.name, -key.major, key.sample is not None, key.split, key.sample or "", key.answers_rule


def collect(results_folder: Path) -> list[Group]:
    """All tables of a results folder. Raises FaultsError naming every fault of every file at once."""
    if not results_folder.is_dir():
        raise ConfigError(results_folder, "is no folder", "give the folder that `edu-rag score --out` wrote to")
    results: list[Result] = []
    faults: list[EduRagError] = []
    for path in sorted(results_folder.rglob(FILE_NAME)):
        try:
            results.append(_read(path))
        except FaultsError as error:
            faults.extend(error.faults)
        except EduRagError as error:
            faults.append(error)
    if not results and not faults:
        raise DataError(results_folder, f"holds no {FILE_NAME}", "score a submission first: edu-rag score --out")
    faults += [*_hash_faults(results), *_table_faults(results)]
    if faults:
        raise FaultsError(faults)
    keys = Counter(result.key for result in results)
    sizes: dict[str, int] = {}
    for result in results:
        sizes[result.key.name] = max(sizes.get(result.key.name, 0), result.card.counts.n)
    ordered = sorted(keys, key=lambda key: _table_order(key, sizes[key.name]))
    return [_group(key, [result for result in results if result.key == key]) for key in ordered]
