"""A child process that does one piece of work under limits that the kernel enforces, and that never outlives us.

There are two forms of child. A fork has the dataset at hand without reading or copying it, and only its result
travels back: 10 ms for a process of 200 MB. But a lock that another thread of Python holds would stay locked in it for
ever, so while there is another thread, and if the system is not Linux, the child is a fresh interpreter that gets
the pickled job: 200 ms, and the dataset once more.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from edu_rag.errors import EduRagError
from edu_rag.processes.safe_path import guard_children

if TYPE_CHECKING:
    import subprocess

NO_MEMORY = 3
"""Exit code of a child that had no memory left."""
_BROKEN = 4
_GRACE_S = 1
_DEATH_SIGNAL = 1
"""prctl: PR_SET_PDEATHSIG."""
_HELD = (signal.SIGINT, signal.SIGTERM)
_START = (
    "import sys; sys.path[:] = sys.argv[3:]; from edu_rag.processes.bounded_child import main; main(*sys.argv[1:3])"
)
_inside = False
"""Whether this process is such a child, whose limits cover all that it does."""


class Job(NamedTuple):
    """The job of a child: `prepare()` without limits, then `work(*arguments)` within them.

    `streams`: the work is a generator function, whose items are sent back as they come. A fresh interpreter gets the
    job by pickle, so `work` and `prepare` are functions of modules, methods, or partials of these.

    `memory_bytes`: what the work may add to the memory that its process has when it begins, however large that is.
    """

    prepare: Callable[[], object]
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_s: float
    memory_bytes: int
    streams: bool = False


class Ended(NamedTuple):
    """How a child ended: 0, its exit code, or the number of a signal below 0.

    With 0: the processor seconds of the work, whether it has a result, and that result or its error.
    """

    status: int
    used_s: float = 0.0
    is_result: bool = False
    value: Any = None


def is_inside() -> bool:
    """Whether this process is a bounded child."""
    return _inside


def can_fork() -> bool:
    """Whether the child can be a fork: on Linux, from the only thread of Python."""
    return sys.platform == "linux" and threading.active_count() == 1


def run(job: Job) -> Generator[Any, None, Ended]:
    """Do a job in a child: yields the items that it streams, and returns how it ended.

    The child is killed where the generator is closed, or is interrupted by a signal's handler.
    """
    packed = None if can_fork() else pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as answers, _held_back() as mask:
        try:
            child = _forked(job, (reads, writes), mask) if packed is None else _started(writes)
        finally:
            os.close(writes)
        last: Any = None
        is_over = False
        try:
            # A signal handler can raise from here on: by then the child is known, and is ended below.
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if packed is not None:
                child.give(packed)
            while not isinstance(last := _next(answers), Ended | None):
                yield last[0]
            is_over = True
        finally:
            try:
                signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
            finally:  # the handler of one more signal may have raised
                status = child.end(kill=not is_over)
    return Ended(status) if status or last is None else last


def _next(answers: IO[bytes]) -> Any:
    """The child's next item in a tuple, how it ended, or None if it said nothing more."""
    try:
        return pickle.load(answers)  # noqa: S301 - by our child
    except (EOFError, pickle.UnpicklingError):  # it died; its status says how
        return None


@contextlib.contextmanager
def _held_back() -> Iterator[set[int]]:
    """While entered, signals that end a command wait; gives the signals that were held back before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield {int(number) for number in mask}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class _Child:
    """A child that runs: its process id, and where a fresh interpreter waits for its job."""

    def __init__(self, pid: int, process: subprocess.Popen[bytes] | None = None) -> None:
        self._pid, self._process = pid, process

    def give(self, packed: bytes) -> None:
        """Send the job. The status of a child shows whether it died before it had read all of it."""
        if self._process is None or self._process.stdin is None:
            raise ValueError("a fork has its job already")
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stream:
            stream.write(packed)

    def end(self, *, kill: bool) -> int:
        """Wait for its end, and return its status; or make it end now."""
        if kill:
            os.kill(self._pid, signal.SIGKILL)
        _, ended = os.waitpid(self._pid, 0)
        status = os.waitstatus_to_exitcode(ended)
        if self._process is not None:
            self._process.returncode = status
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
        return status


def _forked(job: Job, pipe: tuple[int, int], mask: set[int]) -> _Child:
    reads, writes = pipe
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        os.close(reads)
        _in_child(lambda: job, writes, parent, mask)
    return _Child(pid)


def _started(writes: int) -> _Child:
    """A fresh interpreter, which imports nothing from the current folder and has the signals held back that we hold."""
    import subprocess

    guard_children()
    path = [entry for entry in sys.path if entry]
    command = [sys.executable, "-P", "-c", _START, str(writes), str(os.getpid()), *path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(writes,))  # noqa: S603 - our own interpreter
    return _Child(process.pid, process)


def main(writes: str, parent: str) -> NoReturn:
    """The life of a fresh interpreter: a job comes by standard input, and none comes where the parent has died."""
    _in_child(lambda: pickle.load(sys.stdin.buffer), int(writes), int(parent), set())  # noqa: S301 - by our parent


def _in_child(job_of: Callable[[], Job], writes: int, parent: int, mask: set[int]) -> NoReturn:
    """Do the job, write its result, and end without running any of our parent's exit handlers."""
    global _inside  # noqa: PLW0603 - the child is a world of its own
    _inside = True
    status = _BROKEN
    try:
        _settle(parent, mask)
        is_result, job = _answer(job_of, ())
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        with os.fdopen(writes, "wb") as stream:
            last = _done(job, stream) if is_result else Ended(0, 0.0, is_result, job)
            pickle.dump(last, stream, pickle.HIGHEST_PROTOCOL)
        status = 0
    except MemoryError:
        status = NO_MEMORY
    finally:
        os._exit(status)


def _done(job: Job, stream: IO[bytes]) -> Ended:
    """How the job ended: processor seconds of the work alone, whether it has a result, and that or its error."""
    used_s = 0.0
    is_result, value = _answer(job.prepare, ())
    if is_result:
        begun_s = _limit(job.cpu_s, job.memory_bytes)
        is_result, value = _answer(_streamed, (job, stream)) if job.streams else _answer(job.work, job.arguments)
        used_s = time.process_time() - begun_s
    return Ended(0, used_s, is_result, value)


def _streamed(job: Job, stream: IO[bytes]) -> Any:
    """Send each item; the result is the generator's return value."""
    items = job.work(*job.arguments)
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        pickle.dump((item,), stream, pickle.HIGHEST_PROTOCOL)


def _answer(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, work(*arguments)
    except MemoryError:
        raise
    except EduRagError as error:
        return False, error
    except Exception as error:  # a bug of ours: the parent shows its traceback
        return False, RuntimeError("".join(traceback.format_exception(error)))


def _settle(parent: int, mask: set[int]) -> None:
    """Cut off from the parent's handlers and old objects, and end when the parent ends."""
    for number in (*_HELD, signal.SIGPROF, signal.SIGXCPU):
        # A signal that our parent ignores (Ctrl-C in a background job) must not end only us.
        if number not in _HELD or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if not die_with_parent(parent):
        os._exit(_BROKEN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGTERM, signal.SIGPROF, signal.SIGXCPU})
    gc.freeze()  # a collection would write to every object that is there, and so copy all of the parent's memory


def die_with_parent(parent: int) -> bool:
    """Have the kernel kill this process when the thread that started it ends; return whether the parent is still there.

    Only Linux does that: elsewhere a bounded child ends with its budget at the latest.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent


def _limit(cpu_s: float, memory_bytes: int) -> float:
    """Bound this process, and return the processor seconds that it has used before, which do not count.

    The kernel enforces the limits, also where a library written in C never returns. Memory is bounded on Linux alone:
    other systems neither report a process's memory nor enforce a limit on it. There are two limits: on all addresses,
    and on those that can be written to, since a fork may inherit addresses that are reserved and not yet in use. What
    our process had freed and not given back to the system counts as its memory: a fork can use that again.
    """
    import resource

    _lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        size, *_, data, _ = Path("/proc/self/statm").read_text(encoding="ascii").split()
        for limit, n_pages in ((resource.RLIMIT_AS, size), (resource.RLIMIT_DATA, data)):
            _lower(limit, int(n_pages) * resource.getpagesize() + memory_bytes)
    used_s = time.process_time()
    _lower(resource.RLIMIT_CPU, int(used_s + cpu_s) + _GRACE_S)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    return used_s


def _lower(limit: int, most: int) -> None:
    import resource

    hard = resource.getrlimit(limit)[1]
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError, OSError):  # a stricter limit of our parent process stays
        resource.setrlimit(limit, (allowed, hard))
