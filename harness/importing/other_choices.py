"""Answers that name a choice by its letter where another program listed the choices: turned into our labels.

Choices may have been shuffled for the model, so a letter of that list means nothing in ours: the choice's text decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from edu_rag.errors import RecordError
from edu_rag.records import LABELS, Question
from harness.importing.find_question import plain_text
from harness.reading.answers import read_answer

_LETTER = re.compile(r"\s*\(?([A-Za-z])[).]?\s*\Z")


def label_map(listed: Sequence[str], question: Question) -> Mapping[str, str] | None:
    """Our label of each letter of a list of choices; None if it lists them as we do.

    Texts that differ in case alone are kept apart by their case. Raises RecordError if they are not this question's
    choices, or if equal texts leave open which is which.
    """
    ours = list(question.choices.values())
    if _is_in_our_order(listed, ours):
        return None
    theirs_alike, ours_alike = _alike(dict(zip(LABELS, listed, strict=False))), _alike(question.choices)
    if len(listed) != len(ours) or _sizes(theirs_alike) != _sizes(ours_alike):
        remedy = "if they are the same but for spelling, leave them out: --map choices="
        raise RecordError("choices", f"are not those of question {question.question_id!r}", remedy)
    labels: dict[str, str] = {}
    for text, letters in theirs_alike.items():
        found = _pairs(letters, ours_alike[text])
        if found is None:
            what = f"of question {question.question_id!r} leave open which is which: two are equal, or but for case"
            remedy = "spell them as the dataset does; if they are in its order, leave them out: --map choices="
            raise RecordError("choices", what, remedy)
        labels |= found
    return {letter: labels[letter] for letter in sorted(labels)}


def _is_in_our_order(listed: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether the letters of a list mean what ours do: the same texts in order, which differ in more than case."""
    if _spelled(listed) == _spelled(ours):
        return True
    folded = [plain_text(text) for text in ours]
    return [plain_text(text) for text in listed] == folded and len(set(folded)) == len(set(_spelled(ours)))


def _spelled(texts: Iterable[str]) -> list[str]:
    """Texts with their case, and with single blanks."""
    return [" ".join(text.split()) for text in texts]


def _alike(texts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Labels with their texts, in groups that are equal but for case and the like."""
    groups: dict[str, dict[str, str]] = {}
    for label, text in texts.items():
        groups.setdefault(plain_text(text), {})[label] = text
    return groups


def _sizes(groups: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    return {text: len(group) for text, group in groups.items()}


def _pairs(theirs: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str] | None:
    """Our label of each letter of a group of texts that are alike; None if their spelling leaves it open."""
    if len(ours) == 1:
        return dict(zip(theirs, ours, strict=True))
    by_text = dict(zip(_spelled(ours.values()), ours, strict=True))
    spelled = _spelled(theirs.values())
    if len(by_text) < len(ours) or set(spelled) != set(by_text):
        return None
    return {letter: by_text[text] for letter, text in zip(theirs, spelled, strict=True)}


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
