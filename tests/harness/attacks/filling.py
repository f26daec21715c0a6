"""Attacks that take more than their share: disk, shared memory, memory, processes. All of it is freed again."""

# ruff: noqa: PTH108, PTH112, PTH123

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Iterator

from attack import TARGETS, attack

_PIECE = 16 << 20
_MAX = 8 << 30


def _fill(folder: str, cap: int) -> str | None:
    """Files in a folder until it has half as much again as it may hold."""
    wanted, got, made = min(cap * 3 // 2, _MAX), 0, []
    try:
        while got < wanted:
            handle, path = tempfile.mkstemp(dir=folder, prefix=f"fill-{TARGETS['mark']}-")
            made.append((handle, path))
            os.posix_fallocate(handle, 0, _PIECE)
            got += _PIECE
    except OSError:
        return None
    finally:
        for handle, path in made:
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(path)
    return f"{got:,} bytes in {folder}"


@attack
def fill_the_disk() -> str | None:
    found = (
        _fill(folder, TARGETS["tmp_bytes"]) for folder in ("/tmp", "/var/tmp", tempfile.gettempdir(), TARGETS["home"])
    )
    return next((evidence for evidence in found if evidence), None)


@attack
def fill_shared_memory() -> str | None:
    return _fill("/dev/shm", TARGETS["shm_bytes"])


@attack
def fill_any_place_in_memory() -> str | None:
    """Every other file system that holds what is written in memory: /dev, /run, the root itself."""
    with open("/proc/self/mountinfo") as table:
        rows = [line.split() for line in table]
    places = [row[4] for row in rows if row[row.index("-") + 1] in ("tmpfs", "devtmpfs", "ramfs", "overlay")]
    places = [place for place in places if place not in ("/tmp", "/dev/shm")] if not TARGETS["only_known"] else []
    found = (_fill(place, max(TARGETS["tmp_bytes"], TARGETS["shm_bytes"])) for place in places if os.path.isdir(place))
    return next((evidence for evidence in found if evidence), None)


@attack
def a_huge_file() -> str | None:
    """One file beyond the cap on a file's size: sparse, so it costs nothing."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile() as stream:
        try:
            os.ftruncate(stream.fileno(), TARGETS["file_bytes"] + 4096)
        except OSError:
            return None
    return f"a file of {TARGETS['file_bytes'] + 4096:,} bytes"


def _touch(n_bytes: int) -> mmap.mmap | None:
    """The memory, which is given back as soon as nobody holds it."""
    try:
        block = mmap.mmap(-1, n_bytes)
        for at in range(0, n_bytes, mmap.PAGESIZE):
            block[at] = 1
    except (OSError, ValueError, MemoryError):
        return None
    return block


@attack
def fill_memory() -> str | None:
    wanted = min(TARGETS["memory_bytes"] * 5 // 4, _MAX)
    return f"{wanted:,} bytes" if _touch(wanted) else None


@attack
def fill_memory_of_files_without_a_name() -> str | None:
    """memfd: memory that no limit on address space counts."""
    wanted, got, made = min(TARGETS["memory_bytes"] * 5 // 4, _MAX), 0, []
    try:
        while got < wanted:
            made.append(os.memfd_create("fill"))
            os.posix_fallocate(made[-1], 0, _PIECE)
            got += _PIECE
    except OSError:
        return None
    finally:
        for handle in made:
            os.close(handle)
    return f"{got:,} bytes"


@attack
def fill_memory_of_system_v() -> str | None:
    """Segments that belong to no process: once detached, no limit on address space counts them."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    wanted, made = min(TARGETS["memory_bytes"] * 5 // 4, _MAX), []
    try:
        while len(made) * _PIECE < wanted:
            made.append(libc.shmget(0, ctypes.c_size_t(_PIECE), 0o1600))
            place = libc.shmat(made[-1], None, 0) if made[-1] >= 0 else None
            if place in (None, ctypes.c_void_p(-1).value):
                return None
            ctypes.memset(place, 1, _PIECE)
            libc.shmdt(ctypes.c_void_p(place))
    finally:
        for segment in made:
            libc.shmctl(segment, 0, None)
    return f"{len(made) * _PIECE:,} bytes"


@contextlib.contextmanager
def _family() -> Iterator[list[int]]:
    family: list[int] = []
    try:
        yield family
    finally:
        for pid in family:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in family:
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


@attack
def more_processes_than_the_cap() -> str | None:
    wanted = min(TARGETS["n_processes"] + 64, 2_000)
    with _family() as family:
        try:
            for _ in range(wanted):
                if (pid := os.fork()) == 0:
                    signal.pause()
                    os._exit(0)
                family.append(pid)
        except OSError:
            return None
        return f"{len(family)} processes"


@attack
def fill_memory_by_many_processes() -> str | None:
    """Each within its own limit, all together far beyond it."""
    share = TARGETS["memory_bytes"] * 3 // 8
    reader, writer = os.pipe()
    with _family() as family:
        try:
            for _ in range(4):
                if (pid := os.fork()) == 0:
                    signal.alarm(20)
                    if held := _touch(share):
                        os.write(writer, b"x" if len(held) == share else b"")
                        signal.pause()
                    os._exit(0)
                family.append(pid)
        except OSError:
            return None
        os.close(writer)
        n, end = 0, time.monotonic() + 8
        os.set_blocking(reader, False)
        while n < 4 and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                if not (came := os.read(reader, 4)):
                    break
                n += len(came)
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break  # one was killed: this much they may not have
            time.sleep(0.02)
        return f"{4 * share:,} bytes by 4 processes" if n == 4 else None
