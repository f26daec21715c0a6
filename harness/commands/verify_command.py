"""`edu-rag verify`: every number of the board made again from the repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from harness.commands.options import (
    PATH,
    board_option,
    grading_of,
    grading_options,
    open_pinned,
    own_machine_option,
    print_json,
    print_lines,
    reruns_option,
    vouched_of,
)


@click.command()
@click.option(
    "--results",
    type=PATH,
    default=Path("leaderboard/results"),
    show_default=True,
    metavar="RESULTS",
    help="Folder of scorecards to verify.",
)
@click.option(
    "--submissions",
    type=PATH,
    default=Path("submissions"),
    show_default=True,
    metavar="DIR",
    help="Folder of submissions with the predictions.",
)
@click.option(
    "--dataset", "datasets", type=PATH, multiple=True, required=True, metavar="DIR", help="Dataset folder; repeatable."
)
@click.option("--site", type=PATH, metavar="DIR", help="Also compare a site's files and numbers with the scorecards.")
@click.option("--strict", is_flag=True, help="Exit 1 if the dataset of a scorecard was not given.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@board_option
@reruns_option
@own_machine_option
@grading_options
def verify(
    results: Path,
    submissions: Path,
    datasets: Sequence[Path],
    site: Path | None,
    reruns: Path | None,
    board_file: Path | None,
    *,
    own_machine: bool,
    strict: bool,
    as_json: bool,
    judge: str,
    judge_cache: Path | None,
    rules: str,
) -> None:
    """Recompute every scorecard from the predictions and every retrieval result from its run, and compare all fields
    except the time of scoring.

    Writes no files. Exits 1 if a number differs, is missing, or cannot be recomputed. Scorecards whose dataset was not
    given are counted; with --strict they cause exit code 1. With --board, or a board.toml next to RESULTS, only the
    datasets that it pins are accepted.

    \b
    Example:
      edu-rag verify --dataset tqa-val --strict
      edu-rag verify --results demo/results --submissions demo/submissions --dataset demo/dataset --own-machine
    """
    from edu_rag.progress import say
    from harness.rescoring.run_cards import verify_runs
    from harness.rescoring.verify import BAD, verification_lines, verification_values, verify_site
    from harness.rescoring.verify import verify as remake

    if not results.is_dir():
        raise click.UsageError(f"--results: there is no folder {results}.")
    opened = open_pinned(datasets, board_file, results)
    grading = grading_of(rules, judge, judge_cache, results)
    found, faults = remake(
        results, submissions, opened, grading=grading, vouched=vouched_of(reruns, results, own_machine=own_machine)
    )
    of_runs, run_faults = verify_runs(results, submissions, opened)
    found += of_runs
    faults = list({str(fault): fault for fault in (*faults, *run_faults)}.values())  # both may name one submission
    found += verify_site(site, results) if site is not None else []
    for fault in faults:
        say(str(fault))
    if as_json:
        print_json(verification_values(found, faults))
    else:
        print_lines(verification_lines(found))
    bad = BAD | ({"not given"} if strict else frozenset())
    if any(one.status in bad for one in found):
        raise click.exceptions.Exit(1)
