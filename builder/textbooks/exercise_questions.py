"""From an exercise of a book to a multiple-choice question, or the reason why it is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from builder.question_sets.question_flags import is_context_bound, plain
from builder.textbooks.book import Exercise
from edu_rag.records import LABELS

MIN_CHOICES = 3
LEFT_OUT: Mapping[str, str] = {
    "no_choices": "it has no lettered list of choices",
    "few_choices": f"it has fewer than {MIN_CHOICES} choices",
    "no_key": "its solution does not name exactly one choice",
    "figure": "it needs a figure",
    "context": "it refers to something outside of itself",
    "choices": "a choice is empty, or two choices are the same",
    "repeated": "an earlier exercise asks the same with the same choices",
}
"""Why an exercise is left out: the first reason that fits, in this order."""
_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:,]?(?=\s|\Z)")
_OTHER_LETTER = re.compile(r"\b[A-Za-z]\)|\b[B-HJ-Z]\b|\b(?:and|or) A\b")
_PICTURE = r"(?:figure|diagram|graph|image|photo(?:graph)?|illustration|picture|drawing)"
_FIGURE_WORDS = re.compile(
    rf"\b{_PICTURE} (?:above|below|shown)\b|\b(?:above|below|following|this) {_PICTURE}\b|\bin the {_PICTURE}\b",
    re.IGNORECASE,
)


class BookQuestion(NamedTuple):
    """A multiple-choice question of a book: its text, its choices by label, and the label of its key."""

    text: str
    choices: Mapping[str, str]
    answer: str


def key_of(solution: str, n_choices: int) -> str | None:
    """The label of the choice that a solution names; None if it names none, several, or one that is not there.

    A solution is a letter alone, or a letter and an explanation that speaks of no other letter.
    """
    match = _LETTER.match(solution)
    if match is None or _OTHER_LETTER.search(solution, match.end()):
        return None
    rest = solution[match.end() :].strip()
    is_word = match[0] in ("A", "I") and rest  # "A cell divides": a sentence
    label = match[1].lower()
    return None if is_word or label not in LABELS[:n_choices] else label


def question_of(exercise: Exercise) -> BookQuestion | str:
    """The question of an exercise, or why it is left out: a name of LEFT_OUT."""
    choices = exercise.choices
    if len(choices) < MIN_CHOICES:
        return "few_choices" if choices else "no_choices"
    answer = key_of(exercise.solution, len(choices))
    if answer is None:
        return "no_key"
    texts = (exercise.problem, *choices)
    if exercise.has_figure or any(map(_FIGURE_WORDS.search, texts)):
        return "figure"
    if is_context_bound(exercise.problem):
        return "context"
    if not exercise.problem or not all(map(plain, choices)) or len(set(map(plain, choices))) < len(choices):
        return "choices"
    return BookQuestion(exercise.problem, dict(zip(LABELS, choices, strict=False)), answer)


def identity_of(question: BookQuestion) -> tuple[str, ...]:
    """What two questions share if one repeats the other: text and choices, in any order."""
    return (plain(question.text).strip("_ "), *sorted(map(plain, question.choices.values())))
