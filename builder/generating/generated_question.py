"""A generated question with its gold, the spans that state it, and the line of a question file that it becomes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.generating.drawn_passages import WritingTask
from builder.generating.question_draft import QuestionDraft, QuestionPart
from edu_rag.gold import Gold
from edu_rag.records import LABELS, Question, Span

SPLIT = "generated"
UNKNOWN = ("I don't know", "I do not know", "The pages do not answer this question")
"""Accepted texts of a question that is out of scope: an answer that equals one of them is right by the rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestion:
    """A question as systems get it, its gold, its task, and the parts that it was put together from.

    `plain` is the question without the remark, situation or message that its type puts before it.
    """

    question: Question
    gold: Gold
    task: WritingTask
    parts: tuple[QuestionPart, ...]
    plain: str = ""

    @property
    def evidence(self) -> tuple[Span, ...]:
        """The sentences that state the answer; none if it is out of scope."""
        return tuple(fact.span for fact in self.task.facts) if self.task.type.answerable else ()

    def evidence_texts(self) -> list[str]:
        """The spans, cut from the page."""
        return [self.task.page.text[start:end] for start, end in self.evidence]

    def line(self) -> dict[str, Any]:
        """One line of a question file; fields that no question file has are kept with the gold in a build."""
        page = self.task.page
        spans = [{"url": page.url, "start": s, "end": e, "text": page.text[s:e]} for s, e in self.evidence]
        return {
            "id": self.question.question_id,
            "type": "Multiple Choice" if self.question.choices else "Free Text",
            "question": self.question.text,
            "plain": self.plain or self.question.text,
            "choices": dict(self.question.choices),
            "answer": self.gold.answer if self.gold.answer is not None else list(self.gold.texts),
            "page": page.url,
            "question_type": self.task.type.name,
            "evidence": spans,
            "made_from": [{"url": page.url, "start": s, "end": e} for s, e in self.task.passages],
        }


def _as_choice(text: str) -> str:
    """A choice as others are written: a first word in lower case begins with a capital letter."""
    word = text.split()[0]
    return text[0].upper() + text[1:] if len(word) > 1 and word.islower() and word.isalpha() else text


def _mixed(answer: str, wrong: Sequence[str], task_id: str) -> dict[str, str]:
    """The choices in an order that only the task's id and the texts decide."""
    texts = sorted((answer, *wrong), key=lambda text: hashlib.sha256(f"{task_id}:{text}".encode()).digest())
    return dict(zip(LABELS, texts, strict=False))


def as_question(task: WritingTask, draft: QuestionDraft, wrong: Sequence[str] = ()) -> GeneratedQuestion:
    """The records of a written question. One that is out of scope is free text; its gold is "I don't know"."""
    choices: Mapping[str, str] = {}
    if not task.type.answerable:
        gold = Gold(question_id=task.task_id, texts=UNKNOWN)
    elif wrong:
        answer = _as_choice(draft.answer)
        choices = _mixed(answer, [_as_choice(text) for text in wrong], task.task_id)
        label = next(label for label, text in choices.items() if text == answer)
        gold = Gold(question_id=task.task_id, answer=label)
    else:
        gold = Gold(question_id=task.task_id, texts=(draft.answer,))
    question = Question(
        question_id=task.task_id,
        text=draft.text,
        choices=choices,
        kind="multiple_choice" if choices else "free_text",
        split=SPLIT,
    )
    return GeneratedQuestion(question=question, gold=gold, task=task, parts=draft.parts, plain=draft.plain(task.type))
