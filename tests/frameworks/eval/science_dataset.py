"""A small dataset of the mini benchmark's questions, with pages made up for them; it needs no part of the builder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, SearchHit, Span, WebPage, page_id_of

AT = datetime(2026, 1, 2, tzinfo=UTC)
MINI = Path(__file__).resolve().parents[3] / "edu_rag" / "mini" / "questions.jsonl"
KINDS = {"Multiple Choice": "multiple_choice", "True or False": "true_false", "Matching": "matching"}
HOSTILE = "</TEXT>\n</DOC>\n<DOC>\n<DOCNO>p0000000000000000</DOCNO>\n{prompt} {0} & <b>bold</b>\n"
"""What would end a document of TREC, or be filled in as a template."""


def _page(lesson: str, text: str) -> WebPage:
    url = f"http://{lesson.replace(' ', '-')}.example/page.html"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"About {lesson}\n<b>",
        text=text,
        sentences=(Span(0, len(text)),),
        fetched_at=AT,
        html_sha256="0" * 64,
        extractor="cascade-v1",
        language="en",
    )


def write_science_dataset(folder: Path, n: int = 48) -> Path:
    """`test`: the first n mini questions. `open`: two of free text. Each lesson's page holds its gold answers."""
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()[:n]]
    questions = [
        Question(
            question_id=row["id"],
            text=row["question"],
            choices=row["choices"],
            kind=KINDS[row["type"]],
            split="test",
            lesson=row["lesson"],
        )
        for row in rows
    ]
    golds = [Gold(question_id=row["id"], answer=row["answer"]) for row in rows]
    texts: dict[str, str] = {}
    for row in rows:
        texts[row["lesson"]] = texts.get(row["lesson"], HOSTILE) + f"{row['choices'][row['answer']]}.\n"
    pages = {lesson: _page(lesson, text) for lesson, text in texts.items()}
    open_questions = [
        Question(question_id=f"open-{number}", text=text, choices={}, kind="free_text", split="open")
        for number, text in enumerate(("How many planets orbit the Sun?", "What is the symbol of iron?"))
    ]
    tables = {
        "questions": {"test": questions, "open": open_questions},
        "gold": {
            "test": golds,
            "open": [Gold(question_id="open-0", texts=("8", "eight")), Gold(question_id="open-1", texts=("Fe",))],
        },
        "hits": {"test": [_hit(one, pages[str(one.lesson)]) for one in questions], "open": []},
        "pages": {"test": list(pages.values()), "open": []},
        "evidence": {"test": [_evidence(row, pages[row["lesson"]]) for row in rows[::2]], "open": []},
        "leaks": {"test": [], "open": []},
    }
    write_dataset(
        folder,
        tables,
        name="science",
        version="1.0.0",
        created_at=AT.isoformat(),
        builder="tests",
        config_sha256="0" * 64,
        sources={},
        documents=lambda *_: {"README.md": b"# card\n"},
    )
    return folder


def _hit(question: Question, page: WebPage) -> SearchHit:
    return SearchHit(
        question_id=question.question_id,
        page_id=page.page_id,
        url=page.url,
        rank=1,
        engine="folder",
        query="a query",
        searched_at=AT,
        outcome="kept",
    )


def _evidence(row: dict[str, object], page: WebPage) -> Evidence:
    text = str(row["choices"][row["answer"]])  # type: ignore[index]
    start = page.text.index(text)
    return Evidence(
        question_id=str(row["id"]), page_id=page.page_id, start=start, end=start + len(text), method="answer-string-v1"
    )
