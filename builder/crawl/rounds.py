"""Rounds of a crawl: the first one, then one a refresh; each makes the next minor version, and is resumable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError
from edu_rag.files.manifest import FILE_NAME, read_manifest
from edu_rag.names import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The round that a store is in.

    Invariants: round 0 is the first crawl; `is_finished`: everything asked was answered.
    """

    number: int = 0
    version: str = "1.0.0"
    is_finished: bool = False


def newer(one: str, other: str) -> str:
    """The higher one of two versions."""
    return max(one, other, key=Version.parse)


def next_minor(version: str) -> str:
    """The version of a dataset whose pages were fetched again: 1.4.2 -> 1.5.0."""
    return str(Version.parse(version).raised("minor"))


def round_of(made_with: dict[str, Any]) -> Round:
    """The round that a store's config.json names. Raises ValueError if its values make no sense.

    A store of the first schema records none: it is in its first round, and counting its URLs shows whether that is
    finished.
    """
    number, finished = made_with.get("round", 0), made_with.get("finished", True)
    version = made_with["config"].get("version", "1.0.0")
    if type(number) is not int or number < 0 or type(finished) is not bool or type(version) is not str:
        raise ValueError("round, finished or version has the wrong type")
    return Round(number=number, version=version, is_finished=finished)


def _version_before(out: Path, stored: Round) -> str:
    return newer(read_manifest(out).version, stored.version) if (out / FILE_NAME).is_file() else stored.version


def next_round(
    stored: Round | None, version: str, out: Path, *, refresh: bool, allow_partial: bool, forced_version: str | None
) -> Round:
    """The round that a build works on, and the version of the dataset it makes.

    `version` is that of the settings; `forced_version`, from the command line, wins over everything. A refresh that
    was cut off is continued. Raises DataError for the refresh of a first crawl that is not finished.
    """
    if stored is None:
        return Round(version=version)
    if refresh and stored.is_finished is False and stored.number == 0 and not allow_partial:
        raise DataError(out, "its first crawl is not finished, so there is nothing to refresh", "build with --resume")
    if refresh and (stored.is_finished or stored.number == 0):
        begun = Round(number=stored.number + 1, version=newer(version, next_minor(_version_before(out, stored))))
    else:
        # A take-down or a refresh may have made a higher one: its number must not be given to other content.
        begun = replace(stored, version=newer(version, stored.version))
    return replace(begun, version=forced_version or begun.version, is_finished=False)
