"""Grade an answer to a row of an exported task: what the task files of Inspect and of lm-eval call.

They call this function instead of holding a copy of the rules, so that an exported task is graded by the rules of the
installed version, as `edu-rag score` grades.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.exported_question import ExportedQuestion
from edu_rag.scorecard.card import Counts, Prediction
from harness.judging.free_text import UnjudgedError
from harness.judging.outcomes import judge
from harness.reading.answers import read_answer


class GradedAnswer(NamedTuple):
    """The outcome of an answer (`unjudged` if only a person or a model can grade it), why, and the label that it names.

    `rates` are what the answer adds to each mean over the questions, by name.
    """

    outcome: str
    reason: str
    label: str | None
    rates: Mapping[str, float]


def grade_row(row: Mapping[str, Any], response: str) -> GradedAnswer:
    """Grade a model's response to a row of an exported task. Raises DataError for a row that is not one."""
    try:
        asked = msgspec.convert(row, ExportedQuestion)
    except msgspec.ValidationError as error:
        raise DataError("a row of the task", str(error), "export the task again") from None
    question = asked.as_question()
    try:
        verdict = judge(question, asked.as_gold(), Prediction(question_id=asked.id, answer=response))
    except UnjudgedError as error:
        return GradedAnswer("unjudged", error.unjudged[0].reason, None, _rates("unjudged"))
    label = read_answer(response, question.choices).label if question.choices else None
    return GradedAnswer(verdict.outcome, verdict.reason, label, _rates(verdict.outcome))


def _rates(outcome: str) -> dict[str, float]:
    unjudged = float(outcome == "unjudged")
    rates = Counts(**{outcome: 1}).rates() if not unjudged else {}
    names = ("accuracy", "hallucination", "missing", "score")
    return {name: float(rates.get(name) or 0.0) for name in names} | {"unjudged": unjudged}
