"""Method answer-string-v1: what the rule finds, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.evidence import label_evidence
from builder.evidence.spans import MAX_PER_QUESTION
from builder.evidence.telling_words import may_hold_words, words_of
from builder.extract.sentence_splitter import split_sentences
from edu_rag.gold import Gold
from edu_rag.records import Kind, Question, WebPage, page_id_of

METHODS = ("answer-string-v1",)


def page(text: str, n: int = 0) -> WebPage:
    url = f"http://a.example/{n}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title="T",
        text=text,
        sentences=split_sentences(text),
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        html_sha256="0" * 64,
        extractor="bs4-v1",
    )


def found(text: str, gold: str, *pages: str, kind: Kind = "multiple_choice") -> list[str]:
    question = Question(question_id="q1", text=text, choices={"a": gold, "b": "other"}, kind=kind, split="val")
    made = [page(content, n) for n, content in enumerate(pages)]
    by_id = {one.page_id: one for one in made}
    evidence = label_evidence(question, Gold(question_id="q1", answer="a"), made, METHODS)
    assert {item.method for item in evidence} <= set(METHODS)
    return [by_id[item.page_id].text[item.start : item.end] for item in evidence]


ASKED = "Which gas do plants give off during photosynthesis?"


def test_a_sentence_with_the_answer_and_half_of_the_questions_words_is_evidence() -> None:
    text = "Oxygen is a gas. During photosynthesis a plant gives off oxygen, a gas. Animals breathe oxygen."
    assert found(ASKED, "oxygen.", text) == ["During photosynthesis a plant gives off oxygen, a gas."]


def test_the_answer_must_stand_there_as_whole_words_in_order() -> None:
    question = "Which motion of plates makes mountains on Earth?"
    assert found(question, "the plate boundary", "Mountains of the Earth: plate boundary motion.") != []
    assert found(question, "plate boundary", "Mountains of the Earth: plates boundary motion.") == []
    assert found(question, "plate boundary", "Mountains of the Earth: boundary plate motion.") == []
    assert found(question, "plate boundary", "Mountains of the Earth motion plate. Boundary plates makes.") == []


def test_case_punctuation_and_apostrophes_do_not_matter() -> None:
    assert words_of("Earth’s CRUST, (mostly)") == ["earths", "crust", "mostly"]
    assert found(
        "What layer do continents belong to?", "Earths crust.", "Continents belong to the Earth's Crust layer."
    )


@pytest.mark.parametrize(
    ("text", "gold", "kind"),
    [
        ("Which gas do plants not give off during photosynthesis?", "oxygen", "multiple_choice"),
        ("Plants give off all gases during photosynthesis except", "oxygen", "multiple_choice"),
        (ASKED, "all of the above", "multiple_choice"),
        (ASKED, "a", "multiple_choice"),
        (ASKED, "the", "multiple_choice"),
        ("Plants give off oxygen gas during photosynthesis.", "true", "true_false"),
    ],
)
def test_where_the_answers_words_are_no_support_there_is_no_evidence(text: str, gold: str, kind: Kind) -> None:
    page_text = "True: a plant gives off oxygen, the gas, during photosynthesis, all of the above."
    assert found(text, gold, page_text, kind=kind) == []


def test_a_free_text_question_is_labelled_by_any_of_its_texts() -> None:
    question = Question(question_id="q1", text=ASKED, choices={}, kind="free_text", split="val")
    gold = Gold(question_id="q1", texts=("O2", "oxygen"))
    assert len(label_evidence(question, gold, [page("Photosynthesis of plants gives oxygen off.")], METHODS)) == 1


def test_the_best_spans_are_kept_and_sorted_by_page_and_position() -> None:
    weak = "Photosynthesis of plants makes oxygen. "
    strong = "The gas that plants give off during photosynthesis is oxygen."
    spans = found(ASKED, "oxygen", weak * 30 + strong)
    assert len(spans) == MAX_PER_QUESTION
    assert spans[-1] == strong


def test_a_question_without_pages_has_no_evidence() -> None:
    assert found(ASKED, "oxygen") == []


_ODD_TEXT = st.text(st.sampled_from("aAbıİßſﬁK'’_-. \n\x85é"), max_size=30)


@given(_ODD_TEXT, _ODD_TEXT)
def test_the_quick_look_at_a_text_misses_no_words_that_cutting_it_would_find(text: str, needle: str) -> None:
    words = words_of(needle)
    if words and f" {' '.join(words)} " in f" {' '.join(words_of(text))} ":
        assert may_hold_words(text, words)
