"""An audit of a judge as lines for a terminal, and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.judging.judge_audit import Agreement, AuditGroup, JudgeAudit


def _rate(value: float | None) -> str:
    return "      -" if value is None else f"{value:7.3f}"


def _interval(value: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value[0]:.3f} … {value[1]:.3f}"


def _name(group: AuditGroup) -> str:
    return "all" if group.attribute == "all" else f"{group.attribute} = {group.value}"


def _table(audit: JudgeAudit, part: str) -> Iterator[str]:
    yield f"{'answers':34} {'n':>6} {'agree':>7} {'kappa':>7} {'95 %':>15} {'precis.':>7} {'recall':>7}"
    for group in audit.groups:
        found: Agreement = getattr(group, part)
        rates = " ".join(_rate(rate) for rate in (found.agreement, found.kappa))
        ends = " ".join(_rate(rate) for rate in (found.precision, found.recall))
        yield f"{_name(group)[:34]:34} {found.n:6,} {rates} {_interval(found.kappa_interval):>15} {ends}"


def audit_lines(audit: JudgeAudit) -> Iterator[str]:
    """An audit as a readable table: the judged answers, and all of them where some are unjudged."""
    whole = audit.groups[0]
    drawn = f", a sample of {audit.sample:,} with seed {audit.seed}" if audit.sample is not None else ""
    yield f"judge      {audit.facts.get('name', 'rules')}"
    yield f"human      {', '.join(name for name, _ in audit.files)}{drawn}; {audit.n_improper:,} improper left out"
    for name, outcomes in audit.by_judge.items():
        yield f"spoke      {name}: {', '.join(f'{outcome} {n:,}' for outcome, n in outcomes.items())}"
    yield f"judged answers ({whole.judged.n:,} of {whole.all.n:,})"
    yield from _table(audit, "judged")
    if whole.n_unjudged:
        yield f"all answers, the {whole.n_unjudged:,} unjudged ones taken as not correct"
        yield from _table(audit, "all")
        for reason, n in list(audit.unjudged.items())[:5]:
            yield f"unjudged   {n:,}: {reason[:200]}"


def _agreement_values(found: Agreement) -> dict[str, Any]:
    names = (
        "n",
        "n_questions",
        "both",
        "judge_only",
        "human_only",
        "neither",
        "agreement",
        "kappa",
        "kappa_interval",
        "precision",
        "recall",
        "human_accuracy",
        "judge_accuracy",
    )
    return {name: getattr(found, name) for name in names}


def audit_values(audit: JudgeAudit) -> dict[str, Any]:
    """An audit as JSON-ready values, rates included."""
    from edu_rag.files.typed import to_plain

    groups = [
        {"attribute": g.attribute, "value": g.value, "n_unjudged": g.n_unjudged}
        | {"judged": _agreement_values(g.judged), "all": _agreement_values(g.all)}
        for g in audit.groups
    ]
    differences = [
        to_plain(pair.verdict) | {"outcome": pair.grade.outcome, "reason": pair.grade.reason}
        for pair in audit.differences
    ]
    return {
        "judge": dict(audit.facts),
        "files": [list(file) for file in audit.files],
        "sample": audit.sample,
        "seed": audit.seed,
        "n_improper": audit.n_improper,
        "by_judge": audit.by_judge,
        "unjudged": audit.unjudged,
        "groups": groups,
        "differences": differences,
    }
