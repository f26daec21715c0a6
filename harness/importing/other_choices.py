"""Answers that name a choice by its letter where another program listed the choices: turned into our labels.

Choices may have been shuffled for the model, so a letter of that list means nothing in ours: the choice's text decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from edu_rag.errors import RecordError
from edu_rag.records import LABELS, Question
from harness.importing.find_question import plain_text
from harness.reading.answers import read_answer

_LETTER = re.compile(r"\s*\(?([A-Za-z])[).]?\s*\Z")


def label_map(listed: Sequence[str], question: Question) -> Mapping[str, str] | None:
    """Our label of each letter of a list of choices; None if it lists them as we do.

    Raises RecordError if they are not this question's choices, or if equal texts leave open which is which.
    """
    theirs, ours = [plain_text(text) for text in listed], [plain_text(text) for text in question.choices.values()]
    if theirs == ours:
        return None
    if sorted(theirs) != sorted(ours):
        remedy = "if they are the same but for spelling, leave them out: --map choices="
        raise RecordError("choices", f"are not those of question {question.question_id!r}", remedy)
    if len(set(ours)) < len(ours):
        remedy = "list the choices in the dataset's order"
        raise RecordError("choices", f"of question {question.question_id!r} are shuffled, and two are equal", remedy)
    by_text = dict(zip(ours, question.choices, strict=True))
    return {LABELS[place]: by_text[text] for place, text in enumerate(theirs)}


def in_our_labels(answer: str, listed: Sequence[str], question: Question) -> str:
    """An answer that was given to a list of choices, as an answer to the question. Raises RecordError."""
    labels = label_map(listed, question) if listed and question.choices else None
    if labels is None:
        return answer
    letter = _LETTER.match(answer)
    if letter is not None:
        return labels.get(letter[1].lower(), answer)
    theirs = {label: question.choices[ours] for label, ours in labels.items()}
    reading = read_answer(answer, theirs)
    return labels[reading.label] if reading.label is not None else answer
