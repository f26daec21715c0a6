"""One exam of an edition: everything that its pages are made from; expensive parts are made on first use."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edu_rag.records import Question
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam, folder_of
from leaderboard.questions.lesson_markup import Lesson, LessonJob, Sources, make_lesson, name_markup
from leaderboard.questions.lessons import LessonPage, lesson_pages
from leaderboard.questions.quotes import (
    PageFacts,
    Quote,
    QuoteJob,
    known_quotes,
    most_cited,
    page_facts,
    page_ids,
    quotes_of,
)
from leaderboard.questions.system_answers import SubmittedAnswers, read_sheets_within
from leaderboard.questions.system_rows import Asked, asked_of, tally
from leaderboard.questions.worker_pool import WorkerInput, WorkerPool, workers_for

if TYPE_CHECKING:
    from leaderboard.board.present import Table


class DiskHeap:
    """Append pieces under a number; read them back in the order in which they came."""

    def __init__(self) -> None:
        # Gone with this object, or with the process.
        self._file = tempfile.TemporaryFile(prefix="edu-rag-board-")  # noqa: SIM115
        self._end = 0
        self._starts: dict[int, array[int]] = defaultdict(lambda: array("Q"))
        self._lengths: dict[int, array[int]] = defaultdict(lambda: array("Q"))

    def add(self, number: int, piece: bytes) -> None:
        """Append one piece."""
        self._file.write(piece)
        self._starts[number].append(self._end)
        self._lengths[number].append(len(piece))
        self._end += len(piece)

    def read(self, number: int) -> list[bytes]:
        """The pieces of a number."""
        self._file.flush()
        places = zip(self._starts.get(number, ()), self._lengths.get(number, ()), strict=True)
        return [os.pread(self._file.fileno(), length, start) for start, length in places]


class QuestionSite:
    """The questions, lesson pages and systems of one exam."""

    def __init__(self, edition: Edition, exam: SiteExam) -> None:
        self.exam = exam
        self.folder = folder_of(exam)
        self.questions: Sequence[Question] = exam.questions
        self.pages: Sequence[LessonPage] = list(lesson_pages(exam.questions))
        self.asked: Sequence[Asked] = list(asked_of(edition, exam))
        ids = {one.table for one in self.asked}
        self.tables: Sequence[Table] = [table for table in edition.board.tables if table.key.id in ids]
        self._edition = edition
        self._coming: Generator[Lesson, None, None] | None = None
        self._next = 0

    @cached_property
    def tallied(self) -> NDArray[np.int32]:
        """Outcomes by question: see leaderboard.questions.system_rows.tally."""
        return tally(self.asked, len(self.questions))

    @cached_property
    def _worker_input(self) -> WorkerInput:
        return WorkerInput(
            dataset_id=self.exam.dataset.id,
            folder=self.folder,
            base_url=self._edition.base_url,
            repository=self._edition.repository,
            questions=self.questions,
            pages=self.pages,
            names=[str(name_markup(one.row.name)) for one in self.asked],
            outcomes=[one.outcomes for one in self.asked],
            counted=[one.counted for one in self.asked],
            page_ids=page_ids(self.exam.dataset, self.exam.split),
        )

    @cached_property
    def _pool(self) -> WorkerPool:
        n_answers = len(self.asked) * len(self.questions)
        return WorkerPool(self._worker_input, workers_for(n_answers, self._edition.workers))

    @cached_property
    def _sheets(self) -> DiskHeap:
        """The answers of all systems by lesson page; reads every file of predictions once."""
        systems: dict[tuple[Path, bool], list[int]] = defaultdict(list)
        for system, one in enumerate(self.asked):
            if one.predictions is not None:
                systems[one.predictions, one.is_on_pages_of(self.exam)].append(system)
        heap = DiskHeap()
        files = [SubmittedAnswers(path, some, on_these_pages) for (path, on_these_pages), some in systems.items()]
        for sheets in self._pool.each(read_sheets_within, files):
            for at, sheet in enumerate(sheets):
                heap.add(at, sheet)
        return heap

    @cached_property
    def _quotes(self) -> Mapping[int, Sequence[Quote]]:
        """The quotes, by question number."""
        quote_jobs = (QuoteJob(at, self._sheets.read(at)) for at in range(len(self.pages)))
        quotes: dict[int, Sequence[Quote]] = {}
        for page, cited in zip(self.pages, self._pool.each(most_cited, quote_jobs), strict=True):
            for number, places in zip(page.numbers, cited, strict=True):
                quotes[number] = quotes_of(self.exam.evidence.get(self.questions[number].question_id, ()), places)
        return quotes

    @cached_property
    def _facts(self) -> Mapping[str, PageFacts]:
        """By page id; reads every page of the split."""
        return page_facts(self.exam.dataset, self.exam.split, list(self._quotes.values()))

    def _sources(self, number: int) -> Sources:
        hits = self.exam.hits.get(self.questions[number].question_id, ())
        found = [(hit.rank, hit.page_id, hit.outcome) for hit in hits]
        return Sources(found, known_quotes(self._quotes[number], self._facts))

    def _lesson_job(self, at: int) -> LessonJob:
        sources = [self._sources(number) for number in self.pages[at].numbers]
        ids = {page_id for one in sources for _, page_id, _ in one.hits if page_id is not None}
        ids |= {quote.place[0] for one in sources for quote in one.quotes}
        known = {page_id: self._facts[page_id]._replace(texts={}) for page_id in ids & self._facts.keys()}
        return LessonJob(at, self._sheets.read(at), sources, known)

    def _read_all(self) -> None:
        """The data that lesson pages need, before the first of them is made: see WorkerPool.each."""
        _ = self._facts, self.exam.hits

    def lesson(self, at: int) -> Lesson:
        """A lesson page. The next pages are begun too, because callers ask for them in order."""
        if self._coming is None or not 0 <= at - self._next <= 2:
            self._stop()
            self._read_all()
            self._coming, self._next = (
                self._pool.each(make_lesson, map(self._lesson_job, range(at, len(self.pages)))),
                at,
            )
        for _ in range(at - self._next):
            next(self._coming)  # one that is written already, between two that are not
        self._next = at + 1
        return next(self._coming)

    def _stop(self) -> None:
        if self._coming is not None:
            self._coming.close()
            self._coming = None

    def leave(self) -> None:
        """Release other processes, and pages that were never requested."""
        self._stop()
        if "_pool" in self.__dict__:
            self._pool.dismiss()
