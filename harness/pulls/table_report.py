"""One scored table of a pull request's report: score, comparisons, causes, slices, leaks, retrieval, cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edu_rag.look.texts import signed
from edu_rag.scorecard.card import CAUSES, OUTCOMES, Counts, ScoreCard, Slice
from harness.pulls.markdown import cell, code, ours, prose_table, table
from harness.pulls.place_on_board import ComparedWith, PlaceOnBoard
from harness.scoring.cost import cost_lines
from harness.scoring.retrieval import retrieval_lines
from harness.submission.declared_overlap import overlap_lines

if TYPE_CHECKING:
    from harness.pulls.review_records import TableResult
    from harness.pulls.sandboxed_runs import SandboxedRun

MAX_LISTED = 20
_REPORTED = (
    "Such a result is of the rank class `reported`: the board shows it with that mark, and in a tie group after the "
    "verified results. A maintainers' run with the same answers (`edu-rag rerun`) lifts the mark."
)
FEW = 20
"""Questions below which a slice is a handful of single answers."""
_ATTRIBUTES = ("kind", "n_choices", "flag", "pages", "evidence")


def places(result: TableResult) -> str:
    """The places that it would take, and among how many."""
    standing = result.standing
    places = f"{standing.first}–{standing.last}" if standing.last > standing.first else f"{standing.first}"
    return f"{places} of {standing.n:,}"


def _rate(value: float, hidden: bool) -> str:
    return f"{100 * value:.0f} %" if hidden else f"{100 * value:.1f} %"


def shown_score(value: float, hidden: bool) -> str:
    """A score for people; two decimals where the gold is hidden."""
    return signed(round(value, 2)).removesuffix("0") if hidden else signed(value)


def table_lines(result: TableResult) -> Iterator[str]:
    """A table's section, as lines of Markdown."""
    card, hidden = result.card, result.table.hidden
    low, high = (shown_score(bound, hidden) for bound in card.intervals["score"])
    yield f"### {code(result.table.title)}"
    yield ""
    yield (
        f"**Score {shown_score(card.counts.score, hidden)}** (95 % interval {low} … {high}) = accuracy "
        f"{_rate(card.counts.accuracy, hidden)} − hallucination {_rate(card.counts.hallucination, hidden)}, over all "
        f"{card.counts.n:,} questions. {_place(result)}"
    )
    yield ""
    yield from _made(result)
    yield from _outcomes(card.counts, hidden)
    yield from _comparisons(result.standing, card.counts.n, hidden)
    if hidden:
        yield from ("The gold answers of this split are hidden, so no more is reported.", "")
        return
    yield from _causes(card)
    yield from _slices(card)
    yield from _leaks(result)
    yield from _cited(card)


def _place(result: TableResult) -> str:
    is_shared = result.standing.last > result.standing.first
    shared = ", shared with systems that it cannot be told from" if is_shared else ""
    return f"Place {places(result)}{shared}."


def _made(result: TableResult) -> Iterator[str]:
    """The origin of the predictions, and the result of a re-run."""
    asked: SandboxedRun | None = result.asked
    if asked is None:
        yield "The predictions were handed in; nobody has run the system again."
        yield from ("", _REPORTED)
    elif asked.is_rerun:
        alike = f"{asked.n_same:,} of {asked.n:,} questions that were asked again in the sandbox got the same answer"
        drawn = f"(their sample was drawn here: `--sample {asked.n} --seed {asked.seed}`)"
        yield f"The predictions were handed in. {alike} {drawn}."
        if asked.said:
            yield from ("", f"The system said: {code(asked.said)}")
    else:
        yield "The predictions were made here, in the sandbox, by the system that was handed in."
    yield ""


def _outcomes(counts: Counts, hidden: bool) -> list[str]:
    rows = [
        (name, n if not hidden else "–", _rate(n / counts.n, hidden))
        for name in OUTCOMES
        if (n := getattr(counts, name)) or not hidden
    ]
    return table(("outcome", "questions", "share"), rows)


def _comparisons(standing: PlaceOnBoard, n: int, hidden: bool) -> Iterator[str]:
    if standing.against:
        rows = [_comparison(one, hidden) for one in standing.against]
        head = ("held against", "its score", "difference", "95 % interval", "p", "what can be said")
        yield from prose_table(head, rows)
        many = f"p by Holm over the {len(standing.against)} tests, intervals for each alone"
        yield f"Paired sign-flip tests on the same {n:,} questions; {many}."
    else:
        yield "The board has no result yet to compare it with on these questions."
    yield ""
    for reason in standing.left_out[:MAX_LISTED]:
        yield f"- not compared: {code(reason)}"
    if standing.left_out:
        yield ""


def _comparison(one: ComparedWith, hidden: bool) -> tuple[str, ...]:
    slug, paired = one.comparison.second.system.slug, one.comparison.difference
    numbers = (
        (signed(paired.difference), f"{signed(paired.low)} … {signed(paired.high)}", _p(one.p))
        if not hidden
        else ("–", "–", "–")
    )
    return (f"{one.role}: {cell(slug)}", shown_score(one.comparison.second.counts.score, hidden), *numbers, _said(one))


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _said(one: ComparedWith) -> str:
    """The result of a test in words: `better` and `worse` only for an established difference."""
    slug = cell(one.comparison.second.system.slug)
    if one.established:
        return f"established: it scores {'higher' if one.comparison.difference.difference > 0 else 'lower'} than {slug}"
    if set(one.comparison.first.outcomes) and one.comparison.first.outcomes == one.comparison.second.outcomes:
        return "the same outcome on every question"
    seen = one.comparison.detectable
    if seen is None or seen >= 2:
        return "not established"
    return f"not established: these questions find differences from about {signed(seen)}"


def _causes(card: ScoreCard) -> Iterator[str]:
    if card.attribution and (lost := sum(card.attribution.values())):
        yield f"**Where the points go** ({lost:,} questions without a right answer)"
        yield ""
        order = sorted(card.attribution.items(), key=lambda item: (-item[1], item[0]))
        yield from prose_table(("cause", "questions", "meaning"), [(c, f"{n:,}", CAUSES[c]) for c, n in order if n])


def _slices(card: ScoreCard) -> Iterator[str]:
    shown = [part for part in card.slices if part.attribute in _ATTRIBUTES and part.counts.n >= FEW]
    if shown:
        yield f"**By kind of question** (slices of {FEW} questions and more)"
        yield ""
        yield from table(("slice", "questions", "score", "accuracy", "hallucination", "missing"), map(_slice, shown))


def _slice(part: Slice) -> tuple[str, ...]:
    c = part.counts
    rates = (f"{100 * rate:.1f} %" for rate in (c.accuracy, c.hallucination, c.missing))
    return (f"{part.attribute} = {cell(part.value)}", f"{c.n:,}", signed(c.score), *rates)


def _leak(card: ScoreCard) -> dict[str, Counts]:
    return {part.value: part.counts for part in card.slices if part.attribute == "leak"}


def _leaks(result: TableResult) -> Iterator[str]:
    """The score where the pages hold the very question, against the rest: a gap that others lack comes from leaks."""
    mine = _leak(result.card)
    if len(mine) < 2:
        return
    gap = mine["leaked"].score - mine["clean"].score
    yield (
        f"**Leak check**: score {signed(mine['leaked'].score)} on the {mine['leaked'].n:,} questions that a page holds "
        f"word for word, {signed(mine['clean'].score)} on the {mine['clean'].n:,} others: a gap of {signed(gap)}."
    )
    for one in result.standing.against:
        theirs = _leak(one.comparison.second)
        if one.role == "best baseline" and len(theirs) == 2:
            other = theirs["leaked"].score - theirs["clean"].score
            yield f"The gap of {code(one.comparison.second.system.slug)} is {signed(other)}."
    yield ""


def _cited(card: ScoreCard) -> Iterator[str]:
    if card.retrieval:
        yield from ("**Retrieval**", "", *ours(retrieval_lines(card.retrieval)))
    if card.cost:
        yield from ("**Cost**, as the team declares it", "", *ours(cost_lines(card.cost)))
    if card.overlap:
        yield from ("**Declared overlap**", "", *ours(overlap_lines(card)))
