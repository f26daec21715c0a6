"""TQA's own files: lessons with their questions, nested JSON, as the Textbook Question Answering set is distributed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import DataError, RecordError


class TqaRecord(NamedTuple):
    """One text question. `cut` says that the file itself shows a text to be cut short."""

    question_id: str
    kind: str
    text: str
    choices: Mapping[str, str]
    answer: str
    lesson: str
    cut: bool

    def flat_values(self) -> dict[str, Any]:
        """The question as a flat question file would hold it; the file's name gives the split."""
        return {
            "id": self.question_id,
            "type": self.kind,
            "question": self.text,
            "answer": self.answer,
            "choices": dict(self.choices),
            "lesson": self.lesson,
        }


def _part(values: Any, name: str, wanted: type) -> Any:
    """A member of an object. Raises RecordError naming the member."""
    if not isinstance(values, Mapping):
        raise RecordError(name, f"expected its parent to be an object, got {type(values).__name__}")
    if name not in values:
        raise RecordError(name, "missing field")
    if not isinstance(values[name], wanted):
        raise RecordError(name, f"expected {wanted.__name__}, got {type(values[name]).__name__}")
    return values[name]


def _is_cut(processed: str, raw: str) -> bool:
    """Whether TQA's cleaning cut the text: "d. Florida." became "Florid", for the "a." looks like a label."""
    letters = ["".join(char for char in text.casefold() if char.isalnum()) for text in (processed, raw)]
    return bool(letters[0]) and not letters[1].endswith(letters[0])


def _record(question_id: str, values: Any, lesson: str) -> TqaRecord:
    asked = _part(values, "beingAsked", dict)
    answers = _part(values, "answerChoices", dict)
    choices: dict[str, str] = {}
    cut = False
    for label, choice in answers.items():
        choices[label] = _part(choice, "processedText", str)
        cut = cut or _is_cut(choices[label], str(choice.get("rawText", choices[label])))
    kind = values.get("questionSubType") or _part(values, "questionType", str)
    answer = _part(_part(values, "correctAnswer", dict), "processedText", str)
    return TqaRecord(question_id, str(kind), _part(asked, "processedText", str), choices, answer, lesson, cut)


def is_tqa(value: Any, path: Path) -> bool:
    """Whether a JSON value is TQA's list of lessons, or the file is at least named as one of TQA's."""
    first = value[0] if isinstance(value, list) and value else None
    is_lesson = isinstance(first, Mapping) and {"globalID", "lessonName"} <= first.keys()
    return is_lesson or path.name.casefold().startswith("tqa_")


def tqa_records(path: Path, lessons: Any) -> Iterator[tuple[str, TqaRecord | RecordError]]:
    """Each text question's place and record, or the fault of it or its lesson. Diagram questions are left out.

    `lessons` is the file's JSON value. Raises DataError if it is not a list of lessons.
    """
    if not isinstance(lessons, list):
        raise DataError(
            path, "expected a list of lessons", "give tqa_v1_train.json, tqa_v1_val.json or tqa_v2_test.json"
        )
    for number, lesson in enumerate(lessons, 1):
        try:
            # Two lessons may share a name: the id keeps them apart.
            name = f"{_part(lesson, 'globalID', str)} {_part(lesson, 'lessonName', str)}"
            questions = _part(_part(lesson, "questions", dict), "nonDiagramQuestions", dict)
        except RecordError as error:
            yield f"{path}: lesson {number}", error
            continue
        for question_id, values in questions.items():
            try:
                record: TqaRecord | RecordError = _record(question_id, values, name)
            except RecordError as error:
                record = error
            yield f"{path}: question {question_id}", record
