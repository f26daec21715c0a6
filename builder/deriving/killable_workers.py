"""Work on hostile input in worker processes that may be killed: a job that hangs or takes too much memory
fails alone.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from edu_rag.errors import EduRagError, MissingExtraError
from edu_rag.processes.safe_path import guard_children

if TYPE_CHECKING:
    from multiprocessing.synchronize import RLock

    from pebble import ProcessPool

CPU_LIMIT_S = 5.0
"""Processor time of a job, its retries included. Not wall time: the kept pages must not depend on other programs."""
WALL_LIMIT_S = 60.0
"""For a job that waits instead of working."""
MEMORY_BYTES = 384 << 20
"""The memory that a job may add to a prepared worker, whose own 100 to 130 MB fit in the rest of 512 MB."""
WINDOW_PER_WORKER = 8
JOBS_PER_WORKER = 2_000
"""A worker is replaced after this many jobs, so that memory leaks of parsers do not add up."""
SHARES = (0.6, 0.25, 0.15)
"""Of the processor time, by attempt, where a job may be retried."""

MOST_STARTS = 4
"""Times that a job is given to a new pool, where pools break under it, before the workers count as unable to start."""

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFailure:
    """Why a job gave no result: timeout, memory, crash, or `error NAME` (the exception's)."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Unprepared:
    """The worker's libraries could not be loaded, or do not work."""

    error: EduRagError


_unprepared: _Unprepared | None = None


def never(job: object, failure: WorkFailure) -> None:
    """No failure is retried."""


def _own_bytes() -> int | None:
    """The address space that this process has now, or None if the system does not tell."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pages * resource.getpagesize()


def _bound_memory(memory_bytes: int) -> None:
    import resource

    own = _own_bytes()
    if own is not None:
        with contextlib.suppress(ValueError, OSError):  # our parent process may have set a lower limit
            resource.setrlimit(resource.RLIMIT_AS, (own + memory_bytes, own + memory_bytes))


def _start(prepare: Callable[[], None], memory_bytes: int) -> None:
    """Load the libraries before the clock of the first job runs, then bound the memory."""
    global _unprepared  # noqa: PLW0603  # the initializer's only way to tell the jobs
    import logging
    import resource
    import warnings

    logging.disable(logging.CRITICAL)  # parsers complain of every odd page
    warnings.simplefilter("ignore")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        prepare()
    except EduRagError as error:
        _unprepared = _Unprepared(error)
    except Exception as error:  # a broken library may raise anything
        _unprepared = _Unprepared(_cannot_start(str(error) if isinstance(error, ImportError) else repr(error)))
    # What is loaded stays, so no collection looks for garbage in it. The thresholds stay too: with larger ones the dead
    # trees of pages filled the memory, so that a page could fail for the pages before it.
    gc.freeze()
    _bound_memory(memory_bytes)


def _run(work: Callable[[J], R], job: J, cpu_limit_s: float) -> R | WorkFailure | _Unprepared:
    if _unprepared is not None:
        return _unprepared
    # Python's own handler would wait for the parser's C code to return; the default action ends the process at once.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_limit_s)
    try:
        return work(job)
    except MemoryError:
        return WorkFailure(reason="memory")
    except Exception as error:  # any error of a parser on a hostile page is that page's outcome
        return WorkFailure(reason=f"error {type(error).__name__}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


_LOST = 255
"""The exit code that multiprocessing reports for a worker whose fork server has ended, since its own is unknown."""


def _result(future: Any, *, may_be_lost: bool = False) -> Any:
    """The result of a job. `may_be_lost`: BrokenProcessPool where the fork server ended, and not the worker itself."""
    from pebble import ProcessExpired

    try:
        result = future.result()
    except TimeoutError:
        return WorkFailure(reason="timeout")
    except ProcessExpired as error:
        if may_be_lost and error.exitcode == _LOST:
            raise BrokenProcessPool("the process that workers are forked from ended") from None
        return WorkFailure(reason="timeout" if error.exitcode == -signal.SIGPROF else "crash")
    if isinstance(result, _Unprepared):
        raise result.error
    return result


def _cannot_start(why: object) -> MissingExtraError:
    return MissingExtraError("page workers", f"they cannot start ({why})", "pip install 'edu-rag-bench[build]'")


LIBRARIES = "builder.deriving.worker_libraries"
"""The module that loads what page workers need. Workers are forked from a process that has imported it."""
FOLDER_VARIABLE = "EDU_RAG_FORK_SERVER_FOLDER"
"""Names the folder of the fork server's socket to it: it removes the folder if this process is killed."""


class _LocksUntilTheEnd:
    """A way to start workers whose locks exist as long as the pool.

    pebble drops its locks before it ends its workers: a worker that is still starting would print that they are gone.
    """

    def __init__(self) -> None:
        super().__init__()
        self._locks: list[RLock] = []
        guard_children()

    def RLock(self) -> RLock:  # noqa: N802  # the name is multiprocessing's
        """A lock for processes, which is freed with the context."""
        self._locks.append(super().RLock())  # type: ignore[misc]  # a context's
        return self._locks[-1]


class _Forked(_LocksUntilTheEnd, ForkServerContext):
    """Workers are forked from a process that has loaded their libraries."""


class _Spawned(_LocksUntilTheEnd, SpawnContext):
    """Each worker is a new interpreter, which loads them itself."""


_server = threading.Lock()
_has_server: bool | None = None
"""Whether there is a fork server; None until the first pages come."""


def _path_for_server() -> str:
    """Our module path without entries that mean the current folder, or that the variable cannot hold."""
    return os.pathsep.join(entry for entry in sys.path if Path(entry).is_absolute() and os.pathsep not in entry)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """While entered, children get these variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_server(ours: int) -> None:
    """End the fork server at once.

    While it loads libraries it does not notice that this process has ended, and holds its output open.
    """
    from multiprocessing import forkserver

    pid = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if pid is not None and os.getpid() == ours:  # a fork of this process has no server to end
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def load_libraries() -> bool:
    """Let the fork server start, if there is none, and load the libraries meanwhile. Returns at once.

    False where there can be none: its socket needs a short TMPDIR, and Python 3.11.0's is open to other users
    (CVE-2022-42919).
    """
    global _has_server  # noqa: PLW0603  # a process has one
    from multiprocessing import forkserver, util

    with _server:
        if _has_server is None and sys.version_info < (3, 11, 1):
            _has_server = False
        if _has_server is None:
            guard_children()
            forkserver.set_forkserver_preload([LIBRARIES])
            try:
                variables = {"PYTHONPATH": _path_for_server(), FOLDER_VARIABLE: util.get_temp_dir()}
                with _environment(variables), deaf_to_interrupts():
                    forkserver.ensure_running()  # until Python 3.13 it ignores the path that it is given
                _has_server = True
            except OSError:
                _has_server = False
            atexit.register(_end_server, os.getpid())
        return _has_server


def _pool(prepare: Callable[[], None], workers: int, memory_bytes: int) -> ProcessPool:
    from pebble import ProcessPool

    # Not a fork of this process: it may hold threads and sockets that no parser of hostile pages should inherit.
    context = _Forked() if load_libraries() else _Spawned()
    return ProcessPool(
        max_workers=workers,
        max_tasks=JOBS_PER_WORKER,
        initializer=_start,
        initargs=(prepare, memory_bytes),
        context=context,
    )


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """While entered, threads and processes that start here never see Ctrl-C: it is the caller's to handle.

    Blocked, not ignored: an interrupt of the caller waits until the end instead of being lost.
    """
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its own start would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Workers:
    """A pool, and a new one where it broke.

    pebble gives up a pool if a worker dies before pebble has read that its job began: on a busy machine that is any
    job which kills its worker at once. All jobs of that pool then end with BrokenProcessPool, and are given again.
    """

    def __init__(self, start: Callable[[], ProcessPool], work: Callable[[J], R], shares: Sequence[float]) -> None:
        self._start, self._work, self._shares = start, work, shares
        self._pool = start()

    def _ask(self, job: Any, attempt: int) -> Any:
        arguments = (self._work, job, self._shares[attempt])
        try:
            with deaf_to_interrupts():  # the first job starts the pool, whose threads start all other workers
                return self._pool.schedule(_run, args=arguments, timeout=WALL_LIMIT_S)
        except RuntimeError as error:  # pebble's, of a pool that broke
            raise BrokenProcessPool(str(error)) from None

    def schedule(self, job: Any, attempt: int) -> Any:
        """The future of an attempt at a job. Raises BrokenProcessPool if a new pool breaks at once too."""
        try:
            return self._ask(job, attempt)
        except BrokenProcessPool:
            self.close()
            self._pool = self._start()
            return self._ask(job, attempt)

    def result(self, job: Any, attempt: int, future: Any) -> Any:
        """The result of an attempt. Raises BrokenProcessPool if every pool breaks before there is one."""
        for _ in range(MOST_STARTS - 1):
            try:
                return _result(future, may_be_lost=True)
            except BrokenProcessPool:
                future = self.schedule(job, attempt)
        return _result(future)

    def close(self) -> None:
        """End all workers. A second Ctrl-C waits until they have ended: half a second, seldom three."""
        with deaf_to_interrupts():
            self._pool.stop()  # type: ignore[no-untyped-call]  # pebble leaves it unannotated
            self._pool.join()


class WorkersOnCall(Generic[J, R]):
    """The same workers for jobs that come one by one from one thread: results have no order, and no job is retried.

    `work`, `prepare` and the limits are those of `map_killable`.
    """

    def __init__(
        self,
        work: Callable[[J], R],
        prepare: Callable[[], None],
        *,
        workers: int,
        cpu_limit_s: float,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._workers = _Workers(partial(_pool, prepare, max(1, workers), memory_bytes), work, [cpu_limit_s])

    def start(self, job: J, ended: Callable[[Any], None]) -> None:
        """Start a job, or let it wait for a worker. `ended` gets its future, in another thread.

        Raises BrokenProcessPool if the workers cannot start.
        """
        self._workers.schedule(job, 0).add_done_callback(ended)

    def result(self, future: Any) -> R | WorkFailure:
        """The result of a job that has ended. Raises what `prepare` raised, and BrokenProcessPool."""
        found: R | WorkFailure = _result(future)
        return found

    def close(self) -> None:
        """End all workers, with the jobs that they are at."""
        self._workers.close()


def _settle(future: Any, job: J, workers: _Workers, retry: Callable[..., J | None]) -> Any:
    """The job's result, after as many retries as there are shares of its time."""
    result = workers.result(job, 0, future)
    for attempt in range(1, len(SHARES)):
        again = retry(job, result) if isinstance(result, WorkFailure) else None
        if again is None:
            break
        job, result = again, workers.result(again, attempt, workers.schedule(again, attempt))
    return result


def map_killable(
    jobs: Iterable[tuple[str, J]],
    work: Callable[[J], R],
    prepare: Callable[[], None],
    *,
    workers: int,
    cpu_limit_s: float = CPU_LIMIT_S,
    memory_bytes: int = MEMORY_BYTES,
    retry: Callable[[J, WorkFailure], J | None] = never,
) -> Iterator[tuple[str, R | WorkFailure]]:
    """Run `work` on jobs (key, job) in `workers` processes; yields (key, result) in the order of the jobs.

    `prepare` runs once in each new worker, unbounded: let it load the libraries. `work`, `prepare`, jobs and results
    must be picklable. A job ends with its result or, at its limit of processor seconds or bytes, with a WorkFailure;
    `retry` may turn that into another job, at most twice, and all attempts share `cpu_limit_s`. Memory holds a window
    of jobs only. Raises what `prepare` raises: our own errors as they are, others as a MissingExtraError.
    """
    shares = [cpu_limit_s * share for share in ((1.0,) if retry is never else SHARES)]
    pool = _Workers(partial(_pool, prepare, max(1, workers), memory_bytes), work, shares)
    waiting: deque[tuple[str, J, Any]] = deque()
    stream = iter(jobs)
    try:
        while True:
            for key, job in islice(stream, WINDOW_PER_WORKER * max(1, workers) - len(waiting)):
                waiting.append((key, job, pool.schedule(job, 0)))
            if not waiting:
                break
            key, job, future = waiting.popleft()
            yield key, _settle(future, job, pool, retry)
    except BrokenProcessPool as error:
        raise _cannot_start(error) from None
    finally:
        pool.close()
