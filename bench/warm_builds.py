"""Builds from a process that has loaded all libraries already: a sweep over thousands of faults would load them each
time.

Run as a script, it is that process: it forks for every job that it reads from its standard input. The page workers of
all builds are forked from one other process, as in one build.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests" / "builder")]

from builder_crash import Point, environment, fix_process_id  # noqa: E402 - the tests' own tools
from call_faults import CallFault, ask_about, listener_at  # noqa: E402 - our own, next to this module


class Ended(NamedTuple):
    """A build that has ended: its exit code, its errors, and how many calls got the fault (each thread counts)."""

    returncode: int
    stderr: str
    n_faults: int


PATIENCE_S = 600


class PipeLines:
    """The lines of a pipe. It keeps what it has read ahead itself: `select` sees only what is still in the pipe."""

    def __init__(self, file: int, patience_s: float = PATIENCE_S) -> None:
        self._file, self._patience_s, self._ahead = file, patience_s, b""

    def has_more(self, wait_s: float) -> bool:
        """Whether something, or the pipe's end, comes in this time."""
        return bool(self._ahead) or bool(select.select([self._file], [], [], wait_s)[0])

    def after(self, prefix: str) -> str:
        """The rest of the next line that begins so. Raises RuntimeError at the end, and if none comes in time."""
        until = time.monotonic() + self._patience_s
        while True:
            line = self._next(until)
            if line.startswith(prefix):
                return line.removeprefix(prefix).strip()

    def _next(self, until: float) -> str:
        while b"\n" not in self._ahead:
            if not select.select([self._file], [], [], max(0, until - time.monotonic()))[0]:
                raise RuntimeError("the process that builds are forked from does not answer")
            read = os.read(self._file, 65_536)
            if not read:
                raise RuntimeError("the process that builds are forked from has ended")
            self._ahead += read
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line.decode("utf-8", "replace")


class WarmBuilds:
    """Runs `edu-rag` with words, undisturbed or with a fault at one point; enter it to start the process."""

    def __init__(self, first: Sequence[str]) -> None:
        self._first = list(first)
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Path(self._folder.name) / "stderr"
        self._gate = socket.socket(socket.AF_UNIX)
        self._gate.bind(f"{self._folder.name}/gate")
        self._gate.listen()
        self._gate.settimeout(60)

    def __enter__(self) -> WarmBuilds:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self._process.stdout is not None
        self._lines = PipeLines(self._process.stdout.fileno())
        self._tell(self._first)
        self._lines.after("ready")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._gate.close()
        self._folder.cleanup()

    def _tell(self, job: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()

    def run(self, words: Sequence[str], point: Point | None = None, fault: str = "") -> Ended:
        """One build, with a fault (`signal=KILL`, `error=ENOSPC` …) if a point is given."""
        job = {"words": list(words), "stderr": str(self._errors)}
        self._tell(job if point is None else job | {"call": point.call, "gate": self._gate.getsockname()})
        pid, n_faults = int(self._lines.after("pid ")), 0
        try:
            if point is not None:
                n_faults = self._disturb(CallFault(point.call, point.path, point.when, fault))
            code = int(self._lines.after("ended "))
        except BaseException:
            _end(pid)  # it would wait at its gate for ever
            raise
        return Ended(code, self._errors.read_text(encoding="utf-8"), n_faults)

    def kill_after(self, words: Sequence[str], log: Path, seconds: float) -> int:
        """Start a build, wait until it writes to its log, then so many seconds, and kill -9 it; its exit code."""
        before = _size(log)
        self._tell({"words": list(words), "stderr": str(self._errors)})
        pid = int(self._lines.after("pid "))
        until = time.monotonic() + PATIENCE_S
        while _size(log) == before and not self._lines.has_more(0.005) and time.monotonic() < until:
            pass
        if not self._lines.has_more(seconds):
            _end(pid)
        return int(self._lines.after("ended "))

    def _disturb(self, fault: CallFault) -> int:
        assert self._process.stdout is not None
        listener = listener_at(self._gate)
        try:
            return fault.watch(listener, self._process.stdout.fileno())
        finally:
            os.close(listener)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _end(pid: int) -> None:
    """End a build, and what it has started. It may not have a group of processes yet."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def _warm_up(words: Sequence[str]) -> None:
    """Build once here: libraries, plots of the same numbers and page workers' libraries are then there for all forks.

    Another process forks the page workers: the first build starts it.
    """
    from multiprocessing import forkserver

    from builder.deriving.killable_workers import load_libraries
    from edu_rag.__main__ import main

    with contextlib.suppress(SystemExit):
        main(list(words))
    load_libraries()
    if threading.active_count() > 1:
        raise RuntimeError("a build has left threads, which a fork would not have")
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[attr-defined]  # it is no child of a child
    gc.collect()
    gc.freeze()  # else the first collection of every fork would write to all of it


def _job() -> list[str]:
    """In each forked child: the words of its build, once it may begin. Ends with the end of the jobs."""
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            _redirect(job["stderr"])
            os.setsid()
            if "gate" in job:
                ask_about(job["call"], job["gate"])
            words: list[str] = job["words"]
            return words
        print(f"pid {pid}", flush=True)
        print(f"ended {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}", flush=True)
    sys.exit()


def _redirect(errors: str) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    file = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for new, old in ((null, 0), (null, 1), (file, 2)):
        os.dup2(new, old)


if __name__ == "__main__":
    from edu_rag.__main__ import main

    fix_process_id()
    _warm_up(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    main(_job())
