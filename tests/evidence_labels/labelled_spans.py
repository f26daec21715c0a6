"""The labelled sentences of the datasets by recipe: reading them, and scoring what a method returns for a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

SPANS = Path(__file__).with_name("spans.jsonl")
FRESH = Path(__file__).with_name("fresh_spans.jsonl")
"""The second round of labels. Its half `test` was read by no script before the method was final."""
SECOND_READER = Path(__file__).with_name("second_reader.jsonl")
SUPPORTING = ("supports", "with_previous", "with_next")


class Sentence(NamedTuple):
    """A judged sentence: its place, the hash of its words, and its label."""

    page_id: str
    start: int
    end: int
    words_sha256: str
    label: str


class LabelledQuestion(NamedTuple):
    """A question of a dataset with the judged sentences of its pages."""

    dataset: str
    question_id: str
    kind: str
    half: str
    sentences: tuple[Sentence, ...]


def read_spans(path: Path = SPANS) -> list[LabelledQuestion]:
    """All labelled questions of a file, in its order."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        LabelledQuestion(
            row["dataset"],
            row["question_id"],
            row["kind"],
            row["half"],
            tuple(Sentence(**one) for one in row["sentences"]),
        )
        for row in rows
    ]


def for_tuning() -> list[LabelledQuestion]:
    """The questions that models and thresholds may be chosen on: the first round, and half of the second."""
    return read_spans() + [one for one in read_spans(FRESH) if one.half == "tune"]


def untouched() -> list[LabelledQuestion]:
    """The other half of the second round: nothing was chosen on it but the number of passages of evidence-lm-v1."""
    return [one for one in read_spans(FRESH) if one.half == "test"]


class SpanCounts(NamedTuple):
    """One question's counts: returned spans that are right, wrong or not judged; places of support, and those found."""

    right: int
    wrong: int
    unjudged: int
    places: int
    found: int


def supports(span: tuple[str, int, int], sentence: Sentence) -> bool:
    """Whether a returned span covers a sentence that supports the gold, with the neighbour that it needs."""
    page_id, start, end = span
    inside = page_id == sentence.page_id and start <= sentence.start and sentence.end <= end
    if not inside or sentence.label not in SUPPORTING:
        return False
    needs = {"with_previous": start < sentence.start, "with_next": sentence.end < end}
    return needs.get(sentence.label, True)


def count_spans(question: LabelledQuestion, spans: Sequence[tuple[str, int, int]]) -> SpanCounts:
    """What a method returned for one question, against the labels."""
    places = [sentence for sentence in question.sentences if sentence.label in SUPPORTING]
    right = [span for span in spans if any(supports(span, sentence) for sentence in places)]
    judged = [span for span in spans if is_judged(span, question)]
    found = sum(any(supports(span, sentence) for span in spans) for sentence in places)
    return SpanCounts(len(right), len(judged) - len(right), len(spans) - len(judged), len(places), found)


def is_judged(span: tuple[str, int, int], question: LabelledQuestion) -> bool:
    """Whether a span covers a sentence that a reader judged."""
    page_id, start, end = span
    return any(page_id == one.page_id and start <= one.start and one.end <= end for one in question.sentences)


def span_rates(counts: Iterable[SpanCounts]) -> dict[str, float]:
    """Precision of judged spans, and `at_least` if the others are wrong; recall of supporting places; questions.

    `questions` is the part of the answerable questions that have a right span.
    """
    some = list(counts)
    right, wrong, unjudged, places, found = (sum(column) for column in zip(*some, strict=True))
    answerable = sum(one.places > 0 for one in some)
    return {
        "precision": right / (right + wrong) if right + wrong else 0.0,
        "at_least": right / (right + wrong + unjudged) if right + wrong + unjudged else 0.0,
        "recall": found / places if places else 0.0,
        "questions": sum(one.right > 0 for one in some) / answerable if answerable else 0.0,
    }
