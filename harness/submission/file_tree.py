"""Folders of strangers read as data: names, kinds and sizes by lstat, bounded; no link is followed, nothing is run."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from edu_rag.errors import SubmissionError

Kind = Literal["file", "folder", "link", "special", "unreadable", "crowded"]
MAX_SHOWN = 20
"""Faults of one kind that are listed; the rest is counted."""
MAX_IN_FOLDER = 20_000
"""Entries that one folder may have. Of more, not even the first are listed: the file system decides which they are."""
MAX_NAME_SHOWN = 200
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One name of a tree. `name` is relative with '/', with bytes that are not UTF-8 as surrogates; `size` in bytes."""

    name: str
    kind: Kind
    size: int = 0
    executable: bool = False

    @property
    def last(self) -> str:
        """The name without its folders."""
        return self.name.rpartition("/")[2]

    @property
    def depth(self) -> int:
        """Folders above it."""
        return self.name.count("/")


class Fault(NamedTuple):
    """A fault of one name. Many faults of the same `kind` are counted together."""

    kind: str
    name: str
    what: str
    remedy: str


def raw(name: str) -> bytes:
    """The bytes that the file system knows a name by, in every locale."""
    return name.encode("utf-8", "surrogateescape")


def place(root: Path, name: str) -> bytes:
    """The place of an entry in a tree."""
    return os.fsencode(root) + b"/" + raw(name)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"  # a byte that is not UTF-8
    if char.isascii() and char.isprintable() and char != "\\":
        return char
    return char.encode("unicode_escape").decode("ascii") if char.isascii() else f"\\u{{{ord(char):x}}}"


def shown(name: str) -> str:
    """A name as people may read it: plain names as they are, any other quoted and with its odd characters escaped.

    Quotes, since a CI takes a line that begins with `::` as an order.
    """
    if name and set(name) <= _BARE and len(name) <= MAX_NAME_SHOWN:
        return name
    cut = name if len(name) <= MAX_NAME_SHOWN else name[:MAX_NAME_SHOWN] + "…"
    return "'" + "".join("…" if char == "…" else _escaped(char) for char in cut) + "'"


def _entry(name: str, found: os.stat_result) -> TreeEntry:
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        return TreeEntry(name=name, kind="link")
    if stat.S_ISDIR(mode):
        return TreeEntry(name=name, kind="folder")
    if stat.S_ISREG(mode):
        return TreeEntry(name=name, kind="file", size=found.st_size, executable=bool(mode & stat.S_IXUSR))
    return TreeEntry(name=name, kind="special")


class CrowdedError(Exception):
    """A folder has more entries than are read."""


def listing(root: Path, folder: str = "", most: int = MAX_IN_FOLDER) -> list[TreeEntry]:
    """The entries of one folder of a tree in order of name. Raises OSError, or CrowdedError where they are too many."""
    entries: list[TreeEntry] = []
    with os.scandir(place(root, folder)) as scanned:
        found = list(islice(scanned, most + 1))
    if len(found) > most:
        raise CrowdedError
    for one in found:
        name = f"{folder}/" * bool(folder) + one.name.decode("utf-8", "surrogateescape")
        try:
            entries.append(_entry(name, one.stat(follow_symlinks=False)))
        except OSError:
            entries.append(TreeEntry(name=name, kind="unreadable"))
    return sorted(entries, key=lambda entry: entry.name)


def walk(
    root: Path, folder: str = "", *, enter: Callable[[TreeEntry], bool] = lambda entry: True, most: int = MAX_IN_FOLDER
) -> Iterator[TreeEntry]:
    """Every entry of a tree below `folder`, in order of name within each folder; folders that `enter` refuses unread.

    A folder that cannot be read, or has more than `most` entries, comes once more, as unreadable or crowded.
    """
    left = [folder]
    while left:
        here = left.pop()
        try:
            entries = listing(root, here, most)
        except OSError:
            yield TreeEntry(name=here, kind="unreadable")
            continue
        except CrowdedError:
            yield TreeEntry(name=here, kind="crowded")
            continue
        yield from entries
        left += [one.name for one in reversed(entries) if one.kind == "folder" and enter(one)]


def start_of(path: bytes, n_bytes: int) -> bytes | None:
    """The first bytes of a regular file; None if it cannot be read. It waits for no pipe and follows no link."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:  # not by fdopen: of a folder that raises, and would name it by a number
        return os.read(number, n_bytes) if stat.S_ISREG(os.fstat(number).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(number)


def told(faults: Sequence[Fault], prefix: str = "") -> list[SubmissionError]:
    """The faults in order of name, at most MAX_SHOWN of a kind and then how many more there are."""
    by_kind: dict[str, list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    lines: list[SubmissionError] = []
    for found in by_kind.values():
        found.sort(key=lambda fault: raw(fault.name))
        for fault in found[:MAX_SHOWN]:
            where = shown((prefix + fault.name).rstrip("/") or ".")
            lines.append(SubmissionError(where, fault.what, fault.remedy))
        if len(found) > MAX_SHOWN:
            lines.append(SubmissionError(f"… and {len(found) - MAX_SHOWN:,} more", "like these", found[-1].remedy))
    return lines
