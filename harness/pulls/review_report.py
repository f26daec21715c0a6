"""The report on a pull request, which its team reads: Markdown, at most 60 kB, without questions or gold.

Many requests could leak gold: on a hidden split every number is an answer to a question about gold, so
rates are whole percents there, and no slice, cause, retrieval figure or numeric difference is reported. That slows
guessing down; it does not prevent it. Operators: count a team's requests, and do not let a team submit one change
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edu_rag.look.texts import signed
from edu_rag.scorecard.card import CAUSES, OUTCOMES, Counts, ScoreCard, Slice
from harness.pulls.markdown import cell, code, ours, prose_table, table, within
from harness.pulls.place_on_board import ComparedWith, PlaceOnBoard
from harness.scoring.cost import cost_lines
from harness.scoring.retrieval import retrieval_lines
from harness.submission.declared_overlap import overlap_lines

if TYPE_CHECKING:
    from harness.pulls.review_records import Review, TableResult
    from harness.pulls.sandboxed_runs import SandboxedRun

MAX_LISTED = 20
_REPORTED = (
    "Such a result is of the rank class `reported`: the board shows it with that mark, and in a tie group after the "
    "verified results. A maintainers' run with the same answers (`edu-rag rerun`) lifts the mark."
)
FEW = 20
"""Questions below which a slice is a handful of single answers."""
_ATTRIBUTES = ("kind", "n_choices", "flag", "pages", "evidence")
ARTIFACT = "predictions"
"""CI's name for the files that a team adds to its pull request; .github/workflows/submission.yml uploads them."""
MAX_ROWS = 50


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
    shared = ", shared with systems whose scores do not differ significantly from its own" if is_shared else ""
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


def next_lines(review: Review) -> Iterator[str]:
    """The last section of a report."""
    if not review.accepted:
        yield from ("### What happens next", "")
        yield (
            "Nothing was merged or kept, and no score is reported until everything is fixed. On your own machine "
            "`edu-rag pr` reports the same, and `edu-rag check` the faults of the submission itself."
        )
    elif review.change is not None and review.change.kind == "withdrawal":
        yield from _withdrawal(review)
    else:
        yield from _to_commit(review)
        yield from ("### What happens next", "")
        yield (
            "A maintainer reads this and the files. After a merge everything is scored again from the merged files, "
            "and the board and the results on the Hub follow; no number of this report is kept."
        )
    yield ""


def was_made_here(review: Review) -> bool:
    """Whether predictions were made that the pull request does not hold."""
    return any(result.asked is not None and not result.asked.is_rerun for result in review.results)


def _withdrawal(review: Review) -> Iterator[str]:
    yield from ("### What changes on the board", "")
    reason = "" if review.system is None else f": {code(review.system.withdrawn)}"
    if review.rows:
        yield f"After a merge these rows stay, struck through and marked as withdrawn with your reason{reason}"
        yield ""
        yield from (f"- {code(row, 120)}" for row in review.rows[:MAX_ROWS])
        if len(review.rows) > MAX_ROWS:
            yield f"- … and {len(review.rows) - MAX_ROWS:,} more"
    else:
        yield f"After a merge the system's rows stay on the board, struck through and marked as withdrawn{reason}"
    yield ""
    yield (
        "Scores and ranks stay as they are, of this system and of all others: what was measured stays on record. The "
        "files stay too. No run can be added after that, and the withdrawal cannot be taken back: a fixed system is "
        "a new submission, under a new name. Nothing was run or scored for this report."
    )


def _to_commit(review: Review) -> Iterator[str]:
    """How the predictions that were made here come into the pull request: the board shows no row without them."""
    if not was_made_here(review):
        return
    yield from ("### One step is left: commit the predictions", "")
    yield (
        "The job that makes the board runs no systems, so it shows a system only if its predictions are merged; those "
        "that were made here are not part of the pull request yet."
    )
    yield ""
    if not review.kept:
        yield (
            "They were not kept either: make them by `edu-rag run` on your own machine, in the sandbox, and add what "
            "it writes below `predictions/`. Then push to the same branch."
        )
        yield ""
        return
    yield (
        f"CI keeps them for 14 days as the artifact `{ARTIFACT}`, at the foot of the page of this run (its *Summary*). "
        "Download `predictions.zip` and unpack it at the top of your clone: `unzip predictions.zip`. These files are "
        "then in their places:"
    )
    yield from ("", *(f"- {code(name)}" for name in review.kept), "")
    yield (
        "Change nothing in them. `git add` them, commit and push to the same branch. This check then asks your system "
        "a sample of the questions again, and says how many answers agree."
    )
    yield ""


MAX_BYTES = 60_000
MAX_FAULTS = 60
MAX_WARNINGS = 100
_CHANGES = {
    "new": "a new submission",
    "new run": "a new run of an existing submission",
    "withdrawal": "the withdrawal of a submission",
}


def report(review: Review) -> str:
    """The whole report, ending in a newline."""
    lines = [*_verdict(review), *_faults(review), *_overview(review)]
    for result in review.results:
        lines += table_lines(result)
    lines += [*_declared(review), *_sandbox(review), *_warnings(review), *_notes(review), *next_lines(review)]
    return within("\n".join(lines).rstrip("\n") + "\n", MAX_BYTES)


def _verdict(review: Review) -> Iterator[str]:
    if not review.accepted:
        n = len(review.faults)
        yield "## Refused"
        yield ""
        things = "1 thing has" if n == 1 else f"{n:,} things have"
        yield (
            f"This pull request cannot be merged as it is: {things} to be fixed. The table says where, what, and how. "
            "Push to the same branch, and this check runs again."
        )
    elif review.change is not None:
        team = "" if review.system is None else f" of the team {code(review.system.team, 80)}"
        yield "## Accepted"
        yield ""
        what = _CHANGES[review.change.kind]
        yield f"{code(review.change.slug)}{team}: {what}. It can be merged; a maintainer decides."
        if was_made_here(review):
            yield from (
                "",
                "**One step is left for its team: the predictions are to be committed**, as described below.",
            )
        if not review.results and review.change.kind != "withdrawal":
            yield from ("", "**Nothing was scored here**: see the warnings.")
        if review.n_runs_of_team:
            yield from ("", f"The board holds {review.n_runs_of_team:,} earlier result(s) of this team.")
    n_warnings = len(review.warnings) + sum(len(result.warnings) for result in review.results)
    if n_warnings:
        yield from ("", f"**{n_warnings:,} warning(s)** for the maintainers are listed below.")
    yield ""


def _faults(review: Review) -> Iterator[str]:
    if not review.faults:
        return
    shown = review.faults[:MAX_FAULTS]
    rows = [(cell(fault.where, 160), cell(fault.what, 240), cell(fault.remedy, 240)) for fault in shown]
    yield from prose_table(("where", "what is wrong", "what to do"), rows)
    if len(review.faults) > MAX_FAULTS:
        yield from (f"… and {len(review.faults) - MAX_FAULTS:,} more.", "")


def _overview(review: Review) -> list[str]:
    """One line a table, where there are several."""
    if len(review.results) < 2:
        return []
    rows = []
    for one in review.results:
        score = shown_score(one.card.counts.score, one.table.hidden)
        rows.append((cell(one.table.title), f"{one.card.counts.n:,}", score, places(one)))
    return table(("table", "questions", "score", "place"), rows)


def _declared(review: Review) -> Iterator[str]:
    """The team's unchecked statements about its system."""
    if review.system is None or (review.change is not None and review.change.kind == "withdrawal"):
        return
    said = review.system
    rows = (
        ("name", said.name),
        ("licence", said.licence),
        ("models", "; ".join(said.models)),
        ("knowledge in addition to the pages", said.outside_knowledge),
        ("overlap with TQA", said.tqa_overlap),
        ("blind", "yes" if said.blind else "no"),
        ("runnable", "yes" if said.runnable else "no"),
    )
    yield from ("### What the team declares", "")
    yield from prose_table(("about", "in its own words"), [(name, cell(text, 300)) for name, text in rows if text])


def _sandbox(review: Review) -> Iterator[str]:
    caps = next((result.asked.caps for result in review.results if result.asked is not None), {})
    if review.sandbox or caps:
        yield from ("### The sandbox", "")
    if review.sandbox:
        yield from (code(review.sandbox, 600), "")
    if caps:
        yield from prose_table(("in force", "value"), _caps(caps))


def _caps(caps: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The caps in force, by name, with readable sizes."""
    for name, value in sorted(caps.items()):
        if name.endswith("_bytes") and isinstance(value, int):
            yield f"{name.removesuffix('_bytes')}, at most", f"{value / 2**20:,.0f} MiB"
        elif value not in (None, "", [], ()):
            yield name, cell(value)


def _warnings(review: Review) -> Iterator[str]:
    per_table = [f"{code(result.table.title)}: {code(text)}" for result in review.results for text in result.warnings]
    # More than there are kinds of them, so that no flood of one kind hides another.
    warnings = [*map(code, review.warnings), *per_table]
    yield from _list("Warnings, for the maintainers to look at", warnings, MAX_WARNINGS)


def _notes(review: Review) -> Iterator[str]:
    yield from _list("Notes", list(map(code, review.notes)), MAX_LISTED)


def _list(title: str, items: Sequence[str], most: int) -> Iterator[str]:
    if items:
        yield from (f"### {title}", "", *(f"- {item}" for item in items[:most]))
        if len(items) > most:
            yield f"- … and {len(items) - most:,} more"
        yield ""
