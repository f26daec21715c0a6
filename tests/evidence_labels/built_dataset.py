"""A built dataset as records: questions, golds, and the pages of each question in rank order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from evidence_pairs import words_sha256
from labelled_spans import LabelledQuestion

from builder.evidence.telling_words import words_of
from edu_rag.files.manifest import read_manifest
from edu_rag.gold import Gold
from edu_rag.records import Question, Span, WebPage


def _table(folder: Path, name: str) -> list[dict[str, Any]]:
    return [row for path in sorted((folder / name).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def _page(row: Mapping[str, Any]) -> WebPage:
    fields = ("page_id", "url", "title", "text", "fetched_at", "html_sha256", "extractor")
    sentences = tuple(Span(item["start"], item["end"]) for item in row["sentences"])
    return WebPage(sentences=sentences, **{name: row[name] for name in fields})


def _question(row: Mapping[str, Any]) -> Question:
    choices = {choice["label"]: choice["text"] for choice in row["choices"]}
    return Question(
        question_id=row["question_id"],
        text=row["text"],
        kind=row["kind"],
        split=row["split"],
        choices=choices,
        flags=tuple(row["flags"]),
    )


class BuiltDataset(NamedTuple):
    """What a folder holds, by id."""

    name: str
    questions: Mapping[str, Question]
    golds: Mapping[str, Gold]
    pages: Mapping[str, WebPage]
    hits: Mapping[str, Sequence[str]]
    evidence: Mapping[str, Sequence[str]] = {}
    """By method, the question of each row of the table `evidence`."""

    @classmethod
    def read(cls, folder: Path) -> BuiltDataset:
        """Read a dataset folder whole: pages of ten thousands of characters each stay in memory."""
        hits: dict[str, dict[str, None]] = {}
        for row in sorted(_table(folder, "hits"), key=lambda row: (row["question_id"], row["rank"])):
            if row["page_id"] and row["outcome"] == "kept":
                hits.setdefault(row["question_id"], {})[row["page_id"]] = None
        evidence: dict[str, list[str]] = {}
        for row in _table(folder, "evidence"):
            evidence.setdefault(row["method"], []).append(row["question_id"])
        return cls(
            read_manifest(folder).name,
            {row["question_id"]: _question(row) for row in _table(folder, "questions")},
            {
                row["question_id"]: Gold(
                    question_id=row["question_id"], answer=row["answer"], home_page=row["home_page"]
                )
                for row in _table(folder, "gold")
            },
            {row["page_id"]: _page(row) for row in _table(folder, "pages")},
            {question: list(pages) for question, pages in hits.items()},
            evidence,
        )

    def require_same_text(self, labelled: LabelledQuestion) -> None:
        """Raise ValueError if a judged sentence has other words in this dataset: then its labels are of other text."""
        for one in labelled.sentences:
            text = self.pages[one.page_id].text[one.start : one.end]
            if words_sha256(words_of(text)) != one.words_sha256:
                where = f"{labelled.question_id}, {one.page_id} {one.start}-{one.end}"
                raise ValueError(f"{where}: not the sentence that was judged; label this dataset again")

    def exam(self, question_id: str) -> tuple[Question, Gold, list[WebPage]]:
        """A question, its gold and its pages."""
        pages = [self.pages[page] for page in self.hits.get(question_id, ())]
        return self.questions[question_id], self.golds[question_id], pages
