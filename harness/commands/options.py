"""What the commands of a submission's life share: options, opening a dataset, printing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from edu_rag.dataset import Dataset

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


def dataset_option(*, required: bool = True) -> Callable[[F], F]:
    """`--dataset DIR`."""
    return click.option(
        "--dataset", "dataset_folder", type=PATH, required=required, metavar="DIR", help="The dataset folder."
    )


def split_option(command: F) -> F:
    """`--split NAME`."""
    return click.option("--split", metavar="NAME", help="The split; not needed where there is only one.")(command)


def sample_options(command: F) -> F:
    """`--sample N --seed S`."""
    seed = click.option(
        "--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Of the sample."
    )
    n = click.option(
        "--sample", "n_sample", type=click.IntRange(min=1), metavar="N", help="A stratified sample of N questions."
    )
    return n(seed(command))


def open_dataset(folder: Path) -> Dataset:
    """The dataset in a folder. Raises DataError where it is none."""
    from edu_rag.dataset import Dataset

    return Dataset(folder)


def sample_name(n_sample: int | None, seed: int) -> str | None:
    """What files and boards call the sample; None for the whole split."""
    return None if n_sample is None else f"stratified-{n_sample}-seed-{seed}"


def print_json(value: object) -> None:
    """Print a JSON-ready value, indented."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines that hold words of systems and pages, which could else steer the terminal by escape sequences."""
    for line in lines:
        click.echo("".join(char if char.isprintable() else " " for char in line))
