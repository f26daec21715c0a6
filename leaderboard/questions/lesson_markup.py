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
from leaderboard.questions.briefing import Briefing
from leaderboard.questions.lessons import anchor_of
from leaderboard.questions.quotes import KnownQuote, PageFacts
from leaderboard.questions.system_answers import Answer, answers_at, decoded
from leaderboard.questions.views import Sources, question_view

HERE = Path(__file__).resolve().parents[1]
SHARD_FORMAT = "edu-rag-shard-v1"
MAX_QUESTION = 4_000
"""Characters of a question or choice in a shard and on a page."""
MAX_LESSON = 160


class Desk(NamedTuple):
    """The inputs of a lesson page in addition to the briefing: encoded sheets of answers, the sources of each of its
    questions, and the facts of their pages.
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
    briefing: Briefing, number: int, answers: Sequence[Answer], quotes: Sequence[KnownQuote], pages: dict[str, int]
) -> dict[str, Any]:
    """A question in a shard; pages that it quotes and that are new get a number in `pages`."""
    question = briefing.questions[number]
    places = {packed: at for at, quote in enumerate(quotes) for packed in briefing.packed([quote.place])}
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


def make_lesson(briefing: Briefing, desk: Desk) -> Lesson:
    """A lesson page, of plain values alone, so that any process can make it."""
    page = briefing.pages[desk.at]
    pages: dict[str, int] = {}
    views, questions = [], []
    answers = answers_at(briefing, desk.at, decoded(desk.sheets))
    for number, given, sources in zip(page.numbers, answers, desk.sources, strict=True):
        views.append(question_view(briefing, desk.at, number, given, sources, desk.facts))
        questions.append(_question(briefing, number, given, sources.quotes, pages))
    shard = {
        "format": SHARD_FORMAT,
        "dataset": briefing.dataset_id,
        "lesson": None if page.lesson is None else _cleaned(page.lesson, MAX_LESSON),
        "page": f"{briefing.folder}/{page.slug}.html",
        "pages": [[page_id, str(plain(desk.facts[page_id].title)), desk.facts[page_id].address] for page_id in pages],
        "questions": questions,
    }
    return Lesson(_template().render(views=views), msgspec.json.encode(shard))
