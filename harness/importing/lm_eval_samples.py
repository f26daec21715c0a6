"""Answers from the samples of lm-evaluation-harness (`samples_TASK_DATE.jsonl`), read without that package.

A generated answer is what the filter left of the response. Where choices were ranked, it is the choice with the highest
log-likelihood (as `acc` counts it), or with the highest per character (`acc_norm`). The files hold no tokens and times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import DataError, RecordError
from edu_rag.files.foreign_table import ForeignRow
from edu_rag.files.typed import first_line
from edu_rag.records import LABELS
from harness.importing.foreign_answer import (
    CHOICES,
    QUESTION,
    AnswerOrFault,
    ForeignAnswer,
    folded,
    names_shown,
    valued,
)
from harness.importing.map_columns import ID_NAMES, QUESTION_NAMES
from harness.importing.table_answers import json_rows

PER_CHARACTER = "acc_norm"
_SUM = "acc"
_NO_ANSWER = "[invalid]"
"""Its filters write this if they find no answer."""


def is_sample(value: Any) -> bool:
    """Whether a JSON value is a sample of lm-evaluation-harness."""
    return isinstance(value, dict) and {"doc", "resps", "filtered_resps"} <= value.keys()


class LmEvalSamples:
    """A file of samples that is read once, by `answers`; `notes` are complete after that.

    `pick` is the name of a filter, or `acc_norm`; `wished` are columns of `--map`, as dotted names (`doc.my_id`).
    """

    def __init__(self, path: Path, pick: str | None, wished: Mapping[str, str]) -> None:
        self._path, self._pick, self._wished = path, pick, wished
        self.notes = ["samples of lm-eval hold no tokens and no times"]

    def answers(self) -> Iterator[AnswerOrFault]:
        """The answers of one filter. Raises DataError if there are several, or none of this name."""
        rows = list(json_rows(self._path))
        samples = [row for row in rows if isinstance(row, ForeignRow) and is_sample(row.values)]
        if not samples:
            faults = [row for row in rows if isinstance(row, DataError)]
            remedy = "give a samples_*.jsonl file, which --log_samples writes"
            raise faults[0] if faults else DataError(self._path, "holds no samples of lm-eval", remedy)
        chosen = self._filter([str(row.values.get("filter")) for row in samples])
        for row in rows:
            if isinstance(row, DataError):
                yield row
            elif not is_sample(row.values):
                yield DataError(row.where, "is not a sample of lm-eval", "remove the line")
            elif str(row.values.get("filter")) == chosen:
                yield self._answer(row)

    def _filter(self, names: Sequence[str]) -> str:
        """The filter whose answers are read."""
        there = list(dict.fromkeys(names))
        if self._pick is not None and self._pick in there:
            return self._pick
        if self._pick is not None and self._pick not in (PER_CHARACTER, _SUM):
            raise DataError(self._path, f"has no filter {self._pick[:80]!r}", f"--pick one of {names_shown(there)}")
        if len(there) > 1:
            what = f"has the answers of several filters: {names_shown(there)}"
            raise DataError(self._path, what, f"choose one, such as --pick {there[0]}")
        return there[0]

    def _answer(self, row: ForeignRow) -> AnswerOrFault:
        try:
            values = _values(row.values, self._pick)
        except RecordError as error:
            return DataError(row.where, f"{error.where}: {first_line(error)}")
        return ForeignAnswer(row.where, values | valued(row.values, self._wished))


def _values(sample: Mapping[str, Any], pick: str | None) -> dict[str, Any]:
    doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
    by_name = {folded(name): value for name, value in reversed(doc.items())}
    found: dict[str, Any] = {
        "question_id": next((by_name[name] for name in ID_NAMES if name in by_name), None),
        QUESTION: next((by_name[name] for name in QUESTION_NAMES if name in by_name), None),
        CHOICES: by_name.get("choices"),
    }
    return found | (_ranked(sample, pick) if _is_ranked(sample) else _generated(sample))


def _generated(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The filtered response, and the first one as the model wrote it. Raises RecordError."""
    answer, response = _first(sample["filtered_resps"]), _first(sample["resps"])
    if not isinstance(answer, str):
        raise RecordError("filtered_resps", "holds no text", "import the samples of a task that generates or ranks")
    whole = response if isinstance(response, str) else None
    if answer == _NO_ANSWER:
        return {"answer": whole}
    return {"answer": answer, "response": whole if whole != answer else None}


def _first(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value


class _Candidate(NamedTuple):
    """A ranked text: the context before it, the text itself, and its log-likelihood."""

    context: str
    text: str
    likelihood: float


def _is_ranked(sample: Mapping[str, Any]) -> bool:
    """Whether each response is a log-likelihood with a flag, in place of a text."""
    resps = sample["filtered_resps"]
    return isinstance(resps, list) and bool(resps) and all(map(_is_likelihood, resps))


def _is_likelihood(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and str(value[1]) in ("True", "False")


def _candidates(sample: Mapping[str, Any]) -> list[_Candidate]:
    """The texts that were ranked. Raises RecordError if they do not go with their log-likelihoods."""
    arguments, resps = sample.get("arguments"), sample["filtered_resps"]
    listed = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(listed, list) or len(listed) != len(resps):
        raise RecordError("arguments", "do not go with the responses", "write the samples again")
    found = []
    for argument, (likelihood, _) in zip(listed, resps, strict=True):
        parts = list(argument.values()) if isinstance(argument, dict) else argument
        if not isinstance(parts, list) or len(parts) < 2 or not all(isinstance(one, str) for one in parts[:2]):
            raise RecordError("arguments", "are not a context and a text", "write the samples again")
        try:
            found.append(_Candidate(parts[0], parts[1].strip(), float(likelihood)))
        except (TypeError, ValueError):
            what = f"{str(likelihood)[:40]!r} is not a log-likelihood"
            raise RecordError("filtered_resps", what, "write the samples again") from None
    with_context = [one for one in found if one.context]
    return with_context or found  # acc_mutual_info ranks each text without a context too


def _ranked(sample: Mapping[str, Any], pick: str | None) -> dict[str, Any]:
    """The text with the highest log-likelihood: the first of equal ones, as lm-eval takes it."""
    candidates = _candidates(sample)
    metrics = sample.get("metrics")
    only_norm = isinstance(metrics, list) and PER_CHARACTER in metrics and _SUM not in metrics
    per_character = pick == PER_CHARACTER or (pick is None and only_norm)

    def value(place: int) -> float:
        one = candidates[place]
        return one.likelihood / max(1, len(one.text)) if per_character else one.likelihood

    best = max(range(len(candidates)), key=value)
    if len({one.text for one in candidates}) == len(candidates):
        return {"answer": candidates[best].text}
    return {"answer": LABELS[best] if best < len(LABELS) else None}  # one text behind contexts that differ
