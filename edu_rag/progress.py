"""Progress a person can watch: a bar on a terminal, otherwise one counter line a stage; always on stderr."""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType
from typing import Any, TextIO


def say(text: str) -> None:
    """One line of talk, on stderr, so that stdout holds results only."""
    print(text, file=sys.stderr, flush=True)


class Stage:
    """Counts what happens to the items of a stage, by outcome.

    `bad` is the word for what is neither kept nor done. Example: `with Stage("fetch", total=96) as stage:
    stage.add("kept")` ends with the line `fetch: 96 of 96: kept 84, dropped 12: robots 5, short 7`.
    """

    def __init__(self, name: str, total: int, stream: TextIO | None = None, bad: str = "dropped") -> None:
        self.name = name
        self.total = total
        self.bad = bad
        self.counts: Counter[str] = Counter()
        self._stream = stream if stream is not None else sys.stderr
        self._bar: Any = None

    def __enter__(self) -> Stage:
        if self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=self.total, desc=self.name, file=self._stream, leave=False, dynamic_ncols=True)
        return self

    def add(self, outcome: str, n: int = 1) -> None:
        """Count n items with this outcome; `kept` or `done` are the good ones."""
        self.counts[outcome] += n
        if self._bar is not None:
            self._bar.update(n)
            self._bar.set_postfix_str(self._split())

    def _split(self) -> str:
        good = [f"{name} {self.counts[name]:,}" for name in ("kept", "done") if self.counts[name]]
        rest = sorted(((n, name) for name, n in self.counts.items() if name not in ("kept", "done")), reverse=True)
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
        print(self.line(), file=self._stream, flush=True)
