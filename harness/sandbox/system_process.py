"""A system's process as the harness needs it, and the plain one, without a sandbox."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol


class Process(Protocol):
    """A running system: its pipes are ours to read and to write, unbuffered."""

    @property
    def stdin(self) -> IO[bytes]:
        """What the system reads."""

    @property
    def stdout(self) -> IO[bytes]:
        """What the system writes."""

    def wait(self, timeout: float) -> int:
        """The exit code, below zero for a signal. Raises subprocess.TimeoutExpired."""

    def end(self) -> None:
        """Kill it with everything that it started, and reap it."""

    def cpu_s(self) -> float | None:
        """CPU seconds that it and all that it started have taken; None if nobody counts."""

    def caps_hit(self) -> str:
        """The caps that it has reached since it was started, in words; '' where none is known."""

    def memory_cap(self) -> str:
        """What to say of it when it takes or asks for more memory than it may have; '' where there is no cap."""

    def is_out_of_memory(self) -> bool:
        """Whether any of its processes was killed at the memory cap."""


class Launcher(Protocol):
    """What starts the processes of one run. `facts` are what the run's record says of its caps."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Which protections and caps are in force, ready for JSON."""

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """Start a command. Raises OSError or ValueError where it cannot be."""


class PlainProcess:
    """A child process in its own session, so that all its descendants can be ended at once."""

    def __init__(self, words: Sequence[str], cwd: Path, environment: Mapping[str, str], stderr_fd: int) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - running the submission's command is the purpose
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr_fd,
            start_new_session=True,
            bufsize=0,
        )
        if self._child.stdin is None or self._child.stdout is None:
            raise TypeError("both are always pipes")
        self.stdin: IO[bytes] = self._child.stdin
        self.stdout: IO[bytes] = self._child.stdout

    def wait(self, timeout: float) -> int:
        """As in Process."""
        return self._child.wait(timeout)

    def end(self) -> None:
        """As in Process; what has left the process group stays."""
        # The leader may be gone and its children still there: the group is killed in any case.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()

    def cpu_s(self) -> float | None:
        """Nobody counts."""
        return None

    def caps_hit(self) -> str:
        """There are none."""
        return ""

    def memory_cap(self) -> str:
        """There is none."""
        return ""

    def is_out_of_memory(self) -> bool:
        """Nobody looks."""
        return False


def own_python(command: Sequence[str]) -> list[str]:
    """A command whose first word `python` is the interpreter that the harness runs in."""
    return [sys.executable if i == 0 and word in ("python", "python3") else word for i, word in enumerate(command)]


class PlainLauncher:
    """Starts a command in a folder with all of this user's rights: for systems that one trusts."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.facts: Mapping[str, Any] = {"sandbox": "none"}

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """As in Launcher."""
        return PlainProcess(own_python(command), self._folder, self._environment, stderr_fd)
