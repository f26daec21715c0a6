"""The command `edu-rag serve`: a local look at a site, or at one that is built again whenever something changes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from leaderboard.commands import board

if TYPE_CHECKING:
    from leaderboard.serving.loopback_server import SiteServer

OWN = ("out", "as_json")
"""Options of `edu-rag board` that have no meaning here."""


def _board_options() -> list[click.Option]:
    return [option for option in board.params if isinstance(option, click.Option) and option.name not in OWN]


def _with_board_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `edu-rag board`, for the builds of --watch."""
    found: list[click.Parameter] = getattr(command, "__click_params__", [])
    # click turns this list round: decorators come to it from the last to the first.
    command.__dict__["__click_params__"] = [*reversed(_board_options()), *found]
    return command


def _board_arguments(given: Mapping[str, Any]) -> list[str]:
    """The given options of `edu-rag board`, as its command line takes them."""
    words: list[str] = []
    source = click.get_current_context().get_parameter_source
    for option in _board_options():
        name = option.name or ""
        value = given[name]
        if source(name) is not ParameterSource.COMMANDLINE:
            continue
        if option.is_flag:
            words.append(option.opts[0])
            continue
        for one in value if isinstance(value, tuple) else (value,):
            words += [option.opts[0], str(one)]
    return words


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _until_stopped() -> Iterator[None]:
    """Ctrl-C and a polite kill end what runs inside, quietly; temporary folders are removed."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve(server: SiteServer, what: Path) -> None:
    from edu_rag.progress import say

    click.echo(server.address)
    say(f"serving {what}; press Ctrl-C to stop")
    with server:
        server.serve_forever(poll_interval=0.1)


def _watch(results: Path, port: int | None, given: Mapping[str, Any]) -> None:
    from edu_rag.errors import ConfigError
    from edu_rag.progress import say
    from leaderboard.serving.loopback_server import open_server
    from leaderboard.serving.rebuild_on_change import Builder, Builds, rebuilding, watched, watching_handler

    with TemporaryDirectory(prefix="edu-rag-serve-") as folder:
        site, builds = Path(folder) / "site", Builds()
        builder = Builder([str(results), *_board_arguments(given)], site)
        with rebuilding(builder, builds, watched(results, (*given["datasets"], *given["submissions"]))):
            say(f"building the site of {results}")
            fault = builder.build()
            if fault:
                raise ConfigError(results, f"the site cannot be built: {fault}", "fix that and start again")
            _serve(open_server(site, port, watching_handler(builds)), results)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="SITE|RESULTS")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to use; by default the first free one from 8000.")
@click.option(
    "--watch", is_flag=True, help="Build the site from a folder of results, and rebuild it after every change."
)
@_with_board_options
def serve(folder: Path, port: int | None, watch: bool, **given: Any) -> None:
    """Serve a site on this machine (loopback only) until Ctrl-C.

    With --watch, FOLDER contains results. The site is built in a temporary folder, and rebuilt whenever results,
    datasets, submissions, templates, assets or the board's code change; open pages reload. The other options are those
    of `edu-rag board`.

    \b
    Example:
      edu-rag serve site
      edu-rag serve --watch results --dataset dataset --port 8080
    """
    from edu_rag.errors import ConfigError
    from leaderboard.serving.loopback_server import check_site, open_server

    with _until_stopped():
        if watch:
            _watch(folder, port, given)
            return
        options = _board_arguments(given)
        if options:
            raise ConfigError(options[0], "applies to builds; this site is already built", "add --watch")
        check_site(folder)
        _serve(open_server(folder, port), folder)
