"""Scorecards and comparisons as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from edu_rag.results import OUTCOMES, Counts, ScoreCard
from harness.compare import Comparison

_MAX_SLICES = 20
"""Values shown of one attribute; the scorecard holds all."""


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.2f} %"


def _interval(card: ScoreCard, name: str) -> str:
    low, high = card.intervals[name]
    return f"{100 * low:.2f} … {100 * high:.2f} %" if name != "score" else f"{100 * low:+.2f} … {100 * high:+.2f} %"


def _slice_lines(card: ScoreCard) -> Iterator[str]:
    yield f"{'slice':32} {'n':>6} {'score':>9} {'accuracy':>9} {'halluc.':>9} {'missing':>9}"
    shown: dict[str, int] = {}
    for part in card.slices:
        shown[part.attribute] = shown.get(part.attribute, 0) + 1
        if shown[part.attribute] > _MAX_SLICES:
            continue
        c = part.counts
        name = f"{part.attribute} = {part.value}"
        rates = " ".join(f"{100 * rate:8.2f}%" for rate in (c.score, c.accuracy, c.hallucination, c.missing))
        yield f"{name[:32]:32} {c.n:6,} {rates}"
    for attribute, n in shown.items():
        if n > _MAX_SLICES:
            yield f"  … and {n - _MAX_SLICES:,} more values of {attribute} (see --json)"


def _outcome_lines(counts: Counts) -> Iterator[str]:
    for outcome in OUTCOMES:
        n = getattr(counts, outcome)
        yield f"  {outcome:12} {n:6,} of {counts.n:,} {_percent(n / counts.n):>9}"


def brief_line(card: ScoreCard) -> str:
    """A scorecard as one line: score, its interval, and the five outcomes."""
    split = ", ".join(f"{outcome} {getattr(card.counts, outcome):,}" for outcome in OUTCOMES)
    return f"{card.system.slug}: score {100 * card.counts.score:+.2f} % ({_interval(card, 'score')}): {split}"


def card_lines(card: ScoreCard) -> Iterator[str]:
    """A scorecard as a readable table."""
    counts = card.counts
    asked = f"{card.split}, {card.sample}" if card.sample else card.split
    yield f"{card.system.name} ({card.system.slug}) on {card.dataset}, {asked}"
    yield f"score          {100 * counts.score:+.2f} %   95 % interval {_interval(card, 'score')}"
    for name in ("accuracy", "hallucination", "missing"):
        yield f"{name:14} {_percent(getattr(counts, name)):>8}   95 % interval {_interval(card, name)}"
    given = _percent(counts.accuracy_given_attempted)
    yield f"accuracy given attempted {given}, attempted {_percent(counts.attempt_rate)}"
    yield f"strict score   {100 * counts.strict_score:+.2f} %   (unparseable and failed cost a point)"
    yield from _outcome_lines(counts)
    yield from _slice_lines(card)
    yield f"intervals: {card.interval_method}; answers read by {card.answers_rule}; {card.harness}"


def _flip_lines(comparison: Comparison, ids: tuple[str, ...], who: str, limit: int) -> Iterator[str]:
    yield f"only {who} is right on {len(ids):,} question(s)"
    for question_id in ids[:limit]:
        text = " ".join(comparison.texts.get(question_id, "").split())
        yield f"  {question_id}  {text[:100]}".rstrip()
    if len(ids) > limit:
        yield f"  … and {len(ids) - limit:,} more (--all lists them)"


def comparison_lines(comparison: Comparison, limit: int) -> Iterator[str]:
    """A comparison as readable lines; at most `limit` flips on each side."""
    first, second = comparison.first.system.slug, comparison.second.system.slug
    if first == second:
        first, second = "A", "B"
    d, m = comparison.difference, comparison.correctness
    scores = [100 * card.counts.score for card in (comparison.first, comparison.second)]
    yield f"{first}: score {scores[0]:+.2f} %   {second}: score {scores[1]:+.2f} %"
    yield (
        f"difference {100 * d.difference:+.2f} %, 95 % interval {100 * d.low:+.2f} … {100 * d.high:+.2f} % "
        f"(paired bootstrap, {d.n:,} questions), p = {d.p:.4g} (exact sign-flip)"
    )
    yield f"correct only in {first}: {m.n_first_only}, only in {second}: {m.n_second_only}; exact McNemar p = {m.p:.4g}"
    established = "established" if d.p <= 0.05 else "not established"
    yield f"the difference is {established}: the sign-flip test on the score decides (p <= 0.05)"
    yield from _flip_lines(comparison, comparison.only_first, first, limit)
    yield from _flip_lines(comparison, comparison.only_second, second, limit)
    if not comparison.texts and (comparison.only_first or comparison.only_second):
        yield "#17 is the 17th question in order of id; --dataset names them"
