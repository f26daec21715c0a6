"""Pages for a typed question: the best of a dataset by BM25, or those that a search engine finds now."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from builder.search.query_words import match_expression
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.files.jsonl import write_records
from edu_rag.records import Question, WebPage

if TYPE_CHECKING:
    from builder.config import BuildConfig

TITLE_WEIGHT = 2.0
"""As the engine `folder` weighs titles."""
TOP = 10
"""Pages of a typed question, as many as a build asks an engine for by default."""


class PageSearch:
    """BM25 (SQLite's FTS5, as the engine `folder` ranks) over all pages of a dataset. The first search builds it.

    Safe for several threads: one searches at a time.
    """

    def __init__(self, dataset: Dataset, splits: Sequence[str]) -> None:
        self._dataset, self._splits = dataset, splits
        self._turn = threading.Lock()
        self._index: sqlite3.Connection | None = None

    def warm_up(self) -> sqlite3.Connection:
        """Build the index, unless there is one. It takes some seconds for each hundred megabytes of text."""
        with self._turn:
            if self._index is None:
                self._index = self._built()
            return self._index

    def search(self, text: str, n: int = TOP) -> list[WebPage]:
        """The best n pages for a question's words; ties by page id."""
        expression = match_expression(text)
        if not expression:
            return []
        index = self.warm_up()
        with self._turn:
            rows = index.execute(
                "SELECT place.split, place.page_id FROM page JOIN place ON place.number = page.rowid WHERE page MATCH ?"
                " ORDER BY round(bm25(page, ?, 1.0), 9), place.page_id LIMIT ?",
                (expression, TITLE_WEIGHT, n),
            ).fetchall()
        return self._pages(rows)

    def _built(self) -> sqlite3.Connection:
        index = sqlite3.connect("", check_same_thread=False)  # on disk where it grows large
        index.execute("CREATE VIRTUAL TABLE page USING fts5(title, text, content='', tokenize='porter unicode61')")
        index.execute("CREATE TABLE place (number INTEGER PRIMARY KEY, page_id TEXT UNIQUE, split TEXT)")
        for split in self._splits:
            for page in self._dataset.records("pages", split, WebPage):
                added = index.execute(
                    "INSERT OR IGNORE INTO place (page_id, split) VALUES (?, ?)", (page.page_id, split)
                )
                if added.rowcount:  # a page of two splits is found once
                    row = (added.lastrowid, page.title, page.text)
                    index.execute("INSERT INTO page (rowid, title, text) VALUES (?, ?, ?)", row)
        return index

    def _pages(self, rows: Iterable[tuple[str, str]]) -> list[WebPage]:
        order = {page_id: split for split, page_id in rows}
        found: dict[str, WebPage] = {}
        for split in dict.fromkeys(order.values()):
            found |= self._dataset.pages(split, {page_id for page_id, own in order.items() if own == split})
        return [found[page_id] for page_id in order]


class LiveEngine(NamedTuple):
    """A search engine to ask for pages now: a name that `edu-rag build --engine` knows, and its settings."""

    name: str
    config: Path | None = None
    sites: Path | None = None

    def pages(self, question: Question) -> list[WebPage]:
        """The pages that the engine finds for a question: searched, fetched and cleaned as `edu-rag build` does it.

        Raises what a build raises.
        """
        from builder.build import build

        with tempfile.TemporaryDirectory(prefix="edu-rag-ask-") as folder:
            asked, out = Path(folder) / "question.jsonl", Path(folder) / "dataset"
            write_records(asked, [_flat(question)])
            build([asked], out, self._settings(), allow_partial=True)
            dataset = Dataset(out)
            split = dataset.only_split(None)
            return kept_pages(dataset.hits(split).get(question.question_id, ()), dataset.pages(split))

    def _settings(self) -> BuildConfig:
        from builder.config import read_config

        search: dict[str, Any] = {"engine": self.name, "engines": []}
        if self.sites is not None:
            search["folder"] = {"sites": str(self.sites)}
        # Evidence of the settings' own questions has no place here, and a page found now needs no stored vectors.
        return read_config(self.config, {"search": search, "label": {"marks": None, "evidence": [], "vectors": None}})


def _flat(question: Question) -> dict[str, Any]:
    """A question as a line of a question file.

    A build needs a gold answer: this one only decides which sentences of a dataset that is thrown away are evidence.
    """
    choices = {"choices": dict(question.choices), "answer": "a"} if question.choices else {"answer": ["unknown"]}
    return {"id": question.question_id, "split": "test", "question": question.text, "type": question.kind, **choices}
