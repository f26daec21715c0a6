"""The bundled mini benchmark: its evidence is on its pages, its questions are balanced, methods are held against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builder.evidence import METHODS
from builder.evidence.given_evidence import MARKED, MarkedText, marked_evidence, read_marks
from edu_rag.bundled import MINI
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

Marks = Mapping[str, Sequence[MarkedText]]
MEASURED = {
    "answer-string-v1": (0.98, 0.56),
    "answer-string-v2": (0.98, 0.59),
    "true-false-v1": (0.99, 0.02),
    "evidence-v4": (0.96, 0.69),
}
"""Floors of precision (of spans) and recall (of questions) against the hand marks, just below what was measured."""


@pytest.fixture(scope="module")
def mini(bundled_build: Path) -> Dataset:
    return Dataset(bundled_build / "dataset")


@pytest.fixture(scope="module")
def questions(mini: Dataset) -> Sequence[Question]:
    return mini.questions("test")


@pytest.fixture(scope="module")
def pages(mini: Dataset) -> Mapping[str, WebPage]:
    return {page.url: page for page in mini.records("pages", "test", WebPage)}


@pytest.fixture(scope="module")
def marks(questions: Sequence[Question]) -> Marks:
    return read_marks(MINI / "evidence.jsonl", questions)


def test_every_mark_is_once_on_its_page_and_made_of_whole_sentences(marks: Marks, pages: Mapping[str, WebPage]) -> None:
    for mark in (mark for found in marks.values() for mark in found):
        page = pages[mark.url]
        assert page.text.count(mark.text) == 1, mark
        start = page.text.index(mark.text)
        assert start in {first for first, _ in page.sentences}, mark
        assert start + len(mark.text) in {last for _, last in page.sentences}, mark


def test_the_marks_are_the_evidence_of_the_dataset(mini: Dataset, marks: Marks, pages: Mapping[str, WebPage]) -> None:
    found = mini.evidence("test")
    hits = mini.hits("test")
    assert {item.method for items in found.values() for item in items} == {MARKED}
    for question_id, wanted in marks.items():
        kept = {hit.page_id for hit in hits[question_id]}
        reached = {(pages[mark.url].page_id, mark.text) for mark in wanted if pages[mark.url].page_id in kept}
        by_id = {page.page_id: page.text for page in pages.values()}
        got = {(item.page_id, by_id[item.page_id][item.start : item.end]) for item in found.get(question_id, ())}
        assert got == reached


def test_a_hundred_questions_are_marked_and_search_finds_a_marked_page_for_nine_of_ten(
    mini: Dataset, questions: Sequence[Question], marks: Marks
) -> None:
    assert len(questions) >= 150
    assert len(marks) >= 100
    assert len(mini.evidence("test")) >= 0.9 * len(marks)


def test_no_habit_of_the_authors_gives_the_answers_away(mini: Dataset, questions: Sequence[Question]) -> None:
    golds = {gold.question_id: gold.answer for gold in mini.records("gold", "test", Gold)}
    chosen = [question for question in questions if question.kind == "multiple_choice"]
    letters = Counter(golds[question.question_id] for question in chosen if len(question.choices) == 4)
    assert max(letters.values()) - min(letters.values()) <= 0.1 * letters.total()
    longest = [max(question.choices, key=lambda label: len(question.choices[label])) for question in chosen]
    right = sum(label == golds[question.question_id] for label, question in zip(longest, chosen, strict=True))
    assert right <= sum(1 / len(question.choices) for question in chosen)
    truth = Counter(golds[question.question_id] for question in questions if question.kind == "true_false")
    assert truth["a"] == truth["b"]


def _found(name: str, mini: Dataset, questions: Sequence[Question], pages: Mapping[str, WebPage]) -> list[Evidence]:
    golds = {gold.question_id: gold for gold in mini.records("gold", "test", Gold)}
    by_id = {page.page_id: page for page in pages.values()}
    reached = {
        question_id: [by_id[hit.page_id] for hit in hits if hit.page_id]
        for question_id, hits in mini.hits("test").items()
    }
    return [
        item
        for question in questions
        for item in METHODS[name].find(question, golds[question.question_id], reached[question.question_id])
    ]


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_an_evidence_method_is_as_good_on_the_marks_as_it_was(
    name: str, mini: Dataset, questions: Sequence[Question], pages: Mapping[str, WebPage]
) -> None:
    marked = [(item.question_id, item) for items in mini.evidence("test").values() for item in items]
    spans: dict[tuple[str, str], list[Evidence]] = {}
    for question_id, item in marked:
        spans.setdefault((question_id, item.page_id), []).append(item)
    found = _found(name, mini, questions, pages)
    right = [
        item
        for item in found
        if any(item.start < one.end and one.start < item.end for one in spans.get((item.question_id, item.page_id), ()))
    ]
    precision, recall = len(right) / len(found), len({item.question_id for item in right}) / len(mini.evidence("test"))
    least_precision, least_recall = MEASURED[name]
    assert precision >= least_precision
    assert recall >= least_recall


def test_a_mark_of_an_unknown_question_is_refused(tmp_path: Path, questions: Sequence[Question]) -> None:
    path = tmp_path / "evidence.jsonl"
    path.write_text('{"question_id": "NOPE", "url": "http://a.example/", "text": "A."}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"evidence\.jsonl:1: unknown question id 'NOPE'"):
        read_marks(path, questions)


def test_a_mark_counts_only_where_its_text_is_on_a_page_of_the_question(
    questions: Sequence[Question], pages: Mapping[str, WebPage], marks: Marks
) -> None:
    question = next(one for one in questions if one.question_id == "MINI_0073")
    (mark,) = marks[question.question_id]
    page = pages[mark.url]
    (found,) = marked_evidence(question, [page], marks)
    assert page.text[found.start : found.end] == mark.text
    others = [one for url, one in pages.items() if url != mark.url]
    assert list(marked_evidence(question, others, marks)) == []
    changed = {question.question_id: [replace(mark, text=mark.text.upper())]}
    assert list(marked_evidence(question, [page], changed)) == []
