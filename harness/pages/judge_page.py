"""`edu-rag judge audit --html`: how well a judge agrees with people, on a page."""

from __future__ import annotations

from edu_rag.look.texts import clip
from harness.judging.judge_audit import AuditGroup, JudgeAudit, kappa_mark
from harness.pages.render_page import flat, render

MAX_GROUPS = 200
_BANDS = ((0.81, "almost perfect"), (0.61, "substantial"), (0.41, "moderate"), (0.21, "fair"), (0.0, "slight"))


def band(kappa: float) -> str:
    """Landis & Koch's (1977, table 2) word for a kappa; a convention, no test."""
    return next((word for least, word in _BANDS if kappa >= least), "poor")


def group_name(group: AuditGroup) -> str:
    """The name of a group of answers."""
    return "all answers" if group.attribute == "all" else f"{group.attribute} {clip(group.value, 80) or '(no name)'}"


def verdict_sentence(audit: JudgeAudit) -> str:
    """The audit in a sentence or two."""
    whole = audit.groups[0].judged
    if whole.agreement is None:
        return "The judge graded none of the answers."
    said = f"The judge and people agree on {whole.agreement * 100:.1f} % of {whole.n:,} answers"
    if whole.kappa is None:
        return f"{said}; kappa is undefined, since one of them says the same of every answer."
    interval = whole.kappa_interval
    bounds = f", 95 % interval {interval[0]:.3f} to {interval[1]:.3f}" if interval else ""
    return f"{said}; beyond what chance would give, that is kappa {whole.kappa:.3f}{bounds}: {band(whole.kappa)}."


def leaning_sentence(audit: JudgeAudit) -> str:
    """Whether the judge is kinder or sterner than people."""
    whole = audit.groups[0].judged
    kinder, sterner = whole.judge_only, whole.human_only
    if kinder == sterner:
        return f"It errs as often one way as the other: {kinder:,} answers each."
    word = "kinder" if kinder > sterner else "sterner"
    by_people, by_judge = (100 * (share or 0) for share in (whole.human_accuracy, whole.judge_accuracy))
    return (
        f"It is {word} than people: {kinder:,} answers are right for the judge alone, {sterner:,} for people alone, "
        f"which moves accuracy from {by_people:.1f} to {by_judge:.1f} %."
    )


def judge_page(audit: JudgeAudit, command: str) -> str:
    """The page of an audit. `command` is the command line that makes it."""
    name = clip(str(audit.facts.get("name", "rules")), 80)
    return render(
        "judge.html.j2",
        audit=audit,
        name=name,
        whole=audit.groups[0],
        groups=audit.groups[:MAX_GROUPS],
        n_more=max(0, len(audit.groups) - MAX_GROUPS),
        group_name=group_name,
        mark=kappa_mark(audit.groups[0].judged, audit.least_kappa),
        lead=verdict_sentence(audit),
        leaning=leaning_sentence(audit),
        facts=list(flat(audit.facts))[:60],
        command=command,
    )
