"""The inputs of a pipeline: the question, its choices by label, and the passages that were found for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from edu_rag.serve import SystemQuestion

PROMPT_V1 = """\
Answer the question from the passages. Reply with the label of one choice and nothing else, or with "I don't know".

Passages:
{context}

Question: {question}
Choices:
{choices}
Answer:"""
FREE_TEXT_PROMPT_V1 = """\
Answer the question from the passages. Reply with the answer in a few words and nothing else, or with "I don't know".

Passages:
{context}

Question: {question}
Answer:"""


class FoundText(Protocol):
    """A passage of a page: its text, and its span in the page's text, in characters."""

    @property
    def page_id(self) -> str:
        """The page."""

    @property
    def start(self) -> int:
        """The offset at which the span begins."""

    @property
    def end(self) -> int:
        """The offset at which the span ends."""

    @property
    def text(self) -> str:
        """The text that the model reads."""


Find = Callable[[SystemQuestion], Sequence[FoundText]]
"""Finds the passages for a question."""


def no_passages(question: SystemQuestion) -> Sequence[FoundText]:
    """Find nothing: for a pipeline that does not read the question's pages."""
    return ()


def texts_of(question: SystemQuestion, found: Sequence[FoundText]) -> dict[str, str]:
    """`question`, `choices` (one `a. …` a line, or empty) and `context` (the passages, with blank lines between)."""
    choices = "\n".join(f"{label}. {text}" for label, text in question.choices.items())
    return {"question": question.text, "choices": choices, "context": "\n\n".join(one.text for one in found)}


def prompt_of(question: SystemQuestion, found: Sequence[FoundText]) -> str:
    """One prompt with all of `texts_of`; another for a question without choices."""
    prompt = PROMPT_V1 if question.choices else FREE_TEXT_PROMPT_V1
    return prompt.format(**texts_of(question, found))


def place_of(found: FoundText) -> dict[str, Any]:
    """A passage's place, as metadata of a framework's document."""
    return {"page_id": found.page_id, "start": found.start, "end": found.end}


def spans_of(places: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, int]]:
    """The spans that documents come from, by the metadata of `place_of`; documents of other sources have none."""
    keys = ("page_id", "start", "end")
    return [(place["page_id"], place["start"], place["end"]) for place in places if all(key in place for key in keys)]
