"""Which predictions may be scored on which version of a dataset: the rule of docs/scoring.md, section 11."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import SubmissionError
from harness.running.run_record import read_run_record
from harness.submission import Submission, behind_link, present
from harness.target import Target

Version = tuple[int, int, int]
Asked = tuple[str, Version, str, str | None]
"""Name and version of a dataset, split and sample."""

_PLACE = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9-]{1,39})-(?P<version>\d{1,6}\.\d{1,6}\.\d{1,6})/"
    r"(?P<split>[a-z][a-z0-9_]{0,31})(?:-(?P<sample>stratified-\d{1,7}-seed-\d{1,9}))?\.jsonl\Z"
)


class Made(NamedTuple):
    """A predictions file of a submission and the questions that its place says it answers."""

    path: Path
    name: str
    version: Version
    split: str
    sample: str | None

    @property
    def asked(self) -> Asked:
        """The questions it was made for."""
        return self.name, self.version, self.split, self.sample


def version_of(text: str) -> Version:
    """`2.1.0` as numbers. Raises ValueError."""
    major, minor, patch = (int(part) for part in text.split("."))
    return major, minor, patch


def predictions_of(submission: Submission) -> Iterator[Made]:
    """The predictions files of a submission that lie where one looks for them."""
    for place in present(submission):
        match = _PLACE.match(place)
        if match:
            path = submission.folder / "predictions" / place
            yield Made(path, match["name"], version_of(match["version"]), match["split"], match["sample"])


def best_for(dataset: Dataset, made: Iterable[Made], same_questions: Callable[[Made], bool]) -> Iterator[Made]:
    """Of each split and sample, the predictions to score on a dataset: its own version's, else the newest older one's.

    Never those made for a newer version, and those of an older major only where the questions are known to be the same.
    """
    name, version = dataset.manifest.name, version_of(dataset.manifest.version)
    splits = dataset.splits()
    newest: dict[tuple[str, str | None], Made] = {}
    for one in sorted(made, key=lambda one: one.version):
        if one.name != name or one.version > version or one.split not in splits:
            continue
        if one.version[0] == version[0] or same_questions(one):
            newest[one.split, one.sample] = one
    yield from (newest[key] for key in sorted(newest, key=lambda key: (key[0], key[1] or "")))


def target_of(submission: Submission, made: Made, dataset: Dataset) -> Target:
    """What to score, and for which dataset it was made where that is another. Raises EduRagError."""
    if behind_link(made.path, submission.folder):
        raise SubmissionError(made.path, "is or lies behind a link", "put the file itself there")
    if not made.path.is_file():
        raise SubmissionError(made.path, "is not a regular file", "put the predictions themselves there")
    record = read_run_record(made.path)
    said = f"{made.name}@{'.'.join(map(str, made.version))}"
    if record is None:
        made_on = "" if said == dataset.id.partition("#")[0] else said
    elif re.fullmatch(rf"{re.escape(said)}#[0-9a-f]{{8}}", record.dataset):
        made_on = "" if record.dataset == dataset.id else record.dataset
    else:  # the place decides what may be scored, and the record could else name a newer version
        what = f"lies under {said}, but its run record names {record.dataset[:80]}"
        raise SubmissionError(made.path, what, "put it where it belongs, or run the system again")
    return Target(made.path, submission.facts, made_on, submission.folder)


def on_samples(best: Iterable[Made], tables: Iterable[tuple[str, str]]) -> Iterator[Made]:
    """The predictions to score, and on these samples, given as (split, sample), those of whole splits.

    A sample's own file goes before the whole split's of the same or an older version.
    """
    chosen = {(one.split, one.sample): one for one in best}
    for split, sample in sorted(tables):
        whole, own = chosen.get((split, None)), chosen.get((split, sample))
        if whole is not None and (own is None or own.version < whole.version):
            chosen[split, sample] = whole._replace(sample=sample)
    yield from (chosen[key] for key in sorted(chosen, key=lambda key: (key[0], key[1] or "")))
