"""Asking a system one question after another: it is started again when it has ended, and a fault only fails its
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edu_rag.errors import RecordError
from edu_rag.files.typed import first_line, to_record
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction
from harness.running.child_system import ChildSystem, FaultError, Reply
from harness.running.response_text import without_ids
from harness.running.task import question_line
from harness.submission.folder import Limits

MAX_BARREN_STARTS = 5
"""After so many processes in a row that ended without answering anything, the rest of the questions has failed."""
_TEXT_CAP = 20_000
"""The characters kept of an answer, of the model's text and of a reason; scoring does not read longer answers."""
MAX_PASSAGES = 500
_MAX_NAME = 200
"""Without these caps a few thousand answers of a megabyte each would take the harness all memory there is."""
_FIRST_ANSWER = (
    " (the first answer of a process: is stdout flushed after each line, and is limits.start_s long enough?)"
)


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
    return replace(prediction, answer=answer and answer[: _TEXT_CAP + 1], response=response and response[:_TEXT_CAP])


def prediction_of(question_id: str, reply: Reply, *, first: bool) -> Prediction:
    """A reply as a prediction; latency is left out for the first answer of a process, which includes its start."""
    values = reply.values
    if values.get("error") is not None:  # many writers use null for "none"
        said = str(values["error"])[:_TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="crash", response=said)
    ours = {"question_id": question_id, "answer": None, "latency_s": None if first else round(reply.latency_s, 6)}
    try:
        _require_own_fields(values)
        _require_few(values.get("passages"))
        return _short(
            to_record(ours | {name: value for name, value in values.items() if value is not None}, Prediction)
        )
    except RecordError as error:
        fault = f"{error.where}: {first_line(error)}"[:_TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="protocol", response=fault)


def _reason(fault: FaultError, reason: str, system: ChildSystem | None, random_id: str, *, first: bool) -> str:
    """The fault's reason; for a process that ended by itself, with its last line on stderr."""
    if fault.is_known:
        return reason
    if fault.status == "crash" and system is not None:
        said = system.last_words(random_id)
        if system.was_refused_memory(said):
            return system.memory_cap()
        return f"{reason}: {said}" if said else reason
    return reason + (_FIRST_ANSWER if first and fault.status == "timeout" else "")


class Runner:
    """Asks one question after another, starting the system again when it has ended."""

    def __init__(self, start: Callable[[], ChildSystem], limits: Limits, new_id: Callable[[], str]) -> None:
        self._start = start
        self._limits = limits
        self._new_id = new_id
        self._system: ChildSystem | None = None
        self._answered = False
        self._barren = 0
        self._given: set[str] = set()

    @property
    def given_up(self) -> bool:
        """Whether the system is broken: too many processes ended without a single answer."""
        return self._barren >= MAX_BARREN_STARTS

    def predict(self, question: Question, pages: Sequence[WebPage]) -> Prediction:
        """The prediction for one question; a fault of the system becomes its status."""
        first = self._system is None or not self._answered
        random_id = self._new_id()
        self._given.add(random_id)
        try:
            if self._system is None:
                self._answered = False  # before it, for a start may fail: that process answered nothing either
                self._system = self._start()
            limit_s = self._limits.start_s if first else self._limits.time_s
            reply = self._system.ask(random_id, question_line(question, pages, random_id), limit_s)
            self._answered, self._barren = True, 0
            # An echo of the id would make the predictions of two runs differ, and their hashes with them.
            reply = Reply(without_ids(reply.values, self._given, random_id), reply.latency_s)
            return prediction_of(question.question_id, reply, first=first)
        except FaultError as fault:
            # A line that answers nothing may be the first of many: a flood, or guesses at answers to come. What has
            # answered before is in step again only after a restart; a banner at the start is skipped.
            system = self._system
            if fault.ended or self._answered or not (system and system.settles()):
                self._barren += not self._answered
                self.close()
            reason = _reason(
                fault, without_ids(fault.reason, self._given, random_id)[:_TEXT_CAP], system, random_id, first=first
            )
            return Prediction(question_id=question.question_id, answer=None, status=fault.status, response=reason)

    def close(self, grace_s: float = 0.0) -> None:
        """End the process, if there is one."""
        if self._system is not None:
            self._system.end(grace_s)
            self._system = None
