"""Reads the tables of docs/figures/worked-example.md, and makes the files that they describe."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, SearchHit, Span, WebPage, page_id_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "worked-example.md"
AT = datetime(2000, 1, 1, tzinfo=UTC)
Row = dict[str, str]


def tables(text: str) -> list[list[Row]]:
    """The Markdown tables of a text, each row by the words of the table's head; code marks are taken off."""
    found: list[list[Row]] = []
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        head, _, *rows = [
            [cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in block.split("\n") if line
        ]
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def _at(urls: dict[str, tuple[str, str]], said: str) -> tuple[str, int, int]:
    """`water 28-48` as page id and span; the span must be whole words of the page."""
    name, _, span = said.partition(" ")
    start, end = map(int, span.split("-"))
    page_id, text = urls[name]
    assert text[start:end] == text[start:end].strip() != ""
    return page_id, start, end


def make(folder: Path) -> None:
    """Write dataset/ and the submissions of the example."""
    pages, asked, first, second, *_ = tables(PAGE.read_text(encoding="utf-8"))
    urls = {row["page"]: (page_id_of(row["address"]), row["text"]) for row in pages}
    web, questions, golds, hits, evidence = [], [], [], [], []
    for row in pages:
        spans = tuple(Span(*match.span()) for match in re.finditer(r"[A-Z][^.]*\.", row["text"]))
        web.append(
            WebPage(
                page_id=page_id_of(row["address"]),
                url=row["address"],
                title=row["page"],
                text=row["text"],
                sentences=spans,
                fetched_at=AT,
                html_sha256="0" * 64,
                extractor="example",
            )
        )
    for row in asked:
        texts = [text.strip().split(") ")[1] for text in row["choices"].split(";")]
        question_id = row["id"]
        questions.append(
            Question(
                question_id=question_id,
                text=row["question"],
                choices=dict(zip("abc", texts, strict=False)),
                kind="true_false" if len(texts) == 2 else "multiple_choice",
                split="test",
                flags=(row["flag"],) if row["flag"] != "-" else (),
            )
        )
        golds.append(Gold(question_id=question_id, answer=row["gold"]))
        hits += [
            SearchHit(
                question_id=question_id,
                page_id=page.page_id,
                url=page.url,
                rank=rank,
                engine="example",
                query="q",
                searched_at=AT,
                outcome="kept",
            )
            for rank, page in enumerate(web, 1)
        ]
        if row["evidence"] != "-":
            page_id, start, end = _at(urls, row["evidence"])
            evidence.append(
                Evidence(question_id=question_id, page_id=page_id, start=start, end=end, method="example-v1")
            )
    write_dataset(
        folder / "dataset",
        {
            "questions": {"test": questions},
            "gold": {"test": golds},
            "pages": {"test": web},
            "hits": {"test": hits},
            "evidence": {"test": evidence},
        },
        name="example",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="docs",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# example\n"},
    )
    for slug, rows in (("first", first), ("second", second)):
        _submission(folder / "submissions" / slug, slug, rows, urls)


def _submission(folder: Path, slug: str, rows: list[Row], urls: dict[str, tuple[str, str]]) -> None:
    lines = []
    for row in rows:
        if row["answer"] == "(no line)":
            continue
        line: dict[str, object] = {"question_id": row["id"], "answer": json.loads(row["answer"])}
        if row.get("confidence", "-") != "-":
            line["confidence"] = float(row["confidence"])
        if row.get("cites", "-") != "-":
            line["passages"] = [_at(urls, said.strip()) for said in row["cites"].split(",")]
        lines.append(json.dumps(line) + "\n")
    place = folder / "predictions" / "example-1.0.0"
    place.mkdir(parents=True)
    (place / "test.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "submission.toml").write_text(f'name = "{slug}"\nteam = "docs"\n', encoding="utf-8")
