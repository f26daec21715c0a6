"""evidence-v4: what it takes for support, what it refuses, its spans, its trees, and the second round of labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_builder_evidence_methods import ROOT, WORDS, A, choice, page, statement

from builder.evidence import METHODS
from builder.evidence.boosted_support import (
    WEIGHTS,
    ScoredSpan,
    Tree,
    apart,
    boosted_trees,
    model_from,
    span_of,
)
from builder.evidence.spans import SpanPlace
from builder.evidence.support_signs import N_AT_HOME, N_CANDIDATES, SIGNS, Place, SignedQuestion
from edu_rag.gold import Gold

sys.path.append(str(ROOT / "tests" / "evidence_labels"))

from labelled_spans import FRESH, SUPPORTING, for_tuning, read_spans, untouched

FILLER = "The museum opens at nine. Tickets can be bought at the door. A guide leads groups. "
QUESTION = choice("Which organelle makes most of the energy that a cell uses?", "mitochondrion", "nucleus", "ribosome")
SUPPORTS = "The mitochondrion is the organelle that makes most of the energy that a cell uses."


def found(question: object, text: str, gold: Gold = A) -> list[str]:
    return [text[e.start : e.end] for e in METHODS["evidence-v4"].find(question, gold, [page(text)])]  # type: ignore[arg-type]


def test_a_sentence_with_the_gold_and_the_questions_words_is_evidence() -> None:
    assert found(QUESTION, f"{FILLER}{SUPPORTS} {FILLER}") == [SUPPORTS]


def test_a_sentence_that_says_the_same_of_another_choice_is_not() -> None:
    assert found(QUESTION, f"{FILLER}{SUPPORTS.replace('mitochondrion', 'nucleus')} {FILLER}") == []


def test_true_false_and_negated_questions_and_other_meta_choices_have_none() -> None:
    assert found(statement("The mitochondrion is the organelle that makes most of the energy."), SUPPORTS) == []
    negated = choice("Which organelle does not make the energy that a cell uses?", "mitochondrion", "nucleus")
    assert found(negated, f"{FILLER}{SUPPORTS}") == []
    assert found(choice(QUESTION.text, "both a and b", "nucleus", "mitochondrion"), f"{FILLER}{SUPPORTS}") == []


def signs_with(**values: float) -> list[float]:
    return [values.get(name, 0.0) for name in SIGNS]


def test_a_neighbour_joins_the_span_only_if_it_adds_enough_words_or_is_needed() -> None:
    one = page("Rocks are hard. Sand is soft. Clay is wet. It dries.")
    texts = [
        one.text[span.start : span.end]
        for place, signs in (
            (Place(0, 1), signs_with()),
            (Place(0, 1), signs_with(question_before=0.3)),
            (Place(0, 1), signs_with(question_before=0.1, gold_after=0.3)),
            (Place(0, 0), signs_with(question_before=0.3)),
            (Place(0, 3), signs_with()),
        )
        for span in [span_of(one, place, signs)]
    ]
    assert texts == [
        "Sand is soft.",
        "Rocks are hard. Sand is soft.",
        "Sand is soft. Clay is wet.",
        "Rocks are hard.",
        "Clay is wet. It dries.",
    ]


def test_of_spans_that_overlap_the_best_stays() -> None:
    spans = [
        ScoredSpan(1.0, 0, SpanPlace("p", 0, 20)),
        ScoredSpan(2.0, 0, SpanPlace("p", 10, 30)),
        ScoredSpan(0.5, 1, SpanPlace("q", 0, 20)),
        ScoredSpan(0.1, 0, SpanPlace("p", 30, 40)),
    ]
    assert [one.score for one in apart(spans)] == [2.0, 0.5, 0.1]


def test_a_tree_goes_left_up_to_the_limit_and_right_above() -> None:
    tree = Tree(sign=(1, -1, -1), limit=(0.5, -1.0, 2.0), left=(1, -1, -1), right=(2, -1, -1))
    assert [tree.value((9.0, sign)) for sign in (0.0, 0.5, 0.6)] == [-1.0, -1.0, 2.0]


def test_the_stored_trees_are_whole_and_end() -> None:
    model = boosted_trees()
    assert model.best_threshold <= model.threshold
    for tree in model.trees:
        assert len(tree.sign) == len(tree.limit) == len(tree.left) == len(tree.right)
        for node, sign in enumerate(tree.sign):
            assert sign < len(SIGNS)
            assert sign < 0 or min(tree.left[node], tree.right[node]) > node  # each step goes down: no cycle
    assert model.score([0.0] * len(SIGNS)) < model.best_threshold


def test_a_model_of_other_signs_is_refused() -> None:
    row = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    row["signs"] = row["signs"][::-1]
    with pytest.raises(ValueError, match="other signs"):
        model_from(json.dumps(row))


@settings(max_examples=60, deadline=None)
@given(asked=WORDS, gold=WORDS, text=st.lists(WORDS, max_size=8), at_home=st.booleans())
def test_whatever_the_texts_signs_are_numbers_and_spans_are_one_or_two_sentences(
    asked: list[str], gold: list[str], text: list[str], at_home: bool
) -> None:
    one = page("\n".join(" ".join(words) for words in text))
    question = choice(" ".join(asked) or "x", " ".join(gold) or "y", "gas")
    signed = SignedQuestion(question, question.choices["a"], [one], one.page_id if at_home else None).signs()
    assert len(signed) <= N_CANDIDATES + N_AT_HOME
    for place, signs in signed:
        assert len(signs) == len(SIGNS)
        assert all(-40 <= sign <= 40 for sign in signs)
        span = span_of(one, place, signs)
        inside = [n for n, (start, end) in enumerate(one.sentences) if span.start <= start and end <= span.end]
        assert place.number in inside
        assert len(inside) <= 2


def test_the_home_page_is_a_sign_and_brings_further_candidates() -> None:
    lines = "\n".join(f"The cell uses energy number {n} of the organelle." for n in range(N_CANDIDATES + 5))
    home, other = page(f"Some cell of one kind is here.\n{FILLER}", 1), page(lines)
    at = SIGNS.index("home")
    places = dict(SignedQuestion(QUESTION, "mitochondrion", [other, home], home.page_id).signs())
    assert {signs[at] for place, signs in places.items() if place.rank == 1} == {1.0}
    assert {signs[at] for place, signs in places.items() if place.rank == 0} == {0.0}
    assert {place.rank for place, _ in SignedQuestion(QUESTION, "mitochondrion", [other, home]).signs()} == {0}


_PRINTS_SIGNS = """
import sys
sys.path.append(sys.argv[1])
from test_builder_boosted_support import FILLER, QUESTION, SUPPORTS, SignedQuestion, boosted_trees, page
signed = SignedQuestion(QUESTION, "mitochondrion", [page(FILLER + SUPPORTS + " It is an organelle of a cell.")]).signs()
print([(place, signs, boosted_trees().score(signs)) for place, signs in signed])
"""


@pytest.mark.process
def test_signs_and_scores_are_the_same_under_every_hash_seed() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINTS_SIGNS, str(ROOT / "tests" / "builder")],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(printed) == 1
    assert "Place" in printed.pop()


def test_the_second_round_has_300_new_questions_and_its_untouched_half_is_in_no_tuning_set() -> None:
    fresh, first = read_spans(FRESH), {one.question_id for one in read_spans()}
    assert len(fresh) == len({one.question_id for one in fresh} - first) == 300
    tuning = {one.question_id for one in for_tuning()}
    assert tuning >= first
    assert tuning.isdisjoint(one.question_id for one in untouched())
    assert len(tuning) + len(untouched()) == len(first) + 300
    assert {s.label for one in fresh for s in one.sentences} == {*SUPPORTING, "partly", "no"}


def test_no_text_of_questions_or_pages_is_with_the_second_round() -> None:
    for line in FRESH.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert set(row) == {"dataset", "question_id", "kind", "half", "sentences"}
        assert all(set(s) == {"page_id", "start", "end", "words_sha256", "label"} for s in row["sentences"])
