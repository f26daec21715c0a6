"""Blind systems, BM25 and the overlap systems that need no model."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from easy_questions import easy_questions, page_of
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines import blind
from baselines.overlap import bm25_system
from baselines.retrieve.bm25 import BM25, tokenise
from edu_rag.serve import SystemPage, SystemQuestion

TEXTS = st.lists(st.text(alphabet="abc dé,", max_size=30), min_size=1, max_size=8)


def asked(
    choices: dict[str, str],
    *,
    text: str = "Why?",
    identity: str = "1",
    kind: str = "multiple_choice",
    pages: tuple[SystemPage, ...] = (),
) -> SystemQuestion:
    return SystemQuestion(id=identity, text=text, choices=choices, kind=kind, pages=pages)


def by_hand(texts: list[str], query: str, k1: float, b: float) -> list[float]:
    """The formula of BM25 (lucene), written down once more without any trick."""
    documents = [tokenise(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents) or 1.0
    scores = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for token in tokenise(query):
            df = sum(token in other for other in documents)
            tf = counts[token]
            if tf:
                idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(document) / mean))
        scores.append(score)
    return scores


def test_a_constant_letter_that_is_no_choice_abstains() -> None:
    assert blind.constant("d")(asked({"a": "x", "b": "y"})) is None
    assert blind.constant("b")(asked({"a": "x", "b": "y"})) == "b"


def test_a_random_pick_does_not_hang_on_the_random_id_but_on_seed_text_and_choices() -> None:
    choices = dict(zip("abcdefg", "stuvwxy", strict=True))
    pick = blind.random_choice(0)
    assert {pick(asked(choices, identity=str(number))) for number in range(20)} == {pick(asked(choices))}
    assert len({blind.random_choice(seed)(asked(choices)) for seed in range(60)}) == 7


def test_random_picks_are_even() -> None:
    counts = Counter(blind.random_choice(0)(asked({"a": "x", "b": "y", "c": "z"}, text=str(n))) for n in range(3_000))
    assert all(900 < counts[label] < 1_100 for label in "abc")


def test_the_longest_choice_wins_and_the_first_of_equals() -> None:
    assert blind.longest(asked({"a": "x", "b": "yyy", "c": "zzz"})) == "b"
    assert blind.longest(asked({}, kind="free_text")) is None


@settings(max_examples=150, deadline=None)
@given(texts=TEXTS, query=st.text(alphabet="abc dé,", max_size=20), k1=st.floats(0.1, 3), b=st.floats(0, 1))
def test_bm25_equals_its_formula(texts: list[str], query: str, k1: float, b: float) -> None:
    assert BM25(texts, k1=k1, b=b).scores(query) == pytest.approx(by_hand(texts, query, k1, b), abs=1e-12)


def test_bm25_equals_bm25s_in_its_lucene_variant() -> None:
    bm25s = pytest.importorskip("bm25s", reason="NOT RUN: bm25s (the other implementation) is not installed")
    texts = [question.pages[0].text for question, _ in easy_questions()]
    other = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    other.index([tokenise(text) for text in texts], show_progress=False)
    for question, _ in easy_questions():
        theirs = other.get_scores(sorted(set(tokenise(question.text))))
        ours = BM25(texts).scores(" ".join(sorted(set(tokenise(question.text)))))
        assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5)


def test_bm25_of_no_text_scores_nothing() -> None:
    assert BM25([]).scores("water").shape == (0,)
    assert not np.any(BM25(["", "…"]).scores("water"))


def test_bm25_overlap_takes_the_choice_of_the_sentence_and_cites_it() -> None:
    found = [(bm25_system()(question), right) for question, right in easy_questions()]
    assert sum(said.answer == right for said, right in found) >= 16
    assert all(said.passages for said, _ in found)


def test_bm25_overlap_abstains_without_pages_and_without_any_shared_word() -> None:
    assert bm25_system()(asked({"a": "x", "b": "y"})).answer is None
    assert bm25_system()(asked({"a": "x", "b": "y"}, pages=(page_of("Nothing."),))).answer is None


@pytest.mark.parametrize(("text", "label"), [("Whales are mammals.", "a"), ("Whales have never learned chess.", "b")])
def test_bm25_overlap_says_true_when_half_of_the_words_are_found(text: str, label: str) -> None:
    question = asked(
        {"a": "true", "b": "False"}, text=text, kind="true_false", pages=(page_of("Whales are big mammals."),)
    )
    assert bm25_system()(question).answer == label
