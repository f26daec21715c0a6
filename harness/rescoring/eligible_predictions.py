"""Which predictions may be scored on which version of a dataset: the rule of docs/scoring-spec.md, section 11."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import RecordError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.names import DatasetId, QuestionSet, Release
from harness.submission.folder import Submission, behind_link, present
from harness.submission.run_record import RunRecord, read_run_record
from harness.submission.target import Target


class PlacedPredictions(NamedTuple):
    """A predictions file of a submission and the questions that its place says it answers."""

    path: Path
    asked: QuestionSet


def predictions_of(submission: Submission) -> Iterator[PlacedPredictions]:
    """The predictions files of a submission at their documented paths."""
    for place in present(submission):
        asked = QuestionSet.of_place(place)
        if asked is not None:
            yield PlacedPredictions(submission.folder / "predictions" / place, asked)


def best_for(
    dataset: Dataset, made: Iterable[PlacedPredictions], same_questions: Callable[[PlacedPredictions], bool]
) -> Iterator[PlacedPredictions]:
    """Of each split and sample, the predictions to score on a dataset: its own version's, else the newest older one's.

    Never those made for a newer version, and those of an older major only where the questions are known to be the same.
    """
    name, version = dataset.manifest.release
    splits = dataset.splits()
    newest: dict[tuple[str, str | None], PlacedPredictions] = {}
    for one in sorted(made, key=lambda one: one.asked.release.version):
        (of, made_for), split, sample = one.asked
        if of != name or made_for > version or split not in splits:
            continue
        if made_for.major == version.major or same_questions(one):
            newest[split, sample] = one
    yield from (newest[key] for key in sorted(newest, key=lambda key: (key[0], key[1] or "")))


def target_of(submission: Submission, made: PlacedPredictions, dataset: Dataset) -> Target:
    """The predictions to score, with the dataset they were made on if that is another one. Raises EduRagError."""
    if behind_link(made.path, submission.folder):
        raise SubmissionError(made.path, "is a link or inside a linked folder", "put the file itself there")
    if not made.path.is_file():
        raise SubmissionError(made.path, "is not a regular file", "put the predictions themselves there")
    record = read_run_record(made.path)
    said = made.asked.release
    if record is None:
        made_on = "" if said == dataset.manifest.release else str(said)
    elif _release_of(record) == said:
        made_on = "" if record.answers_to(dataset.manifest) else record.dataset
    else:  # the place decides what may be scored, and the record could else name a newer version
        what = f"is under {said}, but its run record names {record.dataset[:80]}"
        raise SubmissionError(made.path, what, "put it where it belongs, or run the system again")
    return Target(made.path, submission.facts, made_on, submission.folder)


def _release_of(record: RunRecord) -> Release | None:
    try:
        return DatasetId.parse(record.dataset).release
    except RecordError:
        return None


def on_samples(best: Iterable[PlacedPredictions], tables: Iterable[tuple[str, str]]) -> Iterator[PlacedPredictions]:
    """The predictions to score, and on these samples, given as (split, sample), those of whole splits.

    A sample's own file goes before the whole split's of the same or an older version.
    """
    chosen = {(one.asked.split, one.asked.sample): one for one in best}
    for split, sample in sorted(tables):
        whole, own = chosen.get((split, None)), chosen.get((split, sample))
        if whole is not None and (own is None or own.asked.release.version < whole.asked.release.version):
            chosen[split, sample] = whole._replace(asked=whole.asked._replace(sample=sample))
    yield from (chosen[key] for key in sorted(chosen, key=lambda key: (key[0], key[1] or "")))
