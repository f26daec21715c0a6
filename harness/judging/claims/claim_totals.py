"""The metrics of all answers together: means with intervals, and every answer without a value counted with its reason.

A mean is over the questions that have a value: its numerator is the sum of the values, its denominator their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from edu_rag.scorecard.claims_card import MetricTotal
from edu_rag.statistics import mean_intervals, units_of
from harness.judging.claims.judged_answer import JudgedAnswer

METHOD = "bootstrap over questions, lessons whole, 10,000 resamples, seed 0"
MAX_REASONS = 20
_STEPS = 1_000_000
"""Values are counted in millionths for the interval, which draws whole numbers."""


def value_range(metric: str) -> tuple[float, float]:
    """The lowest and the highest value of a metric. The cosines of answer relevancy may be below 0."""
    if metric.startswith("correctness_"):
        return 1.0, 5.0
    return (-1.0 if metric == "answer_relevancy" else 0.0), 1.0


def mean_with_interval(values: Sequence[float], lessons: Sequence[int | None]) -> tuple[float, float] | None:
    """The 95 % interval of a mean, by drawing questions (lessons whole where known); None below two values."""
    if len(values) < 2:
        return None
    units = units_of(lessons, len(values))
    places = np.arange(len(values)) if units is None else units
    (found,) = mean_intervals(np.rint(np.array([values]) * _STEPS).astype(np.int64), places)
    return round(found[0] / _STEPS, 6), round(found[1] / _STEPS, 6)


def metric_total(metric: str, answers: Sequence[JudgedAnswer], lessons: Sequence[int | None] = ()) -> MetricTotal:
    """The total of one metric; `lessons` numbers the lesson of each answer's question (None or -1: none)."""
    numbers = list(lessons) or [None] * len(answers)
    found = [
        (answer.values[metric].value, lesson)
        for answer, lesson in zip(answers, numbers, strict=True)
        if metric in answer.values
    ]
    values = [value for value, _ in found if value is not None]
    n_unjudged = sum(metric in answer.unjudged for answer in answers)
    low, high = value_range(metric)
    n, total = len(values), float(sum(values))
    judged = n + n_unjudged
    return MetricTotal(
        metric=metric,
        n_questions=len(answers),
        numerator=round(total, 9),
        denominator=n,
        n_no_value=len(answers) - judged,
        n_unjudged=n_unjudged,
        interval=mean_with_interval(values, [lesson for value, lesson in found if value is not None]),
        lowest_mean=round((total + low * n_unjudged) / judged, 9) if judged else None,
        highest_mean=round((total + high * n_unjudged) / judged, 9) if judged else None,
        reasons=_reasons([answer.unjudged[metric] for answer in answers if metric in answer.unjudged]),
    )


def _reasons(found: Sequence[str]) -> dict[str, int]:
    """How often each reason is given, the most frequent first; a judge may give as many as there are answers."""
    ordered = sorted(Counter(found).items(), key=lambda item: (-item[1], item[0]))
    rest = sum(n for _, n in ordered[MAX_REASONS:])
    return dict(ordered[:MAX_REASONS]) | ({"other reasons": rest} if rest else {})


def metric_totals(
    metrics: Sequence[str], answers: Sequence[JudgedAnswer], lessons: Sequence[int | None] = ()
) -> list[MetricTotal]:
    """The totals of some metrics, in their order."""
    return [metric_total(metric, answers, lessons) for metric in metrics]
