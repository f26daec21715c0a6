"""Two retrieval tasks as plain lists: queries, the passages of each, and which of them are relevant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from baselines.chunk.sentences import windows
from baselines.parts import PagePassage
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.records import Evidence, WebPage
from edu_rag.serve import SystemPage, SystemQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Per query: its text, its passages (one shared list where all have one corpus), and the relevant places."""

    name: str
    told: str
    queries: tuple[str, ...]
    passages: tuple[Sequence[str], ...]
    relevant: tuple[frozenset[int], ...]


def _as_asked(text: str, pages: Sequence[WebPage]) -> SystemQuestion:
    shown = tuple(
        SystemPage(
            page_id=page.page_id, url=page.url, title=page.title or "", text=page.text, sentences=tuple(page.sentences)
        )
        for page in pages
    )
    return SystemQuestion(id="", text=text, choices={}, kind="free_text", pages=shown)


def _hit(passages: Sequence[PagePassage], evidence: Sequence[Evidence]) -> frozenset[int]:
    """The places of passages that share a character with an evidence span."""
    spans = [(one.page_id, one.start, one.end) for one in evidence]
    return frozenset(
        place
        for place, (page_id, start, end, _) in enumerate(passages)
        if any(page_id == page and start < last and first < end for page, first, last in spans)
    )


def evidence(dataset: Path, split: str = "val") -> Task:
    """Questions with evidence: passages are 128-token windows of each question's pages; those that contain evidence are
    relevant.
    """
    data = Dataset(dataset)
    found: Mapping[str, Sequence[Evidence]] = data.evidence(split)
    questions = [question for question in data.questions(split) if found.get(question.question_id)]
    hits = data.hits(split)
    wanted = {hit.page_id for question in questions for hit in hits[question.question_id] if hit.page_id}
    pages = data.pages(split, wanted)
    cut = windows(128, 0)
    rows = []
    for question in questions:
        passages = cut(_as_asked(question.text, kept_pages(hits[question.question_id], pages)))
        rows.append((question.text, [one.text for one in passages], _hit(passages, found[question.question_id])))
    asked = [row for row in rows if row[2]]
    lost = len(rows) - len(asked)
    told = (
        f"{len(asked)} questions with evidence"
        + (f" ({lost} more have theirs only in passages that repeat another page's)" if lost else "")
        + f"; on average {sum(len(row[1]) for row in asked) / len(asked):.0f} passages, of which "
        f"{sum(len(row[2]) for row in asked) / len(asked):.1f} are relevant."
    )
    return _task("question → evidence", told, asked)


def _task(name: str, told: str, rows: Sequence[tuple[str, Sequence[str], frozenset[int]]]) -> Task:
    queries, passages, relevant = zip(*rows, strict=True)
    return Task(name=name, told=told, queries=queries, passages=passages, relevant=relevant)


def _fields(text: str, name: str) -> list[str]:
    return [" ".join(found.split()) for found in re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)]


def cranfield(folder: Path) -> Task:
    """Cranfield: the documents' text (it starts with the title) as passages, whole; relevance above 0 is relevant.

    A query's number in the judgements is its position in the file, not its `<num>`.
    """
    documents = (folder / "cran.all.1400.xml").read_text(encoding="utf-8")
    places = {docno: place for place, docno in enumerate(_fields(documents, "docno"))}
    texts = _fields(documents, "text")
    queries = _fields((folder / "cran.qry.xml").read_text(encoding="utf-8"), "title")
    relevant: dict[int, set[int]] = {}
    for line in (folder / "cranqrel.trec.txt").read_text(encoding="utf-8").splitlines():
        topic, _, docno, grade = line.split()
        if int(grade) > 0 and docno in places:
            relevant.setdefault(int(topic), set()).add(places[docno])
    rows = [(query, texts, frozenset(relevant.get(at, ()))) for at, query in enumerate(queries, 1)]
    asked = [row for row in rows if row[2]]
    told = (
        f"{len(asked)} queries on one corpus of {len(texts):,} documents; on average "
        f"{sum(len(row[2]) for row in asked) / len(asked):.1f} are relevant."
    )
    return _task("Cranfield", told, asked)
