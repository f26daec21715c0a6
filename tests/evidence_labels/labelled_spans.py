"""The labelled sentences of the datasets by recipe: reading them, and scoring what a method returns for a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

SPANS = Path(__file__).with_name("spans.jsonl")
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
    judged = [span for span in spans if any(_holds(span, sentence) for sentence in question.sentences)]
    found = sum(any(supports(span, sentence) for span in spans) for sentence in places)
    return SpanCounts(len(right), len(judged) - len(right), len(spans) - len(judged), len(places), found)


def _holds(span: tuple[str, int, int], sentence: Sentence) -> bool:
    return span[0] == sentence.page_id and span[1] <= sentence.start and sentence.end <= span[2]


def span_rates(counts: Iterable[SpanCounts]) -> dict[str, float]:
    """Precision of judged spans, recall of supporting places, and of answerable questions those with a right span."""
    some = list(counts)
    right, wrong, _, places, found = (sum(column) for column in zip(*some, strict=True))
    answerable = sum(one.places > 0 for one in some)
    return {
        "precision": right / (right + wrong) if right + wrong else 0.0,
        "recall": found / places if places else 0.0,
        "questions": sum(one.right > 0 for one in some) / answerable if answerable else 0.0,
    }
