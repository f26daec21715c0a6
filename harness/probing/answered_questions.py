"""The questions that a predictions file answers: a split, or a probe's version of it (fewer, or permuted choices)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from edu_rag.scorecard.card import Prediction, SystemFacts
from harness.exam.exam import Exam
from harness.probing.permute import may_permute, permute
from harness.submission.predictions_file import predictions_within
from harness.submission.run_record import RunRecord, read_run_record
from harness.submission.target import Target

OWN_PAGES = ("permuted", "repeat")
"""Probes that give a system the dataset's own pages, so that it can be said where their points went."""


class Answered(NamedTuple):
    """An exam with a system's predictions for it. `probe` is the name of the probe that asked, None for a run."""

    exam: Exam
    system: SystemFacts
    predictions: Mapping[str, Prediction]
    probe: str | None

    @property
    def has_own_pages(self) -> bool:
        """Whether the system was given the pages that the dataset has for the question."""
        return self.probe is None or self.probe.startswith(OWN_PAGES)


def read_answered(exam: Exam, target: Target) -> Answered:
    """Read the questions of a predictions file; the run record next to it says whether a probe asked them.

    A probe's exam holds only the probe's questions, with choices in the probe's order. Raises DataError,
    SubmissionError or BudgetError.
    """
    predictions = predictions_within(target.path, exam.known)
    record = read_run_record(target.path)
    if record is None or record.probe is None:
        return Answered(exam, target.system, predictions, None)
    return Answered(_asked(exam, record, predictions), target.system, predictions, record.probe)


def _asked(exam: Exam, record: RunRecord, predictions: Mapping[str, Prediction]) -> Exam:
    asked = [question for question in exam.questions if question.question_id in predictions]
    if record.probe != "permuted":
        return exam._replace(questions=asked)
    turned = [permute(question, record.seed) for question in asked if may_permute(question)]
    gold = {
        question.question_id: replace(known, answer=permuted.given(known.answer or ""))
        for permuted in turned
        for question in [permuted.question]
        for known in [exam.gold[question.question_id]]
    }
    return exam._replace(questions=[permuted.question for permuted in turned], gold={**exam.gold, **gold})
