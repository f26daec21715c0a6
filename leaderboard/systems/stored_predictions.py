"""Predictions of scorecards that have none next to them: found among submissions by the hash that a scorecard holds.

The harness decides which file of a submission is scored on which dataset (docs/scoring-spec.md, section 11). Here
nothing is decided: a file is a scorecard's if and only if its SHA-256 is the one that the scorecard names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import ConfigError
from edu_rag.files.manifest import file_sha256
from leaderboard.board.collect import Result, ResultGroup

FOLDER = "predictions"
MAX_FILES = 1_000
"""Files of one submission that are looked at; a real one has a handful."""


class Found(NamedTuple):
    """The groups with what was found; how many ranked results lacked predictions, and for how many there are some."""

    groups: list[ResultGroup]
    n_lacking: int
    n_found: int


def _files(submission: Path) -> Iterator[Path]:
    """`<submission>/predictions/<dataset>/*.jsonl`, in order; nothing behind a link."""
    top = submission / FOLDER
    if submission.is_symlink() or top.is_symlink() or not top.is_dir():
        return
    for folder in sorted(top.iterdir()):
        if folder.is_dir() and not folder.is_symlink():
            yield from (path for path in sorted(folder.glob("*.jsonl")) if path.is_file() and not path.is_symlink())


def _by_hash(submission: Path) -> Mapping[str, Path]:
    found: dict[str, Path] = {}
    for at, path in enumerate(_files(submission)):
        if at == MAX_FILES:
            raise ConfigError(submission, f"has more than {MAX_FILES:,} files of predictions", "remove old ones")
        found.setdefault(file_sha256(path), path)
    return found


def _lacks(result: Result) -> bool:
    return result.predictions is None and bool(result.card.predictions_sha256)


class _Shelves:
    """The submissions of some folders, each looked through once, by the folder name that is a system's slug."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._seen: dict[str, Mapping[str, Path]] = {}

    def find(self, result: Result) -> Result:
        """The result with its predictions where there is such a file."""
        slug = result.card.system.slug
        if not _lacks(result):
            return result
        if slug not in self._seen:
            # Of two folders that hold the same bytes the first is as good as the second.
            shelves = [_by_hash(folder / slug) for folder in reversed(self._folders)]
            self._seen[slug] = {sha256: path for shelf in shelves for sha256, path in shelf.items()}
        path = self._seen[slug].get(result.card.predictions_sha256)
        return result if path is None else replace(result, predictions=path)


def with_predictions(groups: Sequence[ResultGroup], folders: Sequence[Path]) -> Found:
    """Give ranked results the predictions from folders of submissions; replaced results show none.

    Raises ConfigError if one is not a folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(folder, "is no folder", "give the folder that holds the submissions")
    shelves = _Shelves(folders)
    made = [replace(group, results=tuple(map(shelves.find, group.results))) for group in groups]
    before, after = ([_lacks(result) for group in some for result in group.results] for some in (groups, made))
    return Found(made, sum(before), sum(before) - sum(after))
