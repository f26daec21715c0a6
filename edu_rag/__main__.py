"""The command line's root. Commands live with their package and are imported only when asked for."""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import keyword
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from edu_rag import __version__
from edu_rag.errors import EduRagError
from edu_rag.processes.safe_path import leave_out_current_folder

_NEW_OBJECTS = 20_000
"""New objects after which Python looks for cycles among them, more than by default: imports and records make many
objects and few cycles, and the search costs a twentieth of the time of scoring."""


class _Entry(NamedTuple):
    module: str
    short_help: str


SECTIONS: Mapping[str, Mapping[str, _Entry]] = {
    "Build": {
        "demo": _Entry("edu_rag.cli.demo", "Run the whole benchmark on the bundled mini dataset, offline"),
        "questions": _Entry("edu_rag.cli.questions_group", "Convert, sample, count and generate questions"),
        "build": _Entry("edu_rag.cli.building", "Build a dataset from questions and a search engine"),
        "replay": _Entry("edu_rag.cli.building", "Rebuild a dataset from its crawl store, without the network"),
        "crawl": _Entry("builder.commands", "Show how far a crawl is, or rebuild the index of its store"),
        "dataset": _Entry("edu_rag.cli.dataset_group", "Check, audit, compare, correct, export or publish a dataset"),
    },
    "Submit": {
        "new": _Entry("harness.commands.new_command", "Create a submission folder"),
        "import": _Entry("harness.commands.import_command", "Import predictions that another program wrote"),
        "check": _Entry("edu_rag.cli.check_command", "Check a submission or a predictions file"),
        "run": _Entry("harness.commands.run_command", "Run a submission in the sandbox and write its predictions"),
        "score": _Entry("harness.commands.score_command", "Score predictions and write a scorecard"),
        "pr": _Entry("harness.commands.pr_command", "Check and score a pull request, as CI does"),
        "ask": _Entry("edu_rag.cli.asking.ask_command", "Ask up to three systems one question, in the terminal"),
        "try": _Entry("edu_rag.cli.asking.try_command", "Open a page to ask systems questions, side by side"),
        "sandbox": _Entry("harness.commands.sandbox_command", "Show which sandbox protections work on this machine"),
    },
    "Analyse": {
        "explain": _Entry(
            "harness.commands.explain_command", "Explain one answer, or list the questions that lost points"
        ),
        "compare": _Entry("harness.commands.compare_command", "Compare two or more systems with paired tests"),
        "power": _Entry("harness.commands.power_command", "Compute how many questions a comparison needs"),
        "probe": _Entry(
            "harness.commands.probe_command", "Run a system without pages, with noise, or with shuffled choices"
        ),
        "judge": _Entry("harness.commands.judge_command", "Compare a judge of free-text answers with human verdicts"),
    },
    "Publish": {
        "board": _Entry("leaderboard.commands", "Write a static site from scorecards"),
        "serve": _Entry("leaderboard.serving.commands", "Serve a site locally, and rebuild it after changes"),
        "publish": _Entry("publishing.commands", "Publish results on the Hugging Face Hub"),
        "verify": _Entry("harness.commands.verify_command", "Recompute every number of the board"),
        "rerun": _Entry("harness.commands.rerun_command", "Run a submitted system again and compare its answers"),
    },
}
"""The commands as `--help` groups them."""
COMMANDS: Mapping[str, _Entry] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


RESUMABLE = ("build", "run", "probe", "questions generate")
"""Commands that go on where they stopped when they are given again."""


def _interrupted(arguments: Sequence[str]) -> str:
    if not any(" ".join(arguments[:n]) in RESUMABLE for n in (1, 2)):
        return "edu-rag: interrupted"
    fresh = " without --fresh" if "--fresh" in arguments else ""
    return f"edu-rag: interrupted: run the same command again{fresh} to resume"


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of COMMANDS, not sorted by name."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = getattr(importlib.import_module(entry.module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.{name} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each section, without importing them: `--help` stays fast."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short_help) for name, entry in commands.items()])

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
    epilog="Start with `edu-rag demo`. `edu-rag COMMAND --help` shows examples.",
)
@click.version_option(__version__, prog_name="edu-rag")
def root() -> None:
    """EDU-RAG: a benchmark for retrieval-augmented answering of school-science questions.

    The stages are build (questions -> dataset), run (dataset -> predictions), score (predictions -> scorecard) and
    board (scorecards -> site). Each stage reads and writes files. score = accuracy - hallucination.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. Our own errors print as one line and exit 1; wrong usage exits 2."""
    leave_out_current_folder()
    # A caller may ignore the ends of its children, and we inherit that: then we could not wait for ours.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # Latin-1 terminals have no "…", which must not be fatal
    gc.set_threshold(_NEW_OBJECTS)
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
        remedy = "free some disk space and run this command again" if is_full else "check the disk and the permissions"
        click.echo(f"{error.filename or 'edu-rag'}: {error.strerror or error}: {remedy}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
