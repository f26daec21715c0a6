"""A budget of processor time and memory for reading a stranger's file: the work is done in a child that may be killed.

The child is a fork of this process, so that it has the dataset at hand without reading or copying it, and only what it
returns travels back. That is cheap: 10 ms for a process of 200 MB, where a new interpreter needs 200 ms and the dataset
once more. A thread of Python that holds a lock would leave it held in the child, so while there is another thread, and
where the system is not Linux, the work is done in this process; then the limits of the readers alone (bytes, lines,
depth, parts of a key) bound it.
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from edu_rag.errors import BudgetError, ConfigError, EduRagError

R = TypeVar("R")
CPU_VARIABLE = "EDU_RAG_READING_CPU_S"
"""Names other processor seconds for one file: for a slow machine, or an honest file of very long answers."""
CPU_S = 8.0
"""Processor seconds for one file: with the start of a command and the opening of a dataset it stays below ten."""
MEMORY_BYTES = 300_000_000
"""Memory that the child may have in all, with what it shares with us."""
SMALL_BYTES = 64_000
"""Strict JSON or plain lines of this size are read in less time than a child takes to start."""
LEAST_BYTES = 128_000_000
"""Memory that it may add, however large we are: a large dataset must not be held against a file."""
_GRACE_S = 1
_LEAST_CPU_S = 0.05
"""What a file still has that has spent its budget: enough to be refused by the same path as any other."""
_DEATH_SIGNAL = 1
"""prctl: PR_SET_PDEATHSIG."""
_spent: dict[str, float] | None = None
"""Processor seconds that each file has cost so far, while `one_budget_a_file` is entered."""
_inside = False
"""Whether this process is such a child, whose budget covers all that it does."""


def can_fork() -> bool:
    """Whether a child can do the work: on Linux, from the only thread of Python."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextlib.contextmanager
def one_budget_a_file() -> Iterator[None]:
    """While entered, a file that is read several times has one budget: in a pull request that is three times."""
    global _spent  # noqa: PLW0603 - a command is one process
    before, _spent = _spent, {}
    try:
        yield
    finally:
        _spent = before


def default_cpu_s(environment: Mapping[str, str] = os.environ) -> float:
    """Processor seconds for one file. Raises ConfigError where the variable for it is not a number above zero."""
    given = environment.get(CPU_VARIABLE)
    if given is None:
        return CPU_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_CPU_S:
        raise ConfigError(CPU_VARIABLE, f"{given[:40]!r} is not a number of seconds", f"give 1 to {_MOST_CPU_S:,}")
    return seconds


_MOST_CPU_S = 86_400


def within_budget(
    work: Callable[..., R],
    *arguments: Any,
    what: object,
    prepare: Callable[[], object] = list,
    cpu_s: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> R:
    """What `work(*arguments)` returns, done in a child with `cpu_s` processor seconds and `memory_bytes` of memory.

    `prepare` is called in the child first, unbounded: what is ours and large is best read there, since a child that
    reads what its parent holds copies it page by page. The result must be picklable, and should be small. What the work
    changes in memory is lost with the child. Inside such a child, and where none can be made (see above), the work is
    simply done. Raises what the work raises, and BudgetError that names `what` where the budget is spent or the child
    dies.
    """
    if _inside or not can_fork():
        prepare()
        return work(*arguments)
    most_s = default_cpu_s() if cpu_s is None else cpu_s
    left_s = most_s if _spent is None else max(_LEAST_CPU_S, most_s - _spent.get(str(what), 0.0))
    reads, writes = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if not child:
        os.close(reads)
        _child(lambda: _prepared(prepare, (left_s, memory_bytes), work, arguments), writes, parent)
    os.close(writes)
    try:
        with os.fdopen(reads, "rb") as stream:
            answer = stream.read()
        _, ended = os.waitpid(child, 0)
        child = 0
    finally:
        if child:  # interrupted: nobody waits for its answer any more
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended)
    said: tuple[float, bool, Any] = (left_s, True, None) if status else pickle.loads(answer)  # noqa: S301 - by our child
    used_s, is_result, value = said
    if _spent is not None:
        _spent[str(what)] = _spent.get(str(what), 0.0) + used_s
    _refuse(status, what, most_s, memory_bytes)
    if not is_result:
        raise value
    found: R = value
    return found


def _refuse(status: int, what: object, cpu_s: float, memory_bytes: int) -> None:
    """Raise BudgetError where the child did not end by itself."""
    if status in (-signal.SIGPROF, -signal.SIGXCPU):
        raise BudgetError(what, f"takes more than {cpu_s:g} s of processor time to read", "shorten it")
    if status == _NO_MEMORY:
        raise BudgetError(what, f"needs more than {memory_bytes / 1e6:,.0f} MB of memory to read", "shorten it")
    if status:
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
        raise BudgetError(what, f"cannot be read: the process that read it ended with {how}", "shorten it")


_NO_MEMORY = 3
_BROKEN = 4


def _prepared(
    prepare: Callable[[], object], limits: tuple[float, int], work: Callable[..., Any], arguments: tuple[Any, ...]
) -> bytes:
    """What the child writes: processor seconds of the work alone, whether it has a result, and that or its error."""
    used_s = 0.0
    is_result, value = _answer(prepare, ())
    if is_result:
        begun_s = _limit(*limits)
        is_result, value = _answer(work, arguments)
        used_s = time.process_time() - begun_s
    return pickle.dumps((used_s, is_result, value), pickle.HIGHEST_PROTOCOL)


def _child(work: Callable[[], bytes], writes: int, parent: int) -> NoReturn:
    """Do the work, write what came of it, and end without running any of our parent's exit handlers."""
    global _inside  # noqa: PLW0603 - the child is a world of its own
    _inside = True
    status = _BROKEN
    try:
        _settle(parent)
        answer = work()
        with os.fdopen(writes, "wb") as stream:
            stream.write(answer)
        status = 0
    except MemoryError:
        status = _NO_MEMORY
    finally:
        os._exit(status)


def _answer(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, work(*arguments)
    except MemoryError:
        raise
    except EduRagError as error:
        return False, error
    except Exception as error:  # a fault of ours, of which the parent shows where it happened
        return False, RuntimeError("".join(traceback.format_exception(error)))


def _settle(parent: int) -> None:
    """Cut off from the parent's terminal, handlers and old objects, and end when the parent ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPROF, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF, signal.SIGXCPU, signal.SIGTERM})
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    gc.freeze()  # a collection would write to every object that is there, and so copy all of the parent's memory
    _die_with_parent()
    if os.getppid() != parent:
        os._exit(_BROKEN)


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def _limit(cpu_s: float, memory_bytes: int) -> float:
    """Bound this process, and return the processor seconds that it has used before, which do not count.

    The kernel enforces both limits, also where a library written in C never returns.
    """
    import resource

    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    size, resident = (int(number) * resource.getpagesize() for number in pages[:2])
    most = size + max(LEAST_BYTES, memory_bytes - resident)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_AS, most)
    used_s = time.process_time()
    _lower(resource.RLIMIT_CPU, int(used_s + cpu_s) + _GRACE_S)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    return used_s


def _lower(limit: int, most: int) -> None:
    import resource

    hard = resource.getrlimit(limit)[1]
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError, OSError):  # a stricter limit of whoever started us stays
        resource.setrlimit(limit, (allowed, hard))
