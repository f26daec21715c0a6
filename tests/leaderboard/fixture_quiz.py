"""A made-up exam with lessons of every kind, and four systems that were asked it. Never results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import fixture_board as made
from hostile_board import HOSTILE
from some_pages import build_some

from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.names import Sample
from edu_rag.records import HOME_PAGE, Evidence, Question, SearchHit, Span, WebPage, page_id_of
from leaderboard.exams import open_exams
from leaderboard.pages import assets, board_page, question_pages

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
FOLDER = "questions/quiz-v1-val"
SAMPLE = "stratified-30-seed-0"
REPOSITORY = "https://code.example/edu-rag/bench"
LESSONS: tuple[tuple[str | None, int], ...] = (
    ("Cells", 55),
    ("Cells!", 2),
    ("Index", 2),
    ("Volcanoes", 6),
    ("ячейки", 1),
    (None, 27),
)
SENTENCE = "Mitosis is how a cell divides."


def _question(number: int, lesson: str | None) -> Question:
    true_false = number % 2 == 1
    choices = {"a": "false", "b": "true"} if true_false else {"a": "meiosis", "b": "mitosis", "c": f"osmosis {number}"}
    flags = ("truncated",) if number % 10 == 3 else ()
    what = "a volcano erupts" if lesson == "Volcanoes" else "a cell divides"
    return Question(
        question_id=f"Q_{number:04}",
        text=f"What is it called when {what}, in case {number}?",
        choices=choices,
        kind="true_false" if true_false else "multiple_choice",
        split="val",
        lesson=lesson,
        flags=flags,
    )


def _hostile(number: int, text: str) -> Question:
    text = text.replace("\x00", "").strip() or "blank"
    return Question(
        question_id=f"Z<b>{number:02}'\"&</b>",
        text=text,
        choices={"a": text, "b": "mitosis"},
        kind="multiple_choice",
        split="val",
        lesson=text,
        flags=("context_bound",),
    )


def questions_of(*, hostile: bool) -> list[Question]:
    lessons = [lesson for lesson, n in LESSONS for _ in range(n)]
    questions = [_question(number, lesson) for number, lesson in enumerate(lessons)]
    return [*questions, *[_hostile(number, text) for number, text in enumerate(HOSTILE)]] if hostile else questions


def _page(question: Question, licence: str | None = None) -> WebPage:
    url = f"https://pages.example/{hashlib.sha256(question.question_id.encode()).hexdigest()[:8]}"
    text = f"{SENTENCE} {question.text[:500]}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"About {question.text[:300]}",
        text=text,
        sentences=(Span(0, len(SENTENCE)),),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor="x-v1",
        license=licence,
        author="A. Author" if licence else None,
        flags=("leak_question",),
    )


def _home(question: Question, page: WebPage) -> Evidence:
    return Evidence(
        question_id=question.question_id, page_id=page.page_id, start=0, end=len(page.text), method=HOME_PAGE
    )


def write_exam(folder: Path, *, hostile: bool = False, licence: str | None = None) -> Dataset:
    """A page a question, whose first sentence is evidence; a second hit was dropped.

    With a licence, the pages have it and an author, and each is the home page of its question.
    """
    questions = questions_of(hostile=hostile)
    both = [(question, _page(question, licence)) for question in questions]
    hit: dict[str, Any] = {"engine": "x", "query": "q", "searched_at": WHEN}
    tables: dict[str, dict[str, Any]] = {
        "questions": {"val": questions},
        "gold": {"val": [Gold(question_id=q.question_id, answer="b") for q in questions]},
        "pages": {"val": [page for _, page in both]},
        "hits": {
            "val": [
                *(
                    SearchHit(question_id=q.question_id, page_id=p.page_id, url=p.url, rank=1, outcome="kept", **hit)
                    for q, p in both
                ),
                *(
                    SearchHit(
                        question_id=q.question_id,
                        page_id=None,
                        url="https://x.example/",
                        rank=2,
                        outcome="robots",
                        **hit,
                    )
                    for q in questions
                ),
            ]
        },
        "evidence": {
            "val": [
                Evidence(question_id=q.question_id, page_id=p.page_id, start=0, end=len(SENTENCE), method="made-v1")
                for q, p in both
            ]
            + [_home(q, p) for q, p in both if licence]
        },
    }
    write_dataset(
        folder,
        tables,
        name="quiz",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="x",
        config_sha256="0" * 64,
        sources={},
        documents=lambda *_: {},
    )
    return Dataset(folder)


def answer_of(slug: str, number: int, question: Question) -> str | None:
    """What a system says: a label, nothing, or, now and then from beta, other words."""
    if number % 9 == 4:
        return None
    if slug == "beta" and number % 7 == 2:
        return "words that name no choice " + (question.text if "<b>" in question.question_id else "")
    right = number % (2 if slug == "alpha" else 3) == 0
    return "b" if right else "a"


def letter_of(answer: str | None) -> str:
    return "a" if answer is None else "c" if answer == "b" else "i" if answer == "a" else "u"


def _line(question: Question, answer: str | None) -> bytes:
    page = _page(question)
    values = {
        "question_id": question.question_id,
        "answer": answer,
        "response": "who knows?" if answer is None else answer,
        "confidence": 0.5,
        "latency_s": 1.0,
        "passages": [[page.page_id, 0, 7], [page.page_id, 0, 10**9], ["pffffffffffffffff", 0, 5]],
    }
    return json.dumps(values).encode() + b"\n"


def write_results(results: Path, dataset: Dataset) -> None:
    """alpha on the split and on a sample of it, beta with a hostile name, gamma without predictions, delta sampled."""
    every = dataset.questions("val")
    chosen = choose(every, Sample.parse(SAMPLE))
    numbers = {question.question_id: number for number, question in enumerate(every)}
    for slug, sample, questions in (
        ("alpha", None, every),
        ("beta", None, every),
        ("gamma", None, every),
        ("alpha", SAMPLE, chosen),
        ("delta", SAMPLE, chosen),
    ):
        answers = [answer_of(slug, numbers[question.question_id], question) for question in questions]
        lines = b"".join(_line(question, answer) for question, answer in zip(questions, answers, strict=True))
        card = made.card_of(
            slug,
            "".join(map(letter_of, answers)),
            dataset=dataset.id,
            sample=sample,
            name="<script>window.harmed=1</script>" if slug == "beta" else slug,
            predictions_sha256=hashlib.sha256(lines).hexdigest(),
        )
        made.write_card(results, card, None if slug == "gamma" else lines)


def write_site(folder: Path, *, hostile: bool = False) -> Path:
    """Dataset, results and site of questions under a folder; the site's path."""
    dataset = write_exam(folder / "dataset", hostile=hostile)
    write_results(folder / "results", dataset)
    given = {"exams": open_exams([dataset.folder]), "repository": REPOSITORY, "base_url": "https://board.example/"}
    return build_some(folder / "results", folder / "site", (board_page, question_pages, assets), **given)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """A server of tests has nothing to say."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site on a loopback address, without a '/' at its end: a page from a folder may read no file beside it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
