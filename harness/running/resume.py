"""Answers of a run that is under way, kept one by one so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import fcntl
import hashlib
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
    answers stay and faults are asked again: they may only have needed more time. Answers of another run, such as one
    with other settings, move to a file of their own (`set_aside_path`), and come back when that run is started again.
    """

    def __init__(
        self, path: Path, run: Mapping[str, Any], *, fresh: bool, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self.done: dict[str, Prediction] = {}
        self._monotonic = monotonic
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream, self._aside = _locked(path), set_aside_path(path, run)
        self.was_aside = self._make_room(run)
        n_good = 0 if fresh else self._read(run)
        self._synced = -SYNC_S
        with naming(path):
            self._stream.truncate(n_good)
            if not n_good:
                self._stream.write(to_line(run))
            self._keep()

    def _make_room(self, run: Mapping[str, Any]) -> bool:
        """Set the answers of another run aside, and take back those of this one; whether there were some."""
        found = _kept_run(self._stream)
        if found is not None and not _is_same(found, run):
            aside = set_aside_path(self.path, found)
            self._move(self.path, aside)
            say(f"{self.path}: held answers of another system, dataset or settings; they wait in {aside.name}")
            found = None
        if found is not None or not self._aside.is_file() or self._aside.is_symlink():
            return False
        self._move(self._aside, self.path)
        return True

    def _move(self, path: Path, to: Path) -> None:
        with naming(to):
            path.replace(to)
        self._stream.close()
        self._stream = _locked(self.path)

    def _read(self, run: Mapping[str, Any]) -> int:
        """Load what an earlier run of the same system left; return the bytes of its whole, valid lines."""
        n_good, are_same_limits = 0, True
        self._stream.seek(0)
        for number, line in enumerate(self._stream.read().splitlines(keepends=True)):
            try:
                values = parse_json(line)
                if number == 0:
                    if not isinstance(values, dict) or not _is_same(values, run):
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
        """Delete the file, and older answers of the run: the predictions are in another file."""
        self.path.unlink()
        self._aside.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and free it; unless removed it stays for the next run."""
        with naming(self.path):  # it writes what a full disk did not take before
            self._stream.close()


def set_aside_path(path: Path, run: Mapping[str, Any]) -> Path:
    """Where the answers of a run wait while another run writes to `path`."""
    digest = hashlib.sha256(to_line(_without_limits(run))).hexdigest()[:8]
    return path.with_name(f"{path.name.removesuffix('.partial')}.{digest}.partial")


def _without_limits(run: Mapping[str, Any]) -> dict[str, Any]:
    return {**run, "limits": None}


def _is_same(run: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _without_limits(run) == _without_limits(other)


def _kept_run(stream: IO[bytes]) -> Mapping[str, Any] | None:
    """The run whose answers a file holds; None if it holds none, or does not say whose they are."""
    stream.seek(0)
    first, has_answers = stream.readline(), bool(stream.readline())
    try:
        found = parse_json(first)
    except (ValueError, RecordError):
        return None
    return found if has_answers and isinstance(found, dict) else None


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
