"""`edu-rag compare --html`: two scorecards side by side, the test in words, and the questions on which they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.comparing.pair_sentences import fields_of, filled
from edu_rag.look.bar_geometry import BarPart, IntervalBar, interval_bar, outcome_parts
from edu_rag.look.texts import clip, plain
from edu_rag.scorecard.card import CAUSES, Counts, ScoreCard, Verdict
from harness.comparing import flips as parting
from harness.comparing.compare import Choice, Comparison, Side, compare_sides, sides_of
from harness.comparing.comparison_text import labels_of
from harness.comparing.flips import GROUPS, Flip, FlipDetail, Group
from harness.exam import Exam
from harness.explaining.shown_answer import label_read
from harness.pages.render_page import CONFIDENCE, COST, OVERLAP, RETRIEVAL, probe_labels, render, side_by_side
from harness.scoring.attribution import causes_of, points_lost

MAX_NAME = 48
FULL = 12
"""The most flips of a group that are shown in full."""
LISTED = 1_500
"""Flips of a group that are listed by id: more would make the page of a large split too heavy to open."""
MANY_VALUES = 12
"""Slices of an attribute with more values than this are folded away, the most different first."""
MAX_VALUES = 100


class SlicePairRow(NamedTuple):
    """A slice of both scorecards; `p` is Holm's where it was tested."""

    attribute: str
    value: str
    counts: tuple[Counts, Counts]
    parts: tuple[Sequence[BarPart], Sequence[BarPart]]
    difference: float
    p: float | None


class CauseRow(NamedTuple):
    """A cause: questions that each system lost to it, and points; None if its answers are not at hand."""

    name: str
    meaning: str
    questions: tuple[int, int]
    points: tuple[int | None, int | None]


class FlipGroup(NamedTuple):
    """One group of flips: their number and their points, some in full, some listed, the rest counted."""

    group: Group
    n: int
    points: int
    details: Sequence[FlipDetail]
    listed: Sequence[tuple[Flip, str, str]]
    n_left: int


def _names(comparison: Comparison) -> list[str]:
    """The names of the two systems: their slugs, since a stranger's scorecard may contain any text as its name."""
    return [str(plain(clip(label, MAX_NAME))) for label in labels_of([comparison.first, comparison.second])]


def _bar(card: ScoreCard) -> IntervalBar:
    return interval_bar(card.counts.score, card.intervals.get("score"))


def _slice_rows(comparison: Comparison) -> list[SlicePairRow]:
    a, b = ({(s.attribute, s.value): s.counts for s in card.slices} for card in (comparison.first, comparison.second))
    tested = {(s.attribute, s.value): s.p_holm for s in comparison.slices}
    return [
        SlicePairRow(
            *key,
            (a[key], b[key]),
            (outcome_parts(a[key]), outcome_parts(b[key])),
            a[key].score - b[key].score,
            tested.get(key),
        )
        for key in a
        if key in b and a[key].n == b[key].n
    ]


def _slice_groups(comparison: Comparison) -> tuple[list[SlicePairRow], dict[str, tuple[int, list[SlicePairRow]]]]:
    """Few-valued attributes in one table; of each many-valued one its size and the values that differ most."""
    by_attribute: dict[str, list[SlicePairRow]] = {}
    for row in _slice_rows(comparison):
        by_attribute.setdefault(row.attribute, []).append(row)
    few = [row for rows in by_attribute.values() if len(rows) <= MANY_VALUES for row in rows]
    many = {
        name: (len(rows), sorted(rows, key=lambda r: (-abs(r.difference) * r.counts[0].n, r.value))[:MAX_VALUES])
        for name, rows in by_attribute.items()
        if len(rows) > MANY_VALUES
    }
    return few, many


def _points_lost(side: Side, exam: Exam | None) -> dict[str, int]:
    """Points that each cause cost a system; empty if its answers are not at hand, or were given on other pages."""
    if exam is None or not side.predictions or not side.card.attribution:
        return {}
    verdicts = [
        Verdict(question_id=question.question_id, outcome=parting.NAMES[letter], reason="as scored")
        for question, letter in zip(exam.questions, side.card.outcomes, strict=True)
    ]
    return points_lost(causes_of(exam.questions, side.predictions, verdicts, exam.support), verdicts)


def _causes(sides: tuple[Side, Side], exam: Exam | None) -> list[CauseRow]:
    counts, points = [side.card.attribution for side in sides], [_points_lost(side, exam) for side in sides]
    return [
        CauseRow(
            name,
            meaning,
            (counts[0].get(name, 0), counts[1].get(name, 0)),
            (points[0].get(name), points[1].get(name)),
        )
        for name, meaning in CAUSES.items()
        if any(name in one for one in counts)
    ]


def _listed(flips: Sequence[Flip], exam: Exam | None) -> list[tuple[Flip, str, str]]:
    if exam is None:
        return [(flip, f"#{flip.place + 1}", "") for flip in flips]
    return [(flip, exam.questions[flip.place].question_id, exam.questions[flip.place].text) for flip in flips]


def _flip_groups(
    flips: Mapping[Group, Sequence[Flip]],
    sides: tuple[Side, Side],
    exam: Exam | None,
    choice: Choice,
    *,
    everything: bool,
) -> list[FlipGroup]:
    at_hand = exam is not None and all(side.predictions for side in sides)
    groups = []
    for group in GROUPS:
        found, details = flips[group], []
        if at_hand and exam is not None and choice.dataset is not None:
            picked = parting.pick(found, exam, None if everything else FULL)
            details = list(parting.details_of(choice.dataset, exam, sides, picked))
        explained = {detail.flip.place for detail in details}
        rest = [flip for flip in found if flip.place not in explained]
        shown = rest if everything else rest[:LISTED]
        points = sum(flip.points for flip in found)
        listed = _listed(shown, exam)
        groups.append(FlipGroup(group, len(found), points, details, listed, len(rest) - len(shown)))
    return groups


def _with_predictions(path: Path, side: Side, exam: Exam | None) -> Side:
    if exam is None or side.predictions:
        return side
    return Side(side.card, parting.predictions_beside(path, side.card, exam))


def compare_page(
    comparison: Comparison,
    sides: tuple[Side, Side],
    exam: Exam | None,
    choice: Choice,
    command: str,
    *,
    everything: bool = False,
) -> str:
    """The page of a comparison.

    With a dataset and both predictions at hand the page shows flips in full, a bounded number of them without
    `everything`; with scorecards alone, it shows their figures.
    """
    names = _names(comparison)
    flips = parting.flips_of(comparison.first.outcomes, comparison.second.outcomes)
    few, many = _slice_groups(comparison)
    d, probes = comparison.difference, (dict(comparison.first.probes), dict(comparison.second.probes))
    said = filled(comparison, *names)
    clamped = tuple(max(-1.0, min(1.0, value)) for value in (d.difference, d.low, d.high))
    return render(
        "compare.html.j2",
        comparison=comparison,
        cards=[comparison.first, comparison.second],
        names=names,
        lead=said.lead,
        because=said.because,
        remarks=said.remarks,
        shown=fields_of(comparison),
        bars=[_bar(side.card) for side in sides],
        parts=[outcome_parts(side.card.counts) for side in sides],
        difference_bar=interval_bar(clamped[0], (clamped[1], clamped[2])),
        crossed=parting.crossed(comparison.first.outcomes, comparison.second.outcomes),
        few=few,
        many=many,
        retrieval=side_by_side(comparison.first.retrieval, comparison.second.retrieval, RETRIEVAL),
        overlap=side_by_side(comparison.overlap, {}, OVERLAP),
        causes=_causes(sides, exam),
        confidence=side_by_side(comparison.first.confidence, comparison.second.confidence, CONFIDENCE),
        cost=side_by_side(comparison.first.cost, comparison.second.cost, COST),
        probes=side_by_side(*probes, probe_labels(*probes)),
        slice_flips=parting.slice_flips(exam, flips) if exam else [],
        full=FULL,
        groups=_flip_groups(flips, sides, exam, choice, everything=everything),
        label_read=label_read,
        command=command,
    )


def compare_paths(
    paths: tuple[Path, Path], choice: Choice, command: str, *, everything: bool = False
) -> tuple[Comparison, str]:
    """Compare what two paths stand for; the comparison and its page. Raises SubmissionError, DataError."""
    found, exam = sides_of(paths, choice)
    first, second = (_with_predictions(path, side, exam) for path, side in zip(paths, found, strict=True))
    comparison = compare_sides(first, second, exam)
    return comparison, compare_page(comparison, (first, second), exam, choice, command, everything=everything)
