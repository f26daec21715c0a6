"""`edu-rag new`: a submission folder to start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from harness.commands.options import into_option, own_name


def _next_steps(folder: Path, *, predictions_only: bool) -> Iterator[str]:
    """Next steps; each command works unchanged."""
    import shlex

    edu_rag, place, demo = own_name(), shlex.quote(str(folder)), Path("demo") / "dataset"
    yield f"change every line of {folder / 'submission.toml'}"
    if predictions_only:
        yield f"put your predictions into {folder}/predictions/<dataset>-<version>/<split>.jsonl, or import them:"
        yield f"{edu_rag} import FILE --dataset DIR --submission {folder.name} --in {shlex.quote(str(folder.parent))}"
        yield f"{edu_rag} check {place}"
        return
    yield f"write your system: {folder / 'system.py'} answers already, by a rule that you replace"
    yield f"{edu_rag} check {place}"
    if not demo.is_dir():
        yield f"{edu_rag} demo --light   (once: it makes {demo} to try things on)"
    yield f"{edu_rag} run {place} --dataset {demo}"
    yield f"{edu_rag} score {place} --dataset {demo}"


@click.command()
@click.argument("name")
@into_option
@click.option("--predictions-only", is_flag=True, help="Create settings only, for a submission without code.")
@click.option("--name", "title", default="", metavar="TEXT", help="Name of the system on the board.")
@click.option("--team", default="", metavar="TEXT", help="Name of the team.")
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="LOGIN",
    help="Login on the code host that may change the submission later; repeatable.",
)
def new(name: str, into: Path, title: str, team: str, accounts: tuple[str, ...], *, predictions_only: bool) -> None:
    """Create a submission folder called NAME: 3-40 characters of a-z, 0-9 and '-'.

    The folder contains commented settings and a working system in Python. `edu-rag check` lists the settings that you
    still have to change. Prints the folder's path; the next steps go to stderr.

    \b
    Example:
      edu-rag new my-system --team "My lab" --account my-login
      edu-rag new my-answers --predictions-only --in demo/submissions
    """
    from edu_rag.progress import say
    from harness.submission.scaffold import Wishes, scaffold

    wishes = Wishes(name=title, team=team, accounts=accounts, predictions_only=predictions_only)
    folder = scaffold(name, into, wishes)
    click.echo(str(folder))
    say("Next:")
    for number, step in enumerate(_next_steps(folder, predictions_only=predictions_only), 1):
        say(f"  {number}. {step}")
