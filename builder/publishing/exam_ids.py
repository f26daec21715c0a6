"""Which questions a scorecard's letters are about: ids are believed only where a fingerprint proves them.

`outcomes` has one letter a question in the order of ids, and a results folder holds no list of those. A list of ids is
the exam's if its SHA-256 is the scorecard's `exam.ids`; it may come from a dataset, or from any predictions file that
answers every question. Scorecards older than that fingerprint need the dataset with their very content hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from builder.publishing.entries import ResultEntry
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import numbered_lines
from edu_rag.names import Sample
from edu_rag.records import Question
from edu_rag.sample import choose

Ids = tuple[str, ...]


class _Line(msgspec.Struct):
    question_id: str


_DECODER = msgspec.json.Decoder(_Line)


def ids_sha256(ids: Sequence[str]) -> str:
    """The fingerprint of an exam's question ids, in order: `exam.ids` of the scorecards made on it."""
    return hashlib.sha256(msgspec.json.encode(list(ids), order="sorted")).hexdigest()


def ids_in(path: Path) -> Ids:
    """The question ids of a predictions file, sorted. Raises DataError."""
    try:
        return tuple(sorted(_DECODER.decode(line).question_id for _, line in numbered_lines(path)))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read as predictions: {error}", "run `edu-rag score` again") from None


class ExamIds:
    """Lists of question ids by exam, from datasets and from the predictions of the entries themselves."""

    def __init__(self, datasets: Sequence[Path] = ()) -> None:
        self._datasets = {opened.id: opened for opened in map(Dataset, datasets)}
        self._questions: dict[tuple[str, str], list[Question]] = {}
        self._by_fingerprint: dict[str, Ids | None] = {}

    def learn(self, entries: Iterable[ResultEntry]) -> None:
        """Find the ids of every exam of these entries, as far as they can be proven."""
        by_exam: dict[str, list[ResultEntry]] = {}
        for entry in entries:
            by_exam.setdefault(entry.ids_sha256, []).append(entry)
        by_exam.pop("", None)
        for fingerprint, group in by_exam.items():
            self._by_fingerprint[fingerprint] = self._proven(fingerprint, group)

    def ids_of(self, entry: ResultEntry) -> Ids | None:
        """The ids behind a scorecard's letters, in their order; None if nothing proves them."""
        ids = self._by_fingerprint.get(entry.ids_sha256) if entry.ids_sha256 else self._from_dataset(entry)
        return ids if ids is not None and len(ids) == entry.n else None

    def _proven(self, fingerprint: str, group: Sequence[ResultEntry]) -> Ids | None:
        for entry in {(entry.dataset, entry.split, entry.sample): entry for entry in group}.values():
            ids = self._from_dataset(entry)
            if ids is not None and ids_sha256(ids) == fingerprint:
                return ids
        seen: set[str] = set()
        for entry in group:
            if entry.predictions is None or entry.predictions_sha256 in seen:
                continue
            seen.add(entry.predictions_sha256)
            ids = ids_in(entry.predictions)
            if len(ids) == entry.n and ids_sha256(ids) == fingerprint:
                return ids
        return None

    def _from_dataset(self, entry: ResultEntry) -> Ids | None:
        opened = self._datasets.get(entry.dataset)
        if opened is None or entry.split not in opened.splits():
            return None
        key = entry.dataset, entry.split
        if key not in self._questions:
            self._questions[key] = opened.questions(entry.split)
        questions = self._questions[key]
        try:
            asked = choose(questions, Sample.parse(entry.sample)) if entry.sample else questions
        except ConfigError:  # a sample larger than the split
            return None
        return tuple(question.question_id for question in asked)
