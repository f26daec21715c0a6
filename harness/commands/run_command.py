"""`edu-rag run`: a system over a split."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.commands.options import PATH, dataset_option, open_dataset, sample_name, sample_options, split_option

if TYPE_CHECKING:
    from harness.named_network.forward_proxy import NetworkGrant
    from harness.named_network.named_host import NamedHost
    from harness.running.run import Manner, NothingAnsweredError
    from harness.sandbox.caps import Caps
    from harness.submission.folder import Submission

F = TypeVar("F", bound=Callable[..., Any])


def system_options(command: F) -> F:
    """The options that say what a system may take and get; all commands that start a system share them."""
    options = (
        click.option(
            "--time-s", type=click.FloatRange(0, min_open=True), help="Seconds per question; overrides submission.toml."
        ),
        click.option(
            "--start-s", type=click.FloatRange(0, min_open=True), help="Seconds to the first answer; also overrides it."
        ),
        click.option(
            "--pass-env",
            "passed",
            multiple=True,
            metavar="NAME",
            help="Pass this environment variable to the system, such as EDU_RAG_LLM_KEY; repeatable. By default no "
            "keys are passed.",
        ),
        click.option(
            "--allow-network",
            "allowed",
            multiple=True,
            metavar="NAME",
            help="Let the system reach this host, one of `[network] allow` in its submission.toml; repeatable. By "
            "default it reaches none.",
        ),
        click.option(
            "--memory-gb",
            type=click.FloatRange(0.1),
            help="Memory limit of the system in GiB; by default 6, or 3/4 of a smaller machine.",
        ),
        click.option(
            "--processes",
            type=click.IntRange(8, 4096),
            help="Limit on processes and threads; by default 64, or 4 per core.",
        ),
        click.option(
            "--unsafe-no-sandbox",
            "unsafe",
            is_flag=True,
            help="Run with your full rights, files and network; only for code that you trust.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def manner_options(command: F) -> F:
    """The options that say how a system is asked; `run` and `probe` share them."""
    no_cache = click.option("--no-cache", is_flag=True, help="Do not use or save cached answers.")
    fresh = click.option("--fresh", is_flag=True, help="Ask every question again, even after an interrupted run.")
    return fresh(no_cache(system_options(command)))


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
    """The submission in a folder. Raises SubmissionError if it has no command."""
    from edu_rag.errors import SubmissionError
    from harness.submission.folder import open_submission

    submission = open_submission(folder)
    if not submission.settings.command:
        raise SubmissionError(submission.folder, "has no command to run", "add `command` to submission.toml")
    return submission


def caps_of(memory_gb: float | None, processes: int | None) -> Caps:
    """The caps that the options ask for."""
    from dataclasses import replace

    from harness.sandbox.caps import GIB, Caps

    caps = Caps() if processes is None else Caps(n_processes=processes)
    return caps if memory_gb is None else replace(caps, memory_bytes=int(memory_gb * GIB))


def named_hosts(allowed: Sequence[str]) -> dict[str, NamedHost]:
    """The hosts of --allow-network by the names as typed. Raises ConfigError for one that is none."""
    from edu_rag.errors import ConfigError, RecordError
    from harness.named_network.named_host import NamedHost

    try:
        return {name: NamedHost.parse(name) for name in allowed}
    except RecordError as error:
        raise ConfigError("--allow-network", error.what, error.remedy) from None


def network_of(submission: Submission, allowed: Sequence[str], *, unsafe: bool) -> NetworkGrant:
    """The hosts that are granted by name. Raises ConfigError for one that the submission does not ask for."""
    from edu_rag.errors import ConfigError
    from edu_rag.progress import say
    from harness.named_network.forward_proxy import NetworkGrant

    if unsafe and allowed:
        raise click.UsageError(
            "--allow-network is for the sandbox: with --unsafe-no-sandbox nothing keeps it off the network."
        )
    wanted = submission.settings.network.hosts
    hosts = set(named_hosts(allowed).values())
    odd = sorted(hosts.difference(wanted))
    if odd:
        remedy = f"it asks for: {', '.join(map(str, wanted)) or 'none'}"
        raise ConfigError("--allow-network", f"{submission.slug} does not ask for {', '.join(map(str, odd))}", remedy)
    left = [str(host) for host in wanted if host not in hosts]
    if left and not unsafe:
        grants = " ".join(f"--allow-network {name}" for name in left)
        say(f"{submission.slug} asks for the network and does not get it: {grants} would grant it")
    return NetworkGrant(hosts=tuple(sorted(hosts)))


def manner_of(
    submission: Submission,
    *,
    fresh: bool,
    no_cache: bool,
    time_s: float | None,
    start_s: float | None,
    passed: tuple[str, ...],
    memory_gb: float | None,
    processes: int | None,
    unsafe: bool,
    allowed: tuple[str, ...] = (),
    seed: int = 0,
) -> Manner:
    """How the options say that a submission is to be asked."""
    from harness.running.answer_cache import AnswerCache, cache_path
    from harness.running.run import Manner
    from harness.submission.folder import Limits

    own, place = submission.settings.limits, None if no_cache else cache_path()
    return Manner(
        limits=Limits(time_s=time_s or own.time_s, start_s=start_s or own.start_s),
        fresh=fresh,
        passed=passed,
        cache=None if place is None else AnswerCache(place),
        seed=seed,
        caps=None if unsafe else caps_of(memory_gb, processes),
        network=network_of(submission, allowed, unsafe=unsafe),
    )


def _with_line_to_add(error: NothingAnsweredError, submission: Submission) -> NothingAnsweredError:
    """The error; for a script that ended by itself because it never serves, with the line to add."""
    from harness.running.run import NothingAnsweredError
    from harness.running.system_log import ENDED_BY_ITSELF
    from harness.submission.missing_loop import missing_loop

    # Here and not in the run itself: CI parses no stranger's Python.
    found = missing_loop(submission) if ENDED_BY_ITSELF in error.what else None
    if found is None:
        return error
    _, _, more = error.remedy.partition("; ")  # behind the general hint: the log, and what was kept
    return NothingAnsweredError(error.where, error.what, "; ".join(filter(None, [found, more])))


@click.command()
@click.argument("submission_folder", type=PATH, metavar="SUBMISSION")
@dataset_option()
@split_option
@sample_options
@manner_options
def run(
    submission_folder: Path,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    fresh: bool,
    no_cache: bool,
    time_s: float | None,
    start_s: float | None,
    passed: tuple[str, ...],
    allowed: tuple[str, ...],
    memory_gb: float | None,
    processes: int | None,
    unsafe: bool,
) -> None:
    """Run a submission over a split, write its predictions, and print their path.

    The system is a child process that reads one JSON question per line and writes one JSON answer per line. It never
    gets the gold answers. After a crash or a time-out the run continues with the next question. The same command
    resumes an interrupted run, and answers of the unchanged system are cached (--no-cache turns this off). Exits 1 if
    no question was answered. `<split>.run.json` records the dataset, the system and the settings.

    The system runs in a sandbox: without a network, without access to your files, with write access to /tmp only, and
    with limits on memory, processes and time (`edu-rag sandbox` shows them). If this machine cannot enforce that, the
    command fails; --unsafe-no-sandbox runs code that you trust without a sandbox. The packages that submission.toml
    names under `[environment] requirements` are downloaded first, without running any of their code.

    \b
    Example:
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset --split test --sample 20
    """
    from edu_rag.progress import say

    submission = runnable(submission_folder)
    dataset = open_dataset(dataset_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    say(f"run {submission.slug} on {dataset.id}, split {split}")  # before the imports, which take longer
    manner = manner_of(
        submission,
        fresh=fresh,
        no_cache=no_cache,
        time_s=time_s,
        start_s=start_s,
        passed=passed,
        memory_gb=memory_gb,
        processes=processes,
        unsafe=unsafe,
        allowed=allowed,
    )

    from edu_rag.look.texts import one_line
    from harness.check_submission import asked_of, check_predictions
    from harness.running.run import NothingAnsweredError, run_submission

    with stopping_like_ctrl_c():
        try:
            path = run_submission(submission, dataset, split, sample, manner)
        except NothingAnsweredError as error:
            raise _with_line_to_add(error, submission) from None
        for caution in check_predictions(path, asked_of(dataset, split, sample)).cautions:
            say(one_line(caution))
    click.echo(str(path))
