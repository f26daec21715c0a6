"""Reading RESULTS/**/scorecard.json with strictness, and sorting the scorecards into tables that may be compared.

The board's file pins datasets: a folder or a scorecard of other content is refused. A folder is compared by its full
hashes. A scorecard holds only eight digits of the content hash, so these are compared. That is enough here: the
scorecards of a board come from the maintainers' own runs, which check the whole folder.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError, EduRagError, FaultsError, each_fault
from edu_rag.files.board_file import BoardFile, check_pinned, read_board_file
from edu_rag.files.manifest import file_sha256, read_manifest
from edu_rag.names import DatasetId, Release, Version
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.claims_card import ClaimsCard, claims_of
from edu_rag.scorecard.results_folder import ResultsFolder, predictions_of

_PLAIN_RULE = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
FIRST_RULE = "answers-v3"
"""The rules of the first published board: ids of its tables do not name them. Tables of other rules do."""
MAX_RULE = 300
"""Characters of the name of the rules by which answers were read; a judge's name may be part of it."""


class TableKey(NamedTuple):
    """The properties that all results of a table share; results of two keys may not be compared."""

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
    """One scorecard with its place on disk, the SHA-256 of its file, and the claims card next to it.

    Invariants: names are plain; the predictions' hash is the scorecard's.
    """

    card: ScoreCard
    dataset: DatasetId
    scored_at: datetime | None
    scorecard: Path
    sha256: str
    predictions: Path | None
    claims: ClaimsCard | None = None

    @property
    def key(self) -> TableKey:
        """The table it belongs to."""
        return TableKey(
            self.dataset.name, self.dataset.major, self.card.split, self.card.sample, self.card.answers_rule
        )

    @property
    def age(self) -> tuple[Version, datetime]:
        """Orders results of one system: dataset version first, then time of scoring."""
        return self.dataset.version, self.scored_at or datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultGroup:
    """The results that share a table, best score first: one of each system, `earlier` the ones it replaced."""

    key: TableKey
    results: tuple[Result, ...]
    earlier: tuple[Result, ...] = ()

    @property
    def n(self) -> int:
        """Questions of the table."""
        return self.results[0].card.counts.n


def _time_of(text: str) -> datetime | None:
    """An ISO 8601 time with an offset, in UTC. Raises ValueError."""
    if not text:
        return None
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError("has no time zone")
    return when.astimezone(UTC)


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


def _claims_beside(scorecard: Path, faults: list[EduRagError]) -> ClaimsCard | None:
    """The claims card next to a scorecard; its faults are added to `faults`."""
    try:
        return claims_of(scorecard)
    except EduRagError as error:
        faults += each_fault(error)
    return None


def _result(path: Path, card: ScoreCard) -> Result:
    """A scorecard as a result of the board. Raises EduRagError, with all faults if there are several."""
    faults = list(_value_faults(path, card))
    predictions = None
    try:
        predictions = predictions_of(path, card)
    except DataError as error:
        faults.append(error)
    claims = _claims_beside(path, faults)
    if faults:
        raise FaultsError(faults)
    return Result(
        card=card,
        dataset=card.dataset_id,
        scored_at=_time_of(card.scored_at),
        scorecard=path,
        sha256=file_sha256(path),
        predictions=predictions,
        claims=claims,
    )


def _hash_faults(results: Sequence[Result]) -> Iterable[EduRagError]:
    """One version of a dataset has one content."""
    first: dict[Release, Result] = {}
    for result in results:
        seen = first.setdefault(result.dataset.release, result)
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
            yield DataError(result.scorecard, f"is a second result, like {twin.scorecard}", "leave one of them out")


def _group(key: TableKey, results: Sequence[Result]) -> ResultGroup:
    newest: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: result.age):
        newest[result.card.system.slug] = result
    rows = sorted(newest.values(), key=lambda result: (-result.card.counts.score, result.card.system.slug))
    kept = {result.scorecard for result in rows}
    return ResultGroup(
        key=key,
        results=tuple(rows),
        earlier=tuple(result for result in results if result.scorecard not in kept),
    )


def _table_order(key: TableKey, n_most: int) -> tuple[int, str, int, bool, str, str, str]:
    """By dataset, the one with most questions (`n_most`) first, newest major first; whole splits before samples."""
    return -n_most, key.name, -key.major, key.sample is not None, key.split, key.sample or "", key.answers_rule


def collect(results_folder: Path) -> list[ResultGroup]:
    """All tables of a results folder. Raises FaultsError naming every fault of every file at once."""
    stored = ResultsFolder(results_folder)
    stored.require_some()
    results: list[Result] = []
    faults = list(stored.each_fault())
    for path in stored.faults:
        _claims_beside(path, faults)
    for path, card in stored.cards.items():
        try:
            results.append(_result(path, card))
        except EduRagError as error:
            faults += each_fault(error)
    faults += [*_hash_faults(results), *_table_faults(results)]
    if faults:
        raise FaultsError(faults)
    keys = Counter(result.key for result in results)
    sizes: dict[str, int] = {}
    for result in results:
        sizes[result.key.name] = max(sizes.get(result.key.name, 0), result.card.counts.n)
    ordered = sorted(keys, key=lambda key: _table_order(key, sizes[key.name]))
    return [_group(key, [result for result in results if result.key == key]) for key in ordered]


def check_pins(board_file: Path, datasets: Sequence[Path], groups: Sequence[ResultGroup]) -> None:
    """Raise ConfigError for a dataset folder that is not pinned, FaultsError for scorecards on another content."""
    board = read_board_file(board_file)
    for folder in datasets:
        check_pinned(folder, read_manifest(folder), board)
    faults = list(_other_content(board, groups))
    if faults:
        raise FaultsError(faults)


def _other_content(board: BoardFile, groups: Sequence[ResultGroup]) -> Iterator[EduRagError]:
    """Scorecards that name a dataset and version of the board with another hash."""
    pinned = {one.release: one.id for one in board.datasets}
    for group in groups:
        for result in (*group.results, *group.earlier):
            wanted = pinned.get(result.dataset.release)
            if wanted is not None and wanted != result.card.dataset:
                what = f"is scored on {result.card.dataset}, and the board's dataset is {wanted}"
                yield DataError(result.scorecard, what, "score the predictions again on the board's dataset")


def in_board_order(board_file: Path, groups: Sequence[ResultGroup]) -> list[ResultGroup]:
    """The tables in the order of the board's datasets, the flagship first; those of other datasets after them."""
    names = [one.name for one in read_board_file(board_file).datasets]
    order = {name: number for number, name in reversed(list(enumerate(names)))}
    return sorted(groups, key=lambda group: order.get(group.key.name, len(names)))
