"""The question of the day: one question with the sentence that answers it, and which systems were right.

Which question it is follows from the day and the dataset's content alone. Its text and the sentence are shown only
where the pages that they come from name a licence that allows it, with attribution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from edu_rag.records import Evidence, Question
from leaderboard.board.present import Row
from leaderboard.board.short_names import ShortName
from leaderboard.exams import SiteExam, folder_of
from leaderboard.front.reading_gain import Standing
from leaderboard.questions.lessons import anchor_of, lesson_pages
from leaderboard.questions.quotes import PageFacts, Quote, page_facts
from leaderboard.questions.system_answers import lines_of, said_by

MOST_TRIED = 40
"""Questions whose pages are looked at; the first that may be shown is taken."""
SHORTEST, LONGEST = 25, 280
"""Characters of a sentence that is shown: all of it."""
LONGEST_QUESTION = 300
FEW = 4
"""Systems that are named for each outcome; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAnswers:
    """The systems that ended in one outcome: the first few by name with the choice they made, and how many more."""

    words: str
    named: Sequence[tuple[ShortName, str]]
    n_more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayQuestion:
    """Everything that the front page shows. `right` is the label of the right choice, where a known answer names it."""

    question: Question
    day: date
    right: str | None
    sentence: str
    page: PageFacts
    home: PageFacts
    answers: Sequence[DayAnswers]
    n_right: int
    n_systems: int
    address: str


def _order(day: date, dataset_id: str, question: Question) -> str:
    return hashlib.sha256(f"{day.isoformat()} {dataset_id} {question.question_id}".encode()).hexdigest()


def _is_plain(question: Question) -> bool:
    return question.kind == "multiple_choice" and not question.flags and len(question.text) <= LONGEST_QUESTION


def _places(exam: SiteExam, standing: Standing, ids: Sequence[str], day: date) -> Iterator[int]:
    """The places of questions that part the systems, in the order of the day."""
    questions = {question.question_id: question for question in exam.questions}
    letters = [row.result.card.outcomes for row in standing.rows if not row.result.card.system.blind]
    both = [
        place
        for place, question_id in enumerate(ids)
        if _is_plain(questions[question_id]) and {"c", "i"} <= {outcomes[place] for outcomes in letters}
    ]
    yield from sorted(both, key=lambda place: _order(day, exam.dataset.id, questions[ids[place]]))


def _sentence(home: str, evidence: Sequence[Evidence]) -> Evidence | None:
    """The span that is shown: one on the page that the question is from if there is one, and the shortest."""
    spans = [item for item in evidence if SHORTEST <= item.end - item.start <= LONGEST]
    return min(
        spans, key=lambda item: (item.page_id != home, item.end - item.start, item.page_id, item.start), default=None
    )


def _said(rows: Sequence[Row], question: Question) -> Mapping[int, str]:
    """The label that each row with predictions at hand chose, by the row's place."""
    found = {}
    for place, row in enumerate(rows):
        if row.result.predictions is not None:
            line = next(
                (one for one in lines_of(row.result.predictions) if one.question_id == question.question_id), None
            )
            said = None if line is None else said_by(line, question)
            if said in question.choices:
                found[place] = str(said)
    return found


def _answers(standing: Standing, place: int, said: Mapping[int, str]) -> Iterator[DayAnswers]:
    for words, wanted in (("Right", "c"), ("Wrong", "i"), ("No answer", "auf")):
        rows = [at for at, row in enumerate(standing.rows) if row.result.card.outcomes[place] in wanted]
        named = [(standing.names[at], said.get(at, "") if wanted == "i" else "") for at in rows]
        if named:
            yield DayAnswers(words=words, named=named[:FEW], n_more=len(named) - len(named[:FEW]))


def _address(exam: SiteExam, question: Question) -> str:
    for page in lesson_pages(exam.questions):
        for number in page.numbers:
            if exam.questions[number] is question:
                return f"{folder_of(exam)}/{page.slug}.html#{anchor_of(question.question_id)}"
    raise LookupError(question.question_id)


def question_of_day(exam: SiteExam, standing: Standing, ids: Sequence[str], day: date) -> DayQuestion | None:
    """The question of a table for a day; None if no question of it may be shown. `ids` are in the order of outcomes."""
    questions = {question.question_id: question for question in exam.questions}
    tried = []
    for place in _places(exam, standing, ids, day):
        home = exam.support.home_pages.get(ids[place])
        span = None if home is None else _sentence(home, exam.evidence.get(ids[place], ()))
        if home is not None and span is not None:
            tried.append((place, home, span))
        if len(tried) == MOST_TRIED:
            break
    quotes = [[Quote(span.page_id, span.start, span.end, span.method)] for _, _, span in tried]
    facts = page_facts(exam.dataset, exam.split, quotes) if tried else {}
    for place, home, span in tried:
        page, sentence = facts[span.page_id], facts[span.page_id].texts.get((span.start, span.end))
        if sentence and page.credit.is_open and facts[home].credit.is_open:
            question = questions[ids[place]]
            said = _said(standing.rows, question)
            right = [at for at, row in enumerate(standing.rows) if row.result.card.outcomes[place] == "c"]
            return DayQuestion(
                question=question,
                day=day,
                right=next((said[at] for at in right if at in said), None),
                sentence=sentence,
                page=page,
                home=facts[home],
                answers=list(_answers(standing, place, said)),
                n_right=len(right),
                n_systems=len(standing.rows),
                address=_address(exam, question),
            )
    return None
