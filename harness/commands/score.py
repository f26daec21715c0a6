"""`edu-rag score`: predictions to scorecard and verdicts."""

from __future__ import annotations

from pathlib import Path

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


@click.command()
@click.argument("path", type=PATH, metavar="FILE-OR-SUBMISSION")
@dataset_option()
@split_option
@sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the scorecard as JSON.")
@click.option("--verdicts", type=PATH, metavar="OUT.jsonl", help="Write the verdict on each question.")
@click.option("--out", "results", type=PATH, metavar="RESULTS", help="Write the scorecard where `edu-rag board` looks.")
@click.option("--brief", is_flag=True, help="Print one line instead of the table.")
def score(
    path: Path, dataset_folder: Path, split: str | None, n_sample: int | None, seed: int, *, as_json: bool,
    verdicts: Path | None, results: Path | None, brief: bool,
) -> None:  # fmt: skip
    """Score a predictions file or a submission's predictions: score = accuracy - hallucination, with intervals.

    Every question of the split counts, answered or not. With --sample a full file is scored on the sample alone.

    \b
    Example:
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset --json --verdicts demo/verdicts.jsonl
    """
    from edu_rag.jsonl import write_records
    from edu_rag.progress import say
    from edu_rag.scorecards import scorecard_values
    from harness.report import brief_line, card_lines
    from harness.score import now_utc, score_target, summary, write_results
    from harness.target import find_target

    dataset = open_dataset(dataset_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    target = find_target(path, dataset.manifest, split, sample)
    scored = score_target(dataset, split, sample, target, scored_at=now_utc())
    if verdicts is not None:
        write_records(verdicts, scored.verdicts)
    if results is not None:
        say(f"wrote {write_results(results, dataset, scored, target.path)}")
    if as_json:
        print_json(summary(scored.card) | scorecard_values(scored.card))
    else:
        print_lines([brief_line(scored.card)] if brief else card_lines(scored.card))
