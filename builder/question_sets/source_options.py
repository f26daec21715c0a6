"""Command-line options of question sources: files, folders, `hf:ORG/NAME`, and `--map ROLE=COLUMN`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from builder.question_sets.dataset_sources import QuestionSource

F = TypeVar("F", bound=Callable[..., Any])
SOURCES_HELP = "Question file, folder, or dataset of the Hub (hf:ORG/NAME[:CONFIG][@REVISION]); repeatable."
_MAP = "--map"


class SourceType(click.ParamType[Any]):
    """A file or folder, or a dataset of the Hub."""

    name = "FILE|FOLDER|hf:ORG/NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> QuestionSource:
        """Read one value. Fails with exit code 2 if it begins with `hf:` and names no dataset."""
        from builder.question_sets.dataset_sources import parse_source
        from edu_rag.errors import DataError

        try:
            return parse_source(str(value))
        except DataError as error:
            self.fail(str(error), param, ctx)


class MapCommand(click.Command):
    """A command whose `--map` takes all the ROLE=COLUMN that follow it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--map` before each of them, as click needs it."""
        return super().parse_args(ctx, spread_map(args))


def spread_map(arguments: Sequence[str]) -> list[str]:
    """`--map question=a answer=b` as `--map question=a --map answer=b`."""
    from builder.question_sets.question_columns import FIRST, ROLES

    found: list[str] = []
    is_mapping = False
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[place:]]
        before = arguments[place - 1] if place else ""
        if before == _MAP or argument.startswith(f"{_MAP}="):
            is_mapping = True
        elif is_mapping and argument.partition("=")[0] in (*ROLES, FIRST) and "=" in argument:
            found.append(_MAP)
        else:
            is_mapping = False
        found.append(argument)
    return found


def map_option(command: F) -> F:
    """Add `--map`."""
    return click.option(
        _MAP,
        "mapping",
        multiple=True,
        metavar="ROLE=COLUMN ...",
        help="Columns by role: question, choices, wrong, answer, id, type, split, lesson, page, context; several with "
        "commas. first=0 or first=1 is the number of the first choice.",
    )(command)
