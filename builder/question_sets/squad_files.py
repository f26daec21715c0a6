"""SQuAD-like JSON: articles of paragraphs of questions, read as the rows that its form on the Hub has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError
from edu_rag.files.foreign_table import ForeignRow
from edu_rag.files.mistyped import type_name


def is_squad(value: Any) -> bool:
    """Whether a JSON value is an object whose `data` is a list of articles with paragraphs."""
    articles = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(articles, list):
        return False
    return any(isinstance(article, Mapping) and "paragraphs" in article for article in articles[:10])


def _listed(values: Any, name: str, where: str) -> list[Any] | DataError:
    found = values.get(name) if isinstance(values, Mapping) else None
    return found if isinstance(found, list) else DataError(f"{where}: {name}", "expected a list", "give SQuAD's layout")


def squad_rows(value: Mapping[str, Any], path: Path) -> Iterator[ForeignRow | DataError]:
    """A row for each question, with the title of its article and the text of its paragraph; faults in their place."""
    for number, article in enumerate(value["data"], 1):
        where = f"{path}: article {number}"
        paragraphs = _listed(article, "paragraphs", where)
        if isinstance(paragraphs, DataError):
            yield paragraphs
            continue
        for place, paragraph in enumerate(paragraphs, 1):
            yield from _paragraph_rows(article.get("title"), paragraph, f"{where}, paragraph {place}")


def _paragraph_rows(title: Any, paragraph: Any, where: str) -> Iterator[ForeignRow | DataError]:
    questions = _listed(paragraph, "qas", where)
    if isinstance(questions, DataError):
        yield questions
        return
    for number, question in enumerate(questions, 1):
        place = f"{where}, question {number}"
        if not isinstance(question, dict):
            yield DataError(place, f"is {type_name(question)}, not an object", "give SQuAD's layout")
            continue
        own = {name: inner for name, inner in question.items() if name not in ("answers", "plausible_answers")}
        answers = [] if question.get("is_impossible") else question.get("answers", [])
        yield ForeignRow(place, {"title": title, "context": paragraph.get("context"), **own, "answers": answers})
