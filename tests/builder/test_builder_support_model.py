"""evidence-v3: what it takes for support, what it refuses, and the labelled sentences that it was fitted on."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_builder_evidence_methods import ROOT, WORDS, A, choice, page, statement

from builder.evidence import METHODS
from builder.evidence.support_model import SIGNS, WEIGHTS, WeighedQuestion, refers_back, support_model
from edu_rag.gold import Gold

sys.path.append(str(ROOT / "tests" / "evidence_labels"))

from labelled_spans import (
    FRESH,
    SECOND_READER,
    SPANS,
    SUPPORTING,
    LabelledQuestion,
    Sentence,
    count_spans,
    read_spans,
    span_rates,
)

FILLER = "The museum opens at nine. Tickets can be bought at the door. A guide leads groups. "
QUESTION = choice("Which organelle makes most of the energy that a cell uses?", "mitochondrion", "nucleus", "ribosome")
SUPPORTS = "The mitochondrion is the organelle that makes most of the energy that a cell uses."


def found(question: object, text: str, gold: Gold = A) -> list[str]:
    return [text[e.start : e.end] for e in METHODS["evidence-v3"].find(question, gold, [page(text)])]  # type: ignore[arg-type]


def test_a_sentence_with_the_gold_and_the_questions_words_is_evidence() -> None:
    assert found(QUESTION, f"{FILLER}{SUPPORTS} {FILLER}") == [SUPPORTS]


def test_a_sentence_that_says_the_same_of_another_choice_is_not() -> None:
    assert found(QUESTION, f"{FILLER}{SUPPORTS.replace('mitochondrion', 'nucleus')} {FILLER}") == []


def test_a_sentence_that_begins_with_a_pronoun_comes_with_the_one_before_it() -> None:
    before = "The mitochondrion has two membranes and an organelle's own DNA."
    after = "It is the mitochondrion, an organelle that makes most of the energy that a cell uses."
    assert found(QUESTION, f"{FILLER}{before} {after} {FILLER}") == [f"{before} {after}"]


@pytest.mark.parametrize("text", ["It turns.", "These are rocks.", "“This is it.”", "They melt."])
def test_a_pronoun_at_the_start_refers_back(text: str) -> None:
    assert refers_back(text)


@pytest.mark.parametrize("text", ["Iron melts.", "Thesis.", "A rock is this."])
def test_other_words_at_the_start_do_not(text: str) -> None:
    assert not refers_back(text)


def test_true_false_and_negated_questions_and_other_meta_choices_have_none() -> None:
    assert found(statement("The mitochondrion is the organelle that makes most of the energy."), SUPPORTS) == []
    negated = choice("Which organelle does not make the energy that a cell uses?", "mitochondrion", "nucleus")
    assert found(negated, f"{FILLER}{SUPPORTS}") == []
    assert found(choice(QUESTION.text, "both a and b", "nucleus", "mitochondrion"), f"{FILLER}{SUPPORTS}") == []


def test_the_stored_model_has_one_weight_for_each_sign() -> None:
    assert list(json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]) == list(SIGNS)
    model = support_model()
    assert 0.5 <= model.best_threshold <= model.threshold < 1
    assert model.probability([0.0] * len(SIGNS)) < 0.5


@settings(max_examples=60, deadline=None)
@given(asked=WORDS, gold=WORDS, text=st.lists(WORDS, max_size=8))
def test_whatever_the_texts_signs_are_numbers_and_spans_are_sentences(
    asked: list[str], gold: list[str], text: list[str]
) -> None:
    one = page("\n".join(" ".join(words) for words in text))
    question = choice(" ".join(asked) or "x", " ".join(gold) or "y", "gas")
    for _, signs in WeighedQuestion(question, question.choices["a"], [one]).signs():
        assert len(signs) == len(SIGNS)
        assert all(-40 <= sign <= 40 for sign in signs)
    starts, ends = {s for s, _ in one.sentences}, {e for _, e in one.sentences}
    for item in METHODS["evidence-v3"].find(question, A, [one]):
        assert item.start in starts
        assert item.end in ends


def test_the_labels_cover_600_pairs_200_of_textbooks_and_no_question_is_in_both_halves() -> None:
    labelled = read_spans()
    pairs = {(one.dataset, one.question_id, s.page_id) for one in labelled for s in one.sentences}
    assert len(pairs) >= 600
    assert sum(dataset == "open-textbooks" for dataset, _, _ in pairs) >= 200
    assert len({one.question_id for one in labelled}) == len(labelled)
    assert {one.half for one in labelled} == {"tune", "test"}
    assert {s.label for one in labelled for s in one.sentences} == {*SUPPORTING, "partly", "no"}
    second = read_spans(SECOND_READER)
    assert len({(one.question_id, s.page_id) for one in second for s in one.sentences}) >= 150
    assert {one.question_id for one in second} <= {one.question_id for one in [*labelled, *read_spans(FRESH)]}


def test_no_text_of_questions_or_pages_is_with_the_labels() -> None:
    for path in (SPANS, SECOND_READER):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            assert set(row) == {"dataset", "question_id", "kind", "half", "sentences"}
            assert all(set(s) == {"page_id", "start", "end", "words_sha256", "label"} for s in row["sentences"])


def test_a_span_is_right_if_it_covers_support_with_the_neighbour_that_it_needs() -> None:
    sentences = (
        Sentence("p1", 0, 10, "", "no"),
        Sentence("p1", 11, 20, "", "with_previous"),
        Sentence("p1", 21, 30, "", "supports"),
    )
    question = LabelledQuestion("d", "q", "multiple_choice", "test", sentences)
    counts = count_spans(question, [("p1", 11, 20), ("p1", 0, 20), ("p1", 21, 30), ("p2", 0, 10)])
    assert counts == (2, 1, 1, 2, 2)
    assert span_rates([counts]) == {
        "precision": pytest.approx(2 / 3),
        "at_least": 0.5,
        "recall": 1.0,
        "questions": 1.0,
    }
