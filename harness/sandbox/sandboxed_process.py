"""A process in the sandbox: bubblewrap is our child, and all of the system is below its process 1.

bubblewrap's own `--die-with-parent` comes into force late. If the harness is killed before that, bubblewrap goes on; if
bubblewrap is killed while it makes its process 1, that process waits for its parent for ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import select
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.sandbox.caps import GIB, Caps
from harness.sandbox.cgroups import Cgroups
from harness.sandbox.memory_watch import MemoryWatch
from harness.sandbox.processes import Members, members_below
from harness.sandbox.staging import NOBODY

_SCRIPT = """
groups=
while read -r what group; do
    case $what in
        +) groups="$groups -$group " ;;
        -) groups="${groups%% -"$group" *}${groups#* -"$group" }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "$group"; done
"""
"""Reads to the end of its input, which means that the harness is gone: only the harness holds the pipe's other end."""


class Guard:
    """A shell in a separate session that kills the process groups it watches once we are gone."""

    def __init__(self, shell: subprocess.Popen[bytes]) -> None:
        self._shell = shell

    def watch(self, group: int) -> None:
        """Have a process group killed when the harness ends. Raises OSError if the guard itself is gone."""
        self._say(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """Stop watching a group. Call it before reaping its leader, since the number may be reused after that."""
        with contextlib.suppress(OSError):  # a guard that is gone watches nothing
            self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._shell.stdin is None:
            raise TypeError("it is always a pipe")
        self._shell.stdin.write(line.encode())


@contextmanager
def guarded() -> Iterator[Guard]:
    """A guard until the end of the block."""
    with subprocess.Popen(  # noqa: S603 - our own words
        ["/bin/sh", "-c", _SCRIPT],
        cwd="/",
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    ) as shell:
        yield Guard(shell)


_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_SET_SMALL_PAGES, _GET_SMALL_PAGES = 41, 42
_CHILD = re.compile(rb'"child-pid":\s*(\d+)')
_END_S = 5.0
_AGAIN_S = 0.002
_NEAR = 0.8
_SIGNALLED, _LAST_SIGNAL = 128, 64


@contextmanager
def subreaper() -> Iterator[None]:
    """While entered, orphans among our descendants become our children, so that we can wait for them."""
    library = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int(0)
    library.prctl(_GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    library.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(_SET_SUBREAPER, before.value, 0, 0, 0)


@contextmanager
def small_pages() -> Iterator[None]:
    """While entered, newly started processes and their children get small memory pages only.

    With large pages a system can fill 16 GB a second, and exceed its cap by half before the next check.
    """
    library = ctypes.CDLL(None, use_errno=True)
    before = library.prctl(_GET_SMALL_PAGES, 0, 0, 0, 0)
    library.prctl(_SET_SMALL_PAGES, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(_SET_SMALL_PAGES, max(before, 0), 0, 0, 0)


class BoxedProcess:
    """A started chain of programs that ends in bubblewrap: its pipes, and the means to end every process below it."""

    def __init__(
        self,
        chain: Sequence[str],
        stderr_fd: int,
        passed: Sequence[int],
        info: int,
        cgroups: Cgroups | None,
        caps: Caps,
        guard: Guard,
    ) -> None:
        self._caps = caps
        self._guard = guard
        self._cgroups = cgroups
        self._before = self._counts()
        self._peak_before = _peak_bytes()
        if cgroups is not None:
            cgroups.share(dying=False)
        with small_pages() if cgroups is None else contextlib.nullcontext():
            self._child = subprocess.Popen(  # noqa: S603 - running the submission's command is the purpose
                chain,
                cwd="/",
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr_fd,
                pass_fds=passed,
                bufsize=0,
                start_new_session=True,
            )
        if self._child.stdin is None or self._child.stdout is None:
            raise TypeError("both are always pipes")
        self.stdin: IO[bytes] = self._child.stdin
        self.stdout: IO[bytes] = self._child.stdout
        self._info = info
        self._said = b""
        self._turn = threading.RLock()
        self._found: Members | None = None
        self._ended = False
        try:
            self._begin()
            os.set_blocking(info, False)
            for descriptor in (self.stdin.fileno(), self.stdout.fileno(), stderr_fd):
                _give_to_nobody(descriptor)
            self._watch = None if cgroups is not None else MemoryWatch(self._members, caps.memory_bytes)
        except BaseException:  # signals too: the caller does not have this object yet and cannot end the group
            self._end_group()
            self.close()
            raise

    def _begin(self) -> None:
        """Release the chain once the guard watches its process group. Raises OSError if the guard is gone."""
        self._guard.watch(self._child.pid)
        with contextlib.suppress(BrokenPipeError):  # it has ended already, which the first question reports
            self.stdin.write(b"\n")

    def _end_group(self) -> None:
        """Kill bubblewrap and process 1, with which the kernel kills all the others, and reap them."""
        # Process 1 belongs to this group; no process of the system does.
        os.killpg(self._child.pid, signal.SIGKILL)
        self._guard.forget(self._child.pid)
        self._child.wait()
        self._reap_group()

    def wait(self, timeout: float) -> int:
        """As in Process; bubblewrap reports a signal as 128 + its number. The process is reaped only at its end."""
        if not self._is_over(timeout):
            raise subprocess.TimeoutExpired(self._child.args, timeout)
        code = self._code()
        return _SIGNALLED - code if _SIGNALLED < code <= _SIGNALLED + _LAST_SIGNAL else code

    def _code(self) -> int:
        """The exit code of a process that has ended, below zero for a signal."""
        if self._child.returncode is not None:
            return self._child.returncode
        seen = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        if seen is None:
            raise TypeError("waitid returned nothing, although it was asked to wait")
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def _is_over(self, timeout: float) -> bool:
        """Return whether bubblewrap ends within `timeout` seconds.

        Popen.wait checks only every 50 ms, which is too slow for a kill.
        """
        if self._child.returncode is not None:
            return True
        descriptor = os.pidfd_open(self._child.pid)
        try:
            return bool(select.select([descriptor], [], [], timeout)[0])
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close our ends of its pipes."""
        for stream in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def end(self) -> None:
        """Kill process 1 of the sandbox, with which the kernel kills all the others, and reap it and bubblewrap."""
        if self._ended:
            return
        self._ended = True
        if self._cgroups is not None:
            self._cgroups.share(dying=True)
        if self._watch is not None:
            self._watch.stop()
        try:
            self._kill_members()
            self._end_group()
        finally:
            os.close(self._info)
            if self._watch is not None:
                self._watch.join()
            if self._found is not None:
                self._found.close()
            if self._cgroups is not None:
                self._cgroups.kill()

    def _kill_members(self) -> None:
        """Kill every process if process 1 is known: killed alone, it may wait long among hundreds of busy ones."""
        if self._kill_first() is None:
            return
        deadline = time.monotonic() + _END_S
        while time.monotonic() < deadline:
            members = self._members()
            if members is not None:
                members.kill()
            if self._is_over(_AGAIN_S):
                return

    def is_seen(self) -> bool:
        """Whether its processes are visible from outside, so that their memory can be watched."""
        members = self._members()
        return members is not None and members.memory_at_most() > 0

    def _members(self) -> Members | None:
        """The processes in the sandbox; None while it is being set up."""
        with self._turn:
            first = self._first()
            if self._found is None and first is not None:
                self._found = members_below(first)
            return self._found

    def _reap_group(self) -> None:
        """Wait for process 1, which bubblewrap leaves to us after it has reported how the command ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-self._child.pid, 0)

    def _kill_first(self) -> int | None:
        """Kill process 1 if it is known and still ours; return its number outside."""
        number = self._first()
        if number is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(number)
            try:
                # The number may have been reused; the process behind the descriptor cannot change any more.
                if _parent(number) in (self._child.pid, os.getpid()):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)
        return number

    def _first(self) -> int | None:
        """The number of process 1 outside the sandbox, or None until bubblewrap reports it."""
        with self._turn:
            with contextlib.suppress(BlockingIOError):
                while not _CHILD.search(self._said) and (chunk := os.read(self._info, 4_096)):
                    self._said += chunk
            found = _CHILD.search(self._said)
            return int(found[1]) if found else None

    def cpu_s(self) -> float | None:
        """As in Process; read from the cgroup, otherwise summed over the living processes."""
        if self._cgroups is not None:
            return self._cgroups.cpu_s()
        members = self._members()
        return 0.0 if members is None else members.cpu_s()

    def _counts(self) -> tuple[int, int]:
        cgroups = self._cgroups
        return (0, 0) if cgroups is None else (cgroups.n_killed_for_memory(), cgroups.n_refused_forks())

    def memory_cap(self) -> str:
        """As in Process."""
        return f"{self._memory_cap} was reached"

    @property
    def _memory_cap(self) -> str:
        return f"the memory cap of {self._caps.memory_bytes / GIB:.3g} GiB"

    def is_out_of_memory(self) -> bool:
        """As in Process."""
        if self._cgroups is not None:
            return self._cgroups.n_killed_for_memory() > self._before[0]
        return self._watch is not None and self._watch.was_reached

    def caps_hit(self) -> str:
        """As in Process; without a cgroup, only the memory of the largest process is known, once it has ended."""
        _, refused = self._counts()
        hit = []
        if self.is_out_of_memory():
            hit.append(self.memory_cap())
        elif self._watch is not None and self._peak_before < _NEAR * self._caps.memory_bytes <= _peak_bytes():
            hit.append(f"a process came near {self._memory_cap}")
        if refused > self._before[1]:
            hit.append(f"the cap of {self._caps.n_processes} processes was reached")
        return ", ".join(hit)


def _give_to_nobody(descriptor: int) -> None:
    """Let user `nobody` reopen the pipe, for programs that open /dev/stdout or /dev/stderr.

    Never done for a file, which might be /dev/null.
    """
    if os.geteuid() == 0 and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.fchown(descriptor, NOBODY, NOBODY)


def _peak_bytes() -> int:
    """The peak memory, in bytes, of the largest descendant that has been waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1_024


def _parent(number: int) -> int | None:
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, ValueError, IndexError):
        return None
