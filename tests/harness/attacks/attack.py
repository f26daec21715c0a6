"""What all attacks share: where the loot lies, raw system calls, and the table of attacks by name.

These modules know only the standard library: they are copied into a submission's folder and run there. An attack is a
function that returns evidence (what it read, wrote or reached), or None where it was refused.
"""

# ruff: noqa: PTH115, PTH208

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

TARGETS: dict[str, Any] = json.loads(Path(__file__).with_name("targets.json").read_text())
"""What a well-informed attacker knows: paths, ports, pids. The canaries themselves are not among it."""
CANARY = re.compile(rb"CANARY-[0-9a-f]{32}")
Attack = Callable[[], str | None]
ATTACKS: dict[str, Attack] = {}


def _open_descriptors() -> dict[int, str]:
    found = {}
    for handle in range(3, 1024):
        with contextlib.suppress(OSError):
            found[handle] = os.readlink(f"/proc/self/fd/{handle}")
    return found


HANDED_DOWN = _open_descriptors()
"""What was open beyond stdin, stdout and stderr when the system began."""
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def attack(function: Attack) -> Attack:
    ATTACKS[function.__name__] = function
    return function


def call(number: int, *arguments: Any) -> int:
    """A raw system call: its result, or the error number below zero."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    return result if result >= 0 else -ctypes.get_errno()


def name_of(result: int) -> str:
    return str(result) if result >= 0 else errno.errorcode.get(-result, str(result))


def canary_in(data: bytes) -> str | None:
    found = CANARY.search(data)
    return found.group().decode() if found else None


def canary_of_file(path: str | Path, n_bytes: int = 1 << 20) -> str | None:
    """The canary in a file. A FIFO or device would block: only plain files are read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return canary_in(os.pread(handle, n_bytes, 0))
    except OSError:
        return None
    finally:
        os.close(handle)


def first(found: Iterable[str | None]) -> str | None:
    return next((evidence for evidence in found if evidence), None)


def pids() -> Iterator[int]:
    """Processes to go for. Where the machine's own are in sight, only those that the test made."""
    known = [*TARGETS["pids"], os.getppid()]
    everything = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    yield from (known if TARGETS["only_known"] else [*known, *everything])


def known() -> list[int]:
    """The victim's and the caller's numbers; where they happen to be ours inside, they say nothing."""
    return [pid for pid in TARGETS["pids"] if pid not in (os.getpid(), os.getppid())]


def strangers() -> Iterator[int]:
    """Processes that are not of the system itself."""
    own = {os.getpid(), os.getppid()}
    yield from (pid for pid in pids() if pid not in own)
