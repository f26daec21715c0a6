"""`edu-rag probe`: controls and probes of a system, from the frozen dataset alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    open_dataset,
    print_json,
    print_lines,
    sample_name,
    sample_options,
    split_option,
)
from harness.commands.run_command import manner_of, manner_options, runnable, stopping_like_ctrl_c
from harness.probing.probe_questions import NAMES

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from harness.running.run import Manner
    from harness.submission.folder import Submission


def _main_run(submission: Submission, dataset: Dataset, split: str, sample: str | None, manner: Manner) -> Path:
    """The predictions that probes are compared with; if there are none, the system is run first.

    Raises SubmissionError if they were made by another version of the system.
    """
    from dataclasses import replace

    from edu_rag.errors import SubmissionError
    from edu_rag.progress import say
    from harness.running.run import record_of, run_submission
    from harness.submission.run_record import read_run_record, require_made_on, same_system

    made_for = dataset.manifest.release.folder
    for path in (submission.predictions_path(made_for, split, name) for name in dict.fromkeys((sample, None))):
        if path.is_file():
            require_made_on(path, dataset.manifest)
            record = read_run_record(path)
            if record is not None and not same_system(record, record_of(submission, dataset, split, sample, manner)):
                what = "was made by another version of this system, or under other settings"
                raise SubmissionError(path, what, "run `edu-rag run` again, then probe")
            return path
    say("no predictions yet: running the system first")
    return run_submission(submission, dataset, split, sample, replace(manner, seed=0))


@click.command()
@click.argument("submission_folder", type=PATH, metavar="SUBMISSION")
@dataset_option()
@split_option
@click.option(
    "--probe",
    "names",
    multiple=True,
    metavar="NAME",
    type=click.Choice(NAMES),
    help="Run only this probe; repeatable.",
)
@sample_options
@click.option(
    "--repeats",
    type=click.IntRange(1, 20),
    default=2,
    show_default=True,
    help="Number of repetitions for the probe `repeat`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the probes as JSON.")
@manner_options
def probe(
    submission_folder: Path,
    dataset_folder: Path,
    split: str | None,
    names: tuple[str, ...],
    n_sample: int | None,
    seed: int,
    repeats: int,
    *,
    as_json: bool,
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
    """Run a system under changed conditions, and print how the score changes.

    \b
    no-context     removes the pages: measures prior knowledge and guessing
    evidence-only  gives only the evidence sentences: the upper bound for better retrieval
    other-pages    gives the pages of another question: the system should abstain
    half-noise     replaces half of the pages with those of other questions
    permuted       shuffles the choices: measures position bias
    repeat         asks the same again: measures run-to-run variation

    --seed sets the sample and the random changes. The results are written to `probes/` next to the predictions, and
    `edu-rag score` includes them. A system without predictions is run first.

    \b
    Example:
      edu-rag probe demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag probe demo/submissions/bm25-overlap --dataset demo/dataset --probe permuted --probe repeat --sample 20
    """
    from edu_rag.processes.budget import within_budget
    from harness.exam import open_exam
    from harness.probing.probe_files import remove_replaced
    from harness.probing.run_probes import PROBES, Probing, run_probes
    from harness.probing.score_probes import probe_lines, probes_of

    submission, dataset = runnable(submission_folder), open_dataset(dataset_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    manner = manner_of(
        submission,
        fresh=fresh,
        no_cache=no_cache,
        time_s=time_s,
        start_s=start_s,
        passed=passed,
        seed=seed,
        memory_gb=memory_gb,
        processes=processes,
        unsafe=unsafe,
        allowed=allowed,
    )
    with stopping_like_ctrl_c():
        main = _main_run(submission, dataset, split, sample, manner)
        made = run_probes(submission, dataset, Probing(split, sample, names or tuple(PROBES), repeats), manner)
    exam = open_exam(dataset, split, sample)
    remove_replaced(main, exam, made)
    probes = within_budget(probes_of, main, exam, what=main)
    if as_json:
        print_json(probes)
    else:
        print_lines(probe_lines(probes))
