"""Finds the predictions of a scorecard that are not next to it: the one file with the hash that was scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from builder.publishing.entries import ResultEntry
from edu_rag.errors import ConfigError
from edu_rag.files.manifest import file_sha256


def _files(submissions: Path) -> Iterator[Path]:
    """`SLUG/predictions/NAME-VERSION/*.jsonl`, no part of it a link: a stranger's link could name any file of ours."""
    for path in sorted(submissions.glob("*/predictions/*/*.jsonl")):
        parts = [path, *list(path.parents)[:3]]
        if path.is_file() and not any(part.is_symlink() for part in parts):
            yield path


def with_predictions(entries: Sequence[ResultEntry], submissions: Path | None) -> list[ResultEntry]:
    """The entries, with predictions from a folder of submissions if they are not next to the scorecard.

    Files are matched by their bytes alone. Raises ConfigError if `submissions` is not a folder.
    """
    if submissions is None:
        return list(entries)
    if not submissions.is_dir():
        raise ConfigError(submissions, "is not a folder", "give the folder of submissions, or leave --submissions out")
    wanted = {entry.predictions_sha256 for entry in entries if entry.predictions is None} - {""}
    if not wanted:
        return list(entries)
    found = _by_hash(_files(submissions), wanted)
    return [
        entry if entry.predictions is not None else replace(entry, predictions=found.get(entry.predictions_sha256))
        for entry in entries
    ]


def _by_hash(files: Iterable[Path], wanted: set[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        sha256 = file_sha256(path)
        if sha256 in wanted:
            found.setdefault(sha256, path)
    return found
