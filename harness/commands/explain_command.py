"""`edu-rag explain`: one question of one system, or the questions that a system lost points on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    grading_options,
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
    from edu_rag.files.dataset import Dataset
    from harness.judging.grading import Grading
    from harness.submission.target import Target


@click.command()
@click.argument("path", type=PATH, metavar="SUBMISSION-OR-PREDICTIONS")
@click.argument("question_id", required=False, metavar="[QUESTION]")
@dataset_option()
@split_option
@sample_options
@click.option("--lost", "cause", metavar="CAUSE", help="List the questions with this cause, such as not_used.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List at most N questions.")
@grading_options
@html_option
@click.option("--json", "as_json", is_flag=True, help="Print the explanation, or the list, as JSON.")
def explain(
    path: Path,
    question_id: str | None,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    cause: str | None,
    limit: int | None,
    judge: str,
    judge_cache: Path | None,
    rules: str,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Explain one question: what the system read and answered, the verdict, and the cause of a lost point.

    Evidence is marked in the pages. Without QUESTION, prints the number of questions and points lost to each cause;
    --lost CAUSE lists the questions.

    \b
    Example:
      edu-rag explain demo/submissions/bm25-overlap MINI_0001 --dataset demo/dataset
      edu-rag explain demo/submissions/bm25-overlap MINI_0001 --dataset demo/dataset --html demo/MINI_0001.html
      edu-rag explain demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag explain demo/submissions/bm25-overlap --lost not_used --limit 5 --dataset demo/dataset
    """
    from edu_rag.progress import say

    _check_usage(question_id, cause, limit, html_file)
    dataset = open_dataset(dataset_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    say(f"explain {question_id or 'the lost points'} of {path} on {dataset.id}, split {split}")

    from harness.importing.detect_format import require_own_form  # all that follows takes longer to import
    from harness.judging.grading import open_grading
    from harness.submission.target import find_target
    from harness.trust.cautions import of_files

    grading = open_grading(rules, judge, judge_cache)
    require_own_form(path)
    target = find_target(path, dataset.manifest, split, sample)
    for caution in of_files([target.path]):
        say(caution)
    if question_id is None:
        _print_losses(dataset, split, target, sample, grading, (cause, limit), as_json=as_json)
    else:
        _print_explanation(dataset, split, target, sample, grading, question_id, html_file, as_json=as_json)


def _check_usage(question_id: str | None, cause: str | None, limit: int | None, html_file: Path | None) -> None:
    if question_id is not None and (cause is not None or limit is not None):
        raise click.UsageError("--lost and --limit list questions: give no QUESTION with them.")
    if question_id is None and html_file is not None:
        raise click.UsageError("--html writes a page about one QUESTION: give its id.")


def _print_explanation(
    dataset: Dataset,
    split: str,
    target: Target,
    sample: str | None,
    grading: Grading,
    question_id: str,
    html_file: Path | None,
    *,
    as_json: bool,
) -> None:
    from harness.explaining.explain import explain as explained
    from harness.explaining.explain import explanation_lines, explanation_values

    explanation = explained(dataset, split, target, question_id, sample, grading)
    if html_file is not None:
        from edu_rag.progress import say
        from harness.pages.explain_page import explain_page
        from harness.pages.render_page import write_page

        write_page(html_file, explain_page(explanation, split, typed_command()))
        say(f"page: {html_file}")
    if as_json:
        print_json(explanation_values(explanation))
    else:
        print_lines(explanation_lines(explanation))


def _print_losses(
    dataset: Dataset,
    split: str,
    target: Target,
    sample: str | None,
    grading: Grading,
    asked: tuple[str | None, int | None],
    *,
    as_json: bool,
) -> None:
    from harness.explaining.lost_points import find_losses, losses_lines, losses_values, lost_lines, lost_to

    cause, limit = asked
    losses = find_losses(dataset, split, target, sample, grading)
    found = losses.lost if cause is None else lost_to(losses, cause)
    if as_json:
        print_json(losses_values(losses, found, limit))
    else:
        print_lines(lost_lines(found, limit) if cause is not None else losses_lines(losses))
