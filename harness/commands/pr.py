"""`edu-rag pr`: a stranger's pull request, judged, scored and reported by the base's code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import PATH, open_dataset, print_lines

if TYPE_CHECKING:
    from harness.pulls.asking import RunChoice


@click.command()
@click.option("--base", type=PATH, required=True, metavar="DIR", help="The tree that it would be merged into.")
@click.option("--head", type=PATH, required=True, metavar="DIR", help="The tree after the merge; read as data.")
@click.option(
    "--dataset", "datasets", type=PATH, multiple=True, metavar="DIR", help="A dataset of the board; repeatable."
)
@click.option("--author", metavar="LOGIN", help="Who opened it, at the code host.")
@click.option("--report", "report_file", type=PATH, metavar="FILE.md", help="Write the report for its team.")
@click.option("--json", "json_file", type=PATH, metavar="FILE", help="Write the same for machines.")
@click.option(
    "--run",
    "choice",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Run its system in the sandbox: where there is one, or else refuse the request, or not at all.",
)
@click.option(
    "--rerun-sample",
    "n_again",
    type=click.IntRange(0, 1_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Questions that a runnable system with predictions is asked again.",
)
@click.option(
    "--rerun-seed",
    "seed",
    type=click.IntRange(0, 999_999_999),
    metavar="S",
    help="The seed of that sample, to repeat one; drawn anew else.",
)
@click.option(
    "--run-s",
    "budget_s",
    type=click.FloatRange(1, 86_400),
    default=3_000.0,
    show_default=True,
    metavar="S",
    help="Seconds that all of its runs may take together.",
)
@click.option("--memory-gb", type=click.FloatRange(0.1), help="Memory that it may use, instead of 6 GiB.")
@click.option("--processes", type=click.IntRange(8, 4096), help="Processes it may have at a time, instead of 64.")
@click.option("--keep", type=PATH, metavar="DIR", help="Keep predictions that are made here, as in a checkout.")
def pr(
    base: Path, head: Path, datasets: Sequence[Path], author: str | None, report_file: Path | None,
    json_file: Path | None, choice: RunChoice, n_again: int, seed: int | None, budget_s: float,
    memory_gb: float | None, processes: int | None, keep: Path | None,
) -> None:  # fmt: skip
    """Judge a pull request: may it be merged, and what does it score? Exit code 1 where it is refused.

    One new folder of submissions/, new predictions in one's own, or a withdrawal may be merged, and nothing else. The
    head is read as data: nothing of it is run but a submission's own command, in the sandbox. Scores come from the
    predictions alone and are held against the base's results.

    \b
    Example:
      edu-rag pr --base base --head head --author octocat --dataset data/edu-rag-mini-1.0.0 --report report.md
    """
    from dataclasses import replace

    from edu_rag.jsonl import write_file, write_json
    from harness.commands.run import caps_of, stopping_like_ctrl_c
    from harness.pull_request import review
    from harness.pulls.asking import Terms
    from harness.pulls.records import Request
    from harness.pulls.report import report
    from harness.pulls.values import review_values
    from harness.score import now_utc

    terms = Terms(choice=choice, n_again=n_again, budget_s=budget_s, caps=caps_of(memory_gb, processes))
    if seed is not None:
        terms = replace(terms, new_seed=lambda: seed)
    opened = tuple(open_dataset(folder) for folder in datasets)
    request = Request(
        base=base, head=head, datasets=opened, scored_at=now_utc(), author=author, terms=terms, keep=keep
    )  # fmt: skip
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
