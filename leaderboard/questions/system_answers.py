"""The answers of systems: each file of predictions is read once, and its answers are stored by lesson page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.jsonl import numbered_lines
from edu_rag.look.texts import clip, plain
from edu_rag.processes.budget import SMALL_BYTES, within_budget
from edu_rag.records import Question
from leaderboard.questions.system_rows import NOT_ASKED
from leaderboard.questions.worker_pool import Place, WorkerInput

MAX_SAID = 120
"""Characters of an answer in other words than a choice's label."""
MAX_READ = 2_000
"""Characters of an answer or response that are looked at."""
MAX_CITED = 5
"""Passages of one answer that are shown."""

_LABEL = re.compile(r"[\s(\[]*([A-Za-z])[\s)\].:]*\Z")


class Line(msgspec.Struct, gc=False):
    """The fields of a prediction that pages show; the others are passed over."""

    question_id: str
    answer: str | None = None
    response: str | None = None
    confidence: float | None = None
    passages: tuple[Place, ...] = ()


class AnswerSheet(msgspec.Struct, array_like=True, gc=False):
    """The answers of one file of predictions to the questions of a lesson page, one entry per question in the page's
    order.

    `systems` are the numbers of its systems: a system may be in the table of a split and in those of its samples.
    `said` is a label, other words, or None; `cited` are spans as WorkerInput.packed numbers them.
    """

    systems: Sequence[int]
    said: list[str | None]
    confidence: list[float | None]
    cited: list[tuple[int, ...]]


class SubmittedAnswers(NamedTuple):
    """A file of predictions, the systems whose it is, and whether its passages are of the pages of this dataset."""

    path: Path
    systems: Sequence[int]
    on_these_pages: bool


class Answer(NamedTuple):
    """The answer of one system to one question, and the letter of its outcome."""

    system: int
    letter: str
    said: str | None
    confidence: float | None
    cited: tuple[int, ...]


_ENCODER = msgspec.msgpack.Encoder()
_SHEETS = msgspec.msgpack.Decoder(AnswerSheet)


def said_by(line: Line, question: Question) -> str | None:
    """A choice's label where the answer is one or holds the text of exactly one; else the words themselves, clipped.

    This is for reading only: how an answer counts is the scorecard's outcome, by the harness's rules.
    """
    if line.answer in question.choices:  # nearly all of millions
        return line.answer
    text = line.response if line.answer is None else line.answer
    if text is None or not text[:MAX_READ].strip():
        return None
    if line.answer is None:
        return str(plain(clip(text[:MAX_READ], MAX_SAID)))
    label = _LABEL.match(text[:MAX_READ])
    if label and label[1].lower() in question.choices:
        return label[1].lower()
    wanted = text[:MAX_READ].strip().casefold()
    same = [label for label, choice in question.choices.items() if choice.strip().casefold() == wanted]
    return same[0] if len(same) == 1 else str(plain(clip(text[:MAX_READ], MAX_SAID)))


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a file of predictions. Raises DataError naming file and line."""
    decoder = msgspec.json.Decoder(Line)
    for at, raw in numbered_lines(path):
        try:
            yield decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"{path}:{at}", str(error), "score the submission again") from None


def _asked_of(inputs: WorkerInput, systems: Sequence[int]) -> Sequence[bool] | None:
    """Whether any of these systems was asked each question; None if one was asked them all."""
    lines = [inputs.outcomes[system] for system in systems]
    if not all(NOT_ASKED in line for line in lines):
        return None
    return [any(letter != NOT_ASKED for letter in letters) for letters in zip(*lines, strict=True)]


def read_sheets(inputs: WorkerInput, handed_in: SubmittedAnswers) -> list[bytes]:
    """A file's answers to the questions that its systems were asked: a sheet a lesson page, encoded.

    Raises DataError naming file and line.
    """
    path, systems, on_these_pages = handed_in
    sizes = [len(page.numbers) for page in inputs.pages]
    sheets = [AnswerSheet(systems, [None] * n, [None] * n, [()] * n) for n in sizes]
    asked, question_places, questions = _asked_of(inputs, systems), inputs.question_places, inputs.questions
    for line in lines_of(path):
        question_place = question_places.get(line.question_id)
        if question_place is None or (asked is not None and not asked[question_place.number]):
            continue
        number, at, row = question_place
        sheet = sheets[at]
        sheet.said[row] = said_by(line, questions[number])
        sheet.confidence[row] = line.confidence
        sheet.cited[row] = inputs.packed(line.passages[:MAX_CITED]) if on_these_pages else ()
    return [_ENCODER.encode(sheet) for sheet in sheets]


def read_sheets_within(inputs: WorkerInput, handed_in: SubmittedAnswers) -> list[bytes]:
    """As `read_sheets`, by a child with the budget of `edu_rag.processes.budget` if the file is not small.

    Raises BudgetError too.
    """
    if handed_in.path.is_file() and handed_in.path.stat().st_size <= SMALL_BYTES:
        return read_sheets(inputs, handed_in)
    return within_budget(read_sheets, inputs, handed_in, what=handed_in.path)


def decoded(sheets: Sequence[bytes]) -> list[AnswerSheet]:
    """The value that `read_sheets` encoded."""
    return [_SHEETS.decode(sheet) for sheet in sheets]


def answers_at(inputs: WorkerInput, at: int, sheets: Sequence[AnswerSheet]) -> Iterator[list[Answer]]:
    """The answers to each question of a lesson page, systems in order: all that were asked it."""
    of_system: list[AnswerSheet | None] = [None] * len(inputs.outcomes)
    for sheet in sheets:
        for system in sheet.systems:
            of_system[system] = sheet
    everyone = [(system, *pair) for system, pair in enumerate(zip(inputs.outcomes, of_system, strict=True))]
    for row, number in enumerate(inputs.pages[at].numbers):
        yield [
            Answer(system, line[number], None, None, ())
            if sheet is None
            else Answer(system, line[number], sheet.said[row], sheet.confidence[row], sheet.cited[row])
            for system, line, sheet in everyone
            if line[number] != NOT_ASKED
        ]
