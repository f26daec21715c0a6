"""The report on a pull request, which its team reads: Markdown, at most 60 kB, without questions or gold.

Many requests could leak gold: on a hidden split every number is an answer to a question about gold, so
rates are whole percents there, and no slice, cause, retrieval figure or numeric difference is reported. That slows
guessing down; it does not prevent it. Operators: count a team's requests, and do not let a team submit one change
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.pulls.markdown import cell, code, prose_table, table, within
from harness.pulls.table_report import MAX_LISTED, places, shown_score, table_lines

if TYPE_CHECKING:
    from harness.pulls.review_records import Review


ARTIFACT = "predictions"
"""CI's name for the files that a team adds to its pull request; .github/workflows/submission.yml uploads them."""
MAX_ROWS = 50


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
            yield from ("", "**One step is left for its team: the predictions are to be committed**, as told below.")
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
    told = [*map(code, review.warnings), *per_table]
    yield from _list("Warnings, for the maintainers to look at", told, MAX_WARNINGS)


def _notes(review: Review) -> Iterator[str]:
    yield from _list("Notes", list(map(code, review.notes)), MAX_LISTED)


def _list(title: str, items: Sequence[str], most: int) -> Iterator[str]:
    if items:
        yield from (f"### {title}", "", *(f"- {item}" for item in items[:most]))
        if len(items) > most:
            yield f"- … and {len(items) - most:,} more"
        yield ""
