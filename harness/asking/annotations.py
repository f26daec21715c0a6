"""What visitors say about answers: the labels of Mala et al. and HyPA-RAG's scale, one JSON line each."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from edu_rag.errors import DataError
from edu_rag.files.annotated import Annotation, ShownReply
from edu_rag.files.jsonl import naming, to_line
from harness.asking.asked import AskedQuestion, SystemReply

FILE_NAME = "annotations.jsonl"
MAX_KEPT = 2_000
"""Characters of a question, a choice and an answer that a line keeps: a visitor, or a system, may write any length."""
MAX_FILE_BYTES = 200_000_000


def shown_reply(asked: AskedQuestion, reply: SystemReply) -> ShownReply:
    """A reply as an annotation keeps it."""
    question, answer = asked.question, reply.prediction.answer
    return ShownReply(
        dataset=asked.dataset,
        question_id=question.question_id,
        question=question.text[:MAX_KEPT],
        choices={label: text[:MAX_KEPT] for label, text in question.choices.items()},
        page_input=asked.page_input.name,
        system=reply.system.slug,
        answer=None if answer is None else answer[:MAX_KEPT],
        status=reply.prediction.status,
        outcome=None if reply.verdict is None else reply.verdict.outcome,
    )


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class AnnotationFile:
    """A JSONL file that is only ever appended to; a line is on the disk before `add` returns."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_FILE_BYTES, now: Callable[[], datetime] = _utc_now) -> None:
        self.path = path
        self._now = now
        self._max_bytes = max_bytes
        self._turn = threading.Lock()

    def add(self, reply: ShownReply, label: str, correctness: int | None) -> None:
        """Append one annotation. Raises RecordError for an unknown label or number, DataError if the file is full, and
        OSError that names it if it cannot be written.
        """
        line = to_line(Annotation(at=self._now(), label=label, correctness=correctness, reply=reply))
        with self._turn, naming(self.path), self.path.open("a+b", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            if size + len(line) > self._max_bytes:
                what = f"holds {size:,} bytes, and no more than {self._max_bytes:,} are kept"
                raise DataError(self.path, what, "give --annotations another file")
            if size:
                stream.seek(size - 1)
                if stream.read(1) != b"\n":  # half a line that a full disk left: the next one begins a new line
                    line = b"\n" + line
            if stream.write(line) != len(line):
                raise OSError(None, "only a part was written", str(self.path))
            os.fsync(stream.fileno())
