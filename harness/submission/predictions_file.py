"""Strict reading of predictions.jsonl against the questions: every fault has its file, line and field."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from edu_rag.errors import BudgetError, DataError, RecordError
from edu_rag.files.jsonl import line_blocks, parse_json
from edu_rag.files.typed import faults_and_record, first_line
from edu_rag.processes.bounded_child import is_inside
from edu_rag.processes.budget import SMALL_BYTES, items_within_budget
from edu_rag.scorecard.card import Prediction

R = TypeVar("R")
_KEY = re.compile(f'"(?:{"|".join(field.name for field in dataclasses.fields(Prediction))})":'.encode())
_APART = (b" :", b"\t:", b"\r:")
"""Keys apart from their colons, which need the strict reader."""
_SURROGATES = (b"\\ud", b"\\uD")
"""Escapes that may be surrogates, which need it as well."""
_FIRST_KEY = b'"question_id":'
_BEGIN = b"{" + _FIRST_KEY
"""The usual beginning of a line."""
_DIGITS_AS_0 = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * 20
_DECODER = msgspec.json.Decoder(Prediction)
_ENCODER = msgspec.json.Encoder()
_BATCH_BYTES = 1_000_000
"""Of predictions that a child sends back at a time."""
_MUST = {"question_id": "-", "answer": None}
"""The required keys of a line, used to read on after one is at fault."""
OPTIONAL_FIELDS = (
    "response",
    "confidence",
    "passages",
    "latency_s",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "energy_j",
    "status",
)
_FIELDS = frozenset(field.name for field in dataclasses.fields(Prediction))
MAX_PASSAGES = 1_000_000
"""The most passages of a file that this process holds: some 250 MB."""
MAX_FAULTS = 20
"""How many different faults `check` lists; after that a file is not worth reading on."""
MAX_FAULTY_LINES = 1_000
"""Lines with faults that are counted; after that a file is not worth reading on either."""


def _has_plain_bytes(text: bytes, keys: Sequence[bytes]) -> bool:
    """Whether no key is unknown, apart from its colon or a number or escape that the strict reader judges.

    No key is unknown if no `":` occurs but those of `keys`: a quote within a text is written `\\"`, so a text cannot
    hold a key, and `":` within one only sends it to the strict reader.
    """
    # The first look is at single bytes, which costs a tenth: a file without a colon in its texts needs no other.
    if text.count(b":") != len(keys) and (text.count(b'":') != len(keys) or _holds_any(text, _APART)):
        return False
    if b"\\" in text and _holds_any(text, _SURROGATES):
        return False
    return _LONG_NUMBER not in text.translate(_DIGITS_AS_0)


def _holds_any(text: bytes, marks: Sequence[bytes]) -> bool:
    return any([mark in text for mark in marks])  # noqa: C419 - a generator takes three times as long


def _quick(line: bytes) -> Prediction | None:
    """Read a plain line without faults in a fifth of the time; None sends the line to the strict reader."""
    keys = _KEY.findall(line)
    if len(set(keys)) != len(keys) or not _has_plain_bytes(line, keys):
        return None
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, RecordError, RecursionError, UnicodeDecodeError):
        return None


def _quick_block(block: bytes) -> list[Prediction] | None:
    """Read plain lines without faults together, in half the time of one by one; None if any is not plain.

    Each line is one object if each begins with the first key, and this occurs nowhere else: a second object on a line,
    or an object on two, would need another one.
    """
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    n_begun = block.count(b"\n" + _BEGIN) + block.startswith(_BEGIN)
    if n_begun != n_lines:
        return None
    keys = _KEY.findall(block)
    _, *others = b"".join(keys).split(_FIRST_KEY)
    if len(others) != n_lines or not all(map(_are_distinct, set(others))) or not _has_plain_bytes(block, keys):
        return None
    try:
        found = _DECODER.decode_lines(block)
    except (msgspec.MsgspecError, RecordError, RecursionError, UnicodeDecodeError):
        return None
    return found if len(found) == n_lines else None


def _are_distinct(keys: bytes) -> bool:
    found = _KEY.findall(keys)
    return len(set(found)) == len(found)


def _every_fault(values: Any) -> tuple[list[RecordError], Prediction | None]:
    """All faults of a line's value, or its prediction: faulty parts are set aside, and the rest is read again."""
    faults, prediction = faults_and_record(values, Prediction)
    # Unknown fields were listed above. Kept here, 100,000 of them would be looked at again for each known one.
    given = values if isinstance(values, dict) else {}
    left = {name: value for name, value in given.items() if name in _FIELDS}
    more = faults
    while more:
        before, bad = left.keys(), left.keys() & {fault.where for fault in more}
        left = _MUST | {name: value for name, value in left.items() if name not in bad}
        more = faults_and_record(left, Prediction)[0] if bad or before != left.keys() else []
        faults = faults + more
    return faults, prediction


def _parsed(line: bytes) -> tuple[list[RecordError], str | None, Prediction | None]:
    """A line's faults, the question it names if it can be read, and its prediction if it has no fault."""
    if not line.strip():
        return [RecordError("line", "is blank", "remove it")], None, None
    quick = _quick(line)
    if quick is not None:
        return [], quick.question_id, quick
    try:
        values = parse_json(line)
    except ValueError as error:
        return [RecordError("line", str(error))], None, None
    named = values.get("question_id") if isinstance(values, dict) else None
    faults, prediction = _every_fault(values)
    return faults, named if isinstance(named, str) else None, prediction


def _read(path: Path, known: Collection[str] | None) -> Iterator[tuple[list[DataError], Prediction | None]]:
    """Per line: its faults, or its prediction."""
    seen: dict[str, int] = {}
    for number, block in line_blocks(path):
        together = _read_together(block, known, seen)
        if together is None:
            yield from _read_one_by_one(path, number, block, known, seen)
            continue
        seen.update((prediction.question_id, at) for at, prediction in enumerate(together, number))
        for prediction in together:
            yield [], prediction


def _read_together(block: bytes, known: Collection[str] | None, seen: Mapping[str, int]) -> list[Prediction] | None:
    """The predictions of a block without faults; None if it may have some."""
    found = _quick_block(block)
    ids = [prediction.question_id for prediction in found or ()]
    is_new = len(set(ids)) == len(ids) and seen.keys().isdisjoint(ids)
    return found if is_new and (known is None or all(map(known.__contains__, ids))) else None


def _read_one_by_one(
    path: Path, first: int, block: bytes, known: Collection[str] | None, seen: dict[str, int]
) -> Iterator[tuple[list[DataError], Prediction | None]]:
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
        faults, question_id, prediction = _parsed(line.rstrip(b"\r"))
        if question_id is not None:
            if known is not None and question_id not in known:
                what = f"{question_id[:80]!r} is not a question of this split"
                faults = [*faults, RecordError("question_id", what)]
            elif question_id in seen:
                what = f"{question_id[:80]!r} is repeated, first on line {seen[question_id]}"
                faults = [*faults, RecordError("question_id", what)]
            else:
                seen[question_id] = number
        where = f"{path}:{number}"
        yield [DataError(where, f"{fault.where}: {first_line(fault)}") for fault in faults], prediction


def row_of(prediction: Prediction) -> dict[str, Any]:
    """A prediction without the fields that say nothing, so that the file stays small and readable."""
    default = Prediction(question_id=prediction.question_id, answer=prediction.answer)
    said = {
        name: getattr(prediction, name)
        for name in OPTIONAL_FIELDS
        if getattr(prediction, name) != getattr(default, name)
    }
    return {"question_id": prediction.question_id, "answer": prediction.answer} | said


def read_predictions(path: Path, known: Collection[str]) -> dict[str, Prediction]:
    """Predictions by question id. Raises DataError `FILE:LINE: field: fault` for the first fault.

    `known` holds the ids of the split's questions; questions without a line are simply absent from the result.
    """
    return {prediction.question_id: prediction for prediction in _faultless(path, known)}


def _faultless(path: Path, known: Collection[str]) -> Iterator[Prediction]:
    for faults, prediction in _read(path, known):
        if faults or prediction is None:
            raise DataError(faults[0].where, faults[0].what, f"`edu-rag check {path} --dataset DIR` lists all")
        yield prediction


def predictions_within(path: Path, known: Collection[str]) -> dict[str, Prediction]:
    """As `read_predictions`, by a child with the budget of `edu_rag.processes.budget` if the file is not small.

    Raises BudgetError too. Reading the answers costs time too: callers do that in a separate child.
    """
    if is_inside() or (path.is_file() and path.stat().st_size <= SMALL_BYTES):
        return read_predictions(path, known)
    return gathered(items_within_budget(_packed_file, path, known, what=path), path)[0]


def _packed_file(path: Path, known: Collection[str]) -> Generator[bytes, None, None]:
    yield from packed(_faultless(path, known))


def packed(predictions: Iterable[Prediction]) -> Iterator[bytes]:
    """Predictions as a child sends them: JSON lines, about a megabyte at a time. Pickle takes thirty times as long."""
    lines = bytearray()
    for prediction in predictions:
        lines += _ENCODER.encode(prediction) + b"\n"
        if len(lines) >= _BATCH_BYTES:
            yield bytes(lines)
            lines.clear()
    yield bytes(lines)


def gathered(batches: Generator[bytes, None, R], path: Path) -> tuple[dict[str, Prediction], R]:
    """The predictions of a file that were `packed`, by question id, and the generator's return value.

    Raises BudgetError for a file with more than MAX_PASSAGES passages: in this process no limit bounds their memory.
    """
    found: dict[str, Prediction] = {}
    n_passages = 0
    with contextlib.closing(batches):
        while True:
            try:
                lines = next(batches)
            except StopIteration as end:
                return found, end.value
            batch = _DECODER.decode_lines(lines)
            n_passages += sum(len(prediction.passages) for prediction in batch)
            if n_passages > MAX_PASSAGES:
                raise BudgetError(path, f"cites more than {MAX_PASSAGES:,} passages", "cite fewer for each question")
            found |= {prediction.question_id: prediction for prediction in batch}


def faults_in(path: Path, known: Collection[str] | None, limit: int = MAX_FAULTS) -> list[DataError]:
    """The faults of a predictions file, at most `limit` different ones; without `known` ids only its form is checked.

    A fault that is on many lines is listed once, as `FILE:LINE and N more lines`.
    """
    places: dict[tuple[str, str], list[str]] = {}
    last: list[DataError] = []
    n_faulty = 0
    try:
        for faults, _ in _read(path, known):
            n_faulty += bool(faults)
            for fault in faults:
                places.setdefault((fault.what, fault.remedy), []).append(fault.where)
            if len(places) >= limit or n_faulty >= MAX_FAULTY_LINES:
                break
    except DataError as error:  # unreadable, or a line too long to read on
        last.append(error)
    found = [DataError(_on_lines(where), *fault) for fault, where in places.items()]
    if n_faulty >= MAX_FAULTY_LINES:
        last.append(DataError(path, f"has {n_faulty:,} faulty lines: the rest was not read", "fix these first"))
    return [*found[:limit], *last]


def _on_lines(places: Sequence[str]) -> str:
    """The first line of a fault, and the number of its other lines."""
    others = len(set(places)) - 1
    return f"{places[0]} and {others:,} more line{'s' if others > 1 else ''}" if others else places[0]
