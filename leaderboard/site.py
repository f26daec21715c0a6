"""The site folder: written next to its place, swapped in whole, and never over anything that is not our site.

Every build writes the whole site. Keeping pages that did not change saved 14 % of the time where one of 100 systems had
a new scorecard, since a new score changes most pages; it was not worth a second description of each page's inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.progress import say
from leaderboard.swap import building, put_in_place

MARKER = "site.json"
FORMAT = "edu-rag-site-v1"
Files = Iterator[tuple[str, bytes | Path]]
"""Paths inside the site with '/', each with its bytes or a file to copy."""


def _files(folder: Path) -> list[str]:
    """Every file under a folder, as sorted paths with '/'."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _marker(site: Path) -> dict[str, Any]:
    """Our marker. Raises ConfigError if the folder is not a site of ours."""
    not_ours = ConfigError(site, "is not empty and no site that `edu-rag board` wrote", "name another --out")
    if not (site / MARKER).is_file():
        raise not_ours
    try:
        marker = read_json(site / MARKER)
    except DataError:
        raise not_ours from None
    if not isinstance(marker, dict) or marker.get("format") != FORMAT or not isinstance(marker.get("files"), dict):
        raise not_ours
    return marker


def check_apart(site: Path, given: Path) -> None:
    """Raise ConfigError if the site would be in a folder that it is made from, or the other way round."""
    here, there = site.resolve(), given.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise ConfigError(site, f"the site and {given}, which it is made from, lie in one another", "keep them apart")


def check_target(site: Path, results: Path) -> None:
    """Raise ConfigError unless the folder is absent, empty, or a site of ours without anybody else's files."""
    check_apart(site, results)
    if site.is_symlink() or (site.exists() and not site.is_dir()):
        raise ConfigError(site, "exists and is not a folder", "name another --out")
    if not site.is_dir() or not any(site.iterdir()):
        return
    ours = {MARKER, *_marker(site)["files"]}
    strange = [name for name in _files(site) if name not in ours]
    if strange:
        named = ", ".join(strange[:3]) + (f" and {len(strange) - 3} more" if len(strange) > 3 else "")
        raise ConfigError(site, f"holds files that are not ours and would be lost: {named}", "move them elsewhere")


def write_site(
    site: Path, results: Path, fill: Callable[[Path], dict[str, str]], tell: Callable[[str], None] = say
) -> dict[str, str]:
    """Let `fill` write into a new folder, then put it at `site` in one step; return the SHA-256 of each file.

    Two builds at once do not disturb one another: the later one's site stays. Raises ConfigError if `site` must not
    be replaced, or its folder cannot be written.
    """
    check_target(site, results)
    site = site.resolve()
    try:
        with building(site, MARKER) as new:
            written = fill(new)
            write_json(new / MARKER, {"format": FORMAT, "files": written})
            put_in_place(new, site, lambda: check_target(site, results), tell)
    except OSError as error:
        raise ConfigError(
            site, f"cannot be written: {error.strerror or error}", "give a folder you may write"
        ) from None
    return written


def write_files(files: Iterable[tuple[str, bytes | Path]], site: Path) -> dict[str, str]:
    """Write files into a site folder, where none of them may exist, and return their SHA-256 by path, sorted."""
    return dict(sorted((name, _write(site / name, content)) for name, content in files))


def _write(target: Path, content: bytes | Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Contents only: the mode and times of a source are no part of the site.
    data = content.read_bytes() if isinstance(content, Path) else content
    with target.open("xb") as file:  # two kinds of pages never write one file
        file.write(data)
    return hashlib.sha256(data).hexdigest()
