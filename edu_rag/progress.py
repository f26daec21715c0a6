"""Progress on stderr for people, and a build's log: one JSON line for each stage that began, ended or went wrong."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import msgspec

from edu_rag.errors import DataError, EduRagError

GOOD = ("kept", "done")
REPORT_EVERY_S = 60.0
"""How often a stage prints a line where there is no terminal to show a bar."""
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}]{postfix}"


def in_words(seconds: float) -> str:
    """A time that is left, as people say it: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def say(text: str) -> None:
    """One line of talk, on stderr, so that stdout holds results only.

    Names of files and datasets may be hostile: what is not printable is replaced, a line break within the text too. A
    stderr that is closed or full loses the line, not the command.
    """
    if sys.stderr is None:
        return
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class BuildLog:
    """`build.log.jsonl`: lines with `at` (UTC), `stage` and `event`; appended, each with one write. Times of a build
    are written here and never in its dataset.

    Lines written before `open` are kept in memory: the log's folder does not exist before the build begins.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._waiting: list[bytes] = []
        self._path: Path | None = None
        self._turn = threading.Lock()

    def open(self, path: Path) -> None:
        """Append to this file from now on; half a line that a kill left at its end is cut."""
        with self._turn:
            self._path = path
            with _naming(path):
                if path.exists():
                    _cut_half_line(path)
                self._append(b"".join(self._waiting))
            self._waiting.clear()

    def write(self, event: str, **fields: Any) -> None:
        """Append one line. Raises DataError if the file cannot be written."""
        line = msgspec.json.encode({"at": self._now().isoformat(), "event": event, **fields}) + b"\n"
        with self._turn:
            if self._path is None:
                self._waiting.append(line)
                return
            with _naming(self._path):
                self._append(line)

    def _append(self, data: bytes) -> None:
        if self._path is None:
            raise ValueError("the log is not open")
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            if os.write(handle, data) < len(data):
                raise OSError(None, "only a part was written")
        finally:
            os.close(handle)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "free some disk space and run the same command again to resume"
        raise DataError(path, f"cannot be written: {error.strerror or error}", remedy) from None


def _cut_half_line(path: Path) -> None:
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1_000_000))
        tail = stream.read()
        if tail and not tail.endswith(b"\n"):
            stream.truncate(size - len(tail) + tail.rfind(b"\n") + 1)


_logs: list[BuildLog] = []


@contextmanager
def logging_to(log: BuildLog) -> Iterator[BuildLog]:
    """While entered, stages and notes of this process, from any thread, are written to this log."""
    _logs.append(log)
    try:
        yield log
    finally:
        _logs.remove(log)


def note(event: str, **fields: Any) -> None:
    """Write a notable event (a refusal, a host given up) to the log of the build that runs, if one does."""
    if _logs:
        _logs[-1].write(event, **fields)


class Stage:
    """Counts what happens to the items of a stage, by outcome.

    `bad` is the word for what is neither kept nor done. Example: `with Stage("fetch", total=96) as stage:
    stage.add("kept")` ends with the line `fetch: 96 of 96: kept 84, dropped 12: robots 5, short 7`. On a terminal a bar
    shows the time that is left; elsewhere a line every minute does. `is_logged_only`: it has no counter line.
    """

    def __init__(
        self,
        name: str,
        total: int,
        stream: TextIO | None = None,
        bad: str = "dropped",
        *,
        is_logged_only: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.total = total
        self.bad = bad
        self._is_logged_only = is_logged_only
        self.counts: Counter[str] = Counter()
        self._stream = stream if stream is not None else sys.stderr
        self._monotonic = monotonic
        self._started = 0.0
        self._reported = (0.0, 0)
        self._bar: Any = None

    def __enter__(self) -> Stage:
        self._started = self._monotonic()
        self._reported = (self._started, 0)
        if self._stream.isatty() and not self._is_logged_only:
            from tqdm import tqdm

            # The monitor is a thread that never ends, and with a second thread `bounded_child` cannot fork.
            tqdm.monitor_interval = 0
            self._bar = tqdm(
                total=self.total,
                desc=self.name,
                file=self._stream,
                leave=False,
                dynamic_ncols=True,
                mininterval=0.2,
                bar_format=_BAR if self.total else None,
            )
        note("start", stage=self.name, total=self.total)
        return self

    def add(self, outcome: str, n: int = 1) -> None:
        """Count n items with this outcome; `kept` or `done` are the good ones."""
        self.counts[outcome] += n
        if self._bar is not None:
            self._bar.set_postfix_str(self._split(), refresh=False)
            self._bar.update(n)
        else:
            self._report()

    def _report(self) -> None:
        """A line after each minute: how far, and how long the rest takes at the rate of the last minute."""
        before, n_before = self._reported
        now, n = self._monotonic(), self.counts.total()
        if now - before < REPORT_EVERY_S or n >= self.total:
            return
        self._reported = (now, n)
        left_s = (self.total - n) * (now - before) / max(n - n_before, 1)
        print(f"{self.name}: {n:,} of {self.total:,}, about {in_words(left_s)} left", file=self._stream, flush=True)

    def _split(self) -> str:
        good = [f"{name} {self.counts[name]:,}" for name in GOOD if self.counts[name]]
        rest = sorted(((n, name) for name, n in self.counts.items() if name not in GOOD), reverse=True)
        if rest:
            reasons = ", ".join(f"{name} {n:,}" for n, name in rest)
            good.append(f"{self.bad} {sum(n for n, _ in rest):,}: {reasons}")
        return ", ".join(good)

    def line(self) -> str:
        """The counter line of the stage."""
        done = self.counts.total()
        split = self._split()
        return f"{self.name}: {done:,} of {self.total:,}" + (f": {split}" if split else "")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        is_started = self.counts or not isinstance(error, EduRagError)
        if is_started and not self._is_logged_only:  # if nothing was started, the error is enough
            print(self.line(), file=self._stream, flush=True)
        if kind is None:
            self._log_end()
            return
        with suppress(DataError):  # the first error is the one to report
            self._log_end(error=str(error) or kind.__name__)

    def _log_end(self, **more: str) -> None:
        seconds = self._monotonic() - self._started
        note(
            "end",
            stage=self.name,
            total=self.total,
            counts=dict(sorted(self.counts.items())),
            seconds=round(seconds, 3),
            rate=round(self.counts.total() / max(seconds, 1e-9), 2),
            **more,
        )
