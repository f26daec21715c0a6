"""The questions' half of an audit: stored flags, faults that need the gold, contradictions, the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builder.dataset.question_faults import RULES, KeyTest, contradictions, faults_of, key_test
from edu_rag.gold import Gold
from edu_rag.records import QUESTION_FLAGS, Question

FLAG_MEANINGS: Mapping[str, str] = {
    "meta_choice": "a choice speaks of other choices: never shuffled",
    "duplicate_choices": "two choices are the same text",
    "truncated": "the question or a choice is cut short",
    "context_bound": "needs a neighbour, a passage or a picture that is not here",
    "duplicate_question": "another question has the same text and choices",
}


@dataclass(slots=True)
class QuestionGroup:
    """Questions with one flag or fault: how many, and the first few as (id, text, choices)."""

    meaning: str
    n: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class QuestionAudit:
    """The problems of a split's questions."""

    split: str
    n: int
    kinds: dict[str, int]
    flags: dict[str, QuestionGroup]
    faults: dict[str, QuestionGroup]
    contradictions: list[tuple[str, str]]
    key: KeyTest
    n_clean: int


def _note(group: QuestionGroup, question: Question, gold: Gold | None, examples: int) -> None:
    group.n += 1
    if len(group.examples) < examples:
        answer = gold.answer if gold is not None else None
        told = {"question_id": question.question_id, "text": question.text, "choices": dict(question.choices)}
        group.examples.append(told | {"gold": answer})


def audit_questions(
    split: str, questions: Sequence[Question], gold: Mapping[str, Gold], examples: int
) -> QuestionAudit:
    """Count flags and faults of a split's questions, with `examples` of each. Without gold, its rules find nothing."""
    flags = {flag: QuestionGroup(FLAG_MEANINGS[flag]) for flag in QUESTION_FLAGS}
    faults = {name: QuestionGroup(meaning) for name, (_, meaning) in RULES.items()}
    kinds: dict[str, int] = {}
    n_clean = 0
    for question in questions:
        own = gold.get(question.question_id)
        kinds[question.kind] = kinds.get(question.kind, 0) + 1
        found = faults_of(question, own)
        n_clean += not found and not question.flags
        for flag in question.flags:
            _note(flags[flag], question, own, examples)
        for fault in found:
            _note(faults[fault], question, own, examples)
    return QuestionAudit(
        split=split,
        n=len(questions),
        kinds=dict(sorted(kinds.items())),
        flags=flags,
        faults=faults,
        contradictions=contradictions(questions, gold),
        key=key_test(questions, gold),
        n_clean=n_clean,
    )
