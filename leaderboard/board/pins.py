"""The datasets that the board's file pins: a folder or a scorecard of other content is refused.

A folder is compared by its full hashes. A scorecard holds only eight digits of the content hash, so these are compared.
That is enough here: the scorecards of a board come from the maintainers' own runs, which check the whole folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from edu_rag.errors import DataError, EduRagError, FaultsError
from edu_rag.files.board_file import BoardFile, check_pinned, read_board_file
from edu_rag.files.manifest import read_manifest
from leaderboard.board.collect import ResultGroup


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
