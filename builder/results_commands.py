"""The command `edu-rag publish`: results become a dataset on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, file_okay=False)
_BOARD = Path("leaderboard/board.toml")


@click.command()
@click.argument("results", type=_FOLDER)
@click.option("--repo", required=True, metavar="ORG/NAME", help="The dataset repository of the results.")
@click.option("--submissions", type=_FOLDER, help="Where predictions are that do not lie beside their scorecard.")
@click.option("--dataset", "datasets", type=_FOLDER, multiple=True, help="A dataset whose question ids help to give "
              "each prediction its outcome; repeatable.")  # fmt: skip
@click.option("--hidden", multiple=True, metavar="[NAME/]SPLIT", help="Leave out predictions and outcomes; repeatable.")
@click.option("--reveal", multiple=True, metavar="[NAME/]SPLIT", help="Publish what was hidden; repeatable.")
@click.option("--board", "board_file", type=click.Path(path_type=Path, dir_okay=False), help="The file that "
              "says whose gold is hidden, and where datasets are; leaderboard/board.toml if it is there.")  # fmt: skip
@click.option("--responses", is_flag=True, help="Publish systems' whole responses too: they may quote pages.")
@click.option("--out", type=_FOLDER, help="Also leave the published folder here.")
@click.option("--eval-results", type=_FOLDER, help="Write metadata for the pages of models here.")
@click.option("--benchmark", "benchmarks", multiple=True, metavar="NAME@VERSION=ORG/REPO[@SHA]",
              help="For --eval-results: where a dataset is on the Hub, and its commit; repeatable.")  # fmt: skip
@click.option("--private", is_flag=True, help="Make the repository private if it is new.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Another Hub than the public one.")
@click.option("--dry-run", is_flag=True, help="Say what would be published, with sizes, and publish nothing.")
def publish(
    results: Path, repo: str, submissions: Path | None, datasets: tuple[Path, ...], hidden: tuple[str, ...],
    reveal: tuple[str, ...], board_file: Path | None, responses: bool, out: Path | None, eval_results: Path | None,
    benchmarks: tuple[str, ...], private: bool, endpoint: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Publish a folder of results to a Hugging Face Hub: scorecards and predictions as tables, in one commit or none.

    The token is read from HF_TOKEN alone. Results that have not changed make no commit. Outcomes and predictions
    together give gold away: both stay at home for splits that board.toml or --hidden names.

    \b
    Example:
      edu-rag publish leaderboard/results --repo my-org/edu-rag-results --submissions submissions --dry-run
      HF_TOKEN=… edu-rag publish leaderboard/results --repo my-org/edu-rag-results --submissions submissions
    """
    import os

    from builder.publish_results import push_results, token_in
    from builder.results.eval_results import benchmarks_of, require_repo, write_eval_results
    from builder.results.folder import Asked, written
    from builder.results.hidden import rules_of
    from edu_rag.board_file import read_board_file
    from edu_rag.progress import say

    require_repo("--repo", repo)
    token = "" if dry_run else token_in(os.environ)
    board = read_board_file(board_file or _BOARD) if board_file is not None or _BOARD.is_file() else None
    known = benchmarks_of(benchmarks, board, is_asked=eval_results is not None)
    asked = Asked(
        results=results, repo=repo, submissions=submissions, datasets=datasets, hidden=hidden,
        hidden_by_board=rules_of(board), responses=responses,
    )  # fmt: skip
    with written(asked, out) as (folder, made):
        click.echo("\n".join(made.lines()))
        if eval_results is not None:
            say(f"{write_eval_results(eval_results, made, known)}: {eval_results}")
        if dry_run:
            say("nothing was published: this was a dry run")
            return
        done = push_results(folder, made, token=token, endpoint=endpoint, private=private, reveal=reveal)
        click.echo(f"published as {done}" if done else f"nothing to do: {repo} has these very files")
