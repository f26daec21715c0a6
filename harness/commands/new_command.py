"""`edu-rag new`: a submission folder to start from."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import click

from harness.commands.options import into_option, own_name
from harness.submission.slugs import TEMPLATES


def _environment(folder: Path) -> Path:
    """Where the environment of a system with own packages goes: next to the clone, which git does not see."""
    return Path("..") / f"{folder.name}-env"


def _system_steps(folder: Path, template: str) -> Iterator[str]:
    """The steps for the files of a template."""
    import shlex
    import sys

    from harness.submission.scaffold import REQUIREMENTS

    system, requirements = folder / "system.py", folder / REQUIREMENTS
    if requirements.is_file():
        place = _environment(folder)
        make = shlex.join([sys.executable, "-m", "venv", str(place)])
        install = shlex.join([str(place / "bin" / "pip"), "install", *_ourselves(), "-r", str(requirements)])
        yield f"give it an environment, since frameworks conflict with one another: {make} && {install}"
        yield f"{system} answers already, with a stand-in for a model: change the lines marked CHANGE"
    elif template:
        yield f"choose the parts in {folder / 'submission.toml'}; docs/parts.md lists them"
    else:
        yield f"write your system: {system} answers already, by a rule that you replace"


def _ourselves() -> list[str]:
    """What pip installs for `edu-rag` itself: the clone that this code is in, or the released package."""
    from edu_rag import __version__

    clone = Path(__file__).resolve().parents[2]
    if not (clone / "pyproject.toml").is_file():
        return [f"edu-rag-bench=={__version__}"]
    return ["-e", "." if clone == Path.cwd() else str(clone)]


def _settings_step(folder: Path, given: Collection[str]) -> str:
    """The lines of submission.toml that `check` asks for, and the others."""
    from harness.submission.settings_faults import TEMPLATE

    missing = [name for name in TEMPLATE if name not in given]
    first = f"fill in {', '.join(missing)}; " if missing else ""
    return f"{folder / 'submission.toml'}: {first}change the other lines where they do not fit your system"


def _next_steps(folder: Path, given: Collection[str], *, predictions_only: bool, template: str) -> Iterator[str]:
    """Next steps; each command works unchanged. `given` are the settings that are not the template's."""
    import shlex

    from harness.submission.scaffold import REQUIREMENTS

    edu_rag, place, demo = own_name(), shlex.quote(str(folder)), Path("demo") / "dataset"
    yield _settings_step(folder, given)
    if predictions_only:
        yield f"put your predictions into {folder}/predictions/<dataset>-<version>/<split>.jsonl, or import them:"
        yield f"{edu_rag} import FILE --dataset DIR --submission {folder.name} --in {shlex.quote(str(folder.parent))}"
        yield f"{edu_rag} check {place}"
        return
    yield from _system_steps(folder, template)
    yield f"{edu_rag} check {place}"
    if not demo.is_dir():
        yield f"{edu_rag} demo --light   (once: it makes {demo} to try things on)"
    runs = shlex.quote(str(_environment(folder) / "bin" / "edu-rag")) if (folder / REQUIREMENTS).is_file() else edu_rag
    yield f"{runs} run {place} --dataset {demo}"
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
    steps = _next_steps(folder, wishes.values, predictions_only=predictions_only, template=template or "")
    for number, step in enumerate(steps, 1):
        say(f"  {number}. {step}")
