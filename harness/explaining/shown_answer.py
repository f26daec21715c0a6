"""One answer as a page shows it: the prediction, its verdict, the cause of a lost point, citations, missed evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.records import Leak, Question, WebPage
from edu_rag.scorecard.card import Passage, Prediction, Verdict
from edu_rag.scorecard.support import Support
from harness.explaining.excerpts import Excerpt, ExcerptLimits, excerpts
from harness.reading.answers import read_answer
from harness.scoring.attribution import attribute

LIMITS = ExcerptLimits(pages=3, characters=900, context=90)
"""The limits for each answer on a page about many questions."""


class AnswerSources(NamedTuple):
    """The data that answers are compared with: pages by id, evidence, and the leaks of each question."""

    pages: Mapping[str, WebPage]
    support: Support
    leaks: Mapping[str, Sequence[Leak]]


class ShownAnswer(NamedTuple):
    """One system's answer. `cause` says where a lost point went; `n_left_out` pages are not shown."""

    prediction: Prediction | None
    verdict: Verdict
    cause: str | None
    cited: Sequence[Excerpt]
    missed: Sequence[Excerpt]
    n_left_out: int

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages that the system cited."""
        return self.prediction.passages if self.prediction else ()


def read_sources(
    dataset: Dataset, split: str, support: Support, question_ids: Collection[str], cited: Iterable[Passage]
) -> AnswerSources:
    """Read the pages and labels of these questions, and no others: a large split has a gigabyte of pages."""
    leaks: dict[str, list[Leak]] = {}
    for leak in dataset.records("leaks", split, Leak):
        if leak.question_id in question_ids:
            leaks.setdefault(leak.question_id, []).append(leak)
    wanted = {page_id for page_id, _, _ in cited}
    wanted |= {page_id for question_id in question_ids for page_id in support.evidence.get(question_id, ())}
    wanted |= {leak.page_id for found in leaks.values() for leak in found}
    return AnswerSources(dataset.pages(split, wanted), support, leaks)


def tell(question: Question, prediction: Prediction | None, verdict: Verdict, sources: AnswerSources) -> ShownAnswer:
    """Everything a page says about one answer."""
    question_id = question.question_id
    evidence = sources.support.evidence.get(question_id, {})
    passages = prediction.passages if prediction else ()
    cited, missed, n_left_out = excerpts(passages, evidence, sources.leaks.get(question_id, ()), sources.pages, LIMITS)
    cause = attribute(question, prediction, verdict, sources.support)
    return ShownAnswer(prediction, verdict, cause, cited, missed, n_left_out)


def label_read(told: ShownAnswer, question: Question) -> str | None:
    """The label that an answer names by the rules of reading; None if it names no single choice."""
    said = told.prediction.answer if told.prediction else None
    return None if said is None or not question.choices else read_answer(said, question.choices).label


def points_text(verdict: Verdict) -> str:
    """The points of a verdict with a true minus sign."""
    return ("−1", "0", "+1")[verdict.points + 1]
