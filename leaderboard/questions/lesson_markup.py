"""A lesson page's questions as markup, and its shard for scripts: the job that other processes are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import msgspec

from edu_rag.look.jinja_pages import environment
from edu_rag.look.texts import clip, plain
from leaderboard.questions.lessons import anchor_of
from leaderboard.questions.question_view import Sources, question_view
from leaderboard.questions.quotes import KnownQuote, PageFacts
from leaderboard.questions.system_answers import Answer, answers_at, decoded
from leaderboard.questions.worker_input import WorkerInput

HERE = Path(__file__).resolve().parents[1]
SHARD_FORMAT = "edu-rag-shard-v1"
MAX_QUESTION = 4_000
"""Characters of a question or choice in a shard and on a page."""
MAX_LESSON = 160


class LessonJob(NamedTuple):
    """What a lesson page needs in addition to the worker input.

    Encoded sheets of answers, the sources of each of its questions, and the facts of their pages.
    """

    at: int
    sheets: Sequence[bytes]
    sources: Sequence[Sources]
    facts: Mapping[str, PageFacts]


class Lesson(NamedTuple):
    """A lesson page made: its questions as markup, and its shard."""

    markup: str
    shard: bytes


@cache
def _template() -> jinja2.Template:
    return environment(HERE / "templates").get_template("lesson_questions.html.j2")


def _cleaned(text: str, length: int = MAX_QUESTION) -> str:
    return str(plain(clip(text, length)))


def _question(
    inputs: WorkerInput, number: int, answers: Sequence[Answer], quotes: Sequence[KnownQuote], pages: dict[str, int]
) -> dict[str, Any]:
    """A question in a shard; pages that it quotes and that are new get a number in `pages`."""
    question = inputs.questions[number]
    places = {packed: at for at, quote in enumerate(quotes) for packed in inputs.packed([quote.place])}
    return {
        "question_id": question.question_id,
        "anchor": anchor_of(question.question_id),
        "text": _cleaned(question.text),
        "kind": question.kind,
        "flags": question.flags,
        "choices": {label: _cleaned(text) for label, text in question.choices.items()},
        "quotes": [
            [pages.setdefault(page_id, len(pages)), start, end, text, method]
            for (page_id, start, end), method, text in quotes
        ],
        "answers": [
            (system, letter, said, confidence, [places[one] for one in cited if one in places])
            for system, letter, said, confidence, cited in answers
        ],
    }


def make_lesson(inputs: WorkerInput, lesson_job: LessonJob) -> Lesson:
    """A lesson page, of plain values alone, so that any process can make it."""
    page = inputs.pages[lesson_job.at]
    pages: dict[str, int] = {}
    views, questions = [], []
    answers = answers_at(inputs, lesson_job.at, decoded(lesson_job.sheets))
    for number, given, sources in zip(page.numbers, answers, lesson_job.sources, strict=True):
        views.append(question_view(inputs, lesson_job.at, number, given, sources, lesson_job.facts))
        questions.append(_question(inputs, number, given, sources.quotes, pages))
    shard = {
        "format": SHARD_FORMAT,
        "dataset": inputs.dataset_id,
        "lesson": None if page.lesson is None else _cleaned(page.lesson, MAX_LESSON),
        "page": f"{inputs.folder}/{page.slug}.html",
        "pages": [
            [page_id, str(plain(lesson_job.facts[page_id].title)), lesson_job.facts[page_id].address]
            for page_id in pages
        ],
        "questions": questions,
    }
    return Lesson(_template().render(views=views), msgspec.json.encode(shard))
