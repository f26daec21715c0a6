"""Splits whose gold is not public: answers together with their outcomes would reveal it.

A dataset's manifest names them (`sources["hidden_splits"]`), or the board's file does (`hidden_gold`). A rule holds for
all versions of a dataset: they share their questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from edu_rag.files.board_file import read_board_file
from edu_rag.files.manifest import Manifest, read_manifest
from leaderboard.board.collect import ResultGroup, TableKey

BOARD_FILE = Path(__file__).resolve().parents[1] / "board.toml"


def _named_in(manifest: Manifest) -> Iterable[tuple[str, str]]:
    return ((manifest.name, split) for split in manifest.hidden_splits)


def hidden_splits(datasets: Sequence[Path]) -> frozenset[tuple[str, str]]:
    """Names and splits that these dataset folders or the board's file call hidden. Raises DataError, ConfigError."""
    listed = {(one.name, one.split) for one in read_board_file(BOARD_FILE).datasets if one.hidden_gold}
    return frozenset(listed.union(*(_named_in(read_manifest(folder)) for folder in datasets)))


def is_hidden(key: TableKey, hidden: Collection[tuple[str, str]]) -> bool:
    """Whether a table is of a hidden split."""
    return (key.name, key.split) in hidden


def without_predictions(groups: Sequence[ResultGroup], hidden: Collection[tuple[str, str]]) -> list[ResultGroup]:
    """The groups, those of hidden splits without predictions."""
    return [
        replace(group, results=tuple(replace(result, predictions=None) for result in group.results))
        if is_hidden(group.key, hidden)
        else group
        for group in groups
    ]
