"""`edu-rag check`: everything wrong with a submission, at once."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.options import PATH, dataset_option, open_dataset, split_option


@click.command()
@click.argument("path", type=PATH)
@dataset_option(required=False)
@split_option
def check(path: Path, dataset_folder: Path | None, split: str | None) -> None:
    """Check a submission folder or a predictions file, and print every error.

    Uses the same rules as `score` and CI: settings, names, sizes, predictions. With --dataset it also checks the
    question ids and shows how each answer is read: a choice, an abstention, or neither. Files that git ignores, such as
    logs and compiled Python, are accepted.

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
        findings = check_submission(path, dataset)
    else:
        asked = None if dataset is None else asked_of(dataset, dataset.only_split(split))
        found = check_predictions(path, asked)
        findings = found._replace(cautions=[*of_files([path]), *found.cautions])
    for caution in findings.cautions:
        say(caution)
    if findings.faults:
        raise FaultsError(findings.faults)
    for note in findings.notes:
        click.echo(note)
