"""A comparison in sentences: what is said of a pair, alone and among all pairs of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.comparing.pair_sentences import about_choice, chance, fields_of, filled, named, sentences_of
from edu_rag.comparing.tested_pairs import AmongPairs, TestedPair, all_pairs_of, turned_pair
from edu_rag.look.texts import delta
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, ScoreCard, SystemFacts
from edu_rag.statistics import McNemar, Paired

OUTCOMES = st.text("ciauf", min_size=12, max_size=12)


def card_of(slug: str, outcomes: str, **changes: Any) -> ScoreCard:
    values: dict[str, Any] = {
        "system": SystemFacts(slug=slug, name=slug, team="us"),
        "dataset": "tiny@1.0.0#aaaaaaaa",
        "split": "test",
        "sample": None,
        "harness": "test",
        "answers_rule": "answers-v3",
        "counts": Counts(**{outcome: outcomes.count(letter) for outcome, letter in OUTCOME_LETTERS.items()}),
        "outcomes": outcomes,
        "intervals": {},
        "predictions_sha256": slug[0] * 64,
    }
    return ScoreCard(**values | changes)


def pair_of(difference: float, low: float, high: float, p: float, n_units: int = 100, **changes: Any) -> TestedPair:
    d = Paired(100, difference, low, high, p, n_units, "m")
    values: dict[str, Any] = {
        "first": card_of("aaa", "cia"),
        "second": card_of("bbb", "cia"),
        "difference": d,
        "strict": d,
        "correctness": McNemar(30, 20, 0.2),
        "detectable": 0.15,
    }
    return TestedPair(**values | changes)


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (1.0, "nearly all"),
        (0.43, "about 43 of 100"),
        (0.05, "about 5 of 100"),
        (0.01, "about 1 of 100"),
        (0.0034, "about 3 of 1,000"),
        (0.00021, "about 2 of 10,000"),
        (0.00009, "fewer than 1 of 10,000"),
        (0.0, "fewer than 1 of 10,000"),
    ],
)
def test_a_p_value_is_told_as_a_share_of_tests(p: float, words: str) -> None:
    assert chance(p) == words


def test_who_is_ahead_is_named_first_and_the_interval_turned_with_it() -> None:
    said = filled(pair_of(-0.2, -0.3, -0.1, 0.001), "A", "B")
    assert said.lead == (
        "B scores 0.200 more than A on these 100 questions; the 95 % interval of the difference is 0.100 to 0.300."
    )
    assert said.because.startswith("Established, because a difference at least this large turns up in about 1 of 1,000")
    assert said.because.endswith("So B is better than A.")


def test_the_same_predictions_are_called_so() -> None:
    one = card_of("aaa", "cia")
    said = filled(pair_of(0.0, 0.0, 0.0, 1.0, first=one, second=one), "A", "B")
    assert (said.lead, said.because) == ("A and B are the same predictions.", "There is nothing to compare.")


def test_a_higher_score_with_fewer_right_answers_is_explained() -> None:
    first, second = card_of("aaa", "cccii" + "iiii"), card_of("bbb", "cccaa" + "aaaa")
    pair = pair_of(-0.2, -0.3, -0.1, 0.001, first=first, second=second)
    for said in (filled(pair, "A", "B"), filled(turned_pair(pair), "B", "A")):
        assert (
            "B scores more although A is right more often: a wrong answer costs a point, and A is wrong on 6 "
            "questions, B on 0; it gives no answer to 6 of the questions on which A is wrong."
        ) in said.remarks


def test_what_is_not_established_is_not_called_equal() -> None:
    found = filled(pair_of(0.05, -0.1, 0.2, 0.4), "A", "B")
    assert found.because.startswith("Not established, because")
    said = " ".join(found.remarks)
    assert "This does not show that the systems are equally good" in said
    assert "a true difference of 0.150 is found in 4 of 5 cases" in said
    assert "Only A is right on 30 questions, only B on 20" in said
    assert "the test decides" not in said


def test_equal_scores_an_edge_and_lessons_are_told() -> None:
    assert filled(pair_of(0.0, -0.1, 0.1, 1.0), "A", "B").lead == "A and B have the same score on these 100 questions."
    edge = " ".join(filled(pair_of(0.1, 0.0, 0.2, 0.049, n_units=12), "A", "B").remarks)
    assert "disagree here, at the edge" in edge
    assert "(12 lessons)" in edge
    assert "a true difference of 0.150 is found" in edge
    assert "does not show" not in edge


def test_a_pair_of_a_table_has_its_p_after_holm_in_place_of_the_advice() -> None:
    pair = pair_of(0.1, 0.0, 0.2, 0.0036)
    assert "edu-rag compare A B C" in filled(pair, "A", "B").remarks[-1]
    among = filled(replace(pair, among=AmongPairs(19_900, 0.81, 1.0)), "A", "B").remarks[-1]
    assert "over all 19,900 pairs of this table p is 0.81, and McNemar's 1." in among
    assert "edu-rag compare A B C" not in among


@pytest.mark.parametrize(("p", "p_holm", "n"), [(0.0036, 0.81, 1), (0.0036, 0.05, 0), (0.06, 0.81, 0)])
def test_what_is_established_for_a_pair_alone_is_not_said_to_be_so_among_all(p: float, p_holm: float, n: int) -> None:
    pair = pair_of(0.1, 0.0, 0.2, p, among=AmongPairs(325, p_holm, 1.0))
    notes = list(about_choice(pair))
    assert len(notes) == n
    assert all("Among all 325 pairs of the table the difference is not established (p = 0.81" in note for note in notes)
    assert list(about_choice(replace(pair, among=None))) == []


@given(st.lists(OUTCOMES, min_size=2, max_size=4))
def test_every_sentence_of_every_pair_has_all_its_fields(all_outcomes: list[str]) -> None:
    pairs = all_pairs_of([card_of(f"{letter}-system", one) for letter, one in zip("abcd", all_outcomes, strict=False)])
    for (i, j), pair in pairs.tested.items():
        for one, a, b in ((pair, "A", "B"), (turned_pair(pair), "B", "A"), (replace(pair, among=None), "A", "B")):
            said, templates = filled(one, a, b), sentences_of(one)
            assert len(said.remarks) == len(templates.remarks)
            assert not any("{" in text for text in (said.lead, said.because, *said.remarks))
        assert filled(pairs.of(j, i), "B", "A").because == filled(pair, "A", "B").because
        assert pairs.of(j, i) == turned_pair(pair)
        assert turned_pair(pairs.of(j, i)) == pair


def test_names_with_braces_are_only_names() -> None:
    pair = pair_of(0.1, 0.0, 0.2, 0.01)
    assert filled(pair, "{p}", "{0}").because.endswith("So {p} is better than {0}.")
    assert named(pair, "A", "B").items() > fields_of(pair).items()


def test_differences_carry_a_true_minus_and_what_rounds_to_zero_no_sign() -> None:
    assert [delta(x) for x in (0.0414, -0.25, 0.0001, -0.0001)] == ["+0.041", "−0.250", "0.000", "0.000"]
    assert [delta(x, 0) for x in (1_066, -839, 0)] == ["+1,066", "−839", "0"]
