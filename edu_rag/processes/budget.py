"""A budget of processor time and memory for reading a stranger's file: the work is done in a child that may be killed.

`bounded_child` makes the child and bounds it; this module sets how much a file may cost, and the error for one that
costs more.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, TypeVar

from edu_rag.errors import BudgetError, ConfigError
from edu_rag.processes import bounded_child
from edu_rag.processes.bounded_child import NO_MEMORY, Job

R = TypeVar("R")
T = TypeVar("T")
CPU_VARIABLE = "EDU_RAG_READING_CPU_S"
"""Names other processor seconds for one file: for a slow machine, or an honest file of very long answers."""
CPU_S = 8.0
"""Processor seconds for one file: with the start of a command and the opening of a dataset it stays below ten."""
MEMORY_BYTES = 300_000_000
"""Memory that reading one file may add to what the child has when it begins."""
SMALL_BYTES = 64_000
"""Strict JSON or plain lines of this size are read in less time than a child takes to start."""
_LEAST_CPU_S = 0.05
"""Seconds left to a file that has spent its budget: enough to refuse it on the normal path."""
_MOST_CPU_S = 86_400
_SHORTEN = "shorten it"
_MORE_TIME = f"shorten it; if it is honest and only slow, set {CPU_VARIABLE} to more seconds"
_spent: dict[str, float] | None = None
"""Processor seconds that each file has cost so far, while `one_budget_a_file` is entered."""


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
    """Processor seconds for one file. Raises ConfigError if the variable for it is not a number above zero."""
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


def within_budget(
    work: Callable[..., R],
    *arguments: Any,
    what: object,
    prepare: Callable[[], object] = list,
    cpu_s: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> R:
    """Return the result of `work(*arguments)`, computed in a child with `cpu_s` processor seconds, which may add
    `memory_bytes` of memory.

    `prepare` is called in the child first, unbounded: our own large files are best read there, since a child that
    reads its parent's memory copies it page by page. All arguments and results must be picklable (see `Job`),
    and the result should be small. Changes that the work makes in memory are lost with the child. Inside such a child
    the work is simply done. Raises the errors of the work, and BudgetError that names `what` if the budget is spent or
    the child dies.
    """
    if bounded_child.is_inside():
        prepare()
        return work(*arguments)
    _, found = collected(_charged(Job(prepare, work, arguments, 0.0, memory_bytes), what, cpu_s))
    result: R = found
    return result


def items_within_budget(
    work: Callable[..., Generator[T, None, R]],
    *arguments: Any,
    what: object,
    prepare: Callable[[], object] = list,
    cpu_s: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Generator[T, None, R]:
    """The items and the result of a generator that runs in such a child, which waits while an item is not taken.

    For results too large for the child's memory, or for ours, to be there at once: each item should hold at most some
    megabytes, and many small things should come together in one. Raises as `within_budget`.
    """
    if bounded_child.is_inside():
        prepare()
        return (yield from work(*arguments))
    result: R = yield from _charged(Job(prepare, work, arguments, 0.0, memory_bytes, streams=True), what, cpu_s)
    return result


def collected(items: Generator[T, None, R]) -> tuple[list[T], R]:
    """All items of a generator, and its return value."""
    found: list[T] = []
    with contextlib.closing(items):
        while True:
            try:
                found.append(next(items))
            except StopIteration as end:
                return found, end.value


def _charged(job: Job, what: object, cpu_s: float | None) -> Generator[Any, None, Any]:
    """Run a job with the seconds that its file has left, and charge them."""
    most_s = default_cpu_s() if cpu_s is None else cpu_s
    left_s = most_s if _spent is None else max(_LEAST_CPU_S, most_s - _spent.get(str(what), 0.0))
    ended = yield from bounded_child.run(job._replace(cpu_s=left_s))
    if _spent is not None:
        _spent[str(what)] = _spent.get(str(what), 0.0) + (left_s if ended.status else ended.used_s)
    _refuse(ended.status, what, most_s, job.memory_bytes)
    if not ended.is_result:
        raise ended.value
    return ended.value


def _refuse(status: int, what: object, cpu_s: float, memory_bytes: int) -> None:
    """Raise BudgetError if the child did not end by itself."""
    if status in (-signal.SIGPROF, -signal.SIGXCPU):
        raise BudgetError(what, f"takes more than {cpu_s:g} s of processor time to read", _MORE_TIME)
    # A library written in C that gets no memory may crash instead of saying so.
    if status in (NO_MEMORY, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT):
        raise BudgetError(what, f"needs more than {memory_bytes / 1e6:,.0f} MB of memory to read", _SHORTEN)
    if status:
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
        raise BudgetError(what, f"cannot be read: the process that read it ended with {how}", _SHORTEN)
