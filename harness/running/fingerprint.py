"""The identity of a system: its own files, the settings that it is given, and the code around it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from edu_rag import __version__
from edu_rag.errors import ConfigError, FaultsError
from edu_rag.files.manifest import file_sha256
from edu_rag.files.sentence_vectors import VARIABLE
from edu_rag.files.toml import read_toml
from harness.running.withheld_keys import is_secret
from harness.submission.declared_overlap import FILE_NAME as OVERLAP
from harness.submission.folder import SubmissionFile, runs_of, without_withdrawal
from harness.submission.plain_files import MAX_SETTINGS_BYTES

_STEERING = ("EDU_RAG_", "HF_", "CUDA_")
_PLACES = ("EDU_RAG_CACHE", "EDU_RAG_MODELS", VARIABLE, "HF_HOME")
"""Variables that hold paths and do not influence answers."""
SETTINGS = "submission.toml"
ANSWERING = ("command", "parts", "limits", "environment", "network")
"""The settings by which a system is run; the others describe it to readers of the board."""
_BESIDE = ("edu_rag", "baselines")
"""The packages of ours that a system may import."""


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()


def _own_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """A submission's own files and links by name, without its predictions. A link is never followed."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_own = inside.parts[0] != "predictions" and "__pycache__" not in inside.parts
        if is_own and (path.is_symlink() or path.is_file()):
            yield str(inside), path


def _content_sha256(name: str, path: Path) -> str:
    """SHA-256 of a file; of settings without the line that withdraws, which makes no other system of it."""
    if path.is_symlink():  # its target may be anything on this machine
        return hashlib.sha256(b"link " + os.fsencode(path.readlink())).hexdigest()
    if name != SETTINGS:
        return file_sha256(path)
    return hashlib.sha256(without_withdrawal(path.read_bytes())).hexdigest()


def system_sha256(folder: Path) -> str:
    """SHA-256 over a submission's own files, by name and content, without its predictions."""
    return _digest(part for name, path in _own_files(folder) for part in (name, _content_sha256(name, path)))


def answering_sha256(folder: Path) -> str:
    """SHA-256 over what usually changes an answer of a submission, so that a new description causes no warning.

    As `system_sha256`, but without retrieval runs, declared overlap, and the settings that are not in ANSWERING. A
    system can read those too. So answers are used again, and vouched for, by `system_sha256` alone.
    """
    runs = set(runs_of(folder))
    own = ((name, path) for name, path in _own_files(folder) if name != OVERLAP and path not in runs)
    return _digest(part for name, path in own for part in (name, _answering_content(name, path)))


def _answering_content(name: str, path: Path) -> str:
    """SHA-256 of a file's content; of readable settings the values of ANSWERING alone."""
    if name != SETTINGS or path.is_symlink():
        return _content_sha256(name, path)
    try:
        settings = read_toml(path, SubmissionFile, max_bytes=MAX_SETTINGS_BYTES)
    except (ConfigError, FaultsError):  # reported where the submission is opened
        return _content_sha256(name, path)
    values = {setting: getattr(settings, setting) for setting in ANSWERING}
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def file_marks(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of a submission's own files: shows written files without reading any."""
    found = ((name, path.lstat()) for name, path in _own_files(folder))
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found}


def settings_sha256(given: Mapping[str, str], passed: Collection[str] = ()) -> str:
    """SHA-256 over settings that may steer a system in the environment that it is `given`: EDU_RAG_*, HF_*, CUDA_* and
    `passed`.

    Of a credential only the name counts: it steers nothing, and its hash would be published with the run's record.
    """
    steering = sorted(n for n in given if n in passed or (n.startswith(_STEERING) and n not in _PLACES))
    return _digest(name if is_secret(name) else f"{name}={given[name]!r}" for name in steering)


def _installed(search_path: Sequence[str]) -> list[str]:
    """Names with versions of installed packages, from the names of the installers' folders: no file is read."""
    folders = (Path(place) for place in search_path if place)
    return sorted({path.name for folder in folders if folder.is_dir() for path in folder.glob("*.dist-info")})


def surroundings_sha256(search_path: Sequence[str] | None = None) -> str:
    """SHA-256 over Python, the installed packages, and the code of ours that a system may import.

    A model behind a server is outside of it: nothing here can see that it changed.
    """
    home = Path(__file__).resolve().parents[2]
    sources = sorted(path for name in _BESIDE for path in (home / name).rglob("*.py"))
    own = [f"{path.relative_to(home)} {file_sha256(path)}" for path in sources]
    return _digest([sys.version, __version__, *_installed(sys.path if search_path is None else search_path), *own])
