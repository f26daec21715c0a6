"""Systems that read neither page nor question: the floor that every other system has to leave.

Their expected scores are known: always-abstain is 0.000 exactly, random is 2/k - 1 with k choices (design, section 7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from edu_rag.serve import SystemQuestion


def abstain(question: SystemQuestion) -> None:
    """Always "I don't know"."""


def constant(label: str) -> Callable[[SystemQuestion], str | None]:
    """The system that always says this letter, and abstains where the question has no such choice."""

    def answer(question: SystemQuestion) -> str | None:
        return label if label in question.choices else None

    return answer


def random_choice(seed: int) -> Callable[[SystemQuestion], str | None]:
    """The system that picks a choice evenly; one question gets the same pick in every run with this seed.

    The pick hangs on seed, text and choices, not on the id, which is another one in every run.
    """

    def answer(question: SystemQuestion) -> str | None:
        if not question.choices:
            return None
        content = msgspec.json.encode([seed, question.text, list(question.choices.items())])
        draw = int.from_bytes(hashlib.sha256(content).digest(), "big")
        return list(question.choices)[draw % len(question.choices)]

    return answer


def longest(question: SystemQuestion) -> str | None:
    """The choice with the most characters, the first of equals: writers of tests tend to spell out the right choice."""
    return max(question.choices, key=lambda label: len(question.choices[label]), default=None)
