"""`edu-rag board init` and `edu-rag board check`: the files of a board's repository."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, file_okay=False)
_HERE = click.Path(path_type=Path, file_okay=False, exists=True)
_ROOT = click.argument("root", type=_HERE, default=".", metavar="[REPOSITORY]")


@click.command()
@_ROOT
@click.option(
    "--owner",
    "owners",
    multiple=True,
    required=True,
    metavar="@ORG/TEAM",
    help="Owner that must approve changes; repeatable.",
)
@click.option("--dataset", "datasets", type=_FOLDER, multiple=True, metavar="DIR", help="Dataset of yours; repeatable.")
@click.option("--split", metavar="NAME", help="Split of these datasets that counts; by default the only one.")
@click.option("--team", metavar="TEXT", help="Team name of the board's own systems; by default the project's.")
@click.option("--replace", is_flag=True, help="Replace files that exist; by default they are kept.")
def init(
    root: Path,
    owners: tuple[str, ...],
    datasets: tuple[Path, ...],
    split: str | None,
    team: str | None,
    *,
    replace: bool,
) -> None:
    """Write board.toml, CODEOWNERS and a list of settings into a fork, for your own board.

    leaderboard/board.toml pins the given datasets, and the project's public ones. leaderboard/SETTINGS.md lists the
    settings of the code host to make. `edu-rag board check` then compares all of it with the repository.

    \b
    Example:
      edu-rag board init --owner @ORG/TEAM
      edu-rag board init --owner @ORG/TEAM --dataset my-dataset --replace
    """
    from leaderboard.repository.init_board import init_board

    for written in init_board(root, owners, datasets, split=split, team=team, replace=replace):
        click.echo(f"{'wrote' if written.is_new else 'kept'} {written.path}")


@click.command()
@_ROOT
def check(root: Path) -> None:
    """Compare a board's files with its repository, and print every fault.

    Checks that board.toml can be read, that results and predictions belong to its datasets and tables, that CODEOWNERS
    covers what judges submissions, that the workflows exist, and that all of leaderboard/SETTINGS.md is ticked.

    \b
    Example:
      edu-rag board check
    """
    from edu_rag.errors import FaultsError
    from leaderboard.repository.check_board import check_board

    findings = check_board(root)
    for note in findings.notes:
        click.echo(note)
    if findings.faults:
        raise FaultsError(findings.faults)
