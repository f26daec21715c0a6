"""The values of another program's file as a Prediction: texts, numbers, passages, indexes of choices, failures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from edu_rag.errors import RecordError
from edu_rag.files.jsonl import JsonFaultError, parse_json
from edu_rag.files.typed import faults_and_record
from edu_rag.records import Question
from edu_rag.scorecard.card import STATUSES, Prediction
from harness.running.replies import MAX_PASSAGES, TEXT_CAP

_NUMBERS = ("confidence", "latency_s", "cost_usd", "energy_j")
_COUNTS = ("input_tokens", "output_tokens")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?\Z", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,3}\Z")


def text_of(value: Any, field: str) -> str | None:
    """A value as the text of an answer; None for null, and for an empty cell. Raises RecordError for other shapes."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    kind = f"a list of {len(value):,}" if isinstance(value, list) else "an object"
    raise RecordError(field, f"is {kind}, not a text", f"name the part that is the text: --map {field}=COLUMN.NAME")


def number_of(value: Any, field: str) -> float | None:
    """A value as a number; None for null and an empty cell. A percentage is a share of 1. Raises RecordError."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    said = str(value).strip()
    share = field == "confidence" and said.endswith("%")
    if not _NUMBER.match(said.rstrip("% ") if share else said):  # of a truth value too, which is a number in Python
        remedy = f"write a number, or leave the column out: --map {field}="
        raise RecordError(field, f"{said[:40]!r} is not a number", remedy)
    return float(said.rstrip("% ")) / 100 if share else float(said)


def count_of(value: Any, field: str) -> int | None:
    """A value as a whole number. Raises RecordError."""
    number = number_of(value, field)
    if number is None:
        return None
    if not math.isfinite(number) or not number.is_integer():
        remedy = f"write a whole number, or leave the column out: --map {field}="
        raise RecordError(field, f"{str(value)[:40]!r} is not a whole number", remedy)
    return int(number)


def passages_of(value: Any) -> Any:
    """Passages as they are in JSON, or the JSON in a cell of a table. Raises RecordError."""
    if value is None or value == "":
        return ()
    remedy = 'write [["PAGE_ID", start, end], …], or leave the column out: --map passages='
    if isinstance(value, str):
        try:
            value = parse_json(value.encode("utf-8", "surrogatepass"))
        except JsonFaultError as error:
            raise RecordError("passages", str(error), remedy) from None
    if not isinstance(value, list):
        raise RecordError("passages", "is not a list of passages", remedy)
    if len(value) > MAX_PASSAGES:
        raise RecordError("passages", f"{len(value):,} are more than {MAX_PASSAGES}", "give the first ones")
    return value


def index_as_label(answer: str, question: Question, index_base: int) -> str:
    """The label of the choice with this number. Raises RecordError for a number without a choice."""
    labels = list(question.choices)
    if not _WHOLE.match(answer.strip()) or not labels:
        return answer
    place = int(answer) - index_base
    if not 0 <= place < len(labels):
        what = f"choice number {answer.strip()} of a question with {len(labels)} choices"
        raise RecordError("answer", what, f"check --index-base {index_base}")
    return labels[place]


def _values(given: Mapping[str, Any], question: Question, index_base: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"question_id": question.question_id, "answer": text_of(given.get("answer"), "answer")}
    if index_base is not None and found["answer"] is not None:
        found["answer"] = index_as_label(found["answer"], question, index_base)
    response = text_of(given.get("response"), "response")
    found["response"] = response and response[:TEXT_CAP]
    # One character more than is read, so that the answer counts as too long.
    found["answer"] = found["answer"] and found["answer"][: TEXT_CAP + 1]
    found |= {field: number_of(given.get(field), field) for field in _NUMBERS}
    if (latency_ms := number_of(given.get("latency_ms"), "latency_s")) is not None:
        found["latency_s"] = latency_ms / 1_000
    found |= {field: count_of(given.get(field), field) for field in _COUNTS}
    found["passages"] = passages_of(given.get("passages"))
    return found


def _with_status(found: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values with a status: failed if a status says that, or if there is an error in place of an answer."""
    status = given.get("status") or "ok"
    if status not in STATUSES:
        known = f"known are {', '.join(STATUSES)}; leave the column out: --map status="
        raise RecordError("status", f"{str(status)[:40]!r} is not known", known)
    error = given.get("error")
    if status == "ok" and found["answer"] is None and isinstance(error, str) and error.strip():
        return found | {"status": "crash", "response": error[:TEXT_CAP]}
    return found | {"status": status, "answer": found["answer"] if status == "ok" else None}


def prediction_from(given: Mapping[str, Any], question: Question, index_base: int | None = None) -> Prediction:
    """The prediction that these values state for a question. Raises RecordError for the first fault."""
    faults, prediction = faults_and_record(_with_status(_values(given, question, index_base), given), Prediction)
    if prediction is None:
        raise faults[0]
    return prediction
