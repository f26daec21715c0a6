"""Match the answers of another program's file to the dataset's questions: predictions, and all faults of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError, RecordError
from edu_rag.files.foreign_table import grouped
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.importing.find_question import QuestionFinder, listed_choices
from harness.importing.foreign_answer import CHOICES, AnswerOrFault, ForeignAnswer
from harness.importing.other_choices import in_our_labels
from harness.importing.prediction_values import prediction_from

MAX_UNKNOWN_SHOWN = 5
MAX_MISSING_SHOWN = 5


class ImportQuestions(NamedTuple):
    """The questions that are asked, in order of id.

    `elsewhere` has the split of each other id of the dataset, empty for one of this split that the sample leaves out;
    `lengths` the characters of each page's text, where the format needs them.
    """

    dataset: str
    asked: Mapping[str, Question]
    elsewhere: Mapping[str, str]
    lengths: Mapping[str, int]


class MatchedAnswers:
    """The predictions and faults of a file, as its answers are matched to questions one by one."""

    def __init__(self, questions: ImportQuestions, index_base: int | None, *, skip_unknown: bool) -> None:
        self._questions, self._index_base, self._skip_unknown = questions, index_base, skip_unknown
        self._finder = QuestionFinder(questions.asked, questions.elsewhere)
        self.found: dict[str, Prediction] = {}
        self._places: dict[str, str] = {}
        self.faults: list[DataError] = []
        self.n_unknown = 0
        self._unknown: list[ForeignAnswer] = []
        self.elsewhere: dict[str, int] = {}

    def add(self, answer: AnswerOrFault) -> None:
        """Match one answer."""
        if isinstance(answer, DataError):
            self.faults.append(answer)
            return
        try:
            question_id = self._finder.find(answer.values)
            if question_id is None:
                self._unmatched(answer)
            else:
                self._require_first(question_id, answer.where)
                self.found[question_id] = self._prediction(answer, self._questions.asked[question_id])
        except RecordError as error:
            self.faults.append(DataError(answer.where, f"{error.where}: {error.what}", error.remedy))

    def _require_first(self, question_id: str, where: str) -> None:
        """Raise RecordError if an earlier row is for this question, whether or not that row has other faults."""
        first = self._places.setdefault(question_id, where)
        if first != where:
            what = f"{question_id!r} is repeated, first at {first.rpartition('/')[2]}"
            raise RecordError("question_id", what, "keep one row for each question")

    def _prediction(self, answer: ForeignAnswer, question: Question) -> Prediction:
        values = answer.values
        listed, said = listed_choices(values.get(CHOICES)), values.get("answer")
        if listed and isinstance(said, str):
            values = values | {"answer": in_our_labels(said, listed, question)}
        return prediction_from(values, question, self._index_base)

    def _unmatched(self, answer: ForeignAnswer) -> None:
        split = self._finder.split_of(answer.values)
        if split is None:
            self.n_unknown += 1
            if self.n_unknown <= MAX_UNKNOWN_SHOWN:
                self._unknown.append(answer)
        else:
            self.elsewhere[split] = self.elsewhere.get(split, 0) + 1

    def all_faults(self, path: Path) -> list[DataError]:
        """The faults of the file, equal ones grouped."""
        unknown = [] if self._skip_unknown else list(self._unknown_faults(path))
        return [*unknown, *grouped(self.faults)]

    def _unknown_faults(self, path: Path) -> Iterator[DataError]:
        """One fault where no id is known; else the first unknown ids with the closest known ones, and a count."""
        asked, n = self._questions.asked, self.n_unknown
        if n and not self.found and not self.elsewhere:
            first, known = self._finder.named(self._unknown[0].values), next(iter(asked), "")
            what = f"none of its {n:,} rows is a question of {self._questions.dataset}: it has ids such as {first!r}"
            yield DataError(
                path, f"{what}, the dataset {known!r}", "check --dataset, --split and --map question_id=COLUMN"
            )
            return
        for answer in self._unknown:
            given = self._finder.named(answer.values)
            close = self._finder.suggestion(given)
            remedy = f"did you mean {close!r}?" if close else "correct it, or add --skip-unknown"
            yield DataError(answer.where, f"question_id: unknown question {given!r}", remedy)
        if n > MAX_UNKNOWN_SHOWN:
            remedy = "correct them, or add --skip-unknown to leave such rows out"
            yield DataError(path, f"{n - MAX_UNKNOWN_SHOWN:,} more unknown questions", remedy)

    def notes(self) -> Iterator[str]:
        """Notes on rows that are not written, and on questions without a row."""
        if self.n_unknown:
            yield f"{self.n_unknown:,} rows of unknown questions are left out"
        for split, n in sorted(self.elsewhere.items()):
            yield f"{n:,} rows are questions outside of this {'sample' if split == '' else f'split: {split}'}"
        missing = [question_id for question_id in self._questions.asked if question_id not in self.found]
        if missing:
            more = f" and {len(missing) - MAX_MISSING_SHOWN:,} more" if len(missing) > MAX_MISSING_SHOWN else ""
            first = ", ".join(missing[:MAX_MISSING_SHOWN])
            yield f"{len(missing):,} questions have no row and count as failed: {first}{more}"
