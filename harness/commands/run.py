"""`edu-rag run`: a system over a split."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.commands.options import PATH, dataset_option, open_dataset, sample_name, sample_options, split_option

if TYPE_CHECKING:
    from harness.run import Manner
    from harness.submission import Submission

F = TypeVar("F", bound=Callable[..., Any])


def manner_options(command: F) -> F:
    """The options that say how a system is asked; `run` and `probe` share them."""
    options = (
        click.option(
            "--fresh", is_flag=True, help="Ask every question again, also those an interrupted run has answered."
        ),
        click.option("--no-cache", is_flag=True, help="Neither use nor keep answers of earlier runs."),
        click.option(
            "--time-s", type=click.FloatRange(0, min_open=True), help="Seconds a question, instead of the submission's."
        ),
        click.option(
            "--start-s", type=click.FloatRange(0, min_open=True), help="Seconds to the first answer, instead."
        ),
        click.option(
            "--pass-env", "passed", multiple=True, metavar="NAME",
            help="Hand this environment variable to the system, such as EDU_RAG_LLM_KEY; repeatable. Keys are withheld "
            "else.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def stopping_like_ctrl_c() -> Iterator[None]:
    """While entered, SIGTERM and the terminal's end (SIGHUP) end a run as Ctrl-C does: the system's processes end with
    it, its answers stay kept. Under nohup, which has SIGHUP ignored, it stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():  # only there may handlers be set
        yield
        return
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def runnable(folder: Path) -> Submission:
    """The submission in a folder. Raises SubmissionError where it has no command."""
    from edu_rag.errors import SubmissionError
    from harness.submission import open_submission

    submission = open_submission(folder)
    if not submission.settings.command:
        raise SubmissionError(submission.folder, "has no command to run", "add `command` to submission.toml")
    return submission


def manner_of(
    submission: Submission, *, fresh: bool, no_cache: bool, time_s: float | None, start_s: float | None,
    passed: tuple[str, ...], seed: int = 0,
) -> Manner:  # fmt: skip
    """How the options say that a submission is to be asked."""
    from harness.run import Manner
    from harness.running.answer_cache import AnswerCache, cache_path
    from harness.submission import Limits

    own, place = submission.settings.limits, None if no_cache else cache_path()
    return Manner(
        limits=Limits(time_s=time_s or own.time_s, start_s=start_s or own.start_s), fresh=fresh, passed=passed,
        cache=None if place is None else AnswerCache(place), seed=seed,
    )  # fmt: skip


@click.command()
@click.argument("submission_folder", type=PATH, metavar="SUBMISSION")
@dataset_option()
@split_option
@sample_options
@manner_options
def run(
    submission_folder: Path, dataset_folder: Path, split: str | None, n_sample: int | None, seed: int, *, fresh: bool,
    no_cache: bool, time_s: float | None, start_s: float | None, passed: tuple[str, ...],
) -> None:  # fmt: skip
    """Run a submission's command over a split and write its predictions; print their path.

    The system is a child process that reads one JSON question a line and writes one JSON answer a line. It never
    gets the gold answers. A crash or a time-out costs its question, not the run; an interrupted run is continued,
    and what the very same system has answered before is not asked again (--no-cache asks all).
    Exit code 1 where not a single question was answered. `<split>.run.json` beside the predictions says on which
    dataset, by what and how they were made.
    It is NOT a sandbox: run only code you trust.

    \b
    Example:
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset --split test --sample 20
    """
    from harness.run import run_submission

    submission = runnable(submission_folder)
    dataset = open_dataset(dataset_folder)
    manner = manner_of(
        submission, fresh=fresh, no_cache=no_cache, time_s=time_s, start_s=start_s, passed=passed
    )  # fmt: skip
    with stopping_like_ctrl_c():
        path = run_submission(submission, dataset, dataset.only_split(split), sample_name(n_sample, seed), manner)
    click.echo(str(path))
