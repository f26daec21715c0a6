"""The end of a report: the team's next step, and what happens then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.pulls.markdown import code

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
