"""The tables that a pull request is scored on: those of the base's board.toml, on datasets with the right content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.files.board_file import BOARD_FILE, WHOLE, BoardFile, check_pinned, read_board_file
from edu_rag.files.dataset import Dataset
from edu_rag.names import Version, table_name
from harness.exam import Exam, open_exam

PLACE = Path("leaderboard") / BOARD_FILE
OWN_BASELINES = "EDU-RAG baselines"
"""The team of the project's own baselines, where the base has no board.toml."""


class PullTable(NamedTuple):
    """A split of a dataset, or a sample of it. `run`: runnable systems are run over it; `hidden`: its gold is."""

    dataset: Dataset
    split: str
    sample: str | None
    run: bool = True
    hidden: bool = False

    @property
    def folder(self) -> str:
        """The dataset as folders name it: `name-version`."""
        return self.dataset.manifest.release.folder

    @property
    def name(self) -> str:
        """The split and the sample as files and boards name them."""
        return table_name(self.split, self.sample)

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.dataset.id}, {self.split}" + (f", {self.sample}" if self.sample else "")

    def exam(self) -> Exam:
        """Questions, gold and support. Raises DataError or ConfigError."""
        return open_exam(self.dataset, self.split, self.sample)


def board_of(base: Path) -> BoardFile | None:
    """The base's board.toml; None if it has none. Raises ConfigError or FaultsError."""
    return read_board_file(base / PLACE) if (base / PLACE).is_file() else None


def tables_of(datasets: Sequence[Dataset], board: BoardFile | None) -> list[PullTable]:
    """The tables of these datasets that the board has; without a board each dataset's only split.

    Raises ConfigError if a dataset is not the board's: another name, version, or content.
    """
    return [table for dataset in datasets for table in _tables(dataset, board)]


class Asks(NamedTuple):
    """The board's requirements for a dataset: the names of its tables, and the newest version."""

    names: Sequence[str]
    newest: Version


def asks_of(tables: Sequence[PullTable], board: BoardFile | None) -> dict[str, Asks]:
    """The board's requirements for each dataset, by the dataset's name, in all its versions.

    Datasets that are not at hand are included: merged predictions for them are scored later, on a maintainer's machine.
    """
    found = [(t.dataset.manifest.release, t.name) for t in tables]
    for entry in () if board is None else board.datasets:
        wanted = [entry.split if sample == WHOLE else table_name(entry.split, sample) for sample in entry.samples]
        found += [(entry.release, name) for name in wanted]
    return {
        dataset: Asks(
            sorted({name for release, name in found if release.name == dataset}),
            max(release.version for release, _ in found if release.name == dataset),
        )
        for dataset in dict.fromkeys(release.name for release, _ in found)
    }


def _tables(dataset: Dataset, board: BoardFile | None) -> Iterator[PullTable]:
    if board is None:
        yield PullTable(dataset, dataset.only_split(None), None)
        return
    entry = check_pinned(dataset.folder, dataset.manifest, board)  # changed gold would score wrong
    split = dataset.only_split(entry.split)
    for place, sample in enumerate(entry.samples):
        yield PullTable(dataset, split, None if sample == WHOLE else sample, run=not place, hidden=entry.hidden_gold)
