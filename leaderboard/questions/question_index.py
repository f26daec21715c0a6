"""The files that scripts find questions by: the index, lists of texts, and the outcomes of a system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from edu_rag.look.texts import clip, plain
from edu_rag.records import KINDS, QUESTION_FLAGS
from edu_rag.scorecard.card import OUTCOMES
from leaderboard.questions.exam_pages import QuestionSite
from leaderboard.questions.lessons import anchor_of
from leaderboard.questions.question_slices import attributes_of

INDEX_FORMAT = "edu-rag-questions-v1"
LIST_FORMAT = "edu-rag-list-v1"
LIST_SIZE = 500
MAX_LISTED = 200
"""Characters of a question in a list."""
MAX_NAME = 80
FILTERED = ("flag", "kind")
"""Attributes that are already in the index, with separate controls."""


def cleaned(text: str, length: int) -> str:
    """A text for a page: clipped, without what a page cannot hold."""
    return str(plain(clip(text, length)))


def outcomes_file(question_site: QuestionSite, system: int) -> str:
    """The path of a system's outcomes in the site."""
    return f"{question_site.folder}/outcomes/{question_site.asked[system].table}/{question_site.asked[system].slug}.txt"


def _question_columns(question_site: QuestionSite, ids: Sequence[str]) -> dict[str, Any]:
    places = [0] * len(question_site.questions)
    for at, page in enumerate(question_site.pages):
        for number in page.numbers:
            places[number] = at
    flagged = {
        flag: [number for number, question in enumerate(question_site.questions) if flag in question.flags]
        for flag in QUESTION_FLAGS
    }
    return {
        "ids": ids,
        "anchors": {str(n): anchor_of(one) for n, one in enumerate(ids) if anchor_of(one) != one},
        "lesson": places,
        "n_choices": [len(question.choices) for question in question_site.questions],
        "kinds": list(KINDS),
        "kind": [KINDS.index(question.kind) for question in question_site.questions],
        "flags": {flag: numbers for flag, numbers in flagged.items() if numbers},
    }


def _counts(question_site: QuestionSite) -> dict[str, list[int]]:
    tallied = question_site.tallied
    rows = {outcome: tallied[place] for place, outcome in enumerate(OUTCOMES)}
    missing = rows["abstained"] + rows["unparseable"] + rows["failed"]
    return {
        name: row.tolist()
        for name, row in (("correct", rows["correct"]), ("incorrect", rows["incorrect"]), ("missing", missing))
    }


def index_values(question_site: QuestionSite, *, search: bool) -> dict[str, Any]:
    """The contents of index.json; `search` says whether there is an index of the texts."""
    ids = [question.question_id for question in question_site.questions]
    return {
        "format": INDEX_FORMAT,
        "dataset": question_site.exam.dataset.id,
        "split": question_site.exam.split,
        "n": len(question_site.questions),
        "list_size": LIST_SIZE,
        "search": search,
        "lessons": [
            {"slug": page.slug, "title": cleaned(page.title(question_site.questions), 160), "n": len(page.numbers)}
            for page in question_site.pages
        ],
        "tables": [{"id": table.key.id, "text": table.sample_text, "n": table.n} for table in question_site.tables],
        **_question_columns(question_site, ids),
        "slices": [one._asdict() for one in attributes_of(question_site.exam, ids) if one.attribute not in FILTERED],
        "counts": _counts(question_site),
        "systems": [
            {
                "table": one.table,
                "slug": one.slug,
                "name": cleaned(one.row.name, MAX_NAME),
                "page": one.row.page,
                "outcomes": outcomes_file(question_site, system),
            }
            for system, one in enumerate(question_site.asked)
        ],
    }


def index_files(question_site: QuestionSite, *, search: bool) -> Iterator[tuple[str, bytes]]:
    """index.json, the lists of texts, and a line of outcomes a system."""
    yield f"{question_site.folder}/index.json", msgspec.json.encode(index_values(question_site, search=search))
    texts = [cleaned(question.text, MAX_LISTED) for question in question_site.questions]
    for start in range(0, len(texts), LIST_SIZE):
        values = {"format": LIST_FORMAT, "texts": texts[start : start + LIST_SIZE]}
        yield f"{question_site.folder}/list/{start // LIST_SIZE}.json", msgspec.json.encode(values)
    for system, one in enumerate(question_site.asked):
        yield outcomes_file(question_site, system), one.outcomes.encode() + b"\n"
