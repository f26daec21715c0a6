"""Strict reading of predictions.jsonl against the questions: every fault has its file, line and field."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.jsonl import numbered_lines, parse_json
from edu_rag.results import Prediction
from edu_rag.typed import faults_and_record, first_line

_FIELDS = frozenset(field.name for field in dataclasses.fields(Prediction))
_NOT_PLAIN = (b"\\u", b" :", b"\t:", b"\r:")
"""What only the strict reader may judge: escapes (they may be surrogates), and keys apart from their colons."""
_LONG_NUMBER = 10**20
MAX_FAULTS = 50
"""How many faults `check` lists; after that a file is not worth reading on."""


def _largest(prediction: Prediction) -> float:
    p = prediction
    alone = (p.latency_s or 0, p.input_tokens or 0, p.output_tokens or 0, p.cost_usd or 0)
    return max(*alone, *(end for _, _, end in p.passages))


def _quick(line: bytes) -> Prediction | None:
    """A faultless, plain line, read in a third of the time; None sends the line through the strict reader.

    No key can be repeated where there are as many `":` as distinct keys, since every key has one.
    """
    if any(mark in line for mark in _NOT_PLAIN):
        return None
    with contextlib.suppress(msgspec.MsgspecError, RecordError, RecursionError, UnicodeDecodeError):
        values = msgspec.json.decode(line)
        if isinstance(values, dict) and values.keys() <= _FIELDS and line.count(b'":') == len(values):
            prediction = msgspec.convert(values, Prediction)
            return prediction if _largest(prediction) < _LONG_NUMBER else None
    return None


def _parsed(line: bytes) -> tuple[list[RecordError], Prediction | None]:
    if not line.strip():
        return [RecordError("line", "is blank", "remove it")], None
    quick = _quick(line)
    if quick is not None:
        return [], quick
    try:
        values = parse_json(line)
    except ValueError as error:
        return [RecordError("line", str(error))], None
    return faults_and_record(values, Prediction)


def _read(path: Path, known: Collection[str] | None) -> Iterator[tuple[list[DataError], Prediction | None]]:
    """Per line: its faults, or its prediction."""
    seen: dict[str, int] = {}
    for number, line in numbered_lines(path):
        faults, prediction = _parsed(line)
        if prediction is not None:
            question_id = prediction.question_id
            if known is not None and question_id not in known:
                faults = [RecordError("question_id", f"{question_id[:80]!r} is no question of this split")]
            elif question_id in seen:
                faults = [RecordError("question_id", f"{question_id!r} is repeated, first on line {seen[question_id]}")]
            else:
                seen[question_id] = number
        where = f"{path}:{number}"
        yield [DataError(where, f"{fault.where}: {first_line(fault)}") for fault in faults], prediction


def read_predictions(path: Path, known: Collection[str]) -> dict[str, Prediction]:
    """Predictions by question id. Raises DataError `FILE:LINE: field: fault` for the first fault.

    `known` holds the ids of the split's questions; questions without a line are simply absent from the result.
    """
    predictions: dict[str, Prediction] = {}
    for faults, prediction in _read(path, known):
        if faults:
            raise DataError(faults[0].where, faults[0].what, f"`edu-rag check {path} --dataset DIR` lists all")
        if prediction is not None:
            predictions[prediction.question_id] = prediction
    return predictions


def faults_in(path: Path, known: Collection[str] | None, limit: int = MAX_FAULTS) -> list[DataError]:
    """Every fault of a predictions file, at most `limit` of them; without `known` ids only its form is checked."""
    found: list[DataError] = []
    try:
        for faults, _ in _read(path, known):
            found += faults
            if len(found) >= limit:
                break
    except DataError as error:  # unreadable, or a line too long to read on
        found.append(error)
    return found[:limit]
