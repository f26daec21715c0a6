"""A folder for one run: a copy of the submission that every user may read, a small /etc, and mount points."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import SandboxError
from edu_rag.progress import say
from harness.sandbox.runtime import APP, ETC, Mount

NOBODY = 65_534
_PREFIX = "edu-rag-sandbox-"
_MAX_BYTES = 8 << 30
"""The limit for a submission's own files. A sparse file is small in its folder, but full size in the copy."""
_CHUNK = 1 << 20
_LEFT_OUT = frozenset({"predictions", "__pycache__"})
_ETC = {
    "passwd": "nobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    "group": "nogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n",
}
_ETC_COPIED = ("ld.so.cache", "localtime")


class StagedFolder(NamedTuple):
    """`app` is the copy of the submission, `etc` the folder for /etc, `empty` a file, `places` for mounts by root."""

    folder: Path
    app: Path
    etc: Path
    empty: Path
    places: Path


@contextmanager
def stage_of(submission: Path, mounts: Iterable[Mount]) -> Iterator[StagedFolder]:
    """Make the folder of a run for a submission; it is removed on exit."""
    root = _reachable_place()
    _sweep(root)
    with _own_folder(root) as folder:
        stage = StagedFolder(folder, folder / "app", folder / "etc", folder / "empty", folder / "places")
        for made in (stage.app, stage.etc, stage.places):
            made.mkdir(mode=0o755)
            made.chmod(0o755)
        stage.empty.touch(mode=0o444)
        _copy_plain(submission, stage.app)
        _write_etc(stage.etc)
        _make_places({APP: stage.app, ETC: stage.etc}, mounts)
        yield stage


@contextmanager
def _own_folder(root: Path) -> Iterator[Path]:
    """A folder that is locked while we live; it gets its searchable name only once it is locked."""
    made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=root))
    folder = root / made.name.removeprefix(".")
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made.chmod(0o711 if os.geteuid() == 0 else 0o700)  # user `nobody` must enter it, but need not list it
        made.rename(folder)
        yield folder
    finally:
        for left in (made, folder):
            shutil.rmtree(left, ignore_errors=True)
        os.close(lock)


def _sweep(root: Path) -> None:
    """Remove folders left by killed runs: a live run holds a lock on its own.

    A lock also works for a run in another container that shares this place, where process ids mean nothing.
    """
    for folder in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, lock)
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def _reachable_place() -> Path:
    places = [Path(tempfile.gettempdir()).absolute(), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - mkdtemp makes its own
    found = next((p for p in places if p.is_dir() and (os.geteuid() != 0 or open_to_others(p))), None)
    if found is None:
        raise SandboxError(places[0], "other users cannot enter it", "set TMPDIR to a folder that others may enter")
    return found


def open_to_others(path: Path) -> bool:
    """Whether a user without any rights can reach and enter a folder, or reach and read a file."""
    real = path.resolve()
    wanted = 0o001 if real.is_dir() else 0o004
    return bool(real.stat().st_mode & wanted) and all(parent.stat().st_mode & 0o001 for parent in real.parents)


def _make_places(folders: Mapping[Path, Path], mounts: Iterable[Mount]) -> None:
    """Make mount points for mounts below our own folders, by their places: an image may keep its environment in /app.

    The links in /etc/alternatives are mounted too: copying some hundred of them took half of a sandbox's start.
    """
    for mount in mounts:
        for place, folder in folders.items():
            if place in mount.place.parents:
                (folder / mount.place.relative_to(place)).mkdir(parents=True, exist_ok=True)


def _copy_plain(source: Path, target: Path) -> None:
    """Copy the plain files of a submission without predictions and hidden names; links are skipped and counted."""
    n_left, room = 0, _MAX_BYTES
    for parent, folders, files in os.walk(source):
        here = target / Path(parent).relative_to(source)
        left_out = _LEFT_OUT if Path(parent) == source else _LEFT_OUT - {"predictions"}
        kept = [name for name in folders if not name.startswith(".") and name not in left_out]
        folders[:] = [name for name in kept if not (Path(parent) / name).is_symlink()]
        n_left += len(kept) - len(folders)
        for name in folders:
            (here / name).mkdir(mode=0o755)
            (here / name).chmod(0o755)
        for name in files:
            if not name.startswith("."):
                copied = _copy_file(Path(parent) / name, here / name, room)
                n_left += copied is None
                room -= copied or 0
    if n_left:
        say(f"{source}: {n_left:,} links or special files are not copied into the sandbox")


def _copy_file(source: Path, target: Path, room: int) -> int | None:
    """Copy a plain file, readable to all; return its bytes, or None if it is not a plain file.

    Pipes do not block, and links are not followed. Raises SandboxError if the file is larger than the room, or
    cannot be read.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if source.is_symlink() or not source.is_file():
            return None
        raise SandboxError(source, f"cannot be read: {error.strerror}", "fix its permissions") from None
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return None
        n_bytes = 0
        with target.open("xb", buffering=0) as copy:
            while chunk := stream.read(_CHUNK):
                n_bytes += len(chunk)
                if n_bytes > room:
                    what = f"makes the submission larger than {_MAX_BYTES >> 30} GiB"
                    raise SandboxError(source, what, "keep weights in the folder that EDU_RAG_MODELS names")
                copy.write(chunk)
    target.chmod(0o555 if mode & 0o111 else 0o444)
    return n_bytes


def _write_etc(etc: Path) -> None:
    for name, text in _ETC.items():
        (etc / name).write_text(text)
        (etc / name).chmod(0o444)
    for path in (Path("/etc") / name for name in _ETC_COPIED):
        if path.is_file():
            shutil.copyfile(path, etc / path.name)
            (etc / path.name).chmod(0o444)
