"""`edu-rag new`: a submission folder to start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from harness.commands.options import into_option, own_name
from harness.submission.slugs import TEMPLATES


def _system_steps(folder: Path, template: str) -> Iterator[str]:
    """The steps for the files of a template."""
    import shlex
    import sys

    from harness.submission.scaffold import REQUIREMENTS

    system, requirements = folder / "system.py", folder / REQUIREMENTS
    if requirements.is_file():
        install = shlex.join([sys.executable, "-m", "pip", "install", "-r", str(requirements)])
        yield f"install its packages, or make a new environment for them (docs/submit.md): {install}"
        yield f"{system} answers already, with a stand-in for a model: change the lines marked CHANGE"
    elif template:
        yield f"choose the parts in {folder / 'submission.toml'}; docs/parts.md lists them"
    else:
        yield f"write your system: {system} answers already, by a rule that you replace"


def _next_steps(folder: Path, *, predictions_only: bool, template: str) -> Iterator[str]:
    """Next steps; each command works unchanged."""
    import shlex

    edu_rag, place, demo = own_name(), shlex.quote(str(folder)), Path("demo") / "dataset"
    yield f"change every line of {folder / 'submission.toml'}"
    if predictions_only:
        yield f"put your predictions into {folder}/predictions/<dataset>-<version>/<split>.jsonl, or import them:"
        yield f"{edu_rag} import FILE --dataset DIR --submission {folder.name} --in {shlex.quote(str(folder.parent))}"
        yield f"{edu_rag} check {place}"
        return
    yield from _system_steps(folder, template)
    yield f"{edu_rag} check {place}"
    if not demo.is_dir():
        yield f"{edu_rag} demo --light   (once: it makes {demo} to try things on)"
    yield f"{edu_rag} run {place} --dataset {demo}"
    yield f"{edu_rag} score {place} --dataset {demo}"


@click.command()
@click.argument("name")
@into_option
@click.option("--predictions-only", is_flag=True, help="Create settings only, for a submission without code.")
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    help="Start from a pipeline of this framework, or from our parts, instead of a plain function.",
)
@click.option("--name", "title", default="", metavar="TEXT", help="Name of the system on the board.")
@click.option("--team", default="", metavar="TEXT", help="Name of the team.")
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="LOGIN",
    help="Login on the code host that may change the submission later; repeatable.",
)
def new(
    name: str,
    into: Path,
    title: str,
    team: str,
    accounts: tuple[str, ...],
    template: str | None,
    *,
    predictions_only: bool,
) -> None:
    """Create a submission folder called NAME: 3-40 characters of a-z, 0-9 and '-'.

    The folder contains commented settings and a working system in Python. `edu-rag check` lists the settings that you
    still have to change. With --template, the system is a pipeline that runs at once on the demo's dataset, with a
    stand-in for a model. Prints the folder's path; the next steps go to stderr.

    \b
    Example:
      edu-rag new my-system --team "My lab" --account my-login
      edu-rag new my-chain --template langchain
      edu-rag new my-answers --predictions-only --in demo/submissions
    """
    from edu_rag.progress import say
    from harness.submission.scaffold import Wishes, scaffold

    if template and predictions_only:
        raise click.UsageError("--template makes a system, and --predictions-only none: give one of them")
    wishes = Wishes(
        name=title, team=team, accounts=accounts, predictions_only=predictions_only, template=template or ""
    )
    folder = scaffold(name, into, wishes)
    click.echo(str(folder))
    say("Next:")
    for number, step in enumerate(_next_steps(folder, predictions_only=predictions_only, template=template or ""), 1):
        say(f"  {number}. {step}")
