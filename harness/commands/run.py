"""`edu-rag run`: a system over a split."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.options import PATH, dataset_option, open_dataset, sample_name, sample_options, split_option


@click.command()
@click.argument("submission_folder", type=PATH, metavar="SUBMISSION")
@dataset_option()
@split_option
@sample_options
@click.option("--fresh", is_flag=True, help="Ask every question again, also those an interrupted run has answered.")
@click.option(
    "--time-s", type=click.FloatRange(0, min_open=True), help="Seconds a question, instead of the submission's."
)
@click.option(
    "--start-s", type=click.FloatRange(0, min_open=True), help="Seconds to the first answer, instead of its own."
)
@click.option(
    "--pass-env", "passed", multiple=True, metavar="NAME",
    help="Hand this environment variable to the system, such as EDU_RAG_LLM_KEY; repeatable. Keys are withheld else.",
)  # fmt: skip
def run(
    submission_folder: Path, dataset_folder: Path, split: str | None, n_sample: int | None, seed: int, *, fresh: bool,
    time_s: float | None, start_s: float | None, passed: tuple[str, ...],
) -> None:  # fmt: skip
    """Run a submission's command over a split and write its predictions; print their path.

    The system is a child process that reads one JSON question a line and writes one JSON answer a line. It never
    gets the gold answers. A crash or a time-out costs its question, not the run; an interrupted run is continued.
    Exit code 1 where not a single question was answered. `<split>.run.json` beside the predictions says on which
    dataset they were made.
    It is NOT a sandbox: run only code you trust.

    \b
    Example:
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset --split test --sample 20
    """
    from edu_rag.errors import SubmissionError
    from harness.run import run_submission
    from harness.submission import Limits, open_submission

    submission = open_submission(submission_folder)
    if not submission.settings.command:
        raise SubmissionError(submission.folder, "has no command to run", "add `command` to submission.toml")
    dataset = open_dataset(dataset_folder)
    own = submission.settings.limits
    limits = Limits(time_s=time_s or own.time_s, start_s=start_s or own.start_s)
    sample = sample_name(n_sample, seed)
    path = run_submission(
        submission, dataset, dataset.only_split(split), sample, fresh=fresh, limits=limits, passed=passed
    )
    click.echo(str(path))
