"""`edu-rag check`: everything wrong with a submission, at once; its recipe of parts, which the baselines read, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import PATH, dataset_option, open_dataset, split_option

if TYPE_CHECKING:
    from edu_rag.errors import EduRagError
    from harness.check_submission import SubmissionFindings


def with_recipe(folder: Path, found: SubmissionFindings) -> SubmissionFindings:
    """The findings, and those about the table [parts] of its settings, if it has one that is read without faults."""
    from edu_rag.errors import EduRagError, each_fault
    from harness.submission.folder import FILE_NAME, open_submission

    try:
        parts = open_submission(folder).settings.parts
    except EduRagError:
        return found  # it is among the faults that were found
    if not parts:
        return found
    from baselines.check import chosen_names, recipe_faults

    path = folder.absolute() / FILE_NAME
    recipe, errors = recipe_faults(parts)
    faults = [_with_line(path, fault) for error in errors for fault in each_fault(error)]
    notes = [f"{folder.absolute()}: made of {', '.join(chosen_names(recipe))}"] if recipe else []
    return found._replace(faults=[*found.faults, *faults], notes=[*found.notes, *notes])


def _with_line(path: Path, fault: EduRagError) -> EduRagError:
    """A fault of the recipe at the line of its setting, or of the nearest table that has a line."""
    from harness.submission.folder import lines_of, setting_fault

    setting, lines = fault.where, lines_of(path)
    while setting not in lines and "." in setting:
        setting = setting.rpartition(".")[0]
    placed = setting_fault(path, setting, fault.what, fault.remedy)
    placed.where = placed.where.removesuffix(setting) + fault.where
    return placed


@click.command()
@click.argument("path", type=PATH)
@dataset_option(required=False)
@split_option
def check(path: Path, dataset_folder: Path | None, split: str | None) -> None:
    """Check a submission folder or a predictions file, and print every error.

    Uses the same rules as `score` and CI: settings, names, sizes, predictions, and the recipe of a system of parts.
    With --dataset it also checks the question ids and shows how each answer is read: a choice, an abstention, or
    neither. Files that git ignores, such as logs and compiled Python, are accepted.

    \b
    Example:
      edu-rag check demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag check demo/submissions/bm25-overlap/predictions/edu-rag-mini-2.0.0/test.jsonl
    """
    from edu_rag.errors import FaultsError, SubmissionError
    from edu_rag.progress import say
    from harness.check_submission import asked_of, check_predictions, check_submission
    from harness.trust.cautions import of_files

    if not path.exists():
        raise SubmissionError(path, "no such file or folder", "give a submission folder or a predictions file")
    dataset = open_dataset(dataset_folder) if dataset_folder else None
    if not path.is_dir() and not path.is_file():
        raise SubmissionError(path, "is not a regular file", "save the predictions to a file, and give that")
    if path.is_dir():
        findings = with_recipe(path, check_submission(path, dataset))
    else:
        from harness.importing.detect_format import require_own_form

        require_own_form(path)
        asked = None if dataset is None else asked_of(dataset, dataset.only_split(split))
        found = check_predictions(path, asked)
        findings = found._replace(cautions=[*of_files([path]), *found.cautions])
    for caution in findings.cautions:
        say(caution)
    for note in findings.notes:
        click.echo(note)
    if findings.faults:
        raise FaultsError(findings.faults)
