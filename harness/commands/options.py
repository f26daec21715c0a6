"""Shared by the commands of a submission's life: options, opening a dataset, printing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from edu_rag.names import MAX_SAMPLE, Sample
from edu_rag.processes.worker_threads import MAX_WORKERS

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from harness.judging.grading import Grading
    from harness.trust.rerun_log import Vouched

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


def dataset_option(*, required: bool = True) -> Callable[[F], F]:
    """`--dataset DIR`."""
    return click.option(
        "--dataset", "dataset_folder", type=PATH, required=required, metavar="DIR", help="Dataset folder."
    )


def split_option(command: F) -> F:
    """`--split NAME`."""
    return click.option("--split", metavar="NAME", help="Split of the dataset; optional if there is only one.")(command)


def sample_options(command: F) -> F:
    """`--sample N --seed S`."""
    seed = click.option(
        "--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the sample."
    )
    n = click.option(
        "--sample",
        "n_sample",
        type=click.IntRange(1, MAX_SAMPLE),
        metavar="N",
        help="Use a stratified sample of N questions.",
    )
    return n(seed(command))


def grading_options(command: F) -> F:
    """`--judge NAMES --judge-cache FILE --rules NAME`: how free text is graded."""
    rules = click.option(
        "--rules",
        default="edu-rag",
        show_default=True,
        metavar="NAME",
        help="Rules for free text: edu-rag, or crag-compat (the rules of CRAG).",
    )
    judge = click.option(
        "--judge",
        default="rules",
        show_default=True,
        metavar="NAMES",
        help="Judge of free text: rules, or model (the server in EDU_RAG_JUDGE_URL, _MODEL and _KEY).",
    )
    cache = click.option(
        "--judge-cache",
        type=PATH,
        metavar="FILE",
        help="File to cache the judge's grades in; RESULTS/judgements.jsonl by default with --out.",
    )
    return judge(cache(rules(command)))


def grading_of(rules: str, judge: str, cache: Path | None, results: Path | None = None) -> Grading:
    """The grading that these options ask for; grades are kept next to the results where no file is named for them."""
    from harness.judging.grading import open_grading

    if cache is None and results is not None and judge != "rules":  # rules keep no grades
        from harness.judging.judge_cache import FILE_NAME

        cache = results / FILE_NAME
    return open_grading(rules, judge, cache)


def reruns_option(command: F) -> F:
    """`--reruns FILE`: the maintainers' records of verified predictions."""
    return click.option(
        "--reruns",
        type=PATH,
        metavar="FILE",
        help="Records of verified predictions; `reruns.jsonl` next to RESULTS by default if it exists.",
    )(command)


def into_option(command: F) -> F:
    """`--in`: the folder that holds the submissions, for a command that may create one."""
    return click.option(
        "--in",
        "into",
        type=PATH,
        default=Path("submissions"),
        show_default=True,
        metavar="DIR",
        help="Folder of submissions to create it in.",
    )(command)


def own_machine_option(command: F) -> F:
    """`--own-machine`: the run records come from the user's own runs."""
    return click.option(
        "--own-machine", is_flag=True, help="Trust all run records and probes, because you made these runs yourself."
    )(command)


def vouched_of(reruns: Path | None, results: Path, *, own_machine: bool) -> Vouched:
    """The source of trust: this machine, the given file, or else the file next to the results.

    Raises DataError.
    """
    from harness.trust.rerun_log import OWN_MACHINE, reruns_beside, vouched_by

    if own_machine and reruns is not None:
        raise click.UsageError("--own-machine trusts the run records themselves: leave --reruns out.")
    if own_machine:
        return OWN_MACHINE
    return vouched_by(reruns or reruns_beside(results))


def html_option(command: F) -> F:
    """`--html FILE`."""
    return click.option(
        "--html", "html_file", type=PATH, metavar="FILE", help="Also write the result as an HTML page."
    )(command)


def workers_option(command: F) -> F:
    """`--workers N`, of commands that ask a server."""
    return click.option(
        "--workers",
        type=click.IntRange(1, MAX_WORKERS),
        default=1,
        show_default=True,
        help="Answers to judge at the same time.",
    )(command)


def own_name() -> str:
    """How this command line is called here: an environment that is not activated has no `edu-rag` on the path."""
    import shlex
    import shutil
    import sys

    if shutil.which("edu-rag"):
        return "edu-rag"
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "edu-rag" else f"{shlex.quote(sys.executable)} -m edu_rag"


def typed_command() -> str:
    """The command line that is being run, as it can be typed again; options at their defaults are left out."""
    import shlex

    context = click.get_current_context()
    names = [context.command.name or ""]
    above = context.parent
    while above is not None and above.parent is not None:  # "edu-rag" is the root itself
        names.insert(0, above.command.name or "")
        above = above.parent
    words = ["edu-rag", *names]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            words += [str(part) for part in values if part is not None]
        elif value is True:
            words.append(parameter.opts[0])
        elif value not in (None, False) and value != parameter.default:
            words += [word for part in values for word in (parameter.opts[0], str(part))]
    return shlex.join(words)


def open_dataset(folder: Path) -> Dataset:
    """The dataset in a folder. Raises DataError if it is not one."""
    from edu_rag.files.dataset import Dataset

    return Dataset(folder)


def board_option(command: F) -> F:
    """`--board FILE`: the pins that datasets must match."""
    return click.option(
        "--board",
        "board_file",
        type=PATH,
        metavar="FILE",
        help="The board's file, which pins the datasets; `board.toml` next to RESULTS if there is one.",
    )(command)


def open_pinned(folders: Sequence[Path], board_file: Path | None, results: Path | None) -> list[Dataset]:
    """The datasets in these folders, each the one that the board pins where a board is given or next to `results`.

    Raises DataError if a folder is not a whole dataset, ConfigError if it is not the board's.
    """
    opened = [open_dataset(folder) for folder in folders]
    if board_file is None and results is None:
        return opened
    from edu_rag.files.board_file import board_beside, check_pinned, read_board_file

    path = board_file or (board_beside(results) if results is not None else None)
    if path is not None:
        board = read_board_file(path)
        for dataset in opened:
            check_pinned(dataset.folder, dataset.manifest, board)
    return opened


def sample_name(n_sample: int | None, seed: int) -> str | None:
    """The name of a sample in files and on boards; None for the whole split."""
    return None if n_sample is None else Sample(n_sample, seed).name


def print_json(value: object) -> None:
    """Print a JSON-ready value, indented."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines that hold words of systems and pages, which could else steer the terminal by escape sequences."""
    for line in lines:
        click.echo("".join(char if char.isprintable() else " " for char in line))
