"""The parts of a site: files that are made together, and only where what they are made from has changed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

HERE = Path(__file__).resolve().parent
SHOWS = ("jinja2", "matplotlib", "pagefind_bin", "pyarrow")
"""Packages that decide what a page looks like."""
DATA = ("results", "mini", "errata.toml", "reruns.jsonl")
"""Data files next to the code: the pages that use them have them in their keys."""


class SitePart(NamedTuple):
    """Files that are made together.

    `name` is unique in the site; `key` changes whenever the files would (see `key_of`); `files` makes them: a path
    inside the site with '/', and its bytes, or a file to copy.
    """

    name: str
    key: str
    files: Callable[[], Iterable[tuple[str, bytes | Path]]]


class Earlier(NamedTuple):
    """The present edition: its folder, the keys and files of its parts, and the hashes of its files."""

    folder: Path
    parts: Mapping[str, Mapping[str, Any]]
    hashes: Mapping[str, str]


@cache
def code_hash() -> str:
    """Over everything here that a page depends on: code, templates, assets, and the versions of SHOWS."""
    found = hashlib.sha256()
    for folder in (HERE, HERE.parent / "edu_rag"):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.is_file() and inside.parts[0] not in DATA and path.suffix != ".pyc":
                found.update(f"{folder.name}/{inside.as_posix()}\n".encode() + path.read_bytes())
    for package in SHOWS:
        try:
            found.update(f"{package} {version(package)}\n".encode())
        except PackageNotFoundError:
            found.update(f"no {package}\n".encode())
    return found.hexdigest()


def key_of(*made_from: object) -> str:
    """A part's key: a hash of our code and of everything that its files are made from, as msgspec can encode it."""
    return hashlib.sha256(code_hash().encode() + msgspec.json.encode(made_from, order="deterministic")).hexdigest()


def _write(target: Path, content: bytes | Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Contents only: the mode and times of a source are no part of the site.
    data = content.read_bytes() if isinstance(content, Path) else content
    with target.open("xb") as file:  # two parts never write one file
        file.write(data)
    return hashlib.sha256(data).hexdigest()


def _link(source: Path, target: Path) -> None:
    """One file under two names; a copy where the file system or the file's owner allows no links."""
    try:
        os.link(source, target)
    except FileExistsError:  # two parts never write one file
        raise
    except OSError:
        shutil.copyfile(source, target)


def _taken_over(part: SitePart, earlier: Earlier | None, site: Path) -> dict[str, str] | None:
    """Link the files of an unchanged part from the present edition; None if it must be made again."""
    before = earlier.parts.get(part.name) if earlier else None
    if earlier is None or before is None or before.get("key") != part.key:
        return None
    hashes = {}
    for name in before["files"]:
        source, target = earlier.folder / name, site / name
        if not source.is_file() or hashlib.sha256(source.read_bytes()).hexdigest() != earlier.hashes.get(name):
            return None  # somebody changed it: not ours any more
        hashes[name] = earlier.hashes[name]
    for name in hashes:
        target = site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(earlier.folder / name, target)
    return hashes


class WrittenPart(NamedTuple):
    """The written files: hashes by file, the parts with their keys and files, and how many of them were made again."""

    hashes: dict[str, str]
    parts: dict[str, dict[str, Any]]
    n_new: int


def write_parts(parts: Iterable[SitePart], site: Path, earlier: Earlier | None = None) -> WrittenPart:
    """Write every part into an empty site folder; unchanged ones are linked from the `earlier` edition."""
    hashes: dict[str, str] = {}
    known: dict[str, dict[str, Any]] = {}
    n_new = 0
    for part in parts:
        if part.name in known:
            raise ValueError(f"two parts are named {part.name}")
        made = _taken_over(part, earlier, site)
        if made is None:
            made = {name: _write(site / name, content) for name, content in part.files()}
            n_new += 1
        hashes |= dict(sorted(made.items()))  # the same marker, whether a part was made or kept
        known[part.name] = {"key": part.key, "files": sorted(made)}
    return WrittenPart(hashes, known, n_new)
