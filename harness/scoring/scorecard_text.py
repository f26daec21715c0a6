"""Scorecards as text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edu_rag.look.texts import clip
from edu_rag.scorecard.card import OUTCOMES, Counts, ScoreCard, evidence_sentence, n_with_evidence
from harness.probing.score_probes import probe_lines
from harness.scoring.attribution import attribution_lines
from harness.scoring.confidence import confidence_lines
from harness.scoring.cost import cost_lines
from harness.scoring.retrieval import retrieval_lines
from harness.submission.declared_overlap import overlap_lines

_MAX_VALUES = 20
"""An attribute with more values than this, such as lesson, is not shown; the scorecard holds all."""
FEWEST_SHOWN = 20
"""A slice of fewer questions is not shown: one answer more or less moves its rates by five points and more."""
_WIDEST = 60
_REASON = 200
"""Characters of a slice's name that are shown: a line is not to be wider than 110."""


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.2f} %"


def _interval(card: ScoreCard, name: str) -> str:
    low, high = card.intervals[name]
    return f"{100 * low:.2f} … {100 * high:.2f} %" if name != "score" else f"{100 * low:+.2f} … {100 * high:+.2f} %"


def _slice_lines(card: ScoreCard, *, all_slices: bool) -> Iterator[str]:
    sizes = Counter(part.attribute for part in card.slices)
    few = [part for part in card.slices if all_slices or sizes[part.attribute] <= _MAX_VALUES]
    shown = [part for part in few if all_slices or part.counts.n >= FEWEST_SHOWN]
    names = [clip(f"{part.attribute} = {part.value}", _WIDEST) for part in shown]
    width = max(32, *map(len, names), 0)
    yield f"{'slice':{width}} {'n':>6} {'score':>9} {'accuracy':>9} {'halluc.':>9} {'missing':>9}"
    for part, name in zip(shown, names, strict=True):
        c = part.counts
        rates = " ".join(f"{100 * rate:8.2f}%" for rate in (c.score, c.accuracy, c.hallucination, c.missing))
        yield f"{name:{width}} {c.n:6,} {rates}"
    for attribute, n in sizes.items():
        if n > _MAX_VALUES and not all_slices:
            yield f"  {n:,} values of {attribute}: see --json"
    if len(few) > len(shown):
        yield f"  {len(few) - len(shown):,} slices with fewer than {FEWEST_SHOWN} questions: --all-slices shows them"


def _outcome_lines(counts: Counts) -> Iterator[str]:
    for outcome in OUTCOMES:
        n = getattr(counts, outcome)
        yield f"  {outcome:12} {n:6,} of {counts.n:,} {_percent(n / counts.n):>9}"


def brief_line(card: ScoreCard) -> str:
    """A scorecard as one line: score, its interval, and the five outcomes."""
    split = ", ".join(f"{outcome} {getattr(card.counts, outcome):,}" for outcome in OUTCOMES)
    return f"{card.system.slug}: score {100 * card.counts.score:+.2f} % ({_interval(card, 'score')}): {split}"


def _rate_lines(card: ScoreCard) -> Iterator[str]:
    counts = card.counts
    yield f"score          {100 * counts.score:+8.2f} %   95 % interval {_interval(card, 'score')}"
    yield f"strict score   {100 * counts.strict_score:+8.2f} %   (unparseable and failed cost a point too)"
    for name in ("accuracy", "hallucination", "missing"):
        yield f"{name:14} {100 * getattr(counts, name):8.2f} %   95 % interval {_interval(card, name)}"
    given, n_attempted = counts.accuracy_given_attempted, counts.correct + counts.incorrect
    yield f"attempted      {100 * counts.attempt_rate:8.2f} %   {n_attempted:,} of {counts.n:,} questions"
    if given is not None:
        yield f"  of these     {100 * given:8.2f} %   correct: accuracy given attempted"


def _judges_lines(judges: Mapping[str, Any]) -> Iterator[str]:
    yield f"free text      graded by {judges.get('name') or 'rules'}"
    for judge, outcomes in judges.get("counts", {}).items():
        yield f"  {judge}: " + ", ".join(f"{outcome} {n:,}" for outcome, n in outcomes.items())


def _carried_lines(card: ScoreCard) -> Iterator[str]:
    yield f"answered on {card.made_on}: retrieval, attribution and slices by pages are left out"


def _standing_lines(card: ScoreCard) -> Iterator[str]:
    if card.system.withdrawn:
        yield f"withdrawn by its team: {clip(' '.join(card.system.withdrawn.split()), _REASON)}"
    again = card.rerun
    if again.get("own"):
        yield "run by the maintainers themselves"
    elif again:
        yield f"run again by the maintainers: {again['n_same']:,} of {again['n']:,} answers the same"
    if card.caps:
        sandbox = card.caps.get("sandbox", "unknown")
        yield "made without a sandbox" if sandbox == "none" else f"made in a sandbox: {sandbox}"
        if card.network:
            yield f"with the network, to {clip(', '.join(card.network), _REASON)}"
    if card.reported:
        yield "reported: only its team has seen these answers made; on a board verified results of its rank come first"


def _sections(card: ScoreCard, *, all_slices: bool) -> Iterator[Iterator[str]]:
    """The parts of the report that have something to say, in the order in which a person asks."""
    yield _outcome_lines(card.counts)
    yield _slice_lines(card, all_slices=all_slices)
    parts: tuple[tuple[Mapping[str, Any], Callable[[Any], Iterator[str]]], ...] = (
        (card.attribution, attribution_lines),
        (card.retrieval, retrieval_lines),
        (card.confidence, confidence_lines),
        (card.probes, probe_lines),
        (card.cost, cost_lines),
        (card.judges, _judges_lines),
    )
    for values, lines in parts:
        if values:
            yield lines(values)
    if (n_with := n_with_evidence(card)) is not None:
        yield iter([evidence_sentence(n_with, card.counts.n)])
    if card.overlap or card.system.tqa_overlap.strip():
        yield overlap_lines(card)
    if card.rerun or card.caps or card.reported or card.system.withdrawn:
        yield _standing_lines(card)
    if card.made_on:
        yield _carried_lines(card)


def card_lines(card: ScoreCard, *, all_slices: bool = False) -> Iterator[str]:
    """A scorecard as a readable report: the score and its rates first, then why.

    Without `all_slices`, slices with few questions and attributes with many values are counted, not shown.
    """
    asked = f"{card.split}, {card.sample}" if card.sample else card.split
    yield f"{card.system.name} ({card.system.slug}) on {card.dataset}, {asked}"
    yield from _rate_lines(card)
    for section in _sections(card, all_slices=all_slices):
        yield ""
        yield from section
    yield ""
    yield f"intervals: {card.interval_method}; answers read by {card.answers_rule}; {card.harness}"
