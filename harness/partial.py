"""Answers of a run that is under way, kept one by one so that an interrupted run goes on where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from edu_rag.errors import RecordError
from edu_rag.jsonl import parse_json, to_line
from edu_rag.progress import say
from edu_rag.results import Prediction
from edu_rag.typed import to_record


class Partial:
    """Answers kept as they come in `<file>.partial`: a first line that names the run, then one prediction a line."""

    def __init__(self, path: Path, run: Mapping[str, Any], *, fresh: bool) -> None:
        self.path = path
        self.done: dict[str, Prediction] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        good = b"" if fresh else self._read(dict(run))
        path.write_bytes(good or to_line(run))
        self._stream: IO[bytes] = path.open("ab")

    def _read(self, run: dict[str, Any]) -> bytes:
        """Load what an earlier run of the same system left; return its whole, valid lines. A torn tail is cut."""
        if not self.path.is_file():
            return b""
        good = b""
        for number, line in enumerate(self.path.read_bytes().splitlines(keepends=True)):
            try:
                values = parse_json(line)
                if number == 0 and values != run:
                    say(f"{self.path}: is of another system or dataset, starting anew")
                    return b""
                if number:
                    prediction = to_record(values, Prediction)
                    self.done[prediction.question_id] = prediction
            except (ValueError, RecordError):
                break
            good += line if line.endswith(b"\n") else line + b"\n"
        return good

    def add(self, prediction: Prediction) -> None:
        """Keep one more prediction."""
        self._stream.write(to_line(prediction))
        self._stream.flush()
        self.done[prediction.question_id] = prediction

    def close(self) -> None:
        """Close the file; it stays for the next run."""
        self._stream.close()
