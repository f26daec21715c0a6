"""A system that is kept running between single questions, asked as in a run: for `edu-rag ask` and `edu-rag try`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction
from harness.running.child_system import Runner
from harness.running.run import Manner, open_launcher, require_set, runner_of
from harness.running.system_log import SystemLog
from harness.submission.folder import Submission


class TimedReply(NamedTuple):
    """A prediction and the seconds that the question took; `is_first`: they include the start of the process."""

    prediction: Prediction
    time_s: float
    is_first: bool


class WarmSystem:
    """A system whose process waits for the next question. Safe for several threads: they wait for each other."""

    def __init__(self, submission: Submission, runner: Runner, manner: Manner, thread: ThreadPoolExecutor) -> None:
        self.submission = submission
        self._runner = runner
        self._monotonic = manner.monotonic
        # One thread starts all its processes: bubblewrap ends together with the thread that started it.
        self._thread = thread

    def warm_up(self) -> None:
        """Start the process without waiting for it."""
        self._thread.submit(self._runner.warm_up)

    def ask(self, question: Question, pages: Sequence[WebPage]) -> TimedReply:
        """Ask one question; a fault of the system becomes the prediction's status."""
        return self._thread.submit(self._ask, question, pages).result()

    def _ask(self, question: Question, pages: Sequence[WebPage]) -> TimedReply:
        started = self._monotonic()
        prediction = self._runner.predict(question, pages)
        return TimedReply(prediction, self._monotonic() - started, prediction.latency_s is None)


@contextmanager
def open_warm(submission: Submission, manner: Manner, logs: Path) -> Iterator[WarmSystem]:
    """A system ready to be asked; its stderr goes to `logs`. Its processes end with the block.

    Raises SandboxError, or ConfigError where a variable to pass is not set.
    """
    require_set(manner)
    limits = manner.limits or submission.settings.limits
    with ExitStack() as stack:
        log = SystemLog(logs / f"{submission.slug}.log", keep=False, keys=manner.keys)
        stack.callback(log.close)
        launcher = stack.enter_context(open_launcher(submission, manner))
        thread = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=submission.slug))
        runner = runner_of(submission, limits, manner, log, launcher)
        stack.callback(runner.close)  # a question that is being answered fails, and its thread ends
        stack.callback(thread.shutdown, wait=False, cancel_futures=True)  # waiting ones are not asked
        yield WarmSystem(submission, runner, manner, thread)
