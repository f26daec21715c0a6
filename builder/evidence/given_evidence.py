"""Evidence that was given: the page that a question was taken from, and sentences marked by hand or by a model.

Method home-page-v1: the page that a question was taken from is relevant to it, as a whole. It needs no labeller: a
textbook's exercise was taken from a module, and the module is a page of the dataset. The span is the whole page, so it
says where to read and not which sentence answers. The page has to be a hit of the question.

Method marked-v1: sentences that the authors of a question set marked. `[label] marks` names a file with one JSON
object a line: `question_id`, `url` of the page, and `text`, one or more neighbouring sentences exactly as they are on
the page. `start` says where it begins, where the page has the text more than once.

Method evidence-lm-v1: the same where a language model marked them (builder/generating/evidence_reader.py). The lines of
its file say so in `method`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edu_rag.errors import DataError
from edu_rag.files.jsonl import read_records
from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, Question, WebPage

MarkMethod = Literal["marked-v1", "evidence-lm-v1"]
MARKED: MarkMethod = "marked-v1"
READ: MarkMethod = "evidence-lm-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedText:
    """Text of the page at `url` that supports the gold answer of a question, where it begins, and who marked it."""

    question_id: str
    url: str
    text: str
    start: int | None = None
    method: MarkMethod = MARKED

    def place_on(self, text: str) -> int:
        """Where the text of a page has it: at `start`, or else where it comes first; -1 if it has not."""
        if not self.text:
            return -1
        if self.start is not None and self.start >= 0 and text.startswith(self.text, self.start):
            return self.start
        return text.find(self.text)


def marks_by_question(marks: Iterable[MarkedText]) -> dict[str, list[MarkedText]]:
    """The marks of each question, in the order of the file."""
    found: dict[str, list[MarkedText]] = {}
    for mark in marks:
        found.setdefault(mark.question_id, []).append(mark)
    return found


def read_marks(path: Path, questions: Sequence[Question]) -> dict[str, list[MarkedText]]:
    """The marks of a file by question. Raises DataError for an unreadable line and for an unknown question id."""
    known = {question.question_id for question in questions}
    marks = []
    for number, mark in read_records(path, MarkedText):
        if mark.question_id not in known:
            where, what = f"{path}:{number}", f"unknown question id {mark.question_id!r}"
            raise DataError(where, what, "correct the id, or remove the line")
        marks.append(mark)
    return marks_by_question(marks)


def marked_evidence(
    question: Question, pages: Sequence[WebPage], marks: Mapping[str, Sequence[MarkedText]]
) -> Iterator[Evidence]:
    """Evidence where a marked text is on one of the pages.

    A mark gives nothing if its page is not among the pages, or if another extractor made other text of it.
    """
    by_url = {page.url: page for page in pages}
    for mark in dict.fromkeys(marks.get(question.question_id, ())):
        page = by_url.get(mark.url)
        start = mark.place_on(page.text) if page is not None else -1
        if page is not None and start >= 0:
            yield Evidence(
                question_id=question.question_id,
                page_id=page.page_id,
                start=start,
                end=start + len(mark.text),
                method=mark.method,
            )


class HomePage:
    """Gives the question's home page, where its source names one and the search found it."""

    name = HOME_PAGE

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> Iterator[Evidence]:
        """At most one row: the home page from its first to its last character."""
        for page in pages:
            if page.page_id == gold.home_page and page.text:
                yield Evidence(
                    question_id=question.question_id,
                    page_id=page.page_id,
                    start=0,
                    end=len(page.text),
                    method=self.name,
                )
