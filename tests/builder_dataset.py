"""A small dataset for tests, whole in every reference, and a way to damage one table of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.extract.sentence_splitter import SPLITTER, split_sentences
from edu_rag.errors import DataError
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.identity import content_sha256, table_sha256, tables_of
from edu_rag.files.manifest import FileEntry, Manifest, file_sha256, read_manifest, write_manifest
from edu_rag.files.table_rows import schema
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, WebPage, page_id_of

AT = datetime(2026, 1, 2, tzinfo=UTC)
LAVA, ICE, FISH = "http://one.example/lava.html", "http://www.two.example/ice.html", "http://three.example/fish.html"
MOVED = "http://one.example/moved"
_FILLER = "Rocks and rivers have been described in many books, and this page says nothing new of them at all. " * 6
TEXTS = {
    LAVA: f"Lava flows down the volcano.\nShield volcanoes have gentle slopes. {_FILLER}",
    ICE: f"Ice is frozen water.\nFrozen water floats because ice is less dense. {_FILLER}",
    FISH: f"Fish breathe with gills.\nA gill takes oxygen from the stream. {_FILLER}",
}


def ask(
    question_id: str, text: str, *choices: str, split: str = "val", lesson: str | None = None, **more: Any
) -> Question:
    labelled = dict(zip("abcdefg", choices or ("true", "false"), strict=False))
    kind = more.pop("kind", "multiple_choice" if choices else "true_false")
    return Question(question_id=question_id, text=text, choices=labelled, kind=kind, split=split, lesson=lesson, **more)


def page(url: str, text: str | None = None, **more: Any) -> WebPage:
    body = text if text is not None else TEXTS[url]
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=url.rsplit("/", 1)[-1],
        text=body,
        sentences=split_sentences(body),
        fetched_at=AT,
        html_sha256=file_hash(url),
        extractor="cascade-v1",
        language="en",
        **more,
    )


def file_hash(url: str) -> str:
    return (page_id_of(url)[1:] * 4)[:64]


def hit(question_id: str, rank: int, url: str, final: str | None = None, outcome: str = "kept") -> SearchHit:
    page_id = page_id_of(final or url) if outcome == "kept" else None
    return SearchHit(
        question_id=question_id,
        page_id=page_id,
        url=url,
        rank=rank,
        engine="folder",
        query="a query",
        searched_at=AT,
        outcome=outcome,
    )


def tables() -> dict[str, dict[str, list[Any]]]:
    """Two splits: q1 and q2 in val share the page on lava, which MOVED leads to as well; t1 in test has its own."""
    lava, ice = page(LAVA), page(ICE, flags=("leak_question",))
    return {
        "questions": {
            "val": [
                ask("q1", "What flows down a volcano?", "lava", "ice", "milk", lesson="rocks"),
                ask("q2", "Ice floats on water.", lesson="water"),
            ],
            "test": [ask("t1", "What do fish breathe with?", "gills", "lungs", split="test")],
        },
        "gold": {
            "val": [Gold(question_id="q1", answer="a"), Gold(question_id="q2", answer="a")],
            "test": [Gold(question_id="t1", answer="a")],
        },
        "hits": {
            "val": [
                hit("q1", 1, LAVA),
                hit("q1", 2, MOVED, LAVA),
                hit("q1", 3, "http://one.example/x", outcome="robots"),
                hit("q2", 1, ICE),
                hit("q2", 2, LAVA),
            ],
            "test": [hit("t1", 1, FISH)],
        },
        "pages": {"val": [lava, ice], "test": [page(FISH)]},
        "evidence": {
            "val": [Evidence(question_id="q1", page_id=lava.page_id, start=0, end=28, method="answer-string-v1")]
        },
        "leaks": {"val": [Leak(question_id="q2", page_id=ice.page_id, start=0, end=20, kind="leak_question")]},
    }


def write(folder: Path, made: dict[str, dict[str, list[Any]]] | None = None, **more: Any) -> Path:
    """Write a dataset folder; `made` are its tables, the small ones if not given."""
    settings: dict[str, Any] = {
        "name": "small",
        "version": "1.0.0",
        "created_at": AT.isoformat(),
        "builder": "tests",
        "config_sha256": "0" * 64,
        "sources": {"sentence_splitter": SPLITTER, "hits_by_outcome": {"kept": 5, "robots": 1}, "pages": 3},
        "documents": lambda *_: {"README.md": b"# card\n"},
    }
    write_dataset(folder, made if made is not None else tables(), **(settings | more))
    return folder


def list_file(folder: Path, name: str, rows: int | None = None) -> None:
    """Put a file's hash and rows into the manifest, and of a table the hash of its rows where they can be read."""
    manifest: Manifest = read_manifest(folder)
    entry = FileEntry(sha256=file_sha256(folder / name), rows=rows)
    files = dict(sorted({**manifest.files, name: entry}.items()))
    contents = dict(manifest.contents)
    for table, names in tables_of([name]).items():
        with suppress(DataError):
            contents[table] = table_sha256(folder / name for name in names)
    changed = replace(manifest, files=files, contents=contents, content_sha256=content_sha256(contents))
    write_manifest(folder, changed)


def damage(folder: Path, config: str, change: Callable[[list[dict[str, Any]]], Sequence[dict[str, Any]]]) -> None:
    """Change the rows of a val table as no builder would; hashes and row counts are made to fit."""
    name = f"{config}/val-00000-of-00001.parquet"
    rows = list(change(pq.read_table(folder / name).to_pylist()))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema(config)), folder / name)
    list_file(folder, name, len(rows))
