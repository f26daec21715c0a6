"""The claim metrics of a system's answers, as they follow from a judge's verdicts; and their file among the results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError, FaultsError, RecordError
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.files.typed import faults_and_record, first_line, to_plain
from edu_rag.names import DatasetId, QuestionSet, Sample, require_slug, require_split

FILE_NAME = "claims.json"
MAX_BYTES = 4_000_000
DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTotal:
    """A metric over n_questions: numerator / denominator is its mean, None if no question has a value.

    `n_no_value`: nothing to judge (no claims, no nuggets; an abstention where the metric is about the answer's claims).
    `n_unjudged`: the judge failed, with the reasons. `lowest_mean` and `highest_mean`: the mean if
    each unjudged answer had the lowest or the highest value. `interval`: 95 %, None below two values.
    Invariants: denominator + n_no_value + n_unjudged = n_questions; every number is finite.
    """

    metric: str
    n_questions: int
    numerator: float
    denominator: int
    n_no_value: int
    n_unjudged: int
    interval: tuple[float, float] | None
    lowest_mean: float | None
    highest_mean: float | None
    reasons: Mapping[str, int]

    def __post_init__(self) -> None:
        counts = (self.denominator, self.n_no_value, self.n_unjudged)
        if min(counts) < 0 or sum(counts) != self.n_questions:
            raise RecordError("n_questions", f"is {self.n_questions}, but {sum(counts)} are counted")
        numbers = (self.numerator, self.lowest_mean or 0.0, self.highest_mean or 0.0, *(self.interval or ()))
        if not all(map(math.isfinite, numbers)):
            raise RecordError(self.metric[:40], "has a number that is not finite")

    @property
    def mean(self) -> float | None:
        """The mean over the questions with a value."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsCard:
    """The claim metrics of one predictions file. `statuses` counts the questions by what the system did.

    `audit`: how far people agree with the judge, from `judge audit --json`; empty if it was not audited.
    Invariants: system, dataset, split and sample are names.
    """

    system: str
    dataset: str
    split: str
    sample: str | None
    predictions_sha256: str
    rule: str
    judge: Mapping[str, Any]
    audit: Mapping[str, Any]
    statuses: Mapping[str, int]
    metrics: tuple[MetricTotal, ...]
    interval_method: str

    def __post_init__(self) -> None:
        require_slug(self.system, "system")
        DatasetId.parse(self.dataset)
        require_split(self.split)
        if self.sample is not None:
            Sample.parse(self.sample)

    @property
    def asked(self) -> QuestionSet:
        """The questions that were asked."""
        return QuestionSet(DatasetId.parse(self.dataset).release, self.split, self.sample)


def claims_values(card: ClaimsCard) -> dict[str, Any]:
    """A card as JSON-ready values, with the mean of each metric."""
    values: dict[str, Any] = to_plain(card)
    means = [None if total.mean is None else round(total.mean, DECIMALS) for total in card.metrics]
    rows = zip(values["metrics"], means, strict=True)
    return values | {"metrics": [{"metric": row["metric"], "mean": mean} | row for row, mean in rows]}


def write_claims_card(results: Path, card: ClaimsCard) -> Path:
    """Write a card next to the scorecard of its predictions: `NAME-VERSION/SPLIT[-SAMPLE]/SLUG/claims.json`."""
    path = results / card.asked.release.folder / card.asked.table / card.system / FILE_NAME
    write_json(path, claims_values(card))
    return path


def read_claims_card(path: Path) -> ClaimsCard:
    """Read a card; its means are derived again. Raises DataError, or FaultsError naming every field with a fault."""
    if path.is_symlink() or not path.is_file():
        raise DataError(path, "is not a regular file", "put the file itself there")
    values = read_json(path, MAX_BYTES)
    metrics = values.get("metrics") if isinstance(values, dict) else None
    if isinstance(metrics, list):
        values["metrics"] = [
            {name: value for name, value in row.items() if name != "mean"} if isinstance(row, dict) else row
            for row in metrics
        ]
    found, card = faults_and_record(values, ClaimsCard)
    if card is None:
        raise FaultsError([DataError(path, f"{fault.where}: {first_line(fault)}") for fault in found])
    return card


def claims_of(scorecard: Path) -> ClaimsCard | None:
    """The card next to a scorecard; None without a file. Raises as `read_claims_card`."""
    path = scorecard.with_name(FILE_NAME)
    return read_claims_card(path) if path.is_symlink() or path.exists() else None
