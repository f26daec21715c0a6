"""`leaderboard/board.toml`: the datasets of the board, where to get each, and the hashes that they must have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from edu_rag.errors import ConfigError, RecordError, RecordFaultsError
from edu_rag.files.identity import verified
from edu_rag.files.manifest import FILE_NAME, Manifest, manifest_sha256, read_manifest
from edu_rag.files.toml import read_toml
from edu_rag.names import Release, Version, is_sample, require_dataset_name, require_split

BOARD_FILE = "board.toml"
_OTHER_DATASET = f"give the dataset that the board names, or correct {BOARD_FILE}"
_REMEDIES = {
    "manifest_sha256": "its content hash is right and other bytes are not: build it with the "
    f"versions in constraints.txt or download it again; after a change on purpose, put its hash into {BOARD_FILE}"
}
WHOLE = "whole"
"""The sample that is every question of the split."""
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}\Z")
Name = Annotated[str, Meta(min_length=1, max_length=80)]
_PATTERNS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "content_sha256": (_SHA256, "64 hexadecimal digits, as in the dataset's manifest.json"),
    "manifest_sha256": (_SHA256, "the SHA-256 of the dataset's manifest.json"),
}
_HUB_PATTERNS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "hub": (_REPOSITORY, "OWNER/NAME"),
    # A branch or a tag can be moved by the repository's owner; a commit cannot.
    "revision": (_COMMIT, "a full commit of 40 hexadecimal digits"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardDataset:
    """One dataset of the board, and its source.

    It is in the package (`bundled`), made by the `recipe` of its name from public sources, on a Hub at one commit, or
    not available to CI.

    `content_sha256` pins the rows, `manifest_sha256` every byte of the folder. `samples` are those the board has tables
    of, `whole` or `stratified-N-seed-S`; a runnable system that comes without predictions is asked the first.
    `hidden_gold`: its gold is published nowhere, so that a pull request's report on it says little. Invariants: hub and
    revision come together; a dataset has one source at most.
    """

    name: str
    version: str
    content_sha256: str
    manifest_sha256: str
    split: str
    samples: Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)]
    bundled: bool = False
    recipe: bool = False
    hub: str = ""
    revision: str = ""
    hidden_gold: bool = False

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise RecordFaultsError(faults)

    def _faults(self) -> Iterator[RecordError]:
        for check, text in (
            (require_dataset_name, self.name),
            (Version.parse, self.version),
            (require_split, self.split),
        ):
            try:
                check(text)
            except RecordError as error:
                yield error
        patterns = dict(_PATTERNS)
        said = [name for name in _HUB_PATTERNS if getattr(self, name)]
        given = [name for name in ("bundled", "recipe") if getattr(self, name)]
        if len(given) > 1 or (said and given):
            also = said[0] if said else given[1]
            yield RecordError(also, f"is given next to {given[0]} = true", "a dataset has one source")
        elif said:
            patterns |= _HUB_PATTERNS
        for name, (pattern, wanted) in patterns.items():
            if not pattern.match(getattr(self, name)):
                yield RecordError(name, f"{getattr(self, name)!r} is not {wanted}")
        for sample in self.samples:
            if sample != WHOLE and not is_sample(sample):
                yield RecordError("samples", f"{sample!r} is neither {WHOLE!r} nor 'stratified-N-seed-S'")
        if len(set(self.samples)) < len(self.samples):
            yield RecordError("samples", "names a sample twice")

    @property
    def id(self) -> str:
        """`name@version#hash8`, as results name it."""
        return f"{self.release}#{self.content_sha256[:8]}"

    @property
    def release(self) -> Release:
        """Name and version."""
        return Release(self.name, Version.parse(self.version))

    @property
    def can_be_had(self) -> bool:
        """Whether CI can get it without anybody's help."""
        return self.bundled or self.recipe or bool(self.hub)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardFile:
    """The maintainers' file: the team name of the project's own systems, and the datasets."""

    baselines_team: Name
    datasets: list[BoardDataset]

    def __post_init__(self) -> None:
        named = [dataset.release.folder for dataset in self.datasets]
        twice = sorted({name for name in named if named.count(name) > 1})
        if not named:
            raise RecordError("datasets", "names no dataset", "a board has at least one")
        if twice:
            raise RecordError("datasets", f"{twice[0]} is listed twice", "keep one")


def read_board_file(path: Path) -> BoardFile:
    """Read board.toml. Raises ConfigError, or FaultsError with every fault in it."""
    return read_toml(path, BoardFile)


def board_beside(results: Path) -> Path | None:
    """The board's file next to a results folder (`leaderboard/board.toml`, `leaderboard/results`), if there is one."""
    path = results.absolute().parent / BOARD_FILE
    return path if path.is_file() else None


def check_pin(folder: Path, found: Manifest, wanted: BoardDataset) -> None:
    """Raise ConfigError unless a manifest is the one that the board pins, by the full hashes.

    The manifest lists every other file's hash, so its own hash fixes all bytes of the folder.
    """
    pins = {"name": found.name, "version": found.version, "content_sha256": found.content_sha256}
    for name, is_there in (pins | {"manifest_sha256": manifest_sha256(found)}).items():
        if is_there != getattr(wanted, name):
            what = f"{name} is {is_there}, and {BOARD_FILE} says {getattr(wanted, name)}"
            raise ConfigError(folder / FILE_NAME, what, _REMEDIES.get(name, _OTHER_DATASET))


def check_pinned(folder: Path, found: Manifest, board: BoardFile) -> BoardDataset:
    """The board's entry of a dataset. Raises ConfigError if the board does not have it or pins another one."""
    named = next((one for one in board.datasets if (one.name, one.version) == (found.name, found.version)), None)
    if named is None:
        known = ", ".join(entry.id for entry in board.datasets)
        what = f"is {found.id}, which {BOARD_FILE} does not have: it has {known}"
        raise ConfigError(folder, what, f"give one of these, or add this one to {BOARD_FILE}")
    check_pin(folder, found, named)
    return named


def check_dataset(folder: Path, wanted: BoardDataset) -> None:
    """Raise ConfigError or DataError unless the folder is this dataset, byte for byte."""
    check_pin(folder, read_manifest(folder), wanted)
    verified(folder)
