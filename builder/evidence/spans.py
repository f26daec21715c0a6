"""Shared by all methods: find the texts of the gold answer, and choose the best of the places that a method found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from builder.question_sets.question_flags import is_meta_choice
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question

MAX_PER_QUESTION = 10
_NEGATED = re.compile(r"\b(?:not|except|incorrect|incorrectly|false|never|least|cannot)\b")


class SpanPlace(NamedTuple):
    """A sentence of a page."""

    page_id: str
    start: int
    end: int


def is_negated(text: str) -> bool:
    """Whether a question asks for an exception: there, the answer's words near the question's are not support."""
    return _NEGATED.search(text.casefold()) is not None


def gold_texts(question: Question, gold: Gold) -> list[str]:
    """The texts of the gold answer whose words can support it.

    None for true/false questions, for questions with "not" or "except", for choices such as "all of the above".
    """
    if question.kind == "true_false" or is_negated(question.text):
        return []
    texts = [question.choices[gold.answer]] if gold.answer is not None else list(gold.texts)
    return [text for text in texts if not is_meta_choice(text)]


def evidence_at(found: Mapping[SpanPlace, tuple[float, int]], question: Question, method: str) -> list[Evidence]:
    """Evidence at the best MAX_PER_QUESTION places, by page and position. Smaller (score, rank) is better."""
    best = sorted(found, key=lambda place: (found[place], place))[:MAX_PER_QUESTION]
    return [
        Evidence(question_id=question.question_id, page_id=page_id, start=start, end=end, method=method)
        for page_id, start, end in sorted(best)
    ]
