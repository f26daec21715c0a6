"""An exam: the questions of a split or of a sample of it, their gold, and fingerprints of both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold, match_gold
from edu_rag.names import Sample
from edu_rag.records import Question
from edu_rag.scorecard.support import Support, read_support


class Exam(NamedTuple):
    """A split's questions in order of id, their gold by id, and the support that the pages offer.

    `known` are the ids of the whole split, `prints` the fingerprints of the questions, `shown_sha256` that
    of what the split shows to systems.
    """

    dataset: str
    split: str
    sample: str | None
    questions: Sequence[Question]
    gold: Mapping[str, Gold]
    support: Support
    known: frozenset[str]
    prints: Mapping[str, str]
    shown_sha256: str = ""


def open_exam(dataset: Dataset, split: str, sample: str | None) -> Exam:
    """Read questions, gold and support of a split (or a sample of it). Raises DataError or SubmissionError."""
    questions = dataset.questions(split)
    gold = match_gold(questions, dataset.records("gold", split, Gold), dataset.folder / "gold")
    known = frozenset(question.question_id for question in questions)
    support, shown = read_support(dataset, split), dataset.manifest.shown_sha256(split)
    whole = Exam(dataset.id, split, None, questions, gold, support, known, {}, shown)
    return sampled(whole, sample)


def sampled(whole: Exam, sample: str | None) -> Exam:
    """The exam of a sample of a split, or of all of it. Raises ConfigError if the sample does not fit."""
    exam = whole._replace(sample=sample, questions=choose(whole.questions, Sample.parse(sample))) if sample else whole
    return exam._replace(prints=fingerprints(exam))


def without_pages(exam: Exam) -> Exam:
    """The exam for answers given on other pages than the dataset's: questions and gold alone."""
    bare = exam._replace(support=Support(with_pages=frozenset(), evidence={}, has_pages=False))
    return bare._replace(prints=fingerprints(bare))


def fingerprints(exam: Exam) -> dict[str, str]:
    """SHA-256 of the exam, by part, over JSON with sorted keys: two results with the same ones may be compared.

    `ids`; `questions` (as systems see them: text, choices, kind); `gold`; `support` (lessons, flags, pages and
    evidence: all that only slices, retrieval and attribution depend on).
    """
    ids = [question.question_id for question in exam.questions]
    # Without home pages a dataset keeps the fingerprint that it had before there were any.
    offered = [_listed(v) for name, v in exam.support._asdict().items() if v or name != "home_pages"]
    parts = {
        "ids": ids,
        "questions": [(q.question_id, q.text, q.choices, q.kind) for q in exam.questions],
        "gold": [(question_id, exam.gold[question_id].answer, exam.gold[question_id].texts) for question_id in ids],
        "support": [*([q.lesson, q.flags] for q in exam.questions), *offered],
    }
    return {name: hashlib.sha256(msgspec.json.encode(part, order="sorted")).hexdigest() for name, part in parts.items()}


def _listed(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def lesson_numbers(questions: Iterable[Question]) -> tuple[int, ...]:
    """Each question's lesson as a number, from 0 in order of first occurrence, -1 for none; empty without lessons."""
    numbers: dict[str | None, int] = {None: -1}
    found = tuple(numbers.setdefault(question.lesson, len(numbers) - 1) for question in questions)
    return found if len(numbers) > 1 else ()
