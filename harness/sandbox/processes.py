"""The processes of a sandbox seen from outside, through its own /proc, which shows all of them and no others."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

_KIB = 1_024
_FIGURE = re.compile(rb"^(RssAnon|RssShmem|VmSwap|VmPTE|Pss|Pss_Anon|Pss_Shmem|SwapPss):\s*(\d+) kB$", re.MULTILINE)
_PARENT = re.compile(rb"^PPid:\s*(\d+)$", re.MULTILINE)
_READ_BYTES = 8_192
_ALIKE = 0.97
_IN_MEMORY = ("tmp", "dev/shm")
_MANY = 1_024
_SOCKET_BYTES, _DESCRIPTOR_BYTES, _FILE_BYTES = 256 << 10, 32 << 10, 2 << 10
"""Upper bounds in bytes: data in a socket of the usual size or in half a pipe, and the kernel's data for a file."""


class Taken(NamedTuple):
    """Memory in bytes, of which `twin_bytes` may be counted twice: two processes, `twins`, report nearly the same.

    A process between vfork and its new program is a copy of its parent and reports its parent's memory.
    """

    n_bytes: int
    twin_bytes: int = 0
    twins: tuple[str, ...] = ()


class Members:
    """The processes of a sandbox, also those with new parents; close it at the end."""

    def __init__(self, first: int, root: int, processes: int) -> None:
        self._first = first
        self._root = root
        self._processes = processes
        self._turn = threading.Lock()

    def close(self) -> None:
        """Close its descriptors."""
        os.close(self._processes)
        os.close(self._root)

    def numbers(self) -> list[str]:
        """The numbers of the processes inside; none if the sandbox has ended."""
        with self._turn:  # all threads share the descriptor's position in its folder
            return [name for name in os.listdir(self._processes) if name.isdigit()]  # noqa: PTH208 - of a descriptor

    def kill(self) -> None:
        """Kill each process: a killed one does not fork again, and ends as soon as it is scheduled."""
        self.send(signal.SIGKILL)

    def send(self, what: signal.Signals) -> None:
        """Send a signal to each."""
        for number in self.numbers():
            with contextlib.suppress(OSError):
                descriptor = os.open(number, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._processes)
                try:
                    signal.pidfd_send_signal(descriptor, what)
                finally:
                    os.close(descriptor)

    def memory_at_most(self) -> int:
        """An upper bound on all memory, in bytes: memory that processes share is counted for each of them.

        Pages of files are left out: the kernel takes them back when it needs them.
        """
        own = sum(sum(self._figures(number, "status").values()) for number in self.numbers())
        return own + self._files_bytes() + self._kernel_bytes()

    def memory(self, given_up: Callable[[], bool] = lambda: False) -> Taken:
        """All memory, with shared memory counted once; slower the more there is.

        Shared memory may be a file in /tmp that is mapped: the larger figure counts. Once `given_up`, the sum so far.
        """
        own: dict[str, int] = {}
        parents: dict[str, str] = {}
        shared = 0
        for number in self.numbers():
            if given_up():
                break
            status = self._read(number, "status")  # first: a process that has ended has no parent to read
            parents[number] = _parent(status)
            row, quick = self._figures(number, "smaps_rollup"), _figures(status)
            if row:
                # Kernels before 5.9 report only the sum.
                own[number] = row.get(b"Pss_Anon", row.get(b"Pss", 0)) + row.get(b"SwapPss", 0)
                own[number] += quick.get(b"VmPTE", 0)
                shared += row.get(b"Pss_Shmem", 0)
            else:  # a process that forbids access is counted by its quick sum, not as empty
                own[number] = sum(quick.values())
        n_bytes = sum(own.values()) + max(shared, self._files_bytes()) + self._kernel_bytes()
        return Taken(n_bytes, *_twins(own, parents))

    def cpu_s(self) -> float:
        """CPU seconds of all processes, with those of ended processes that were waited for."""
        # Process 1 waits for orphans. Inside, the policy hides it.
        shown = [_read(f"/proc/{self._first}/stat"), *(self._read(n, "stat") for n in self.numbers() if n != "1")]
        return sum(map(_ticks, shown)) / os.sysconf("SC_CLK_TCK")

    def _files_bytes(self) -> int:
        """The bytes in /tmp and /dev/shm, which are memory."""
        return sum(_used(self._root, place).n_bytes for place in _IN_MEMORY)

    def _kernel_bytes(self) -> int:
        """Upper bound on kernel memory of the processes: local sockets (also those in transit), pipes, empty files."""
        try:
            n_sockets = Path(f"/proc/{self._first}/net/unix").read_bytes().count(b"\n")
        except OSError:  # it has ended
            return 0
        n_descriptors = sum(self._n_descriptors(number) for number in self.numbers())
        n_files = sum(_used(self._root, place).n_files for place in _IN_MEMORY)
        return n_sockets * _SOCKET_BYTES + n_descriptors * _DESCRIPTOR_BYTES + n_files * _FILE_BYTES

    def _n_descriptors(self, number: str) -> int:
        """How many descriptors a process has; a high number for one that forbids access to them."""
        try:
            folder = os.open(f"{number}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._processes)
        except PermissionError:
            return _MANY
        except OSError:
            return 0
        try:
            return len(os.listdir(folder))  # noqa: PTH208 - of a descriptor
        except OSError:
            return 0
        finally:
            os.close(folder)

    def _figures(self, number: str, name: str) -> Mapping[bytes, int]:
        return _figures(self._read(number, name))

    def _read(self, number: str, name: str) -> bytes:
        return _read(f"{number}/{name}", self._processes)


def _read(path: str, folder: int | None = None) -> bytes:
    """A file about a process; empty if it has ended."""
    try:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _ticks(stat: bytes) -> int:
    """The clock ticks in a process's `stat`: its own, and those of children that it has waited for."""
    try:
        return sum(map(int, stat.rsplit(b")", 1)[1].split()[11:15]))
    except (ValueError, IndexError):
        return 0


def _figures(text: bytes) -> Mapping[bytes, int]:
    return {row[1]: int(row[2]) * _KIB for row in _FIGURE.finditer(text)}


def _parent(status: bytes) -> str:
    found = _PARENT.search(status)
    return found[1].decode() if found else ""


def _twins(own: Mapping[str, int], parents: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """The largest process that is about its parent's size: its size, and the numbers of both."""
    for number in sorted(own, key=lambda number: (own[number], number), reverse=True):
        of_parent = own.get(parents[number], 0)
        if min(own[number], of_parent) >= max(own[number], of_parent) * _ALIKE:
            return own[number], (number, parents[number])
    return 0, ()


class _Used(NamedTuple):
    n_bytes: int
    n_files: int


def _used(root: int, place: str) -> _Used:
    """How much a file system holds."""
    try:
        descriptor = os.open(place, os.O_PATH | os.O_DIRECTORY, dir_fd=root)
    except OSError:
        return _Used(0, 0)
    try:
        found = os.fstatvfs(descriptor)
    finally:
        os.close(descriptor)
    return _Used((found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree)


def members_below(first: int) -> Members | None:
    """Those of the sandbox whose process 1 has this number outside; None until it has its own /proc."""
    with contextlib.ExitStack() as stack:
        try:
            root = os.open(f"/proc/{first}/root", os.O_PATH | os.O_DIRECTORY)
            stack.callback(os.close, root)
            processes = os.open("proc", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root)
            stack.callback(os.close, processes)
        except OSError:
            return None
        # Before it has changed its root, this is the /proc of the whole machine.
        if os.fstat(processes).st_dev == Path("/proc").stat().st_dev:
            return None
        stack.pop_all()
        return Members(first, root, processes)
    return None
