"""`edu-rag rerun`: run a submitted system again, and compare the answers with its predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    open_pinned,
    print_json,
    print_lines,
    sample_name,
    sample_options,
    split_option,
)

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from harness.submission.folder import Submission
    from harness.trust.rerun_log import Rerun

BESIDE_THE_BOARD = Path("leaderboard")


@click.command()
@click.argument("submission_folder", type=PATH, metavar="SUBMISSION")
@dataset_option()
@split_option
@sample_options
@click.option(
    "--reruns",
    type=PATH,
    metavar="FILE",
    help="File to record the result in; leaderboard/reruns.jsonl by default if the folder exists.",
)
@click.option("--own", is_flag=True, help="Record the predictions as your run, without running the system.")
@click.option("--pass-env", "passed", multiple=True, metavar="NAME", help="As for `edu-rag run`; repeatable.")
@click.option("--memory-gb", type=click.FloatRange(0.1), help="As for `edu-rag run`.")
@click.option("--processes", type=click.IntRange(8, 4096), help="As for `edu-rag run`.")
@click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="As for `edu-rag run`; only for code that you trust.")
@click.option("--json", "as_json", is_flag=True, help="Print the record and the answers that differ as JSON.")
def rerun(
    submission_folder: Path,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    reruns: Path | None,
    own: bool,
    passed: tuple[str, ...],
    memory_gb: float | None,
    processes: int | None,
    unsafe: bool,
    as_json: bool,
) -> None:
    """Run a submitted system again, and compare its answers with the submitted predictions.

    Two answers agree if both name the same choice or both abstain; a failed answer never agrees. The result replaces
    the line for these predictions in reruns.jsonl, and the board shows it until the predictions or the system change.
    With --own, a maintainer declares the predictions to be their own run. The run record next to them must match the
    predictions, the dataset and the files of the system; the board then shows their latencies as measured.

    \b
    Example:
      edu-rag rerun submissions/my-system --dataset tqa-val --sample 100
      edu-rag rerun submissions/bm25-overlap --dataset tqa-val --own
    """
    from harness.commands.run_command import manner_of, runnable, stopping_like_ctrl_c
    from harness.rescoring.rerun import rerun_lines, rerun_values, run_again
    from harness.running.run import require_no_network
    from harness.scoring.score import now_utc
    from harness.trust.rerun_log import FILE_NAME

    (dataset,) = open_pinned([dataset_folder], None, reruns or BESIDE_THE_BOARD / FILE_NAME)
    submission = runnable(submission_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    made_at = now_utc().strftime("%Y-%m-%dT%H:%M:%SZ")
    if own:
        line = _own(submission, dataset, split, sample, made_at)
        _keep(reruns, line)
        if as_json:
            print_json(rerun_values(line))
        return
    require_no_network(submission)
    manner = manner_of(
        submission,
        fresh=True,
        no_cache=True,
        time_s=None,
        start_s=None,
        passed=passed,
        memory_gb=memory_gb,
        processes=processes,
        unsafe=unsafe,
    )
    with stopping_like_ctrl_c():
        compared = run_again(submission, dataset, split, sample, manner, made_at)
    if as_json:
        print_json(rerun_values(compared.line, compared.different))
    else:
        print_lines(rerun_lines(compared))
    _keep(reruns, compared.line)


def _own(submission: Submission, dataset: Dataset, split: str, sample: str | None, made_at: str) -> Rerun:
    from harness.exam import open_exam
    from harness.probing.probe_files import own_probes
    from harness.rescoring.rerun import own_line
    from harness.submission.target import find_target

    target = find_target(submission.folder, dataset.manifest, split, sample)
    probes = own_probes(target.path, open_exam(dataset, split, sample))
    return own_line(target, dataset, made_at, (run for run, _ in probes))


def _keep(reruns: Path | None, line: Rerun) -> None:
    from edu_rag.progress import say
    from harness.trust.rerun_log import FILE_NAME, write_rerun

    if reruns is None and not BESIDE_THE_BOARD.is_dir():
        say("not recorded: there is no folder `leaderboard` here; name a file with --reruns")
        return
    path = reruns or BESIDE_THE_BOARD / FILE_NAME
    write_rerun(path, line)
    say(f"{path}: {'vouches for' if line.own else 'records the re-run of'} {line.slug} on {line.dataset}")
