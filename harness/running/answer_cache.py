"""Answers kept over runs: a system that did not change is not asked the same question with the same pages again."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from edu_rag.errors import RecordError
from edu_rag.files.jsonl import parse_json, to_line
from edu_rag.files.typed import to_plain, to_record
from edu_rag.progress import say
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction
from harness.running.task import question_line
from harness.submission.folder import Limits

CACHE_VARIABLE = "EDU_RAG_CACHE"
FILE_NAME = "answers-v1.sqlite"
CAP_BYTES = 500_000_000
"""Of answers; beyond it those that were not used for longest go."""
_WAIT_S = 20.0
_SCHEMA = """
create table if not exists answers (key text primary key, line blob not null, used integer not null);
create index if not exists answers_used on answers (used);
"""


def cache_path(environment: Mapping[str, str] = os.environ) -> Path | None:
    """`answers-v1.sqlite` in $EDU_RAG_CACHE or `~/.cache/edu-rag`; None if there is no home."""
    given = environment.get(CACHE_VARIABLE)
    if given:
        return Path(given) / FILE_NAME
    try:
        return Path.home() / ".cache" / "edu-rag" / FILE_NAME
    except RuntimeError:
        return None


def key_of(system: Sequence[str], limits: Limits, question: Question, pages: Sequence[WebPage]) -> str:
    """The key of a cached answer: the system, the limits, and the exact line that it gets, without its id."""
    digest = hashlib.sha256(to_line([*system, to_plain(limits)]))
    digest.update(question_line(question, pages, ""))
    return digest.hexdigest()


def _signed(key: str, line: bytes) -> bytes:
    return hashlib.sha256(key.encode() + line).digest()[:16] + line


class AnswerCache:
    """A file of answers. A fault of the cache only costs repeated questions, never a run.

    Only answers of status `ok` are kept; a fault may have been the machine's.
    """

    def __init__(self, path: Path, *, cap_bytes: int = CAP_BYTES) -> None:
        self.path = path
        self._cap_bytes = cap_bytes

    def get(self, keys: Mapping[str, str]) -> dict[str, Prediction]:
        """The kept predictions among `keys` (question id -> key), by question id."""
        if not self.path.is_file():
            return {}
        rows: dict[str, bytes] = {}

        def read(connection: sqlite3.Connection) -> None:
            for key in keys.values():
                for (line,) in connection.execute("select line from answers where key = ?", (key,)):
                    rows[key] = line

        self._try(read)
        found = {question_id: _prediction(question_id, key, rows.get(key)) for question_id, key in keys.items()}
        return {question_id: prediction for question_id, prediction in found.items() if prediction is not None}

    def put(self, keys: Mapping[str, str], used: Iterable[str], new: Iterable[Prediction]) -> None:
        """Keep new predictions, mark those of `used` (question ids) as used, and drop the oldest beyond the cap."""
        lines = {keys[p.question_id]: to_line(p) for p in new if p.status == "ok"}
        marked = [keys[question_id] for question_id in used]
        if lines or marked:
            self._try(lambda connection: self._write(connection, lines, marked))

    def _write(self, connection: sqlite3.Connection, lines: Mapping[str, bytes], marked: Sequence[str]) -> None:
        (last,) = connection.execute("select coalesce(max(used), 0) from answers").fetchone()
        rows = [(key, _signed(key, line), last + 1) for key, line in lines.items()]
        connection.executemany("insert or replace into answers values (?, ?, ?)", rows)
        connection.executemany("update answers set used = ? where key = ?", [(last + 1, key) for key in marked])
        (size,) = connection.execute("select coalesce(sum(length(line)), 0) from answers").fetchone()
        if size > self._cap_bytes:
            self._shrink(connection, size)

    def _shrink(self, connection: sqlite3.Connection, size: int) -> None:
        oldest = connection.execute("select key, length(line) from answers order by used, key").fetchall()
        for key, n_bytes in oldest:
            if size <= self._cap_bytes * 0.9:
                break
            connection.execute("delete from answers where key = ?", (key,))
            size -= n_bytes

    def _try(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do something with the database, in one transaction; on an error, print it and go on."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection, connection:
                connection.executescript(_SCHEMA)
                work(connection)
        except (sqlite3.OperationalError, OSError) as error:  # locked, no room, no permission
            say(f"{self.path}: the cache of answers is not used: {error}")
        except sqlite3.DatabaseError as error:  # no such file any more
            say(f"{self.path}: the cache of answers is damaged and is started again: {error}")
            for part in (self.path, Path(f"{self.path}-journal")):  # a journal left behind would be played into the new
                part.unlink(missing_ok=True)


def _prediction(question_id: str, key: str, kept: bytes | None) -> Prediction | None:
    """A kept line as the prediction of a question; None if the line does not belong to this key."""
    if not isinstance(kept, bytes) or kept != _signed(key, kept[16:]):
        return None
    try:
        return to_record({**parse_json(kept[16:]), "question_id": question_id}, Prediction)
    except (ValueError, TypeError, RecordError):
        return None
