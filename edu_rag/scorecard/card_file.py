"""Writing and reading scorecard.json: the counts are stored; the rates are for readers, and are derived again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError, FaultsError
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.files.typed import faults_and_record, first_line, to_plain
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.causes import known_causes

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
