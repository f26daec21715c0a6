"""Resolve the user's path: a predictions file or a submission folder, and the system that it belongs to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import SubmissionError
from edu_rag.files.manifest import Manifest
from edu_rag.names import is_slug
from edu_rag.scorecard.card import SystemFacts
from edu_rag.scorecard.results_folder import FILE_NAME as SCORECARD
from harness.submission.folder import find_predictions, open_submission, sample_in, submission_of
from harness.submission.run_record import require_made_on


class Target(NamedTuple):
    """A predictions file, the facts of the system that made it, and the dataset it was made on if that is another.

    `folder` is the submission that contains it, None if there is none.
    """

    path: Path
    system: SystemFacts
    made_on: str = ""
    folder: Path | None = None


def _slug_of(stem: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-")[:40].strip("-")
    return slug if is_slug(slug) else f"file-{slug}"[:40].strip("-")


def anonymous(path: Path) -> SystemFacts:
    """The facts of a predictions file that belongs to no submission: named after the file."""
    stem = path.parent.name if path.stem == "predictions" else path.stem
    slug = _slug_of(stem)
    return SystemFacts(slug=slug, name=stem if stem.isprintable() and stem.strip() else slug, team="")


def find_target(path: Path, manifest: Manifest, split: str, sample: str | None) -> Target:
    """The predictions for a dataset that a path stands for.

    Raises SubmissionError, also where a run record next to them names another dataset than this manifest's.
    """
    target = _target(path, manifest.release.folder, split, sample)
    require_made_on(target.path, manifest)
    return target


def _target(path: Path, dataset: str, split: str, sample: str | None) -> Target:
    """As `find_target`, by the dataset's `name-version` alone."""
    if path.is_dir():
        submission = open_submission(path)
        return Target(find_predictions(submission, dataset, split, sample), submission.facts, folder=submission.folder)
    if not path.is_file():
        raise SubmissionError(path, "no such file or folder", "give a predictions file or a submission folder")
    if path.name == SCORECARD:
        raise SubmissionError(path, "is a scorecard", "give its predictions.jsonl")
    owner = submission_of(path)
    if owner is None:
        return Target(path, anonymous(path))
    made_for = path.absolute().parent.name
    if path.stem.partition("-")[0] == split and path.stem not in (split, f"{split}-{sample}"):
        # The questions outside the sample would count as failed.
        what = f"these predictions are for the sample {path.stem.partition('-')[2]}"
        own = sample_in(path)
        remedy = f"add --sample {own.n} --seed {own.seed}" if own else "give its --sample and --seed"
        raise SubmissionError(path, what, remedy)
    if made_for != dataset:
        what = f"these predictions are for {made_for}, the dataset is {dataset}"
        raise SubmissionError(path, what, "give the dataset that they were made for, or run the system on this one")
    return Target(path, owner.facts, folder=owner.folder)
