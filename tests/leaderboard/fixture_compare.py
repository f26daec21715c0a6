"""A dataset of 210 questions and what systems said to them, for the compare page. Never results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fixture_board as made

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
N = 210
PER_LESSON = 7
HOSTILE = "<img src=x onerror=\"window.harmed=1\"> what is 'rock'?"
FIRST = "Stones are what the ground is made of."
SENTENCE = "Evidence: <b>rock</b> is a solid mass of minerals."
PASSAGE = f"{FIRST} {SENTENCE} More follows."
FAR = 700
"""Where the second sentence of evidence begins, far beyond what is shown of a passage."""
LATE = "Late evidence: granite is a rock."
TEXT = f"{PASSAGE}{' filler' * 120}"[: FAR - 1] + f" {LATE} The end."
WRONG = {"i": "a", "a": None, "u": "some <i>other</i> words"}
"""What is said where the answer does not count as right; no line at all where a system failed."""


def _question(number: int) -> Question:
    choices = {"a": "true", "b": "false <b>", "c": "neither"} if number % 2 else {"a": "true", "b": "false <b>"}
    return Question(
        question_id=f"q{number:03d}",
        text=f"{HOSTILE} ({number})",
        choices=choices,
        split="val",
        kind="true_false" if number % 3 == 0 else "multiple_choice",
        lesson=f"Lesson {number // PER_LESSON:02d}",
        flags=("truncated",) if number in (1, 4) else (),
    )


def _page(number: int) -> WebPage:
    url = f"https://example.org/rocks/{number}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"Rocks <script>{number}",
        text=TEXT,
        sentences=(Span(0, len(FIRST)),),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor="x-v1",
    )


def _spans(number: int) -> list[tuple[int, int]]:
    """Evidence of a question: none for every fifth."""
    start = PASSAGE.index(SENTENCE)
    return [] if number % 5 == 4 else [(start, start + len(SENTENCE)), (FAR, FAR + len(LATE))]


def write_exam(folder: Path) -> Dataset:
    """A page a question, two sentences of it evidence; every seventh question has no page, and two are leaked."""
    numbers = range(N)
    paged = [number for number in numbers if number % 7 != 6]
    questions, pages = [_question(number) for number in numbers], {number: _page(number) for number in paged}
    hits = [
        SearchHit(
            question_id=f"q{number:03d}",
            page_id=page.page_id,
            url=page.url,
            rank=1,
            outcome="kept",
            engine="x",
            query="q",
            searched_at=WHEN,
        )
        for number, page in pages.items()
    ]
    evidence = [
        Evidence(question_id=f"q{number:03d}", page_id=page.page_id, start=start, end=end, method="made-v1")
        for number, page in pages.items()
        for start, end in _spans(number)
    ]
    tables: dict[str, dict[str, Any]] = {
        "questions": {"val": questions},
        "gold": {"val": [Gold(question_id=question.question_id, answer="b") for question in questions]},
        "pages": {"val": list(pages.values())},
        "hits": {"val": hits},
        "evidence": {"val": evidence},
        "leaks": {
            "val": [
                Leak(question_id=f"q{number:03d}", page_id=pages[1].page_id, start=0, end=9, kind="leak_question")
                for number in (1, 8)
            ]
        },
    }
    write_dataset(
        folder,
        tables,
        name="tqa",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="x",
        config_sha256="0" * 64,
        sources={"leaks": {}},
        documents=lambda *_: {},
    )
    return Dataset(folder)


def cited(slug: str, number: int) -> list[tuple[int, int]]:
    """system-1 cites a sentence without evidence, system-4 a passage around it, the others one to the page's end."""
    if number % 7 == 6:
        return []
    return {"system-1": [(0, len(FIRST))], "system-4": [(0, len(PASSAGE))]}.get(slug, [(0, len(TEXT))])


def lines_of(slug: str, letters: str) -> bytes:
    """A system's predictions, which come to these outcomes."""
    lines = []
    for number, letter in enumerate(letters):
        if letter == "f":
            continue
        passages = [[_page(number).page_id, start, end] for start, end in cited(slug, number)]
        answer = "b" if letter == "c" else WRONG[letter]
        lines.append({"question_id": f"q{number:03d}", "answer": answer, "confidence": 0.5, "passages": passages})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def write_answers(results: Path, dataset: Dataset, letters: Mapping[str, str], without: str, **changes: Any) -> None:
    """Scorecards on the dataset with predictions beside them, but for the system `without`."""
    lessons = tuple(number // PER_LESSON for number in range(N))
    for slug, one in letters.items():
        lines = None if slug == without else lines_of(slug, one)
        sha256 = "" if lines is None else hashlib.sha256(lines).hexdigest()
        card = made.card_of(
            slug, one, dataset=dataset.id, lessons=lessons, slices=(), predictions_sha256=sha256, **changes
        )
        made.write_card(results, card, lines)
