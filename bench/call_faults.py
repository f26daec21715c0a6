"""Faults at one system call of a process that is already there, as strace's `-P PATH -e inject=CALL:FAULT:when=N` makes
them.

strace stops such a process at every call that it makes. Here the kernel asks only about the one call (user
notifications of seccomp), so a disturbed build costs little more than an undisturbed one. For Linux on x86-64, from
version 5.19.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CALLS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    "write": (1, (0,), ()),
    "pwrite64": (18, (0,), ()),
    "fsync": (74, (0,), ()),
    "fdatasync": (75, (0,), ()),
    "ftruncate": (77, (0,), ()),
    "rename": (82, (), (0, 1)),
    "mkdir": (83, (), (0,)),
    "rmdir": (84, (), (0,)),
    "link": (86, (), (0, 1)),
    "unlink": (87, (), (0,)),
    "unlinkat": (263, (0,), (1,)),
    "renameat": (264, (0, 2), (1, 3)),
    "renameat2": (316, (0, 2), (1, 3)),
}
"""Each call's number, and which of its arguments are open files and which are paths."""
_SECCOMP, _NO_NEW_PRIVILEGES = 317, 38
_FLAGS = 1 << 3 | 1 << 5  # a listener; a call that we have heard of is not begun twice because of a signal
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CALL, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_GO_ON = 1
_LONGEST_PATH = 4_096


def _program(number: int) -> bytes:
    """The filter: ask about this call of x86-64, allow every other one."""
    load, jump, back = 0x20, 0x15, 0x06
    steps = (
        (load, 0, 0, 4),
        (jump, 0, 3, 0xC000003E),
        (load, 0, 0, 0),
        (jump, 0, 1, number),
        (back, 0, 0, 0x7FC00000),
        (back, 0, 0, 0x7FFF0000),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def ask_about(call: str, gate: str) -> None:
    """In the process to disturb: let every `call` from now on wait for who listens at the gate, a socket."""
    libc, steps = ctypes.CDLL(None, use_errno=True), _program(_CALLS[call][0])
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps) // 8, ctypes.addressof(kept)))
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    listener = libc.syscall(_SECCOMP, 1, _FLAGS, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp cannot ask about system calls here")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(gate)
        socket.send_fds(line, [b"."], [listener])
        os.close(listener)
        line.recv(1)


def listener_at(gate: socket.socket) -> int:
    """The listener of the process that comes to the gate, which goes on."""
    line, _ = gate.accept()
    with line:
        _, (listener,), _, _ = socket.recv_fds(line, 1, 1)
        line.send(b".")
    return listener


def _ready(poll: select.poll, until: float) -> dict[int, int]:
    """The files that something has come from, once it has."""
    ready = dict(poll.poll(max(0, 1_000 * (until - time.monotonic()))))
    if not ready or time.monotonic() > until:
        raise TimeoutError("the process that gets a fault has not ended in time")
    return ready


@dataclass(frozen=True)
class CallFault:
    """The `when`-th `call` on a path in each thread by itself, and its fault (`signal=KILL`, `error=EIO` …)."""

    call: str
    path: str
    when: int
    fault: str

    def _paths(self, pid: int, arguments: tuple[int, ...]) -> Iterator[str]:
        """The paths that a call is about. A file that has no name any more counts under its last one."""
        _, files, paths = _CALLS[self.call]
        for i in files:
            with suppress(OSError):  # it may be no file: AT_FDCWD
                name = Path(f"/proc/{pid}/fd/{ctypes.c_int(arguments[i]).value}").readlink()
                yield str(name).removesuffix(" (deleted)")
        if paths:
            with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
                for i in paths:
                    memory.seek(arguments[i])
                    yield os.fsdecode(memory.read(_LONGEST_PATH).split(b"\0")[0])

    def watch(self, listener: int, ended: int, patience_s: float = 600) -> int:
        """Answer for all calls until there is something to read from `ended`; how often the fault came.

        Raises TimeoutError if nothing comes in time.
        """
        n, n_faults, until = Counter[int](), 0, time.monotonic() + patience_s
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        poll.register(ended, select.POLLIN)
        while ended not in (ready := _ready(poll, until)):
            if ready.get(listener, 0) & ~select.POLLIN:  # no process is left that could call
                poll.unregister(listener)
                continue
            is_fault = self._answer(listener, n)
            n_faults += is_fault
        return n_faults

    def _answer(self, listener: int, n: Counter[int]) -> bool:
        """Answer for one call. `n` counts those on the path by thread."""
        asked = bytearray(_CALL.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
            key, pid, _, _, _, _, *arguments = _CALL.unpack(asked)
            if self.path in self._paths(pid, tuple(arguments)):
                n[pid] += 1
                if n[pid] == self.when:
                    self._let_fail(listener, key, pid)
                    return True
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(key, 0, 0, _GO_ON))
        except (FileNotFoundError, ProcessLookupError):  # it was killed meanwhile
            pass
        return False

    def _let_fail(self, listener: int, key: int, pid: int) -> None:
        kind, _, name = self.fault.partition("=")
        if kind == "signal":
            os.kill(pid, getattr(signal, f"SIG{name}"))
        else:
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(key, 0, -getattr(errno, name), 0))
