"""Answers of a run that is under way, kept one by one so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from edu_rag.errors import RecordError, SubmissionError
from edu_rag.files.jsonl import naming, parse_json, to_line
from edu_rag.files.typed import to_record
from edu_rag.progress import say
from edu_rag.scorecard.card import Prediction

SYNC_S = 5.0
"""Answers are on disk at most so many seconds after they came: a power cut costs no more, a kill costs none."""


class Partial:
    """Answers kept as they come in `<file>.partial`: a first line that names the run, then one prediction a line.

    The file is only ever appended to and cut at its end, so that no kill can lose an answer that was kept; it is
    locked while a run writes it. Raises SubmissionError if another run does. If `run["limits"]` have changed,
    answers stay and faults are asked again: they may only have needed more time.
    """

    def __init__(
        self, path: Path, run: Mapping[str, Any], *, fresh: bool, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self.done: dict[str, Prediction] = {}
        self._monotonic = monotonic
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = _locked(path)
        n_good = 0 if fresh else self._read(dict(run))
        self._synced = -SYNC_S
        with naming(path):
            self._stream.truncate(n_good)
            if not n_good:
                self._stream.write(to_line(run))
            self._keep()

    def _read(self, run: dict[str, Any]) -> int:
        """Load what an earlier run of the same system left; return the bytes of its whole, valid lines."""
        n_good, are_same_limits = 0, True
        for number, line in enumerate(self._stream.read().splitlines(keepends=True)):
            try:
                values = parse_json(line)
                if number == 0:
                    if not isinstance(values, dict) or {**values, "limits": None} != {**run, "limits": None}:
                        say(f"{self.path}: belongs to another system or dataset: starting again")
                        return 0
                    are_same_limits = values.get("limits") == run.get("limits")
                if not line.endswith(b"\n"):  # torn, even if the rest happens to be JSON
                    break
                if number:
                    prediction = to_record(values, Prediction)
                    if are_same_limits or prediction.status == "ok":
                        self.done[prediction.question_id] = prediction
            except (ValueError, RecordError):
                break
            n_good += len(line)
        return n_good

    def _keep(self) -> None:
        """Hand everything to the system, and every few seconds to the disk."""
        self._stream.flush()
        if self._monotonic() - self._synced >= SYNC_S:
            os.fsync(self._stream.fileno())
            self._synced = self._monotonic()

    def add(self, prediction: Prediction) -> None:
        """Keep one more prediction."""
        with naming(self.path):
            self._stream.write(to_line(prediction))
            self._keep()
        self.done[prediction.question_id] = prediction

    def remove(self) -> None:
        """Delete the file: the predictions are in another file."""
        self.path.unlink()

    def close(self) -> None:
        """Close the file and free it; unless removed it stays for the next run."""
        with naming(self.path):  # it writes what a full disk did not take before
            self._stream.close()


def _locked(path: Path) -> IO[bytes]:
    """The file, open for appending, for this process alone."""
    while True:
        stream = path.open("a+b")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise SubmissionError(path, "another run is writing it", "let it end, or stop it first") from None
        # The run before may have removed the file between our opening and our locking it.
        if path.exists() and path.stat().st_ino == os.fstat(stream.fileno()).st_ino:
            stream.seek(0)
            return stream
        stream.close()
