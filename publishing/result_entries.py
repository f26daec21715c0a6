"""Read a results folder: every scorecard with its place and predictions, their faults, and which splits are hidden.

A rule is `SPLIT`, for every dataset, or `NAME/SPLIT`, for all versions of one: versions share their questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError
from edu_rag.files.board_file import BoardFile
from edu_rag.names import DatasetId
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import ResultsFolder, predictions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEntry:
    """One scorecard, without its large parts. Invariants: names are plain; predictions are those that were scored.

    `predictions` is None if they cannot be found.
    """

    path: Path
    dataset_id: DatasetId
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
        return str(self.dataset_id)

    @property
    def key(self) -> tuple[object, ...]:
        """Orders the rows of both tables: no two entries share one."""
        return self.dataset_id, self.split, self.sample or "", self.slug


def _entry(path: Path, card: ScoreCard) -> ResultEntry:
    predictions = predictions_of(path, card)
    return ResultEntry(
        path=path,
        dataset_id=card.dataset_id,
        split=card.split,
        sample=card.sample,
        slug=card.system.slug,
        n=card.counts.n,
        ids_sha256=card.exam.get("ids", ""),
        predictions_sha256=card.predictions_sha256,
        predictions=predictions if card.predictions_sha256 else None,
    )


def _twins(entries: Sequence[ResultEntry]) -> Iterator[EduRagError]:
    first: dict[tuple[object, ...], ResultEntry] = {}
    for entry in entries:
        other = first.setdefault(entry.key, entry)
        if other is not entry:
            yield DataError(entry.path, f"is a second result: {other.path} is the first", "leave one of them out")


def read_entries(folder: Path) -> list[ResultEntry]:
    """Every scorecard below a folder, in the order of its rows. Raises FaultsError naming every fault of every file."""
    stored = ResultsFolder(folder)
    stored.require_some()
    entries: list[ResultEntry] = []
    faults = list(stored.each_fault())
    for path, card in stored.cards.items():
        try:
            entries.append(_entry(path, card))
        except DataError as error:
            faults.append(error)
    faults += _twins(entries)
    if faults:
        raise FaultsError(faults)
    return sorted(entries, key=lambda entry: entry.key)


def is_hidden(entry: ResultEntry, rules: Collection[str]) -> bool:
    """Whether one of the rules hides a scorecard's split."""
    return entry.split in rules or f"{entry.dataset_id.name}/{entry.split}" in rules


def rules_of(board: BoardFile | None) -> tuple[str, ...]:
    """The rules that follow from the board's file: its datasets with `hidden_gold`."""
    datasets = board.datasets if board is not None else ()
    return tuple(sorted({f"{one.name}/{one.split}" for one in datasets if one.hidden_gold}))


def refuse_unknown(rules: Sequence[str], entries: Iterable[ResultEntry]) -> None:
    """Raise ConfigError for a rule that hides nothing: a split that is misspelt would go out with all its outcomes."""
    known = {place for entry in entries for place in (entry.split, f"{entry.dataset_id.name}/{entry.split}")}
    unknown = sorted(set(rules) - known)
    if unknown:
        splits = ", ".join(sorted(known))
        raise ConfigError("--hidden", f"no split {unknown[0][:80]!r} in the results", f"choose from {splits}")


def refuse_revealing(before: Collection[str], now: Collection[str], entries: Iterable[ResultEntry]) -> None:
    """Raise ConfigError for results that were hidden until now and would be published with their outcomes.

    Publishing cannot be undone, and --hidden is easily forgotten. `now` includes results that are revealed on purpose.
    """
    shown = sorted(
        {f"{e.dataset_id.name}/{e.split}" for e in entries if is_hidden(e, before) and not is_hidden(e, now)}
    )
    if shown:
        what = f"{shown[0]!r} has been hidden until now, and would be published with its outcomes"
        raise ConfigError("--hidden", what, f"add --hidden {shown[0]}, or --reveal {shown[0]} if its gold is public")
