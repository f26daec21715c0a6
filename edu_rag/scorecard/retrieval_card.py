"""The result of a retrieval run: pages ranked for each question, without answers; and its file among the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from edu_rag.errors import DataError, EduRagError, FaultsError, RecordError
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.files.typed import faults_and_record, first_line, to_plain
from edu_rag.names import DatasetId, QuestionSet, Sample, require_slug, require_split
from edu_rag.scorecard.card import SystemFacts

FILE_NAME = "retrieval.json"
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMeasures:
    """Means over the n questions that have a relevant page, and their 95 % intervals, by name of the measure.

    Invariants: n is at least 1; both have the same names; numbers are in 0 … 1, and a mean is within its interval.
    """

    n: int
    metrics: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        if self.n < 1:
            raise RecordError("n", "is below 1")
        if self.metrics.keys() != self.intervals.keys():
            raise RecordError("intervals", "are not those of the metrics")
        for name, (low, high) in self.intervals.items():
            if not 0 <= low <= self.metrics[name] <= high <= 1:
                raise RecordError(f"metrics.{name}", f"{self.metrics[name]} is not within {low} … {high} and 0 … 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalCard:
    """A run's result on one split of a dataset, or on a sample of it.

    `evidence` is measured against the pages that hold evidence, `home` against the page that a question was taken from;
    each is None where the dataset lacks such pages. `n_ranked` of the `n` questions have a page in the run.
    Invariants: dataset, split, sample and slug are names; there is `evidence` or `home`.
    """

    system: SystemFacts
    dataset: str
    split: str
    sample: str | None
    harness: str
    n: int
    n_ranked: int
    evidence: PageMeasures | None
    home: PageMeasures | None
    run_sha256: str
    scored_at: str

    def __post_init__(self) -> None:
        DatasetId.parse(self.dataset)
        require_split(self.split)
        require_slug(self.system.slug)
        if self.sample is not None:
            Sample.parse(self.sample)
        if not 0 <= self.n_ranked <= self.n or self.n < 1:
            raise RecordError("n_ranked", f"{self.n_ranked} of {self.n} cannot be")
        if self.evidence is None and self.home is None:
            raise RecordError("evidence", "is missing, and so is home")

    @property
    def asked(self) -> QuestionSet:
        """The questions that were asked."""
        return QuestionSet(DatasetId.parse(self.dataset).release, self.split, self.sample)


def retrieval_place(asked: QuestionSet, slug: str) -> Path:
    """The place of a system's card among results: `NAME-VERSION/SPLIT[-SAMPLE]/SLUG/retrieval.json`."""
    return Path(asked.release.folder, asked.table, slug, FILE_NAME)


def _is_there(path: Path, card: RetrievalCard) -> bool:
    """Whether a file holds a card, with any time; one that cannot be read does not."""
    try:
        return replace(read_retrieval_card(path), scored_at=card.scored_at) == card
    except EduRagError:
        return False


def write_retrieval_card(results: Path, card: RetrievalCard) -> Path:
    """Write a card to its place among results; return the path.

    A card that differs from the one there by its time alone is not written.
    """
    path = results / retrieval_place(card.asked, card.system.slug)
    if not _is_there(path, card):
        write_json(path, to_plain(card))
    return path


def read_retrieval_card(path: Path) -> RetrievalCard:
    """Read a card. Raises DataError, or FaultsError naming every field with a fault."""
    if path.is_symlink() or not path.is_file():
        raise DataError(path, "is not a regular file", "put the file itself there")
    found, card = faults_and_record(read_json(path, MAX_BYTES), RetrievalCard)
    if card is None:
        raise FaultsError([DataError(path, f"{fault.where}: {first_line(fault)}") for fault in found])
    return card


def retrieval_cards(results: Path) -> Iterator[Path]:
    """The files of all cards below a folder of results, in order of path."""
    yield from sorted(results.rglob(FILE_NAME))
