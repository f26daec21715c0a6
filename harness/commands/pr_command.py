"""`edu-rag pr`: a stranger's pull request, judged, scored and reported by the base's code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import PATH, open_dataset, print_lines

if TYPE_CHECKING:
    from harness.pulls.sandboxed_runs import RunChoice


@click.command()
@click.option("--base", type=PATH, required=True, metavar="DIR", help="Checkout of the branch to merge into.")
@click.option("--head", type=PATH, required=True, metavar="DIR", help="Checkout of the result of the merge; only read.")
@click.option("--dataset", "datasets", type=PATH, multiple=True, metavar="DIR", help="Dataset folder; repeatable.")
@click.option("--author", metavar="LOGIN", help="Login of the pull request's author.")
@click.option("--report", "report_file", type=PATH, metavar="FILE.md", help="Write the report as Markdown.")
@click.option("--json", "json_file", type=PATH, metavar="FILE", help="Write the report as JSON.")
@click.option(
    "--run",
    "choice",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="When to run the system: if there is a sandbox, always (refuse without a sandbox), or never.",
)
@click.option(
    "--rerun-sample",
    "n_again",
    type=click.IntRange(0, 1_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of questions to ask a runnable system again, to compare with its predictions.",
)
@click.option(
    "--rerun-seed",
    "seed",
    type=click.IntRange(0, 999_999_999),
    metavar="S",
    help="Seed of that sample; random by default.",
)
@click.option(
    "--run-s",
    "budget_s",
    type=click.FloatRange(1, 86_400),
    default=3_000.0,
    show_default=True,
    metavar="S",
    help="Time limit for all runs together, in seconds.",
)
@click.option("--memory-gb", type=click.FloatRange(0.1), help="Memory limit of the system in GiB; 6 by default.")
@click.option("--processes", type=click.IntRange(8, 4096), help="Process limit of the system; 64 by default.")
@click.option(
    "--keep", type=PATH, metavar="DIR", help="Save the predictions of the run in this folder, laid out like a checkout."
)
def pr(
    base: Path,
    head: Path,
    datasets: Sequence[Path],
    author: str | None,
    report_file: Path | None,
    json_file: Path | None,
    choice: RunChoice,
    n_again: int,
    seed: int | None,
    budget_s: float,
    memory_gb: float | None,
    processes: int | None,
    keep: Path | None,
) -> None:
    """Check whether a pull request may be merged, and score its submission. Exits 1 if it is refused.

    A pull request may add one folder under submissions/, add predictions to a submission of its author, or withdraw
    one; any other change is refused. No code of the head is run except the submission's command, in the sandbox. Scores
    are computed from the predictions and compared with the results of the base.

    \b
    Example:
      edu-rag pr --base base --head head --author octocat --dataset data/edu-rag-mini-2.0.0 --report report.md
    """
    from dataclasses import replace

    from edu_rag.files.jsonl import write_file, write_json
    from harness.commands.run_command import caps_of, stopping_like_ctrl_c
    from harness.pulls.pull_request import review
    from harness.pulls.review_records import ReviewRequest, review_values
    from harness.pulls.review_report import report
    from harness.pulls.sandboxed_runs import RunTerms
    from harness.scoring.score import now_utc

    terms = RunTerms(choice=choice, n_again=n_again, budget_s=budget_s, caps=caps_of(memory_gb, processes))
    if seed is not None:
        terms = replace(terms, new_seed=lambda: seed)
    opened = tuple(open_dataset(folder) for folder in datasets)
    request = ReviewRequest(
        base=base, head=head, datasets=opened, scored_at=now_utc(), author=author, terms=terms, keep=keep
    )
    with stopping_like_ctrl_c():
        found = review(request)
    text = report(found)
    if report_file is not None:
        write_file(report_file, text.encode())
    if json_file is not None:
        write_json(json_file, review_values(found))
    print_lines(text.splitlines())
    if not found.accepted:
        raise click.exceptions.Exit(1)
