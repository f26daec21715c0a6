"""Write the files that a fork needs for a board: board.toml, CODEOWNERS, and the list of settings to make."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import FaultsError
from edu_rag.files.board_file import BOARD_FILE, WHOLE, BoardDataset, BoardFile, read_board_file
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import manifest_sha256
from leaderboard.repository import code_owners, settings_checklist

BOARD = f"leaderboard/{BOARD_FILE}"
OURS = Path(__file__).resolve().parents[1] / BOARD_FILE
"""The project's own board, whose public datasets every fork can have."""
_HEAD = """\
# The datasets of this board, with the hashes that each must have: content_sha256 pins the rows, manifest_sha256 every
# byte of the folder. `edu-rag board check` compares them with the repository; docs/operators.md explains the keys.
"""
_NO_SOURCE = """\
# CI cannot get this one. Publish it with `edu-rag dataset push`, and name the repository and the commit:
# hub = "my-org/{name}"
# revision = "…"
"""


class Written(NamedTuple):
    """A file, and whether it was written now: one that exists is kept unless it is to be replaced."""

    path: Path
    is_new: bool


def dataset_of(folder: Path, split: str | None = None) -> BoardDataset:
    """A dataset's folder as an entry of the board, with a table for the whole of a split, by default its only one."""
    dataset = Dataset(folder)
    manifest = dataset.manifest
    return BoardDataset(
        name=manifest.name,
        version=manifest.version,
        content_sha256=manifest.content_sha256,
        manifest_sha256=manifest_sha256(manifest),
        split=dataset.only_split(split),
        samples=(WHOLE,),
    )


def _entry(dataset: BoardDataset) -> str:
    values = {name: value for name, value in asdict(dataset).items() if value not in ("", False)}
    texts = (
        f"{name} = {json.dumps(list(value) if isinstance(value, tuple) else value)}" for name, value in values.items()
    )
    source = "" if dataset.can_be_had else _NO_SOURCE.format(name=dataset.name)
    return "\n[[datasets]]\n" + "".join(f"{text}\n" for text in texts) + source


def board_text(team: str, datasets: Sequence[BoardDataset]) -> str:
    """A board's file. Raises FaultsError or RecordError if the datasets cannot be together on a board."""
    board = BoardFile(baselines_team=team, datasets=list(datasets))
    return f"{_HEAD}baselines_team = {json.dumps(team, ensure_ascii=False)}\n" + "".join(map(_entry, board.datasets))


def _require_owners(owners: Sequence[str]) -> None:
    faults = [fault for owner in owners if (fault := code_owners.fault_of_owner("--owner", owner)) is not None]
    if faults:
        raise FaultsError(faults)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def init_board(
    root: Path,
    owners: Sequence[str],
    datasets: Sequence[Path],
    *,
    split: str | None = None,
    team: str | None = None,
    replace: bool = False,
) -> Iterator[Written]:
    """Write the three files into a repository; those that exist are kept, unless they are to be replaced.

    The board has the given datasets, and those of the project's own board that anybody can have. Raises an error of the
    options before anything is written.
    """
    _require_owners(owners)
    ours = read_board_file(OURS)
    known = {one.manifest_sha256: one for one in ours.datasets}  # with its source
    given = [known.get(one.manifest_sha256, one) for one in (dataset_of(folder, split) for folder in datasets)]
    named = {one.name for one in given}
    public = [one for one in ours.datasets if one.can_be_had and one.name not in named]
    owned = next((place for place in code_owners.PLACES if (root / place).is_file()), code_owners.FILE_NAME)
    texts = {
        BOARD: board_text(team or ours.baselines_team, [*given, *public]),
        owned: code_owners.owners_text(owners),
        settings_checklist.FILE_NAME: settings_checklist.checklist_text(),
    }
    for name, text in texts.items():
        is_new = replace or not (root / name).exists()
        if is_new:
            _write(root / name, text)
        yield Written(root / name, is_new)
