"""`edu-rag compare`: do systems differ?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    html_option,
    open_dataset,
    print_json,
    print_lines,
    sample_name,
    sample_options,
    split_option,
    typed_command,
)

if TYPE_CHECKING:
    from harness.comparing.compare import Choice, Comparison


@click.command()
@click.argument("paths", type=PATH, nargs=-1, metavar="A B [C …]")
@dataset_option(required=False)
@split_option
@sample_options
@click.option(
    "--all", "all_flips", is_flag=True, help="List every question on which the systems differ, not just some."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@html_option
def compare(
    paths: Sequence[Path],
    dataset_folder: Path | None,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    all_flips: bool,
    as_json: bool,
    html_file: Path | None,
) -> None:
    """Compare systems by paired tests: bootstrap interval, exact sign-flip and McNemar.

    A and B are scorecard.json files, predictions files or submissions. Submissions and predictions need --dataset; with
    scorecards it adds the slices and the questions on which the systems differ. Three or more systems give a table of
    all pairs with Holm's correction; systems without a significant difference share a rank. Where lessons are known,
    the questions of a lesson are resampled together.

    \b
    Example:
      edu-rag compare demo/submissions/bm25-overlap demo/submissions/blind-longest --dataset demo/dataset
      edu-rag compare demo/submissions/b* --dataset demo/dataset
      edu-rag compare demo/results/edu-rag-mini-2.0.0/test/bm25-overlap/scorecard.json \\
        demo/results/edu-rag-mini-2.0.0/test/blind-longest/scorecard.json
      edu-rag compare demo/submissions/bm25-overlap demo/submissions/blind-longest --dataset demo/dataset \\
        --html demo/comparison.html
    """
    from edu_rag.progress import say

    if len(paths) < 2:
        raise click.UsageError("Give at least two systems: A and B.")
    if len(paths) > 2 and html_file is not None:
        raise click.UsageError("--html writes the page of two systems: name A and B only.")
    dataset = open_dataset(dataset_folder) if dataset_folder else None
    say(f"compare {len(paths)} systems" + (f" on {dataset.id}" if dataset else ""))

    from harness.comparing.compare import Choice  # numpy takes longer than all until here

    choice = Choice(dataset, split, sample_name(n_sample, seed))
    if len(paths) == 2:
        _compare_two((paths[0], paths[1]), choice, all_flips=all_flips, as_json=as_json, html_file=html_file)
    else:
        _compare_many(paths, choice, as_json=as_json)


def _compare_two(
    paths: tuple[Path, Path], choice: Choice, *, all_flips: bool, as_json: bool, html_file: Path | None
) -> None:
    from harness.comparing.compare import compare as compared
    from harness.comparing.compare import comparison_values
    from harness.comparing.comparison_text import comparison_lines

    if html_file is None:
        comparison = compared(*paths, choice)
    else:
        comparison = _write(html_file, paths, choice, everything=all_flips)
    if as_json:
        print_json(comparison_values(comparison))
    else:
        print_lines(comparison_lines(comparison, comparison.first.counts.n if all_flips else 10))


def _write(html_file: Path, paths: tuple[Path, Path], choice: Choice, *, everything: bool) -> Comparison:
    from edu_rag.progress import say
    from harness.pages.compare_page import compare_paths
    from harness.pages.render_page import write_page

    comparison, page = compare_paths(paths, choice, typed_command(), everything=everything)
    write_page(html_file, page)
    say(f"page: {html_file}")
    return comparison


def _compare_many(paths: Sequence[Path], choice: Choice, *, as_json: bool) -> None:
    from harness.comparing.compare import compare_many, table_values
    from harness.comparing.comparison_text import table_lines

    table = compare_many(paths, choice)
    if as_json:
        print_json(table_values(table))
    else:
        print_lines(table_lines(table))
