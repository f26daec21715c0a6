"""Permuting the choices of a question, and reading a permuted answer as the choice that it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from edu_rag.records import LABELS, Question
from harness.probing.probe_pages import draw
from harness.reading.folding import fold_writing

_REFERS = re.compile(
    r"\b(?:all|none|both|neither|either|any|two|some|each|one) of (?:the )?(?:other )?"
    r"(?:these|those|them|above|below|others?|choices|options|answers)[\s.!]*$"
    r"|^(?:both|neither|either|all|none)[\s.!]*$|\b[a-g](?: and | or |/|&| & |, )[a-g]\b|\([a-g]\)"
)
"""Choices that refer to other choices, by label or by place, in addition to those that the dataset flags."""
_UNFIT_FLAGS = ("meta_choice", "duplicate_choices")


class Permuted(NamedTuple):
    """A question with its choices in another order; `original` gives the original label of each permuted label."""

    question: Question
    original: Mapping[str, str]

    def given(self, label: str) -> str:
        """The permuted label of the choice with this original label."""
        return next(new for new, old in self.original.items() if old == label)

    @property
    def changed(self) -> bool:
        """Whether any choice changed its place."""
        return any(new != old for new, old in self.original.items())


def may_permute(question: Question) -> bool:
    """Whether the order of a question's choices means nothing.

    It has a meaning in true/false questions (a convention), if a choice refers to others (`all of the above`, `both
    a and c`), if two choices read the same, and if a choice's text is itself a label of the question.
    """
    if question.kind in ("true_false", "free_text") or any(flag in _UNFIT_FLAGS for flag in question.flags):
        return False
    texts = [fold_writing(text) for text in question.choices.values()]
    if len(set(texts)) < len(texts) or not all(texts):
        return False
    return not any(_REFERS.search(text) or text in question.choices for text in texts)


def permute(question: Question, seed: int) -> Permuted:
    """The question under a permutation drawn evenly from all, the one that changes nothing included: its choices in
    the order of `draw(seed, "permuted", question_id, label)`.

    Because all are drawn from, the position of every choice is uniform, and a system's positions can be tested.
    """
    order = sorted(question.choices, key=lambda label: draw(seed, "permuted", question.question_id, label))
    choices = {new: question.choices[old] for new, old in zip(LABELS, order, strict=False)}
    return Permuted(replace(question, choices=choices), dict(zip(LABELS, order, strict=False)))
