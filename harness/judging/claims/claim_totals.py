"""The metrics of all answers together: means with intervals, and every answer without a value counted with its reason.

A mean is over the questions that have a value: its numerator is the sum of the values, its denominator their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edu_rag.statistics import mean_intervals, units_of
from harness.judging.claims.judged_answer import JudgedAnswer

METHOD = "bootstrap over questions, lessons whole, 10,000 resamples, seed 0"
_STEPS = 1_000_000
"""Values are counted in millionths for the interval, which draws whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTotal:
    """A metric over n_questions: numerator / denominator is its mean, None if no question has a value.

    denominator + n_nothing + n_unjudged = n_questions. `n_nothing`: nothing to judge (no claims, no passages, an
    abstention where the metric is about the answer's claims). `n_unjudged`: the judge failed. `least` and `most`: the
    mean if each unjudged answer had the lowest or the highest value. `interval`: 95 %, None below two values.
    """

    metric: str
    n_questions: int
    numerator: float
    denominator: int
    n_nothing: int
    n_unjudged: int
    interval: tuple[float, float] | None
    least: float | None
    most: float | None
    reasons: Mapping[str, int]

    @property
    def mean(self) -> float | None:
        """The mean over the questions with a value."""
        return self.numerator / self.denominator if self.denominator else None


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
        n_nothing=len(answers) - judged,
        n_unjudged=n_unjudged,
        interval=mean_with_interval(values, [lesson for value, lesson in found if value is not None]),
        least=round((total + low * n_unjudged) / judged, 9) if judged else None,
        most=round((total + high * n_unjudged) / judged, 9) if judged else None,
        reasons=dict(sorted(Counter(a.unjudged[metric] for a in answers if metric in a.unjudged).items())),
    )


def metric_totals(
    metrics: Sequence[str], answers: Sequence[JudgedAnswer], lessons: Sequence[int | None] = ()
) -> list[MetricTotal]:
    """The totals of some metrics, in their order."""
    return [metric_total(metric, answers, lessons) for metric in metrics]
