"""A system's reply as a prediction: what it may hold, its texts cut, and the run's random ids taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

from edu_rag.errors import RecordError
from edu_rag.files.typed import first_line, to_record
from edu_rag.scorecard.card import Prediction

TEXT_CAP = 20_000
"""The characters kept of an answer, of the model's text and of a reason; scoring does not read longer answers."""
MAX_PASSAGES = 500
_MAX_NAME = 200
"""Without these caps a few thousand answers of a megabyte each would take the harness all memory there is."""
ID = "(id)"
"""Written in the place of a random id."""
_WORD = re.compile(r"[^\W_]+")


def without_ids(said: Any, asked: Set[str], current: str) -> Any:
    """A value from JSON with ID for each random id in its texts: the `current` one anywhere, the others as words."""
    if isinstance(said, str):
        plain = said.replace(current, ID) if current else said
        return _WORD.sub(lambda word: ID if word[0] in asked else word[0], plain)
    if isinstance(said, list):
        return [without_ids(one, asked, current) for one in said]
    if isinstance(said, dict):
        return {without_ids(name, asked, current): without_ids(one, asked, current) for name, one in said.items()}
    return said


class Reply(NamedTuple):
    """A system's answer object, and the seconds from the question's first byte to the answer's last."""

    values: dict[str, Any]
    latency_s: float


def _require_own_fields(values: Mapping[str, Any]) -> None:
    for name in ("question_id", "latency_s", "status"):
        if name in values:
            raise RecordError(name, "is for the harness to say")
    if "answer" not in values:
        raise RecordError("answer", "missing field")


def _require_few(passages: object) -> None:
    """Before they are made into records: 70,000 of them fit into a line."""
    if isinstance(passages, list) and len(passages) > MAX_PASSAGES:
        raise RecordError("passages", f"{len(passages):,} are more than {MAX_PASSAGES}")


def _short(prediction: Prediction) -> Prediction:
    """A prediction whose texts are cut; an answer is left a character too long, so that it counts as that."""
    if any(len(passage.page_id) > _MAX_NAME for passage in prediction.passages):
        raise RecordError("passages", f"a page's id is longer than {_MAX_NAME} characters")
    answer, response = prediction.answer, prediction.response
    return replace(prediction, answer=answer and answer[: TEXT_CAP + 1], response=response and response[:TEXT_CAP])


def prediction_of(question_id: str, reply: Reply, *, first: bool) -> Prediction:
    """A reply as a prediction; latency is left out for the first answer of a process, which includes its start."""
    values = reply.values
    if values.get("error") is not None:  # many writers use null for "none"
        said = str(values["error"])[:TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="crash", response=said)
    ours = {"question_id": question_id, "answer": None, "latency_s": None if first else round(reply.latency_s, 6)}
    try:
        _require_own_fields(values)
        _require_few(values.get("passages"))
        return _short(
            to_record(ours | {name: value for name, value in values.items() if value is not None}, Prediction)
        )
    except RecordError as error:
        fault = f"{error.where}: {first_line(error)}"[:TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="protocol", response=fault)
