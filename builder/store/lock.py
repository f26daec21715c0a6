"""Locks on a crawl store: one process at a time makes, writes or deletes its folder; readers share a lock.

Locks in this project are the kernel's own (flock), not the package filelock's: some are shared by readers, and some are
on a folder or on a file with data, where filelock needs a separate file.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import IO

from builder.store.store_folder import INDEX_FILE, LOCK_FILE, WARC_FILE
from builder.store.takedowns import TAKEDOWNS_FILE, add_takedowns, read_takedowns
from edu_rag.errors import DataError

_FILES = (WARC_FILE, INDEX_FILE, LOCK_FILE)


def is_store(folder: Path) -> bool:
    """Whether a folder holds a crawl store, or the beginning of one."""
    return any((folder / name).exists() for name in _FILES)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: a synced file without its name is lost in a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make(folder: Path) -> None:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in reversed(missing):
        sync_folder(place.parent)


def _is_held(lock: IO[str], path: Path) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A lock on a file that was moved away by `forget_store` meanwhile guards nothing.
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except OSError:
        return False


def _old(folder: Path) -> Path:
    """The temporary name of a store that is being deleted."""
    return folder.with_name(f".{folder.name}.old")


def bring_back_takedowns(folder: Path) -> None:
    """Move the take-down list of a forgotten store into the folder, or add it to the list that the folder already has.

    The folder is made if it is missing. Raises DataError if one of two lists cannot be read.
    """
    kept = _old(folder) / TAKEDOWNS_FILE
    if not kept.is_file():
        return
    _make(folder)
    if (folder / TAKEDOWNS_FILE).exists():
        add_takedowns(folder, read_takedowns(kept.parent).entries)
        kept.unlink()
    else:
        kept.rename(folder / TAKEDOWNS_FILE)
    sync_folder(folder)


def _holds_something_else(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return bool(names - {TAKEDOWNS_FILE}) and not is_store(folder)


def locked(folder: Path) -> IO[str]:
    """Hold a store's folder, made where it is missing, until the file is closed. Raises DataError if it cannot."""
    if _holds_something_else(folder):
        raise DataError(folder, "exists and is not a crawl store", "choose another --out, or move it away")
    try:
        _make(folder)
        lock = (folder / LOCK_FILE).open("w")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise DataError(folder, what, "check its permissions, or choose another folder") from None
    if not _is_held(lock, folder / LOCK_FILE):
        lock.close()
        raise DataError(folder, "another process is using this crawl store", "wait for it to end")
    return lock


def shared_lock(folder: Path) -> int | None:
    """A lock that keeps writers out. None if there is no lock file. Raises BlockingIOError while a build writes."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    return lock


def forget_store(folder: Path) -> None:
    """Delete a crawl store, readable or not, except its take-down list: an owner's request outlives a crawl.

    The store is renamed first, so that remains of a killed deletion are never mistaken for a store. Raises DataError
    if it is not a store, is in use, or cannot be deleted.
    """
    try:
        bring_back_takedowns(folder)  # of a deletion that was killed
        shutil.rmtree(_old(folder), ignore_errors=True)
        if folder.exists():
            with locked(folder):
                folder.rename(_old(folder))
                sync_folder(folder.parent)
                bring_back_takedowns(folder)
                shutil.rmtree(_old(folder))
    except OSError as error:
        raise DataError(folder, f"cannot be deleted: {error.strerror}", "delete it yourself") from None
