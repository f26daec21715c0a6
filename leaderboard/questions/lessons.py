"""Lesson pages: which questions share a page, under names that stay good while other lessons come and go."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edu_rag.look.texts import clip
from edu_rag.records import Question

MOST = 50
"""Questions of a lesson on one page."""
MOST_ALONE = 25
"""Questions without a lesson on one page."""
MAX_SLUG = 60
NO_LESSON = "Without a lesson"
_TAKEN = ("index",)
"""File names next to the lesson pages."""
_OURS = ("main",)
"""Element ids that the layout of a page has already."""
_PLAIN_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}\Z")


class LessonPage(NamedTuple):
    """One page of a lesson: `slug` is its file's name, `numbers` its questions in exam order."""

    slug: str
    lesson: str | None
    part: int
    n_parts: int
    numbers: tuple[int, ...]

    def title(self, questions: Sequence[Question]) -> str:
        """The lesson's name with its part where it has several; without a lesson, the first and last question."""
        if self.lesson is None:
            return f"{questions[self.numbers[0]].question_id} – {questions[self.numbers[-1]].question_id}"
        name = clip(self.lesson, 120) or NO_LESSON
        return name if self.n_parts == 1 else f"{name} ({self.part} of {self.n_parts})"


def anchor_of(question_id: str) -> str:
    """The fragment of a question on its lesson page: its id, or a hash of one that no element could have."""
    if _PLAIN_ID.match(question_id) and question_id not in _OURS:
        return question_id
    return "q-" + hashlib.sha256(question_id.encode()).hexdigest()[:16]


def _plain(lesson: str | None) -> str:
    """A lesson's name as a file name; what is not Latin falls out."""
    text = unicodedata.normalize("NFKD", NO_LESSON if lesson is None else lesson).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_SLUG].strip("-")


def _slugs(lessons: Sequence[str | None]) -> dict[str | None, str]:
    """By lesson; names that come out the same get a hash of the whole name, not a number that would move."""
    times = Counter(map(_plain, lessons))
    slugs: dict[str | None, str] = {}
    for lesson in lessons:
        plain = _plain(lesson)
        if not plain or plain in _TAKEN or (times[plain] > 1 and lesson is not None):
            digest = hashlib.sha256((lesson or "").encode()).hexdigest()[:8]
            plain = f"{plain or 'lesson'}-{digest}"
        slugs[lesson] = plain
    return slugs


def _order(lesson: str | None) -> tuple[bool, str, str]:
    return lesson is None, (lesson or "").casefold(), lesson or ""


def lesson_pages(questions: Sequence[Question]) -> Iterator[LessonPage]:
    """All pages of an exam: lessons by name, questions without one last."""
    by_lesson: dict[str | None, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        by_lesson[question.lesson].append(number)
    lessons = sorted(by_lesson, key=_order)
    slugs = _slugs(lessons)
    for lesson in lessons:
        numbers, most = by_lesson[lesson], MOST_ALONE if lesson is None else MOST
        parts = [tuple(numbers[start : start + most]) for start in range(0, len(numbers), most)]
        for part, chosen in enumerate(parts, 1):
            # No lesson's own name has a '.', so that "cells" in two parts never meets a lesson called "cells 2".
            slug = slugs[lesson] if part == 1 else f"{slugs[lesson]}.{part}"
            yield LessonPage(slug, lesson, part, len(parts), chosen)
