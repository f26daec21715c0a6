"""Check that a submission folder is plain: names, sizes, depth; no links, archives, hidden or compiled files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from edu_rag.errors import SubmissionError
from edu_rag.names import QuestionSet

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


def as_errors(faults: Sequence[Fault], prefix: str = "") -> list[SubmissionError]:
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


MAX_ENTRIES = 2_000
MAX_DEPTH = 8
MAX_PATH = 200
MAX_FILE_BYTES = 25_000_000
MAX_OWN_BYTES = 50_000_000
MAX_PREDICTIONS_FILE_BYTES = 50_000_000
MAX_PREDICTIONS_BYTES = 200_000_000
MAX_SETTINGS_BYTES = 100_000
MAX_RECORD_BYTES = 1_000_000
PREDICTIONS = "predictions"
LEFTOVERS = (".log", ".partial", ".failed", ".tmp")
"""Endings of the files that a run leaves next to its predictions."""
_PROBE = re.compile(r"predictions/[^/]+/probes/[^/]+(?:\.jsonl|\.run\.json)\Z")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\Z")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)", re.IGNORECASE)
_COMPILED = (".pyc", ".pyo", ".pyd")
_CACHES = frozenset({"__pycache__"})
_ARCHIVES = (
    ".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".lzma", ".zst", ".tzst", ".lz4", ".lz",
    ".7z", ".rar", ".jar", ".war", ".whl", ".egg", ".npz", ".docx", ".xlsx", ".apk", ".iso", ".cab", ".z", ".br",
    ".deb", ".rpm",
)  # fmt: skip
_MAGIC = (
    b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", b"\x1f\x8b", b"\x1f\x9d", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"LZIP", b"MSCF", b"!<arch>\n", b"\xed\xab\xee\xdb",
)  # fmt: skip
_TAR_AT, _TAR = 257, b"ustar"
_HEAD_BYTES = 265
_UNPACK = "hand in the files themselves, unpacked; name weights under `models` instead of packing them"


class _Manner(NamedTuple):
    """`handed_in`: the folder is part of a pull request, where files that git ignores are faults too."""

    handed_in: bool


def in_predictions(name: str) -> bool:
    """Whether a name of a submission's tree is in its predictions."""
    return name.startswith(f"{PREDICTIONS}/")


def answers_to(name: str) -> QuestionSet | None:
    """The questions that a file of a submission's tree answers: predictions, or the record next to them; else None."""
    for ending in (".jsonl", ".run.json"):
        if in_predictions(name) and name.endswith(ending):
            return QuestionSet.of_place(name.removeprefix(f"{PREDICTIONS}/").removesuffix(ending) + ".jsonl")
    return None


def is_leftover(name: str) -> bool:
    """Whether a run left this next to its predictions: a log, answers of an unfinished or failed run."""
    return in_predictions(name) and name.endswith(LEFTOVERS)


def is_ignored(entry: TreeEntry) -> bool:
    """Files that Python and our commands leave on a local machine; git ignores them, and so do we there."""
    return entry.last in _CACHES or entry.last.endswith(_COMPILED) or is_leftover(entry.name)


def most_bytes(name: str) -> int:
    """How large a file of a submission may be."""
    if name == "submission.toml":
        return MAX_SETTINGS_BYTES
    if not in_predictions(name):
        return MAX_FILE_BYTES
    return MAX_PREDICTIONS_FILE_BYTES if name.endswith(".jsonl") else MAX_RECORD_BYTES


def megabytes(n_bytes: int) -> str:
    """A size as people read it."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 100_000 else f"{n_bytes:,} bytes"


def _name_fault(entry: TreeEntry) -> Fault | None:
    last = entry.last
    if last.lower() == ".git":
        return Fault("git", entry.name, "is a repository within the repository", "remove it: hand in its files")
    if last.startswith("."):
        return Fault("hidden", entry.name, "is a hidden file or folder", "leave it out")
    if not _PLAIN.match(last):
        return Fault("odd name", entry.name, "has an odd name", "use letters, digits, '.', '_' and '-', at most 100")
    if _RESERVED.match(last) or last.endswith("."):
        return Fault("reserved", entry.name, "has a name that Windows cannot hold", "give it another name")
    if len(entry.name) > MAX_PATH:
        return Fault("long", entry.name, f"has a path of more than {MAX_PATH} characters", "shorten its folders' names")
    return None


def _kind_fault(entry: TreeEntry) -> Fault | None:
    if entry.kind == "link":
        return Fault("link", entry.name, "is a link", "put the file itself there")
    if entry.kind == "special":
        return Fault("special", entry.name, "is neither a file nor a folder", "remove it")
    if entry.kind == "unreadable":
        return Fault("unreadable", entry.name, "cannot be read", "fix its permissions, or leave it out")
    if entry.kind == "folder" and entry.depth >= MAX_DEPTH:
        return Fault("deep", entry.name, f"is deeper than {MAX_DEPTH} folders", "put its files further up")
    return None


def _content_fault(root: Path, entry: TreeEntry) -> Fault | None:
    """The kind of a file by its first bytes, not by its name."""
    most = most_bytes(entry.name)
    if entry.size > most:
        what = f"has {megabytes(entry.size)}, and {megabytes(most)} is the most that such a file may have"
        return Fault("large", entry.name, what, "leave out what is not needed")
    if entry.last.lower().endswith(_ARCHIVES):
        return Fault("archive", entry.name, "is an archive by its name", _UNPACK)
    start = start_of(place(root, entry.name), _HEAD_BYTES)
    if start is None:
        return Fault("unreadable", entry.name, "cannot be read", "fix its permissions, or leave it out")
    if start.startswith(_MAGIC) or start[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return Fault("archive", entry.name, "is an archive by its first bytes", _UNPACK)
    if start[2:4] == b"\r\n" and 3_000 <= int.from_bytes(start[:2], "little") < 4_000:
        return Fault("compiled", entry.name, "is compiled Python by its first bytes", "hand in its source")
    return None


def _compiled_fault(entry: TreeEntry) -> Fault | None:
    if entry.last in _CACHES or entry.last.endswith(_COMPILED):
        return Fault("compiled", entry.name, "is compiled Python", "hand in its source alone")
    if is_leftover(entry.name):
        return Fault("leftover", entry.name, "is left by a run next to its predictions", "leave it out")
    return None


def _stray_fault(entry: TreeEntry) -> Fault | None:
    """Fault of a file in the predictions folder that does not belong there: it would be left out without a message."""
    if entry.kind != "file" or not in_predictions(entry.name) or answers_to(entry.name) or _PROBE.match(entry.name):
        return None
    remedy = "call it predictions/<dataset>-<version>/<split>[-<sample>].jsonl, or move it elsewhere"
    return Fault("stray", entry.name, "is not named like a predictions file", remedy)


def _one(root: Path, entry: TreeEntry, manner: _Manner) -> Fault | None:
    """The first thing that is wrong with one name."""
    fault = _kind_fault(entry) or _name_fault(entry) or (_compiled_fault(entry) if manner.handed_in else None)
    if fault is None and entry.kind == "file":
        return _content_fault(root, entry) or _stray_fault(entry)
    return fault


def _clashes(entries: Iterable[TreeEntry]) -> Iterator[Fault]:
    """Names that are one name where a file system does not tell capitals from small letters."""
    first: dict[str, str] = {}
    for entry in entries:
        other = first.setdefault(entry.name.casefold(), entry.name)
        if other != entry.name:
            what = f"differs from {shown(other)} by capitals only"
            yield Fault("case", entry.name, what, "give one of them another name")


def _sums(entries: Iterable[TreeEntry]) -> Iterator[Fault]:
    own, predicted = 0, 0
    for entry in entries:
        if in_predictions(entry.name):
            predicted += entry.size
        else:
            own += entry.size
    for size, most, name in ((own, MAX_OWN_BYTES, ""), (predicted, MAX_PREDICTIONS_BYTES, PREDICTIONS)):
        if size > most:
            without = "" if name == PREDICTIONS else " without its predictions"
            what = f"has {megabytes(size)}{without}, and {megabytes(most)} is the most"
            yield Fault("sum", name, what, "leave out what is not needed")


def _empty(entries: Iterable[TreeEntry]) -> Iterator[Fault]:
    """Empty folders: git has none, so in a checkout one is a submodule, whose files are elsewhere."""
    names = [entry.name for entry in entries if entry.kind == "folder"]
    parents = {entry.name.rpartition("/")[0] for entry in entries}
    for name in names:
        if name not in parents:
            what = "is an empty folder: a submodule (gitlink), or nothing"
            yield Fault("empty", name, what, "remove it: hand in the files themselves")


def _enters(entry: TreeEntry) -> bool:
    """Folders that are worth reading: neither too deep, nor refused by name, with all their entries."""
    return _kind_fault(entry) is None and _name_fault(entry) is None and entry.last not in _CACHES


def plain_faults(folder: Path, *, handed_in: bool = False) -> list[Fault]:
    """Everything that keeps a submission's folder from being plain; it stops after MAX_ENTRIES names.

    `handed_in`: as a pull request brings it; on a local machine, files that git ignores are not a fault.
    """
    if folder.is_symlink():
        return [Fault("link", "", "is a link", "put the folder itself there")]
    entries: list[TreeEntry] = []
    stopped: list[Fault] = []
    manner = _Manner(handed_in)
    for entry in walk(folder, enter=_enters, most=MAX_ENTRIES):
        if not handed_in and is_ignored(entry) and entry.kind != "link":
            continue
        if entry.kind == "crowded" or len(entries) == MAX_ENTRIES:
            name = entry.name if entry.kind == "crowded" else ""
            what = f"has more than {MAX_ENTRIES:,} files and folders: it was not looked at any further"
            stopped = [Fault("count", name, what, "leave out what is not needed")]
            break
        entries.append(entry)
    faults = [fault for entry in entries if (fault := _one(folder, entry, manner)) is not None]
    late = [*_clashes(entries), *_sums(entries), *(_empty(entries) if handed_in and not stopped else ())]
    known = {fault.name for fault in faults}
    return [*stopped, *faults, *(fault for fault in late if fault.name not in known)]


def tree_faults(folder: Path, *, handed_in: bool = False, prefix: str = "") -> list[SubmissionError]:
    """The faults of a submission's folder as one line each, at most 20 of a kind; names are shown behind `prefix`."""
    return as_errors(plain_faults(folder, handed_in=handed_in), prefix)
