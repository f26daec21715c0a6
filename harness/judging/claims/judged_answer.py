"""The metrics of one answer: which steps each needs, each step asked once, and what a missing answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from harness.judging.claims import claim_values as values
from harness.judging.claims.claim_values import NOTHING, ZERO, Assignment, ClaimValue, Nugget
from harness.judging.claims.claims_judge import ClaimsJudge, Unanswered

T = TypeVar("T")
Status = Literal["answered", "abstained", "failed"]


class ClaimCase(NamedTuple):
    """A question with its accepted texts (the first is the reference), an answer, and the passages that it cites.

    `nuggets`: those that people listed; None where the judge lists them.
    """

    question_id: str
    question: str
    references: Sequence[str]
    status: Status
    answer: str
    passages: Sequence[str]
    nuggets: Sequence[Nugget] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """The values of one answer by metric, or why there is none; and the claims and verdicts behind them.

    `values` holds a metric that was computed (its denominator may be 0: nothing to judge), `unjudged` one that
    the judge failed on.
    """

    question_id: str
    status: Status
    values: Mapping[str, ClaimValue]
    unjudged: Mapping[str, str]
    steps: Mapping[str, Any] = field(default_factory=dict)


class _UnansweredError(Exception):
    """Leaves a metric whose step has no value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _given(found: T | Unanswered) -> T:
    if isinstance(found, Unanswered):
        raise _UnansweredError(found.reason)
    return found


class _Steps:
    """The steps of one answer, each asked when it is first needed."""

    def __init__(self, case: ClaimCase, judge: ClaimsJudge) -> None:
        self.case, self._judge = case, judge

    @property
    def is_answered(self) -> bool:
        return self.case.status == "answered"

    @cached_property
    def answer_claims(self) -> list[str] | Unanswered:
        return self._judge.claims(self.case.question, self.case.answer)

    @cached_property
    def reference_claims(self) -> list[str] | Unanswered:
        return self._judge.claims(self.case.question, self.case.references[0])

    def _supported(self, claims: list[str] | Unanswered, text: str | Sequence[str]) -> list[bool] | Unanswered:
        """Whether a text supports each claim; no passages, or a missing answer, support none."""
        if isinstance(claims, Unanswered):
            return claims
        return self._judge.supported(claims, text) if text else [False] * len(claims)

    @cached_property
    def answer_by_passages(self) -> list[bool] | Unanswered:
        return self._supported(self.answer_claims, self.case.passages)

    @cached_property
    def reference_by_passages(self) -> list[bool] | Unanswered:
        return self._supported(self.reference_claims, self.case.passages)

    @cached_property
    def answer_by_reference(self) -> list[bool] | Unanswered:
        return self._supported(self.answer_claims, self.case.references[0])

    @cached_property
    def reference_by_answer(self) -> list[bool] | Unanswered:
        return self._supported(self.reference_claims, self.case.answer if self.is_answered else "")

    @cached_property
    def relevant(self) -> list[bool] | Unanswered:
        case = self.case
        return _all([self._judge.relevant(case.question, case.references[0], text) for text in case.passages])

    @cached_property
    def reference_by_passage(self) -> list[list[bool]] | Unanswered:
        """A row a reference claim, a column a passage."""
        claims = self.reference_claims
        found = _all([self._supported(claims, text) for text in self.case.passages])
        if isinstance(claims, Unanswered) or isinstance(found, Unanswered):
            return claims if isinstance(claims, Unanswered) else found
        return [[column[row] for column in found] for row in range(len(claims))]

    @cached_property
    def asked(self) -> tuple[list[str], bool] | Unanswered:
        return self._judge.asked(self.case.answer)

    @cached_property
    def cosines(self) -> list[float] | Unanswered:
        asked = self.asked
        return asked if isinstance(asked, Unanswered) else self._judge.cosines(self.case.question, asked[0])

    @cached_property
    def nuggets(self) -> list[Nugget] | Unanswered:
        case = self.case
        if case.nuggets is not None:
            return list(case.nuggets)
        return self._judge.nuggets(case.question, case.references[0])

    @cached_property
    def assigned(self) -> list[Assignment] | Unanswered:
        nuggets = self.nuggets
        if isinstance(nuggets, Unanswered):
            return nuggets
        if not self.is_answered:
            return ["not_support"] * len(nuggets)
        return self._judge.assigned(self.case.question, [nugget.text for nugget in nuggets], self.case.answer)

    @cached_property
    def scores(self) -> dict[str, float | Unanswered]:
        return {}

    def score(self, step: str) -> float | Unanswered:
        if step not in self.scores:
            self.scores[step] = self._judge.score(step, self.case.question, self.case.references, self.case.answer)
        return self.scores[step]


def _all(found: Sequence[T | Unanswered]) -> list[T] | Unanswered:
    """All of them, or the first that is unanswered."""
    kept: list[T] = []
    for one in found:
        if isinstance(one, Unanswered):
            return one
        kept.append(one)
    return kept


class ClaimMetric(NamedTuple):
    """How a metric follows from the steps, which prompts it uses, and what it is without an answer.

    `missing`: the value of an abstention or a failure; `None`: the steps give it, as for a recall, which is 0 only if
    the reference has a claim or a nugget. A precision of nothing has no value.
    """

    of: Callable[[_Steps], ClaimValue]
    steps: tuple[str, ...]
    missing: ClaimValue | None
    needs_passages: bool = False


def _relevancy(s: _Steps) -> ClaimValue:
    cosines, (_, noncommittal) = _given(s.cosines), _given(s.asked)
    return values.answer_relevancy(cosines, [noncommittal] * len(cosines))


def _f1(s: _Steps) -> ClaimValue:
    recall = values.share(_given(s.reference_by_answer))
    precision = values.share(_given(s.answer_by_reference)) if s.is_answered else NOTHING
    return values.f1(precision, recall)


def _nuggets(*, vital: bool, strict: bool) -> ClaimMetric:
    def of(s: _Steps) -> ClaimValue:
        importances = [nugget.importance for nugget in _given(s.nuggets)]
        return values.nugget_recall(importances, _given(s.assigned), vital=vital, strict=strict)

    return ClaimMetric(of, ("nuggets", "assigned"), None)


def _correctness(number: int) -> dict[str, ClaimMetric]:
    step = f"correctness-{number}"
    return {
        f"correctness_{number}": ClaimMetric(
            lambda s: values.correctness(_given(s.score(step))), (step,), values.correctness(1.0)
        ),
        f"correct_{number}": ClaimMetric(lambda s: values.is_correct(_given(s.score(step))), (step,), ZERO),
    }


_CLAIMS = ("claims", "support")
METRICS: Mapping[str, ClaimMetric] = {
    "faithfulness": ClaimMetric(lambda s: values.share(_given(s.answer_by_passages)), _CLAIMS, NOTHING),
    "answer_relevancy": ClaimMetric(_relevancy, ("asked",), ZERO),
    "context_precision": ClaimMetric(lambda s: values.context_precision(_given(s.relevant)), ("relevant",), None, True),
    "context_recall": ClaimMetric(lambda s: values.share(_given(s.reference_by_passages)), _CLAIMS, None),
    "claim_precision": ClaimMetric(lambda s: values.share(_given(s.answer_by_reference)), _CLAIMS, NOTHING),
    "claim_recall": ClaimMetric(lambda s: values.share(_given(s.reference_by_answer)), _CLAIMS, None),
    "claim_f1": ClaimMetric(_f1, _CLAIMS, None),
    "retrieved_recall": ClaimMetric(lambda s: values.retrieved_recall(_given(s.reference_by_passage)), _CLAIMS, None),
    "retrieved_precision": ClaimMetric(
        lambda s: values.retrieved_precision(_given(s.reference_by_passage)), _CLAIMS, None, True
    ),
    "nuggets_strict_vital": _nuggets(vital=True, strict=True),
    "nuggets_vital": _nuggets(vital=True, strict=False),
    "nuggets_strict_all": _nuggets(vital=False, strict=True),
    "nuggets_all": _nuggets(vital=False, strict=False),
    **_correctness(1),
    **_correctness(2),
    **_correctness(3),
}
"""Every metric, in the order of tables."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "nuggets": tuple(name for name in METRICS if name.startswith("nuggets_")),
    **{f"correctness-{i}": (f"correctness_{i}", f"correct_{i}") for i in (1, 2, 3)},
}
"""Metrics of the same steps, under one name."""


def judge_answer(case: ClaimCase, judge: ClaimsJudge, metrics: Sequence[str]) -> JudgedAnswer:
    """The metrics of one answer. Each step is asked at most once, and only if a metric needs it."""
    steps = _Steps(case, judge)
    found: dict[str, ClaimValue] = {}
    unjudged: dict[str, str] = {}
    for name in metrics:
        try:
            found[name] = _value(METRICS[name], steps)
        except _UnansweredError as error:
            unjudged[name] = error.reason
    return JudgedAnswer(
        question_id=case.question_id, status=case.status, values=found, unjudged=unjudged, steps=_asked(steps)
    )


def _value(metric: ClaimMetric, steps: _Steps) -> ClaimValue:
    if metric.needs_passages and not steps.case.passages:
        return NOTHING
    if metric.missing is not None and steps.case.status != "answered":
        return metric.missing
    return metric.of(steps)


def _asked(steps: _Steps) -> dict[str, Any]:
    """The steps that have a value, in plain form."""
    found = {name: value for name, value in vars(steps).items() if not name.startswith("_") and name != "case"}
    scores = found.pop("scores", {})
    given = {name: value for name, value in (found | scores).items() if not isinstance(value, Unanswered)}
    if "nuggets" in given:
        given["nuggets"] = [nugget._asdict() for nugget in given["nuggets"]]
    return dict(sorted(given.items()))


def steps_of(metrics: Sequence[str]) -> list[str]:
    """The steps whose prompts some metrics use."""
    return sorted({step for name in metrics for step in METRICS[name].steps})


def details_of(answer: JudgedAnswer) -> dict[str, Any]:
    """One answer as plain values: every metric's numerator, denominator and value, and the claims and verdicts."""
    found = {
        name: {"numerator": value.numerator, "denominator": value.denominator, "value": value.value}
        for name, value in answer.values.items()
    }
    names = {"question_id": answer.question_id, "status": answer.status}
    return names | {"values": found, "unjudged": dict(answer.unjudged), "steps": dict(answer.steps)}
