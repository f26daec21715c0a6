"""One question with its gold as an exported task of another program has it: a row of its JSON lines."""

from __future__ import annotations

from dataclasses import dataclass

from edu_rag.gold import Gold
from edu_rag.records import LABELS, Kind, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedQuestion:
    """A row of an exported task.

    `choices` are the texts in order; `target` is the letter of the right one (`A` is the first), or the first accepted
    text of free text. `prompt` is the question with its choices as text; `pages` are parts of its pages, empty if it
    has none.
    """

    id: str
    kind: Kind
    question: str
    choices: tuple[str, ...]
    target: str
    accepted: tuple[str, ...]
    lesson: str | None
    prompt: str
    pages: str

    @classmethod
    def of(cls, question: Question, gold: Gold, prompt: str, pages: str) -> ExportedQuestion:
        """The row of a question."""
        return cls(
            id=question.question_id,
            kind=question.kind,
            question=question.text,
            choices=tuple(question.choices.values()),
            target=gold.texts[0] if gold.answer is None else gold.answer.upper(),
            accepted=gold.texts,
            lesson=question.lesson,
            prompt=prompt,
            pages=pages,
        )

    def as_question(self) -> Question:
        """The question without its gold."""
        choices = dict(zip(LABELS, self.choices, strict=False))
        return Question(question_id=self.id, text=self.question, choices=choices, kind=self.kind, split="exported")

    def as_gold(self) -> Gold:
        """The gold alone."""
        if self.accepted:
            return Gold(question_id=self.id, texts=self.accepted)
        return Gold(question_id=self.id, answer=self.target.lower())
