"""The command `edu-rag publish`: results become a dataset on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, file_okay=False)
_BOARD = Path("leaderboard/board.toml")


@click.command()
@click.argument("results", type=_FOLDER)
@click.option("--repo", required=True, metavar="ORG/NAME", help="Dataset repository for the results.")
@click.option(
    "--submissions", type=_FOLDER, help="Folder of submissions, for predictions that are not next to their scorecard."
)
@click.option(
    "--dataset",
    "datasets",
    type=_FOLDER,
    multiple=True,
    help="Dataset folder, to match the outcomes with the predictions by question id; repeatable.",
)
@click.option(
    "--hidden",
    multiple=True,
    metavar="[NAME/]SPLIT",
    help="Leave out this split's predictions and outcomes; repeatable.",
)
@click.option(
    "--reveal", multiple=True, metavar="[NAME/]SPLIT", help="Publish a split that was hidden before; repeatable."
)
@click.option(
    "--board",
    "board_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The board's file, which names hidden splits and datasets; default: leaderboard/board.toml.",
)
@click.option("--responses", is_flag=True, help="Also publish the full responses, which may quote pages.")
@click.option("--out", type=_FOLDER, help="Also write the folder to publish here.")
@click.option("--eval-results", type=_FOLDER, help="Write metadata for model pages into this folder.")
@click.option(
    "--every-eval-ever", type=_FOLDER, help="Write the scorecards in the schema of Every Eval Ever into this folder."
)
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    metavar="NAME@VERSION=ORG/REPO[@SHA]",
    help="Repository (and commit) of a dataset on the Hub, for --eval-results and --every-eval-ever; repeatable.",
)
@click.option("--private", is_flag=True, help="Create the repository as private, if it does not exist.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Address of another Hub.")
@click.option("--dry-run", is_flag=True, help="Print what would be published, with sizes, and publish nothing.")
def publish(
    results: Path,
    repo: str,
    submissions: Path | None,
    datasets: tuple[Path, ...],
    hidden: tuple[str, ...],
    reveal: tuple[str, ...],
    board_file: Path | None,
    responses: bool,
    out: Path | None,
    eval_results: Path | None,
    every_eval_ever: Path | None,
    benchmarks: tuple[str, ...],
    private: bool,
    endpoint: str | None,
    dry_run: bool,
) -> None:
    """Publish scorecards and predictions as a dataset on the Hugging Face Hub, in a single commit.

    The token is read from HF_TOKEN only. Unchanged results make no commit. Outcomes and predictions together reveal the
    gold answers, so neither is published for splits that board.toml or --hidden names.

    \b
    Example:
      edu-rag publish leaderboard/results --repo my-org/edu-rag-results --submissions submissions --dry-run
      HF_TOKEN=… edu-rag publish leaderboard/results --repo my-org/edu-rag-results --submissions submissions
    """
    import os

    from edu_rag.files.board_file import read_board_file
    from edu_rag.progress import say
    from publishing.eval_results import benchmarks_of, require_repo, write_eval_results
    from publishing.every_eval_ever import write_every_eval_ever
    from publishing.push_results import push_results, token_in
    from publishing.result_entries import rules_of
    from publishing.results_tables import PublishRequest, written

    require_repo("--repo", repo)
    token = "" if dry_run else token_in(os.environ)
    board = read_board_file(board_file or _BOARD) if board_file is not None or _BOARD.is_file() else None
    known = benchmarks_of(benchmarks, board, is_asked=eval_results is not None)
    asked = PublishRequest(
        results=results,
        repo=repo,
        submissions=submissions,
        datasets=datasets,
        hidden=hidden,
        hidden_by_board=rules_of(board),
        responses=responses,
    )
    with written(asked, out) as (folder, made):
        click.echo("\n".join(made.lines()))
        if eval_results is not None:
            say(f"{write_eval_results(eval_results, made, known)}: {eval_results}")
        if every_eval_ever is not None:
            team = board.baselines_team if board is not None else ""
            say(f"{write_every_eval_ever(every_eval_ever, made, known, team)}: {every_eval_ever}")
        if dry_run:
            say("dry run: nothing was published")
            return
        done = push_results(folder, made, token=token, endpoint=endpoint, private=private, reveal=reveal)
        click.echo(f"published as {done}" if done else f"nothing to do: {repo} is up to date")
