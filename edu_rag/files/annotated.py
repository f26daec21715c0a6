"""What people say about answers on the page of `edu-rag try`: one JSON line each, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from edu_rag.errors import RecordError
from edu_rag.files.jsonl import read_records

ANSWER_LABELS: Mapping[str, str] = {
    "Correct Answer": "Right",
    "Hallucinated Answer": "Wrong or not supported by the pages",
    "Insufficient Context": "The pages are not enough",
}
"""The labels of Mala et al. (section 4.1), and the text for each on the page.

The answer is factually accurate; it is incorrect, or not supported by the pages; the pages are not enough to answer.
"""
CORRECTNESS = range(1, 6)
"""HyPA-RAG's absolute correctness (section 5.3): 1 is incorrect, 3 partly correct, 5 fully correct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReply:
    """What an annotation is about: a question and one system's answer, with long texts cut.

    `page_input` is the pages that the system got: `own`, `top-K`, `evidence`, `none` or `live`.
    """

    dataset: str
    question_id: str
    question: str
    choices: Mapping[str, str]
    page_input: str
    system: str
    answer: str | None
    status: str
    outcome: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One visitor's judgement of one answer. Invariants: a known label; correctness from 1 to 5, or None."""

    at: datetime
    label: str
    correctness: int | None
    reply: ShownReply

    def __post_init__(self) -> None:
        if self.label not in ANSWER_LABELS:
            raise RecordError("label", f"{self.label[:40]!r} is not one of {', '.join(ANSWER_LABELS)}")
        if self.correctness is not None and self.correctness not in CORRECTNESS:
            raise RecordError("correctness", f"{self.correctness} is not 1 to 5")


def read_annotations(path: Path) -> list[Annotation]:
    """All lines of a file of annotations, oldest first. Raises DataError that names file and line."""
    return [annotation for _, annotation in read_records(path, Annotation)]
