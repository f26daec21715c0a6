"""The processes that read predictions and make lesson pages: each gets the shared data once, then one job at a time.

The shared data are questions, lesson pages, systems and their outcomes. A job and what is made of it are plain values,
and come back in the order in which they were given: no byte of a page depends on the number of processes. With one
process all of it happens here.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, TypeVar

from edu_rag.errors import ConfigError
from edu_rag.processes.bounded_child import die_with_parent
from edu_rag.processes.safe_path import spawning
from edu_rag.records import Question
from leaderboard.questions.lessons import LessonPage

Place = tuple[str, int, int]
"""A span of a page: page id, start, end."""
_BITS = 21
MAX_END = (1 << _BITS) - 1
"""Passages are quoted from this many first characters of a page; no page of a dataset is as long."""
AHEAD = 3
"""Jobs a process that are given before the first is done: enough that none waits, few enough for memory."""
FEW_ANSWERS = 150_000
"""Fewer are read and shown sooner than other processes start."""

Job = TypeVar("Job")
Made = TypeVar("Made")


class QuestionPlace(NamedTuple):
    """The place of a question: its number in the exam, its lesson page, and its row there."""

    number: int
    page: int
    row: int


@dataclass(frozen=True, kw_only=True)
class WorkerInput:
    """Plain values alone, so that another process can be sent them; systems are in the order of `index.json`.

    `names` are markup; `outcomes` and `counted` are as in `system_rows.Asked`; `page_ids` are those of
    the split's pages, sorted.
    """

    dataset_id: str
    folder: str
    base_url: str
    repository: str
    questions: Sequence[Question]
    pages: Sequence[LessonPage]
    names: Sequence[str]
    outcomes: Sequence[str]
    counted: Sequence[str]
    page_ids: Sequence[str]

    @cached_property
    def question_places(self) -> Mapping[str, QuestionPlace]:
        """By question id."""
        return {
            self.questions[number].question_id: QuestionPlace(number, at, row)
            for at, page in enumerate(self.pages)
            for row, number in enumerate(page.numbers)
        }

    @cached_property
    def _page_numbers(self) -> Mapping[str, int]:
        return {page_id: number for number, page_id in enumerate(self.page_ids)}

    def packed(self, places: Iterable[Place]) -> tuple[int, ...]:
        """Spans as whole numbers, each once, in the same order as they: systems cite millions. Questions without a page
        are left out.
        """
        numbers = self._page_numbers
        return tuple(
            dict.fromkeys(
                [
                    (numbers[page_id] << _BITS | start) << _BITS | end
                    for page_id, start, end in places
                    if page_id in numbers and 0 <= start < end <= MAX_END
                ]
            )
        )

    def place(self, packed: int) -> Place:
        """The span of a number."""
        return self.page_ids[packed >> 2 * _BITS], packed >> _BITS & MAX_END, packed & MAX_END


_inputs_here: list[WorkerInput] = []


def _leave_with_parent() -> None:
    """A build that is killed leaves no process behind that waits for its next job for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform != "linux":
        threading.Thread(target=_leave_after, args=(parent,), daemon=True).start()
    elif not die_with_parent(parent.pid or 0):  # no thread: with one, the child that reads a file could not be a fork
        os._exit(1)


def _leave_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _begin(inputs: WorkerInput) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _leave_with_parent()
    _inputs_here[:] = [inputs]
    gc.freeze()  # it stays, and need not be walked again and again


def _do(task: Callable[[WorkerInput, Any], Any], job: Any) -> Any:
    return task(_inputs_here[0], job)


class WorkerPool:
    """`workers` processes, which start with the first job; `dismiss` ends them."""

    def __init__(self, inputs: WorkerInput, workers: int) -> None:
        self._worker_input = inputs
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not fork: libraries that draw and read tables have threads by now.
            self._pool = ProcessPoolExecutor(self._workers, spawning(), _begin, (self._worker_input,))
        return self._pool

    def each(self, task: Callable[[WorkerInput, Job], Made], jobs: Iterable[Job]) -> Generator[Made, None, None]:
        """The result of a task (a function of a module) for each job, in order; raises what the task raises."""
        gc.freeze()  # what exists already would be walked again and again: a third of the time with many questions
        try:
            yield from self._shared_out(task, jobs) if self._workers > 1 else self._alone(task, jobs)
        except BrokenProcessPool:
            self.dismiss()
            what = "a process that makes pages was killed, perhaps for want of memory"
            raise ConfigError("--workers", what, "give --workers 1") from None
        except Exception:
            self.dismiss()  # the build is over
            raise
        finally:
            gc.unfreeze()

    def _alone(self, task: Callable[[WorkerInput, Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        return (task(self._worker_input, job) for job in jobs)

    def _shared_out(self, task: Callable[[WorkerInput, Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        waiting: deque[Future[Made]] = deque()
        pool = self._started()
        for job in jobs:
            waiting.append(pool.submit(_do, task, job))
            if len(waiting) > AHEAD * self._workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def dismiss(self) -> None:
        """End the processes; a later job starts them again."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def workers_for(n_answers: int, workers: int) -> int:
    """How many processes so many answers are worth, at most `workers`."""
    return workers if n_answers >= FEW_ANSWERS else 1
