"""Putting one folder in another's place in a single step, and removing what killed builds left next to it.

A reader by path sees the whole old folder or the whole new one at every moment. A plain rename cannot do that: it does
not replace a folder that has files. A symbolic link could, but `--out` would then be a link to another folder, which
uploads and archives do not follow, and an existing site could not become one. So the two folders are exchanged in one
step (renameat2), and renamed one after the other only where the file system cannot exchange them.

To read many files of one edition, open
the folder, take a shared lock (flock) on that descriptor, and open the files through it (openat): an old edition is not
removed while a process holds such a lock, nor within GRACE_S of its replacement.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

GRACE_S = 0.25
"""How long an old edition outlives its replacement, for readers that are in the middle of it and hold no lock."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
"""The errors of a kernel or file system without an exchange."""
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step (Linux renameat2); False where this machine or file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another kernel, or a C library from before 2018
        return False
    names = os.fsencode(one), os.fsencode(other)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, how: int) -> bool | None:
    """Lock an open folder; False if another process holds it, None if the file system has no such locks."""
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def sync_tree(folder: Path) -> None:
    """Have every file and folder of a tree on the disk, so that a power cut after the swap finds them whole."""
    for path in (*folder.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with _open_folder(folder) as descriptor:
        os.fsync(descriptor)


def _leftovers(site: Path) -> list[Path]:
    """Folders next to a site with names that only we give: those of running builds, and of killed ones."""
    ours = re.compile(rf"\.{re.escape(site.name)}\.[0-9a-f]{{1,16}}\.(new|old)\Z")
    found = (path for path in site.parent.iterdir() if ours.match(path.name))
    return sorted(path for path in found if path.is_dir() and not path.is_symlink())


def _remove_if_unused(folder: Path, *, own: bool) -> None:
    """Remove a folder unless a build or a reader holds a lock on it; the next build tries again.

    Where nothing can be locked, only what this build made or replaced itself (`own`) is known to be unused.
    """
    try:
        with _open_folder(folder) as descriptor:
            free = _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if free or (free is None and own):
                shutil.rmtree(folder, ignore_errors=True)
    except FileNotFoundError:
        return  # put in place, or another build was quicker


@contextmanager
def _turn(site: Path) -> Iterator[None]:
    """One build at a time reads or changes the folders next to a site; the others wait for these few calls."""
    with _open_folder(site.parent) as descriptor:
        _lock(descriptor, fcntl.LOCK_EX)
        yield


def _changed_at(folder: Path) -> int:
    """A rename sets it: what was moved last has the largest."""
    return folder.stat().st_ctime_ns


def _recover(site: Path) -> None:
    """Put an old edition back that a build moved away and died, where folders cannot be exchanged."""
    old = [path for path in _leftovers(site) if path.suffix == ".old"]
    if old and not site.exists():
        max(old, key=_changed_at).rename(site)


def _clear(site: Path, marker: str | None = None) -> None:
    """Remove what killed builds left: all of it, or all but the edition replaced last, which may still be read.

    A folder without the `marker` was never finished, and is not read.
    """
    left = _leftovers(site)
    whole = [] if marker is None else [path for path in left if (path / marker).exists()]
    kept = max(whole, key=_changed_at, default=None)
    for path in left:
        if path != kept:
            _remove_if_unused(path, own=False)


@contextmanager
def building(site: Path, marker: str) -> Iterator[Path]:
    """A new empty folder next to `site`, locked while it is filled; removed at the end unless it was put in place.

    First what killed builds left is cleared away, and a site that one of them moved aside is put back.
    """
    site.parent.mkdir(parents=True, exist_ok=True)
    with _turn(site):
        _recover(site)
        _clear(site, marker)
        new = site.with_name(f".{site.name}.{secrets.token_hex(8)}.new")
        new.mkdir()
        descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
        _lock(descriptor, fcntl.LOCK_SH)
    try:
        yield new
    finally:
        os.close(descriptor)
        with _turn(site):
            for path in (new, new.with_suffix(".old")):
                _remove_if_unused(path, own=True)


def _rename_pair(new: Path, site: Path) -> None:
    """Where folders cannot be exchanged: for a moment there is no site. A failed rename keeps the old one."""
    old = new.with_suffix(".old")
    site.rename(old)
    try:
        new.rename(site)
    except OSError:
        old.rename(site)
        raise


def put_in_place(
    new: Path,
    site: Path,
    check: Callable[[], None],
    tell: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Put a filled folder at `site`, in one step where the file system can; `check` may raise right before that.

    The old edition is removed afterwards, see above. Raises OSError.
    """
    sync_tree(new)
    with _turn(site):
        check()
        replaces = site.is_dir() and any(site.iterdir())
        if not replaces:
            new.rename(site)  # in one step too: onto nothing, or onto an empty folder
        elif not _exchange(new, site):
            tell(f"{site}: this file system cannot exchange two folders in one step: for a moment there was no site")
            _rename_pair(new, site)
        _sync_folder(site.parent)
    if replaces:
        sleep(GRACE_S)
    with _turn(site):
        _clear(site)
