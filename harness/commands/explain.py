"""`edu-rag explain`: one question, one system."""

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
@click.argument("path", type=PATH, metavar="SUBMISSION-OR-PREDICTIONS")
@click.argument("question_id")
@dataset_option()
@split_option
@sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(
    path: Path,
    question_id: str,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """One question: what the system read, said, and got for it; evidence is marked with a star.

    \b
    Example:
      edu-rag explain demo/submissions/bm25-overlap MINI_0001 --dataset demo/dataset
    """
    from harness.explain import explain as explained
    from harness.explain import explanation_lines, explanation_values
    from harness.target import find_target

    dataset = open_dataset(dataset_folder)
    split = dataset.only_split(split)
    sample = sample_name(n_sample, seed)
    target = find_target(path, dataset.manifest, split, sample)
    explanation = explained(dataset, split, target, question_id, sample)
    if as_json:
        print_json(explanation_values(explanation))
    else:
        print_lines(explanation_lines(explanation))
