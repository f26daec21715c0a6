"""The claim metrics of one run as a readable table, and the parts of its card that need the judge's findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec

from edu_rag.errors import DataError
from edu_rag.scorecard.claims_card import ClaimsCard, MetricTotal
from harness.judging.claims.judged_answer import JudgedAnswer, Status

RULE = "claims-v1"
"""The version of the metrics, of what a missing answer is worth, and of the limits on passages."""
_HEAD = f"{'metric':22} {'mean':>6} {'95 %':>15} {'sum':>9} {'/ n':>6} {'no value':>8} {'unjudged':>8} {'bounds':>15}"


def statuses_of(judged: Sequence[JudgedAnswer]) -> dict[str, int]:
    """How many questions were answered, abstained from and failed on."""
    found = Counter(answer.status for answer in judged)
    return {status: found[status] for status in get_args(Status)}


Ends = tuple[float, float]


class _AuditedJudge(msgspec.Struct):
    model: str = ""
    judge: str = ""


class _AuditedChain(msgspec.Struct):
    chain: list[_AuditedJudge]


class _AuditedRates(msgspec.Struct):
    n: int
    kappa: float | None
    kappa_interval: Ends | None
    spearman: float | None
    spearman_interval: Ends | None


class _AuditedGroup(msgspec.Struct):
    mark: Literal["below", "open", "reached"]
    judged: _AuditedRates


class _Audit(msgspec.Struct):
    """What a report keeps of the JSON of `judge audit`; the first group is of all answers."""

    least_kappa: float
    judge: _AuditedChain
    groups: Annotated[list[_AuditedGroup], msgspec.Meta(min_length=1)]


def audit_mark(values: Any, model: str, where: object) -> dict[str, Any]:
    """The part of an audit that the report keeps. Raises DataError if it is not one, or of another model."""
    try:
        found = msgspec.convert(values, _Audit)
    except msgspec.ValidationError as error:
        what = f"is not an audit: {str(error)[:200]}"
        raise DataError(where, what, "give what `edu-rag judge audit --json` printed") from None
    names = [part.model for part in found.judge.chain]
    if model not in names:
        raise DataError(where, f"is an audit of {', '.join(filter(None, names)) or 'rules'}", f"audit {model}")
    kinds, whole = ", ".join(part.judge for part in found.judge.chain), found.groups[0]
    kept = {"judge": kinds, "least_kappa": found.least_kappa, "mark": whole.mark}
    return kept | dict(msgspec.to_builtins(whole.judged))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.3f} … {ends[1]:.3f}"


def _audit_line(audit: Mapping[str, Any]) -> str:
    if not audit:
        return "not audited: `edu-rag judge audit --json`, then --audit FILE"
    bound = f"kappa {_number(audit['kappa'])} with people on {audit['n']:,} answers"
    return f"{bound} as {audit['judge']}: {audit['mark']} (bound {audit['least_kappa']:g})"


def report_lines(report: ClaimsCard) -> Iterator[str]:
    """A report as a readable table."""
    place = f"{report.dataset} {report.split}{f' {report.sample}' if report.sample else ''}"
    yield f"{report.system} on {place}, {report.rule}"
    yield f"judge      {report.judge['name']}"
    yield f"audit      {_audit_line(report.audit)}"
    yield f"questions  {', '.join(f'{status} {n:,}' for status, n in report.statuses.items())}"
    yield _HEAD
    for total in report.metrics:
        low, high = total.lowest_mean, total.highest_mean
        bounds = _range((low, high) if low is not None and high is not None else None)
        numbers = f"{total.numerator:9.3f} {total.denominator:6,} {total.n_no_value:8,} {total.n_unjudged:8,}"
        yield f"{total.metric:22} {_number(total.mean):>6} {_range(total.interval):>15} {numbers} {bounds:>15}"
    for reason, n in _reasons(report.metrics)[:5]:
        yield f"unjudged   {n:,} values: {reason[:200]}"


def _reasons(metrics: Sequence[MetricTotal]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for total in metrics:
        for reason, n in total.reasons.items():
            found[reason] = found.get(reason, 0) + n
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))
