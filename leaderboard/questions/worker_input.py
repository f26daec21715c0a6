"""The data that every process needs to make pages of an exam: questions, lesson pages, systems and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from edu_rag.records import Question
from leaderboard.questions.lessons import LessonPage

Place = tuple[str, int, int]
"""A span of a page: page id, start, end."""
_BITS = 21
MAX_END = (1 << _BITS) - 1
"""Passages are quoted from this many first characters of a page; no page of a dataset is as long."""


class QuestionPlace(NamedTuple):
    """The place of a question: its number in the exam, its lesson page, and its row there."""

    number: int
    page: int
    row: int


@dataclass(frozen=True, kw_only=True)
class WorkerInput:
    """Plain values alone, so that another process can be sent them; systems are in the order of `index.json`.

    `names` are markup; `outcomes` and `counted` are as in `system_rows.Asked`; `page_ids` are those of
    the split's pages, sorted.
    """

    dataset_id: str
    folder: str
    base_url: str
    repository: str
    questions: Sequence[Question]
    pages: Sequence[LessonPage]
    names: Sequence[str]
    outcomes: Sequence[str]
    counted: Sequence[str]
    page_ids: Sequence[str]

    @cached_property
    def question_places(self) -> Mapping[str, QuestionPlace]:
        """By question id."""
        return {
            self.questions[number].question_id: QuestionPlace(number, at, row)
            for at, page in enumerate(self.pages)
            for row, number in enumerate(page.numbers)
        }

    @cached_property
    def _page_numbers(self) -> Mapping[str, int]:
        return {page_id: number for number, page_id in enumerate(self.page_ids)}

    def packed(self, places: Iterable[Place]) -> tuple[int, ...]:
        """Spans as whole numbers, each once, in the same order as they: systems cite millions. Questions without a page
        are left out.
        """
        numbers = self._page_numbers
        return tuple(
            dict.fromkeys(
                [
                    (numbers[page_id] << _BITS | start) << _BITS | end
                    for page_id, start, end in places
                    if page_id in numbers and 0 <= start < end <= MAX_END
                ]
            )
        )

    def place(self, packed: int) -> Place:
        """The span of a number."""
        return self.page_ids[packed >> 2 * _BITS], packed >> _BITS & MAX_END, packed & MAX_END
