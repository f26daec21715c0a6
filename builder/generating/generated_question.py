"""A generated question with its gold, the spans that state it, and the line of a question file that it becomes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.generating.drawn_passages import WritingTask
from builder.generating.question_draft import QuestionDraft
from edu_rag.gold import Gold
from edu_rag.records import LABELS, Question, Span, WebPage

SPLIT = "generated"
UNKNOWN = ("I don't know", "I do not know", "The pages do not answer this question")
"""Accepted texts of a question that is out of scope: an answer that equals one of them is right by the rules."""
MIN_QUOTE_WORDS = 3
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?<!\w)[-−]?\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestion:
    """A question as systems get it, its gold, its task, and its evidence: spans of the task's page."""

    question: Question
    gold: Gold
    task: WritingTask
    evidence: tuple[Span, ...]
    wrong: tuple[str, ...] = ()

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
            "choices": dict(self.question.choices),
            "answer": self.gold.answer if self.gold.answer is not None else list(self.gold.texts),
            "page": page.url,
            "question_type": self.task.type.name,
            "evidence": spans,
            "made_from": [{"url": page.url, "start": s, "end": e} for s, e in self.task.passages],
        }


def _numbers_match(words: Sequence[str], quote: str, found: re.Match[str]) -> bool:
    """Whether a quote and where it was found have the same numbers, with signs and points, also at both ends."""
    start = max(0, found.start() - 2) if words[0][0].isdigit() else found.start()
    end = found.end() + 2 if words[-1][-1].isdigit() else found.end()
    return _NUMBER.findall(quote) == _NUMBER.findall(found.string[start:end])


def quoted_span(page: WebPage, passages: Sequence[Span], quote: str) -> Span | None:
    """The sentences of the passages in which a quote is, word for word; None if it is in none of them.

    Case, punctuation and white space may differ, numbers may not: models change quotation marks and add a full stop.
    What is returned is the page's own text. A quote of fewer than MIN_QUOTE_WORDS words could be anywhere.
    """
    words = _WORD.findall(quote)
    if min(len(words), len(quote.split())) < MIN_QUOTE_WORDS:  # "don't go" and "3.5.2" are not three
        return None
    pattern = re.compile(r"\b" + r"\W+".join(words) + r"\b", re.IGNORECASE)
    for start, end in passages:
        found = next(
            (one for one in pattern.finditer(page.text, start, end) if _numbers_match(words, quote, one)), None
        )
        if found is not None:
            touched = [s for s in page.sentences if s.start < found.end() and s.end > found.start()]
            return Span(
                min([found.start(), *(s.start for s in touched)]), max([found.end(), *(s.end for s in touched)])
            )
    return None


def _mixed(answer: str, wrong: Sequence[str], task_id: str) -> dict[str, str]:
    """The choices in an order that only the task's id and the texts decide."""
    texts = sorted((answer, *wrong), key=lambda text: hashlib.sha256(f"{task_id}:{text}".encode()).digest())
    return dict(zip(LABELS, texts, strict=False))


def as_question(
    task: WritingTask, draft: QuestionDraft, evidence: Sequence[Span], *, with_choices: bool
) -> GeneratedQuestion:
    """The records of a written question. One that is out of scope is free text; its gold is "I don't know"."""
    choices: Mapping[str, str] = {}
    if not task.type.answerable:
        gold = Gold(question_id=task.task_id, texts=UNKNOWN)
    elif with_choices:
        choices = _mixed(draft.answer, draft.wrong, task.task_id)
        label = next(label for label, text in choices.items() if text == draft.answer)
        gold = Gold(question_id=task.task_id, answer=label)
    else:
        gold = Gold(question_id=task.task_id, texts=(draft.answer,))
    question = Question(
        question_id=task.task_id,
        text=draft.text(),
        choices=choices,
        kind="multiple_choice" if choices else "free_text",
        split=SPLIT,
    )
    return GeneratedQuestion(question=question, gold=gold, task=task, evidence=tuple(evidence), wrong=draft.wrong)
