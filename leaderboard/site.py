"""The site folder: written beside its place, swapped in whole, and never over anything that is not a site of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from edu_rag.errors import ConfigError, DataError
from edu_rag.jsonl import read_json, write_json
from edu_rag.progress import say
from leaderboard.swap import building, put_in_place

MARKER = "site.json"
FORMAT = "edu-rag-site-v1"


def _files(folder: Path) -> list[str]:
    """Every file under a folder, as sorted paths with '/'."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _listed(site: Path) -> set[str]:
    """The files that our marker lists. Raises ConfigError where the folder is not a site of ours."""
    not_ours = ConfigError(site, "is not empty and no site that `edu-rag board` wrote", "name another --out")
    if not (site / MARKER).is_file():
        raise not_ours
    try:
        marker = read_json(site / MARKER)
    except DataError:
        raise not_ours from None
    if not isinstance(marker, dict) or marker.get("format") != FORMAT or not isinstance(marker.get("files"), dict):
        raise not_ours
    return {MARKER, *marker["files"]}


def check_target(site: Path, results: Path) -> None:
    """Raise ConfigError unless the folder is absent, empty, or a site of ours without anybody else's files."""
    here, there = site.resolve(), results.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise ConfigError(site, f"the site and the results {results} lie in one another", "keep them side by side")
    if site.is_symlink() or (site.exists() and not site.is_dir()):
        raise ConfigError(site, "is there already and is no folder", "name another --out")
    if not site.is_dir() or not any(site.iterdir()):
        return
    ours = _listed(site)
    strange = [name for name in _files(site) if name not in ours]
    if strange:
        named = ", ".join(strange[:3]) + (f" and {len(strange) - 3} more" if len(strange) > 3 else "")
        raise ConfigError(site, f"holds files that are not ours and would be lost: {named}", "move them elsewhere")


def _write_marker(folder: Path) -> None:
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in _files(folder)}
    write_json(folder / MARKER, {"format": FORMAT, "files": hashes})


def write_site(site: Path, results: Path, fill: Callable[[Path], None], tell: Callable[[str], None] = say) -> list[str]:
    """Let `fill` write into a new folder, then put it at `site` in one step; return the paths of its files.

    Two builds at once do not disturb one another: the later one's site stays. Raises ConfigError where `site` must not
    be replaced, or its folder cannot be written.
    """
    check_target(site, results)
    site = site.resolve()
    try:
        with building(site, MARKER) as new:
            fill(new)
            _write_marker(new)
            files = _files(new)
            put_in_place(new, site, lambda: check_target(site, results), tell)
    except OSError as error:
        raise ConfigError(
            site, f"cannot be written: {error.strerror or error}", "give a folder you may write"
        ) from None
    return files
