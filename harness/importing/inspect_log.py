"""Answers from a log of Inspect (`.eval`, a ZIP archive of samples, or `.json`), read without that package.

Of each sample: its id, input and choices; the answer that a scorer extracted, or else the completion; the tokens of all
models but a grader's; the working time. Section "Log Files" of Inspect's documentation describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edu_rag.errors import DataError, RecordError
from edu_rag.files.foreign_table import read_bytes
from edu_rag.files.jsonl import JsonFaultError, parse_json
from edu_rag.files.typed import first_line
from harness.importing.foreign_answer import CHOICES, QUESTION, AnswerOrFault, ForeignAnswer, names_shown, valued
from harness.importing.zip_members import ZipMembers

_SAMPLE = re.compile(r"samples/[^/]+\.json\Z")
_HEADERS = ("header.json", "_journal/start.json")
_ATTACHMENT = "attachment://"
_GRADER = "grader"
_TIME_LIMITS = ("time", "working")
MAX_LOG_BYTES = 256_000_000


def _json(raw: bytes, where: object) -> Any:
    try:
        return parse_json(raw, nan_as_none=True)  # a figure that could not be computed is NaN in these logs
    except JsonFaultError as error:
        raise DataError(where, str(error), "copy the log again") from None


def is_log(value: Any) -> bool:
    """Whether a JSON value is a log of Inspect."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and "status" in value


def _zipped(path: Path) -> Iterator[tuple[str, Any]]:
    """The header of a log, then its samples, each with its place. Raises DataError."""
    with ZipMembers(path) as members:
        header = next((name for name in _HEADERS if name in members.names), None)
        if header is None:
            raise DataError(path, "is a ZIP archive, but not a log of Inspect", "unpack it, and give the file itself")
        yield str(path), _json(members.read(header), f"{path}: {header}")
        for number, name in enumerate(filter(_SAMPLE.match, members.names), 1):
            yield f"{path}: item {number}", _json(members.read(name), f"{path}: {name[:200]}")


def _plain(path: Path) -> Iterator[tuple[str, Any]]:
    log = _json(read_bytes(path, MAX_LOG_BYTES).removeprefix(b"\xef\xbb\xbf"), path)
    if not is_log(log):
        raise DataError(path, "is not a log of Inspect", "give a .eval or .json file of its log folder")
    samples = log.pop("samples", None) or ()
    yield str(path), log
    for number, sample in enumerate(samples if isinstance(samples, list) else (), 1):
        yield f"{path}: item {number}", sample


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(2) == b"PK"
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None


class InspectLog:
    """A log that is read once, by `answers`; `notes` are complete after that.

    `pick` is the number of an epoch, or the name of a scorer; `wished` are columns of `--map`, as dotted names.
    """

    def __init__(self, path: Path, pick: str | None, wished: Mapping[str, str]) -> None:
        self._path, self._wished = path, wished
        self._epoch = int(pick) if pick is not None and re.fullmatch(r"[0-9]{1,6}", pick) else None
        self._scorer = pick if self._epoch is None else None
        self.notes: list[str] = []

    def answers(self) -> Iterator[AnswerOrFault]:
        """The answers of one epoch. Raises DataError for a file that is not a log, or holds no samples."""
        items = _zipped(self._path) if _is_zip(self._path) else _plain(self._path)
        _, header = next(items)
        epochs: dict[int, int] = {}
        wanted = 1 if self._epoch is None else self._epoch
        for where, sample in items:
            number = sample.get("epoch") if isinstance(sample, dict) else None
            epoch = number if isinstance(number, int) else 1
            epochs[epoch] = epochs.get(epoch, 0) + 1
            if not isinstance(sample, dict):
                yield DataError(where, "is not a sample", "copy the log again")
            elif epoch == wanted:
                yield self._answer(where, sample)
        self._look_at(header, epochs)

    def _look_at(self, header: Any, epochs: Mapping[int, int]) -> None:
        """Note what is odd about the log as a whole. Raises DataError if there is nothing to read."""
        wanted = 1 if self._epoch is None else self._epoch
        if not epochs:
            raise DataError(self._path, "the log holds no samples", "run the evaluation without --no-log-samples")
        if wanted not in epochs:
            raise DataError(self._path, f"the log has no epoch {wanted}", f"it has {names_shown(map(str, epochs))}")
        if len(epochs) > 1:
            self.notes.append(f"the log has {len(epochs):,} epochs: epoch {wanted} is read, another by --pick NUMBER")
        status = header.get("status") if isinstance(header, dict) else None
        if status != "success":
            self.notes.append(f"the log's status is {str(status or 'started')!r}: samples may be missing")

    def _answer(self, where: str, sample: dict[str, Any]) -> AnswerOrFault:
        try:
            values = _values(sample, self._scorer)
        except RecordError as error:
            return DataError(where, f"{error.where}: {first_line(error)}")
        return ForeignAnswer(where, values | valued(sample, self._wished))


def _values(sample: Mapping[str, Any], scorer: str | None) -> dict[str, Any]:
    completion = _completion(sample)
    answer = _extracted(sample, completion, scorer)
    found: dict[str, Any] = {
        "question_id": sample.get("id"),
        QUESTION: _input(sample.get("input")),
        CHOICES: sample.get("choices"),
        "answer": answer or completion,
        "response": completion if answer and completion != answer else None,
        "latency_s": sample.get("working_time") or sample.get("total_time"),
    }
    return found | _usage(sample) | _failure(sample, completion)


def _input(value: Any) -> str | None:
    """The question: the input's text, or that of the last message of a user."""
    if isinstance(value, str):
        return value
    messages = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    return next((_content(one) for one in reversed(messages) if one.get("role") == "user"), None)


def _content(message: Mapping[str, Any]) -> str | None:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else None


def _completion(sample: Mapping[str, Any]) -> str | None:
    """The text that the model answered last; None if there is none."""
    output = _mapping(sample.get("output"))
    said = output.get("completion")
    if not isinstance(said, str):
        choices = output.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        said = _content(_mapping(_mapping(first).get("message")))
    if isinstance(said, str) and said.startswith(_ATTACHMENT):
        kept = _mapping(sample.get("attachments")).get(said.removeprefix(_ATTACHMENT))
        said = kept if isinstance(kept, str) else None
    return said or None


def _extracted(sample: Mapping[str, Any], completion: str | None, scorer: str | None) -> str | None:
    """The answer that a scorer took out of the completion; None if none did. Raises RecordError."""
    scores = _mapping(sample.get("scores"))
    answers = {name: _mapping(score).get("answer") for name, score in scores.items()}
    if scorer is not None:
        if scorer not in scores:
            raise RecordError("scores", f"no scorer is called {scorer[:80]!r}", f"--pick one of {names_shown(scores)}")
        return _text(answers[scorer])
    # Some scorers give the completion back in small letters, to compare it.
    said = (completion or "").casefold()
    taken = {name: text for name, value in answers.items() if (text := _text(value)) and text.casefold() != said}
    if len(set(taken.values())) > 1:
        raise RecordError("scores", f"the scorers {names_shown(taken)} extracted different answers", "--pick one")
    return next(iter(taken.values()), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _usage(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens and dollars of all models, without those of a model that graded the answer."""
    used = [_mapping(one) for one in _mapping(sample.get("model_usage")).values()]
    graded = _mapping(_mapping(sample.get("role_usage")).get(_GRADER))
    inputs = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    return {
        "input_tokens": _sum(used, inputs, graded),
        "output_tokens": _sum(used, ("output_tokens",), graded),
        "cost_usd": _sum(used, ("total_cost",), graded),
    }


def _sum(used: Sequence[Mapping[str, Any]], names: Sequence[str], graded: Mapping[str, Any]) -> float | None:
    """The sum of these figures, less what a grader used; None if there is no figure."""
    found = [value for one in used for value in _amounts(one, names)]
    return max(0, sum(found) - sum(_amounts(graded, names))) if found else None


def _amounts(usage: Mapping[str, Any], names: Sequence[str]) -> list[float]:
    values = [usage.get(name) for name in names]
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _failure(sample: Mapping[str, Any], completion: str | None) -> dict[str, Any]:
    """Why a sample has no answer: the error that ended it, or a limit."""
    if (error := _mapping(sample.get("error"))) and completion is None:
        return {"error": str(error.get("message") or "the sample ended with an error")}
    limit = _mapping(sample.get("limit")).get("type")
    if limit is None or completion is not None:
        return {}
    return {"status": "timeout" if limit in _TIME_LIMITS else "output_cap", "response": f"limit: {limit}"}
