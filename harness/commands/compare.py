"""`edu-rag compare`: do two systems differ?"""

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
@click.argument("first", type=PATH, metavar="A")
@click.argument("second", type=PATH, metavar="B")
@dataset_option(required=False)
@split_option
@sample_options
@click.option("--all", "all_flips", is_flag=True, help="List every flip instead of the first ten.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    first: Path, second: Path, dataset_folder: Path | None, split: str | None, n_sample: int | None, seed: int, *,
    all_flips: bool, as_json: bool,
) -> None:  # fmt: skip
    """Do two systems differ? Paired bootstrap of the score difference, exact McNemar, and the questions that flip.

    A and B are scorecard.json files, predictions files or submissions. Two scorecards need no --dataset (it only
    adds ids and texts of the questions that flip); the others are scored first.

    \b
    Example:
      edu-rag compare demo/submissions/bm25-overlap demo/submissions/blind-longest --dataset demo/dataset
      edu-rag compare demo/results/edu-rag-mini-1.0.0/test/bm25-overlap/scorecard.json \\
        demo/results/edu-rag-mini-1.0.0/test/blind-longest/scorecard.json
    """
    from harness.compare import Choice, comparison_values
    from harness.compare import compare as compared
    from harness.report import comparison_lines

    dataset = open_dataset(dataset_folder) if dataset_folder else None
    comparison = compared(first, second, Choice(dataset, split, sample_name(n_sample, seed)))
    if as_json:
        print_json(comparison_values(comparison))
    else:
        limit = len(comparison.first.outcomes) if all_flips else 10
        print_lines(comparison_lines(comparison, limit))
