"""The command line's root. Commands live with their package and are imported only when asked for."""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from edu_rag import __version__
from edu_rag.errors import EduRagError
from edu_rag.safe_path import leave_out_current_folder


class _Entry(NamedTuple):
    module: str
    short_help: str


COMMANDS: Mapping[str, _Entry] = {
    "demo": _Entry("edu_rag.demo", "the whole line on the bundled mini benchmark, offline"),
    "build": _Entry("builder.commands", "questions + a search engine -> a dataset folder"),
    "replay": _Entry("builder.commands", "the same dataset again from the crawl store, network off"),
    "crawl": _Entry("builder.commands", "a crawl store's index, made again from its WARC file"),
    "dataset": _Entry("builder.dataset.commands", "a dataset's life: check, audit, diff, push, takedown, export"),
    "new": _Entry("harness.commands.new", "a submission folder to start from"),
    "check": _Entry("harness.commands.check", "everything wrong with a submission, at once"),
    "run": _Entry("harness.commands.run", "a runnable submission + a dataset -> predictions.jsonl"),
    "sandbox": _Entry("harness.commands.sandbox", "what this machine can enforce on a stranger's system"),
    "probe": _Entry("harness.commands.probe", "the questions again: no pages, noise, other order; what changes?"),
    "score": _Entry("harness.commands.score", "predictions -> scorecard and verdicts"),
    "judge": _Entry("harness.commands.judge", "judges of free text, held against human verdicts"),
    "compare": _Entry("harness.commands.compare", "do systems differ? paired tests, ranks, and the flips"),
    "power": _Entry("harness.commands.power", "what so many questions can find, and how many a difference needs"),
    "explain": _Entry("harness.commands.explain", "one question: what the system read, said, and got for it"),
    "pr": _Entry("harness.commands.pr", "a stranger's pull request: may it be merged, and what does it score?"),
    "rerun": _Entry("harness.commands.rerun", "a handed-in system run again, and held against its predictions"),
    "verify": _Entry("harness.commands.verify", "every number of the board made again from the repository"),
    "board": _Entry("leaderboard.commands", "scorecards -> a static site"),
    "serve": _Entry("leaderboard.serving.commands", "a local look at the site, built again while it is worked on"),
    "publish": _Entry("builder.results_commands", "results -> a dataset on the Hugging Face Hub"),
}


RESUMABLE = ("build", "run", "probe")
"""Commands that go on where they stopped when they are given again."""


def _interrupted(arguments: Sequence[str]) -> str:
    if not arguments or arguments[0] not in RESUMABLE:
        return "edu-rag: interrupted"
    fresh = " without --fresh" if "--fresh" in arguments else ""
    return f"edu-rag: interrupted: run the same command again{fresh} to resume"


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the line, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.{cmd_name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from COMMANDS, so that `--help` imports nothing heavy."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.short_help) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for a misspelt one."""
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if close:
                raise click.UsageError(f"{error.format_message()} Did you mean {close[0]!r}?", ctx) from None
            raise


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `edu-rag demo`. Every command has an example under --help.",
)
@click.version_option(__version__, prog_name="edu-rag")
def root() -> None:
    """EDU-RAG: a benchmark for retrieval-augmented answering of school-science questions.

    The line is: questions -> build -> dataset -> run -> predictions -> score -> scorecard -> board -> site.
    Every stage reads files and writes files; score = accuracy - hallucination.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. Our own errors print as one line and exit 1; wrong usage exits 2."""
    leave_out_current_folder()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # Latin-1 terminals have no "…", which is no reason to die
    atexit.register(gc.freeze)  # else the interpreter walks all that is left, record by record, before it ends
    try:
        code = root.main(args=None if argv is None else list(argv), prog_name="edu-rag", standalone_mode=False)
        # click hands a command's Exit back as a number here: a refusal that ended with 0 would be a green check.
        if isinstance(code, int):
            sys.exit(code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo(_interrupted(sys.argv[1:] if argv is None else argv), err=True)
        sys.exit(130)
    except EduRagError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except ModuleNotFoundError as error:
        # The core is small on purpose: what a command lacks comes with an extra.
        click.echo(f"edu-rag: {error.name} is not installed: pip install 'edu-rag-bench[build,models]'", err=True)
        sys.exit(1)
    except OSError as error:
        # A full disk, a missing permission: the file and the system's own words say it best.
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "make room and run the same command again" if is_full else "check the disk and the permissions"
        click.echo(f"{error.filename or 'edu-rag'}: {error.strerror or error}: {remedy}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
