"""Builds from a process that has loaded all libraries already: a sweep over thousands of faults would load them each
time.

Run as a script, it is that process: it forks for every job that it reads from its standard input. The page workers of
all builds are forked from one other process, as in one build.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from builder_crash import Point, environment, fix_process_id  # noqa: E402 - the tests' own tools


class WarmBuilds:
    """Runs `edu-rag` with words, undisturbed or with a fault at one point; enter it to start the process."""

    def __init__(self, first: Sequence[str]) -> None:
        self._first = list(first)
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Path(self._folder.name) / "stderr"
        self._gate = Path(self._folder.name) / "gate"
        os.mkfifo(self._gate)

    def __enter__(self) -> WarmBuilds:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._tell(self._first)
        self._heard("ready")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _tell(self, job: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()

    def _heard(self, prefix: str) -> str:
        """The rest of the next line that begins so; the builds' own output goes elsewhere."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(prefix):
                return line.removeprefix(prefix).strip()
        raise RuntimeError("the process that builds are forked from has ended")

    def run(
        self, words: Sequence[str], point: Point | None = None, fault: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """One build, with a fault (`signal=KILL`, `error=ENOSPC` …) if a point is given."""
        gate = str(self._gate) if point is not None else ""
        self._tell({"words": list(words), "stderr": str(self._errors), "gate": gate})
        pid = int(self._heard("pid "))
        try:
            tracer = None if point is None else self._traced(pid, point, fault)
            code = int(self._heard("ended "))
        except BaseException:
            _end(pid)  # it would wait at its gate for ever
            raise
        if tracer is not None:
            tracer.wait()
        return subprocess.CompletedProcess(list(words), code, "", self._errors.read_text(encoding="utf-8"))

    def _traced(self, pid: int, point: Point, fault: str) -> subprocess.Popen[bytes]:
        inject = f"inject={point.call}:{fault}:when={point.when}"
        options = ["-f", "-qq", "-P", point.path, "-e", f"trace={point.call}", "-e", inject, "-o", "/dev/null"]
        tracer = subprocess.Popen(["strace", *options, "-p", str(pid)], stderr=subprocess.DEVNULL)
        while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8"):
            if tracer.poll() is not None:
                raise RuntimeError("strace cannot attach to a build")
            time.sleep(0.002)
        os.close(os.open(self._gate, os.O_WRONLY))  # the build waits for this
        return tracer


def _end(pid: int) -> None:
    """End a build, and what it has started. It may not have a group of processes yet."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def _modules_of(words: Sequence[str]) -> list[str]:
    """What a build imports, in its order: seen in a child."""
    from edu_rag.__main__ import main

    reads, writes = os.pipe()
    if not os.fork():
        with contextlib.suppress(SystemExit):
            main(list(words))
        with os.fdopen(writes, "w") as stream:
            stream.write("\n".join(sys.modules))
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as found:
        names = found.read().splitlines()
    os.wait()
    return [name for name in names if not name.startswith("_")]


def _load(words: Sequence[str]) -> None:
    """Import what a build imports, and let the process start that page workers are forked from."""
    from multiprocessing import forkserver

    from builder.deriving.killable_workers import load_libraries

    for name in _modules_of(words):
        with contextlib.suppress(ImportError):  # modules that only their importers can make
            importlib.import_module(name)
    load_libraries()
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[attr-defined]  # it is no child of a child


def _job() -> list[str]:
    """In each forked child: the words of its build, once it may begin. Ends with the end of the jobs."""
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            _redirect(job["stderr"])
            os.setsid()
            if job["gate"]:
                os.close(os.open(job["gate"], os.O_RDONLY))
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
    _load(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    main(_job())
