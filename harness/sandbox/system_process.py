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

from harness.own_packages.package_environment import PackageEnvironment


class Process(Protocol):
    """A running system; we read and write its pipes, unbuffered."""

    @property
    def stdin(self) -> IO[bytes]:
        """The pipe that the system reads."""

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe that the system writes."""

    def wait(self, timeout: float) -> int:
        """Wait for its end and return the exit code, below zero for a signal. Raises subprocess.TimeoutExpired."""

    def end(self) -> None:
        """Kill it with everything that it started, and reap it."""

    def cpu_s(self) -> float | None:
        """CPU seconds of the process and everything it started; None if they are not counted."""

    def caps_hit(self) -> str:
        """The caps that it has reached since its start, in words; '' if none is known."""

    def memory_cap(self) -> str:
        """The text for a process that takes or requests more memory than its cap; '' without a cap."""

    def is_out_of_memory(self) -> bool:
        """Whether any of its processes was killed at the memory cap."""


class Launcher(Protocol):
    """Starts the processes of one run. `facts` go to the run's record: which caps are in force."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Which protections and caps are in force, ready for JSON."""

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """Start a command. Raises OSError or ValueError if it cannot be started."""


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
        """As in Process; a process that has left the group is not ended."""
        # The leader may have ended before its children: the group is killed in any case.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()

    def cpu_s(self) -> float | None:
        """None: CPU time is not counted."""
        return None

    def caps_hit(self) -> str:
        """'': there are no caps."""
        return ""

    def memory_cap(self) -> str:
        """'': there is no cap."""
        return ""

    def is_out_of_memory(self) -> bool:
        """False: memory is not watched."""
        return False


def own_python(command: Sequence[str]) -> list[str]:
    """The command, with a first word `python` replaced by the interpreter that the harness runs in."""
    return [sys.executable if i == 0 and word in ("python", "python3") else word for i, word in enumerate(command)]


class PlainLauncher:
    """Starts a command in a folder with all of this user's rights: only for systems that you trust."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], packages: PackageEnvironment | None = None
    ) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self.facts: Mapping[str, Any] = {"sandbox": "none"}
        if packages is not None:
            path = os.pathsep.join(filter(None, (environment.get("PYTHONPATH", ""), str(packages.site))))
            # Python would write its compiled files into the cached folder, which is then not what its wheels hold.
            self._environment |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
            self.facts = {**self.facts, **packages.facts}

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """As in Launcher."""
        return PlainProcess(own_python(command), self._folder, self._environment, stderr_fd)
