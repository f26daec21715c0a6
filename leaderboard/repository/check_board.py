"""Compare a board's files with its repository: results, predictions, owners, settings and workflows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import ConfigError, DataError, EduRagError, each_fault
from edu_rag.files.board_file import BOARD_FILE, WHOLE, BoardDataset, BoardFile, read_board_file
from edu_rag.names import table_name
from leaderboard.board.collect import check_pins, collect
from leaderboard.repository.code_owners import owner_faults
from leaderboard.repository.init_board import BOARD
from leaderboard.repository.settings_checklist import checklist_faults

WORKFLOWS = (".github/workflows/submission.yml", ".github/workflows/board.yml")


class BoardFindings(NamedTuple):
    """The faults to fix, and notes about the datasets."""

    faults: list[EduRagError]
    notes: list[str]


def _tables(dataset: BoardDataset) -> set[str]:
    """The names of a dataset's tables, as files of predictions and folders of results have them."""
    return {table_name(dataset.split, None if sample == WHOLE else sample) for sample in dataset.samples}


def _results_faults(root: Path, board: BoardFile) -> Iterator[EduRagError]:
    results = root / "leaderboard" / "results"
    if not any(results.glob("*/*/*/scorecard.json")):
        return
    try:
        check_pins(root / BOARD, (), collect(results))
    except EduRagError as error:
        yield from each_fault(error)
    for dataset in board.datasets:
        for folder in sorted(results.glob(f"{dataset.release.folder}/*")):
            if folder.is_dir() and folder.name not in _tables(dataset):
                yield _no_table(folder, dataset)


def _no_table(path: Path, dataset: BoardDataset) -> DataError:
    known = ", ".join(sorted(_tables(dataset)))
    what = f"is no table of {dataset.release} in {BOARD_FILE}, which has {known}"
    return DataError(path, what, f"add its sample to {BOARD_FILE}, or remove it")


def _predictions_faults(root: Path, board: BoardFile) -> Iterator[EduRagError]:
    """Predictions for a dataset of the board that belong to none of its tables: they would never be scored."""
    for dataset in board.datasets:
        for path in sorted((root / "submissions").glob(f"*/predictions/{dataset.release.folder}/*.jsonl")):
            if path.stem not in _tables(dataset):
                yield _no_table(path, dataset)


def _workflow_faults(root: Path) -> Iterator[EduRagError]:
    for name in WORKFLOWS:
        if not (root / name).is_file():
            yield ConfigError(root / name, "no such file", "copy it from the project (docs/operators.md)")


def _notes(root: Path, board: BoardFile) -> Iterator[str]:
    for dataset in board.datasets:
        source = "CI can get it" if dataset.can_be_had else "CI cannot get it: score it by hand, or publish it"
        n_results = len(list((root / "leaderboard" / "results" / dataset.release.folder).glob("*/*/scorecard.json")))
        yield f"{dataset.id}: {dataset.split}, {', '.join(dataset.samples)}; {source}; {n_results:,} results"
    pinned = {dataset.release.folder for dataset in board.datasets}
    for folder in sorted((root / "leaderboard" / "results").glob("*/")):
        if folder.name not in pinned:
            yield f"{folder}: results of a dataset that {BOARD_FILE} does not pin: their hashes are not compared"


def check_board(root: Path) -> BoardFindings:
    """All faults of a board's files at once."""
    faults = [*_workflow_faults(root), *owner_faults(root), *checklist_faults(root)]
    try:
        board = read_board_file(root / BOARD)
    except EduRagError as error:
        return BoardFindings([*each_fault(error), *faults], [])
    found = [*_results_faults(root, board), *_predictions_faults(root, board)]
    return BoardFindings([*found, *faults], list(_notes(root, board)))
