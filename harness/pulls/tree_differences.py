"""Compare two checkouts as data: added, changed and removed files, bounded in names and bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edu_rag.errors import SubmissionError
from harness.submission.plain_files import MAX_IN_FOLDER, CrowdedError, Kind, TreeEntry, listing, place, raw

How = Literal["added", "changed", "removed"]
MAX_CHANGES = 20_000
"""Names that differ, of which so many are looked at; far more than a submission may have."""
MAX_DEPTH = 40
_CHUNK = 1 << 20
_A: Mapping[Kind, str] = {
    "file": "a file",
    "folder": "a folder",
    "link": "a link",
    "special": "a pipe, device or socket",
    "unreadable": "unreadable",
    "crowded": "a folder",
}
_NO_LIMIT = sys.maxsize - 1
"""The limits for a base: its files were merged, and skipping some would make old files look new."""
_UNTRACKED = frozenset(
    {
        "__pycache__",
        ".venv",
        ".cache",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".import_linter_cache",
        ".hypothesis",
        ".coverage",
    }
)
_UNTRACKED_TOP = frozenset({"build", "dist", "demo", "site", "results", "runs"})
_UNTRACKED_ENDS = (".egg-info", ".pyc")
_LEFTOVER_ENDS = (".log", ".partial", ".failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDifference:
    """One name that is not the same in both trees. `entry` is head's, or base's where it was removed."""

    how: How
    entry: TreeEntry
    what: str

    @property
    def name(self) -> str:
        """The name within the checkout."""
        return self.entry.name


def is_untracked(entry: TreeEntry) -> bool:
    """Whether our own tools leave this in a base: git ignores it (.gitignore), so no pull request can remove it."""
    if entry.last in _UNTRACKED or entry.last.endswith(_UNTRACKED_ENDS):
        return True
    if entry.name.startswith("submissions/"):
        return "/predictions/" in entry.name and entry.last.endswith(_LEFTOVER_ENDS)
    return entry.depth == 0 and entry.last in _UNTRACKED_TOP


def _by_name(root: Path, folder: str | None, *, is_base: bool) -> dict[str, TreeEntry]:
    """The entries of a folder; without `.git` at the top, which is how git keeps the checkout itself."""
    if folder is None:
        return {}
    return {
        entry.name: entry
        for entry in listing(root, folder, _NO_LIMIT if is_base else MAX_IN_FOLDER)
        if entry.name != ".git" and not (is_base and is_untracked(entry))
    }


def _same_bytes(base: Path, head: Path, entry: TreeEntry) -> bool:
    """Whether two regular files of one size hold the same bytes. Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with (
        os.fdopen(os.open(place(base, entry.name), flags), "rb", buffering=0) as one,
        os.fdopen(os.open(place(head, entry.name), flags), "rb", buffering=0) as other,
    ):
        found = [os.fstat(one.fileno()), os.fstat(other.fileno())]
        if os.path.samestat(*found):
            return True
        if not all(stat.S_ISREG(status.st_mode) for status in found):
            return False
        left = entry.size
        while left > 0:
            part = one.read(_CHUNK)
            if not part or part != other.read(_CHUNK):
                return False
            left -= len(part)
    return True


def _changed(base: Path, head: Path, old: TreeEntry, new: TreeEntry) -> str | None:
    """The difference of one name between the trees; None if it does not differ. Folders differ by their content."""
    if old.kind != new.kind:
        return f"was {_A[old.kind]} and is now {_A[new.kind]}"
    if new.kind == "file":
        return _file_changed(base, head, old, new)
    if new.kind == "link":
        led, leads = (os.readlink(place(root, new.name)) for root in (base, head))  # noqa: PTH115 - bytes
        same = led == leads
        return None if same else "is a link that leads elsewhere now"
    return None if new.kind == "folder" else "cannot be compared"


def _file_changed(base: Path, head: Path, old: TreeEntry, new: TreeEntry) -> str | None:
    if old.size != new.size:
        return "is changed"
    try:
        if not _same_bytes(base, head, new):
            return "is changed"
    except OSError:
        return "cannot be read"
    if old.executable != new.executable:
        return "is made executable" if new.executable else "is no longer executable"
    return None


def _one(base: Path, head: Path, old: TreeEntry | None, new: TreeEntry | None) -> TreeDifference | None:
    if new is None:
        if old is None:
            raise ValueError("a name that is in neither tree")
        return TreeDifference(how="removed", entry=old, what="is removed") if old.kind != "folder" else None
    if old is None:
        return TreeDifference(how="added", entry=new, what="is added") if new.kind != "folder" else None
    try:
        what = _changed(base, head, old, new)
    except OSError:
        what = "cannot be read"
    return None if what is None else TreeDifference(how="changed", entry=new, what=what)


class _Sides:
    """The two trees, and the folders that are still to be compared: (name, in base, in head)."""

    def __init__(self, base: Path, head: Path) -> None:
        self.base, self.head = base, head
        self.left: list[tuple[str, bool, bool]] = [("", True, True)]

    def step(self) -> Iterator[TreeDifference]:
        """Yield the differences within the next folder."""
        folder, in_base, in_head = self.left.pop()
        old = _by_name(self.base, folder if in_base else None, is_base=True)
        try:
            new = _by_name(self.head, folder if in_head else None, is_base=False)
        except OSError:
            yield _whole(folder, "cannot be read", in_base=in_base)
            return
        except CrowdedError:
            yield _whole(folder, f"has more than {MAX_IN_FOLDER:,} entries", in_base=in_base)
            return
        if in_head and not in_base and not new:
            yield _whole(folder, "is an empty folder: a submodule (gitlink), or nothing", in_base=False)
        below: list[tuple[str, bool, bool]] = []
        for name in sorted(old.keys() | new.keys(), key=raw):
            found = _one(self.base, self.head, old.get(name), new.get(name))
            if found is not None:
                yield found
            sides = [one.get(name) for one in (old, new)]
            is_folder = [entry is not None and entry.kind == "folder" for entry in sides]
            if not any(is_folder):
                continue
            if name.count("/") >= MAX_DEPTH:
                yield _whole(name, f"is deeper than {MAX_DEPTH} folders", in_base=sides[0] is not None)
                continue
            below.append((name, is_folder[0], is_folder[1]))
        self.left += reversed(below)


def _whole(folder: str, what: str, *, in_base: bool) -> TreeDifference:
    entry = TreeEntry(name=folder, kind="folder")
    return TreeDifference(how="changed" if in_base else "added", entry=entry, what=what)


def differences(base: Path, head: Path) -> tuple[list[TreeDifference], bool]:
    """Compare two checkouts: the differences in order of name, at most MAX_CHANGES, and whether they are complete.

    Nothing is run or imported and no link is followed; files of equal size are read, in parts, if both trees have
    them. Raises SubmissionError if one of the trees is not a readable folder.
    """
    for root in (base, head):
        try:
            with os.scandir(root):
                pass
        except OSError as error:
            raise SubmissionError(root, error.strerror or "cannot be read", "give a checkout's folder") from None
    sides = _Sides(base, head)
    found: list[TreeDifference] = []
    while sides.left:
        for one in sides.step():
            if len(found) == MAX_CHANGES:
                return found, False
            found.append(one)
    return found, True


def top_folders(root: Path, folder: str) -> list[str]:
    """The names of the folders within a base's folder, however many; empty if there is none."""
    try:
        entries = listing(root, folder, _NO_LIMIT)
    except OSError:
        return []
    return [entry.last for entry in entries if entry.kind == "folder"]
