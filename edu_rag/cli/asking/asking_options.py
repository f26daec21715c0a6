"""The options that `edu-rag ask` and `edu-rag try` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness.commands.options import PATH, dataset_option
from harness.commands.run_command import system_options

F = TypeVar("F", bound=Callable[..., Any])


def asking_options(command: F) -> F:
    """`--dataset`, the engine for live pages, and the options of every command that starts a system."""
    options = (
        dataset_option(),
        click.option(
            "--engine",
            metavar="NAME",
            help="Search engine for live pages, as for `edu-rag build`: wikipedia, ddgs, searxng, folder ...",
        ),
        click.option("--config", type=PATH, metavar="FILE", help="Settings of the engine, as for `edu-rag build`."),
        click.option("--sites", type=PATH, metavar="DIR", help="Folder of web sites, for the folder engine."),
        system_options,
    )
    for option in reversed(options):
        command = option(command)
    return command
