"""`edu-rag score`: predictions to scorecard and verdicts, of one system or of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    board_option,
    grading_of,
    grading_options,
    open_pinned,
    own_machine_option,
    print_json,
    print_lines,
    reruns_option,
    sample_name,
    sample_options,
    split_option,
    vouched_of,
)

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from edu_rag.scorecard.card import ScoreCard, Verdict
    from harness.exam import Exam
    from harness.judging.grading import Grading
    from harness.scoring.score import Scored
    from harness.trust.rerun_log import Vouched


@click.command()
@click.argument("path", type=PATH, metavar="[FILE-OR-SUBMISSION]", required=False)
@click.option(
    "--dataset",
    "datasets",
    type=PATH,
    multiple=True,
    required=True,
    metavar="DIR",
    help="Dataset folder; repeatable with --all.",
)
@split_option
@sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the scorecard as JSON.")
@click.option("--verdicts", type=PATH, metavar="OUT.jsonl", help="Write the verdict of each question to this file.")
@click.option(
    "--out",
    "results",
    type=PATH,
    metavar="RESULTS",
    help="Write the scorecard into this folder of results, for `edu-rag board`.",
)
@click.option("--brief", is_flag=True, help="Print one line instead of the table.")
@click.option("--all-slices", is_flag=True, help="Show slices with fewer than 20 questions, and all lessons.")
@click.option("--run", "run", type=PATH, metavar="FILE.trec", help="Score a retrieval run: pages ranked by a system.")
@click.option("--all", "every", is_flag=True, help="Score all submissions of a folder again, and list what changed.")
@board_option
@reruns_option
@own_machine_option
@grading_options
def score(
    path: Path | None,
    datasets: Sequence[Path],
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    as_json: bool,
    verdicts: Path | None,
    results: Path | None,
    brief: bool,
    all_slices: bool,
    run: Path | None,
    every: bool,
    board_file: Path | None,
    reruns: Path | None,
    own_machine: bool,
    judge: str,
    judge_cache: Path | None,
    rules: str,
) -> None:
    """Score a predictions file or a submission's predictions: score = accuracy - hallucination, with intervals.

    Every question of the split counts, answered or not. With --sample, a full file is scored on the sample only. Free
    text is graded by rules where they apply, else by --judge. If an answer cannot be graded, no scorecard is written;
    --verdicts lists such answers.

    --all scores the predictions of all submissions again, for every split and sample of the given datasets.
    RESULTS/rescoring.json lists what changed and why. A broken submission is skipped; the others are still scored. Run
    records and probes could be forged, so they count only if a line of --reruns verifies the predictions. With --board,
    or a board.toml next to RESULTS, only the datasets that it pins are accepted.

    --run scores a TREC run against the pages that hold evidence and against home pages: P, R, MAP, NDCG and MRR. A
    question without a page in the run counts 0. --all also scores the runs in the folders `runs` of submissions, and
    lists results whose run is gone: remove these by hand.

    \b
    Example:
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset --json --verdicts demo/verdicts.jsonl
      edu-rag score --all demo/submissions --dataset demo/dataset --out demo/results
      edu-rag score --run bm25.trec --dataset demo/dataset
    """
    if run is not None:
        if path or every or verdicts or brief or all_slices or reruns or own_machine or judge_cache:
            raise click.UsageError("--run goes with --dataset, --split, --sample, --out, --board and --json alone.")
        _score_run(
            run, open_pinned(datasets, board_file, results), split, sample_name(n_sample, seed), results, as_json
        )
        return
    grading = partial(grading_of, rules, judge, judge_cache, results)
    if every:
        if results is None:
            raise click.UsageError("--all needs --out RESULTS.")
        if split or n_sample or verdicts or brief or all_slices:
            raise click.UsageError(
                "--all takes no --split, --sample, --verdicts, --brief or --all-slices: it scores everything."
            )
        vouched = vouched_of(reruns, results, own_machine=own_machine)
        opened = open_pinned(datasets, board_file, results)
        _score_all(path or Path("submissions"), opened, results, grading, vouched, as_json=as_json)
        return
    if reruns is not None or own_machine:
        raise click.UsageError("--reruns and --own-machine go with --all: one file's run record is trusted anyway.")
    if path is None:
        raise click.UsageError("Missing argument 'FILE-OR-SUBMISSION'.")
    if len(datasets) > 1:
        raise click.UsageError("Several --dataset go with --all only.")
    (dataset,) = open_pinned(datasets, board_file, results)
    _score_one(
        path, dataset, split, sample_name(n_sample, seed), grading, (as_json, brief, all_slices), (verdicts, results)
    )


def _score_run(
    path: Path, opened: Sequence[Dataset], split: str | None, sample: str | None, results: Path | None, as_json: bool
) -> None:
    from edu_rag.progress import say

    if len(opened) > 1:
        raise click.UsageError("Several --dataset go with --all only.")
    (dataset,) = opened
    split = dataset.only_split(split)
    say(f"score {path} on {dataset.id}, split {split}")

    from edu_rag.files.typed import to_plain
    from edu_rag.scorecard.retrieval_card import write_retrieval_card
    from harness.rescoring.score_run import run_file, score_run
    from harness.scoring.run_measures import run_lines
    from harness.scoring.score import now_utc

    card = score_run(dataset, split, sample, run_file(path), scored_at=now_utc())
    if results is not None:
        say(f"wrote {write_retrieval_card(results, card)}")
    if as_json:
        print_json(to_plain(card))
    else:
        print_lines(run_lines(card))


def _import_numpy() -> None:
    """Import NumPy with one thread: to start its library's other threads takes longer than all products of scoring."""
    variable = "OPENBLAS_NUM_THREADS"
    given = os.environ.get(variable)
    os.environ.setdefault(variable, "1")
    try:
        import numpy  # noqa: F401, ICN001 - imported for its threads alone
    finally:
        if given is None:
            del os.environ[variable]  # it is not for programs that we start


def _score_one(
    path: Path,
    dataset: Dataset,
    split: str | None,
    sample: str | None,
    open_grading: Callable[[], Grading],
    shown: tuple[bool, bool, bool],
    written: tuple[Path | None, Path | None],
) -> None:
    from edu_rag.progress import say

    split = dataset.only_split(split)
    say(f"score {path} on {dataset.id}, split {split}")  # before the imports, which take longer than all until here
    _import_numpy()

    from edu_rag.files.jsonl import write_records
    from edu_rag.scorecard.results_folder import scorecard_values
    from harness.importing.detect_format import require_own_form
    from harness.judging.free_text import UnjudgedError
    from harness.scoring.score import now_utc, score_within, summary, uncollected, write_results
    from harness.scoring.scorecard_text import brief_line, card_lines
    from harness.submission.target import find_target
    from harness.trust.cautions import of_files
    from harness.trust.implausible import implausible
    from harness.trust.rerun_log import OWN_MACHINE

    (as_json, brief, all_slices), (verdicts, results) = shown, written
    grading = open_grading()
    require_own_form(path)
    target = find_target(path, dataset.manifest, split, sample)
    one = _One(dataset, split, sample, target.path, with_verdicts=verdicts is not None)
    try:
        with uncollected():
            card, said, found = score_within(
                one.exam, target, one.shown, scored_at=now_utc(), vouched=OWN_MACHINE, grading=grading
            )
    except UnjudgedError as error:
        if verdicts is not None:
            write_records(verdicts, error.rows())
        raise
    for caution in (*of_files([target.path]), *said, *implausible(card)):
        say(caution)
    if verdicts is not None:
        write_records(verdicts, found)
    if results is not None:
        say(f"wrote {write_results(results, card, target.path)}")
    if as_json:
        print_json(summary(card) | scorecard_values(card))
    else:
        print_lines([brief_line(card)] if brief else card_lines(card, all_slices=all_slices))


class _One:
    """The predictions to score and the parts to show; passed to the child that reads the predictions."""

    def __init__(self, dataset: Dataset, split: str, sample: str | None, path: Path, *, with_verdicts: bool) -> None:
        self._dataset, self._split, self._sample, self._path = dataset, split, sample, path
        self._with_verdicts = with_verdicts
        self._pages: Collection[str] = ()

    def exam(self) -> Exam:
        """The exam; and the ids of the pages that may be cited, before the budget begins: these are ours."""
        from harness.exam import open_exam
        from harness.trust.cautions import may_cite, page_ids

        self._pages = page_ids(self._dataset, self._split) if may_cite(self._path) else ()
        return open_exam(self._dataset, self._split, self._sample)

    def shown(self, scored: Scored) -> tuple[ScoreCard, Sequence[str], Sequence[Verdict]]:
        """The scorecard, cautions, and the verdicts where they are asked for."""
        from harness.trust.cautions import of_cited_pages, of_result

        said = (*scored.trust.doubts, *of_result(scored.card), *of_cited_pages(scored.predictions, self._pages))
        return scored.card, said, scored.verdicts if self._with_verdicts else ()


def _score_all(
    submissions: Path,
    opened: Sequence[Dataset],
    results: Path,
    open_grading: Callable[[], Grading],
    vouched: Vouched,
    *,
    as_json: bool,
) -> None:
    from edu_rag.progress import say

    say(f"score the submissions below {submissions} on {', '.join(dataset.id for dataset in opened)}")

    from edu_rag.errors import FaultsError
    from edu_rag.files.typed import to_plain
    from harness.rescoring.rescore import RECORD, rescore, rescoring_lines, rescoring_values, write_record
    from harness.rescoring.run_cards import rescore_runs, rescored_run_lines
    from harness.scoring.score import now_utc

    scored_at, grading = now_utc(), open_grading()
    found = rescore(submissions, opened, results, scored_at=scored_at, grading=grading, vouched=vouched)
    if write_record(results / RECORD, found):
        say(f"wrote {results / RECORD}")
    runs, run_faults = rescore_runs(submissions, opened, results, scored_at=scored_at)
    if as_json:
        print_json(rescoring_values(found) | {"runs": [to_plain(run) for run in runs]})
    else:
        print_lines([*rescoring_lines(found), *rescored_run_lines(runs)])
    faults = {str(fault): fault for fault in (*found.faults, *run_faults)}  # both may name one submission
    if faults:
        raise FaultsError(list(faults.values()))
