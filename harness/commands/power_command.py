"""`edu-rag power`: how many questions does a difference need, and which difference can n questions find?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from edu_rag.significance import ALPHA
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

_LEAST = 1e-6
"""Nothing below this can be planned for: 1 - 1e-17 is 1, and 1e-300 squared is 0."""


class _Number(click.FloatRange):
    """A number from 1e-6 to `most`; click's own range lets `nan` through, which is below and above nothing."""

    def __init__(self, most: float) -> None:
        super().__init__(_LEAST, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails for one out of range, and for `nan`."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


_UNIT, _UP_TO_2 = _Number(1 - _LEAST), _Number(2)


@click.command()
@click.argument("paths", type=PATH, nargs=-1, metavar="[A B]")
@click.option(
    "--n", type=click.IntRange(1, 10**9), metavar="N", help="Number of questions; that of A and B by default."
)
@click.option("--difference", type=_UP_TO_2, metavar="D", help="True score difference to detect: 0.03 is 3 points.")
@click.option(
    "--sd",
    type=_UP_TO_2,
    metavar="SD",
    help="Standard deviation of the difference per question; that of A and B by default, or 1.0.",
)
@click.option("--power", type=_UNIT, default=0.8, show_default=True, help="Probability of detecting the difference.")
@click.option("--alpha", type=_UNIT, default=ALPHA, show_default=True, help="Significance level of the two-sided test.")
@dataset_option(required=False)
@split_option
@sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def power(
    paths: Sequence[Path],
    n: int | None,
    difference: float | None,
    sd: float | None,
    power: float,
    alpha: float,
    dataset_folder: Path | None,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """Compute the difference that --n questions can detect, or the questions that --difference needs.

    With both options, computes the probability of detecting the difference. The standard deviation is estimated from
    two systems A and B (scorecards, predictions or submissions), with the design effect of lessons if these are known.

    \b
    Example:
      edu-rag power --difference 0.03
      edu-rag power --n 2524 --difference 0.03 --sd 0.9 --power 0.9
      edu-rag power demo/submissions/bm25-overlap demo/submissions/blind-longest --dataset demo/dataset
    """
    from harness.comparing.plan_comparison import plan, plan_lines, plan_values, spread_from

    if len(paths) not in (0, 2):
        raise click.UsageError("Give two systems, or none.")
    if not paths and n is None and difference is None:
        raise click.UsageError("Give --n, --difference, or two systems.")
    if paths and sd is not None:
        raise click.UsageError("Give --sd or two systems, not both.")
    source = None
    if paths:
        from harness.comparing.compare import Choice

        dataset = open_dataset(dataset_folder) if dataset_folder else None
        source = spread_from(paths[0], paths[1], Choice(dataset, split, sample_name(n_sample, seed)))
    found = plan(source, n=n, difference=difference, sd=sd, power=power, alpha=alpha)
    if as_json:
        print_json(plan_values(found))
    else:
        print_lines(plan_lines(found))
