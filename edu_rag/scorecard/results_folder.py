"""A results folder: `NAME-VERSION/SPLIT[-SAMPLE]/SLUG/`, each with a scorecard.json and a copy of its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError, each_fault
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.files.manifest import file_sha256
from edu_rag.files.typed import faults_and_record, first_line, to_plain
from edu_rag.scorecard.card import ScoreCard, known_causes

FILE_NAME = "scorecard.json"


def scorecard_values(card: ScoreCard) -> dict[str, Any]:
    """A scorecard as JSON-ready values: its fields and, derived from the counts, `rates`."""
    values: dict[str, Any] = to_plain(card)
    return values | {"rates": card.counts.rates()}


def write_scorecard(path: Path, card: ScoreCard) -> None:
    """Write scorecard.json, atomically."""
    write_json(path, scorecard_values(card))


def _same(claimed: object, derived: Mapping[str, float | None]) -> bool:
    if not isinstance(claimed, dict) or claimed.keys() != derived.keys():
        return False
    for name, rate in derived.items():
        given = claimed[name]
        if rate is None or given is None:
            if rate is not given:
                return False
        elif isinstance(given, bool) or not isinstance(given, int | float) or abs(given - rate) > 1e-12:
            return False
    return True


def read_scorecard(path: Path) -> ScoreCard:
    """Read scorecard.json. Raises FaultsError naming every field that breaks an invariant, and derived rates that are
    not those of the counts; DataError if it is not JSON. Causes that an older file names otherwise get today's names.
    """
    values = read_json(path)
    rates = values.pop("rates", None) if isinstance(values, dict) else None
    if isinstance(values, dict) and isinstance(values.get("attribution"), dict):
        values["attribution"] = known_causes(values["attribution"])
    found, card = faults_and_record(values, ScoreCard)
    faults = [DataError(path, f"{fault.where}: {first_line(fault)}") for fault in found]
    if card is not None and not _same(rates, card.counts.rates()):
        faults.append(DataError(path, "rates: are not those of the counts", "score the predictions again"))
    if card is None or faults:
        raise FaultsError(faults)
    return card


PREDICTIONS = "predictions.jsonl"
"""The copy of the predictions, next to their scorecard."""
MAX_BYTES = 16_000_000
"""A scorecard of 100,000 questions with thousands of slices is a tenth of this."""


def place_of(card: ScoreCard) -> Path:
    """The place of a scorecard's folder among results: `NAME-VERSION/SPLIT[-SAMPLE]/SLUG`."""
    return Path(card.asked.release.folder, card.asked.table, card.system.slug)


def read_card(path: Path) -> ScoreCard:
    """A scorecard of the folder. Raises EduRagError, with all faults if there are several."""
    if path.is_symlink() or not path.is_file():
        raise DataError(path, "is not a regular file", "put the scorecard itself there")
    if path.stat().st_size > MAX_BYTES:
        raise DataError(path, f"is over {MAX_BYTES:,} bytes", "give the file that `edu-rag score` wrote")
    return read_scorecard(path)


def predictions_of(path: Path, card: ScoreCard) -> Path | None:
    """The predictions next to a scorecard; None without a file. Raises DataError if they are not the scored ones."""
    predictions = path.with_name(PREDICTIONS)
    if predictions.is_symlink():
        raise DataError(predictions, "is a symbolic link", "put the file itself there")
    if not predictions.is_file():
        return None
    if card.predictions_sha256 and file_sha256(predictions) != card.predictions_sha256:
        raise DataError(predictions, "is not the file that the scorecard scored", "run `edu-rag score` again")
    return predictions


class ResultsFolder:
    """The scorecards of a folder by path, in order, and the faults of those that cannot be read."""

    def __init__(self, folder: Path, *, most: int | None = None) -> None:
        """Reads the first `most` of them; a folder that is missing has none."""
        self.folder = folder
        self.cards: dict[Path, ScoreCard] = {}
        self.faults: dict[Path, list[EduRagError]] = {}
        for path in sorted(folder.rglob(FILE_NAME))[:most] if folder.is_dir() else ():
            try:
                self.cards[path] = read_card(path)
            except EduRagError as error:
                self.faults[path] = each_fault(error)

    def require_some(self) -> None:
        """Raise ConfigError or DataError if there is no such folder, or no scorecard in it."""
        if not self.folder.is_dir():
            raise ConfigError(self.folder, "is not a folder", "give the folder that `edu-rag score --out` wrote to")
        if not self.cards and not self.faults:
            from edu_rag.scorecard.retrieval_card import FILE_NAME as RETRIEVAL

            runs = " (the tables of retrieval runs need one, too)" if any(self.folder.rglob(RETRIEVAL)) else ""
            raise DataError(self.folder, f"holds no {FILE_NAME}{runs}", "score a submission first: edu-rag score --out")

    def each_fault(self) -> Iterator[EduRagError]:
        """The faults of all files."""
        for faults in self.faults.values():
            yield from faults

    def require_sound(self) -> None:
        """Raise FaultsError naming every fault of every file."""
        faults = list(self.each_fault())
        if faults:
            raise FaultsError(faults)
