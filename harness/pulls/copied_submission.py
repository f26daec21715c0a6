"""Copy one submission's plain files, as data, from an untrusted tree into a folder of ours."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from edu_rag.errors import SubmissionError

MAX_BYTES = 512_000_000
"""The limit of one submission. The tree was checked before; checking the limit again costs nothing."""
MAX_FILES = 5_000
MAX_DEPTH = 12
_CHUNK = 1 << 20


def take(head: Path, slug: str, into: Path) -> Path:
    """Copy `submissions/<slug>` of the head into a folder, and return the copy.

    Follows no link, opens nothing but plain files, keeps no owner, no time and no more than one permission (execution):
    only this copy is run or read later, and no other process can change it. Raises SubmissionError.
    """
    source, target = head / "submissions" / slug, into / "submissions" / slug
    n_bytes = 0
    for folder in (source.parent, source):
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise SubmissionError(folder.relative_to(head), "is not a plain folder", "put the folder itself there")
    target.mkdir(parents=True)
    for n_files, path in enumerate(_plain_files(source), 1):
        inside = path.relative_to(source)
        if n_files > MAX_FILES or len(inside.parts) > MAX_DEPTH:
            raise SubmissionError(
                f"submissions/{slug}", "has too many files or folders", "leave out what is not needed"
            )
        copy = target / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        n_bytes += _copy(path, copy, MAX_BYTES - n_bytes)
    return target


def _plain_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in order of name. Raises SubmissionError for a link or a special file."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(parent) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path
            elif not stat.S_ISDIR(mode):
                raise SubmissionError(
                    path.relative_to(folder.parent), "is not a plain file", "put the file itself there"
                )


def _copy(source: Path, target: Path, left: int) -> int:
    """Copy one file of at most `left` bytes; return its size."""
    # O_NONBLOCK: a pipe that took the file's place since it was looked at must not hang us; O_NOFOLLOW: nor a link.
    handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as reader:
        facts = os.fstat(reader.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > left:
            raise SubmissionError(
                source.name, "is not a plain file, or too large", f"{MAX_BYTES:,} bytes are the limit"
            )
        with target.open("xb") as writer:
            n = 0
            while (chunk := reader.read(_CHUNK)) and n <= left:
                n += writer.write(chunk)
    target.chmod(0o755 if facts.st_mode & stat.S_IXUSR else 0o644)
    return n
