from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.scorecard.card import Passage, Prediction
from edu_rag.scorecard.support import Support
from harness.comparing.citation_overlap import DEPTH, changed_positions, overlap_lines, overlap_of, overlaps, same_place
from harness.scoring.retrieval import CUTOFFS

A, B, C, D = (Passage("p", at, at + 10) for at in (0, 10, 20, 30))
NO_EVIDENCE = Support(frozenset(), {}, has_pages=True)


def cited(**passages: tuple[Passage, ...]) -> dict[str, Prediction]:
    return {i: Prediction(question_id=i, answer="a", passages=found) for i, found in passages.items()}


def test_two_passages_are_of_one_place_where_they_share_a_character_of_a_page() -> None:
    assert same_place(Passage("p", 0, 10), Passage("p", 9, 30))
    assert same_place(Passage("p", 9, 30), Passage("p", 0, 10))
    assert not same_place(Passage("p", 0, 10), Passage("p", 10, 30))
    assert not same_place(Passage("p", 10, 30), Passage("p", 0, 10))
    assert not same_place(Passage("p", 0, 10), Passage("q", 0, 10))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((A, B, C), (A, B, C), (0, 3)),
        ((A, B, C), (A, C, B), (2, 3)),
        ((A, B), (A, B, C), (1, 3)),
        ((A,), (B,), (1, 1)),
        ((A,) * 12, (A,) * 11, (0, 10)),
        ((A,) * 4, (A,) * 12, (6, 10)),
    ],
)
def test_a_rank_changed_where_places_differ_or_one_list_has_none(
    first: tuple[Passage, ...], second: tuple[Passage, ...], expected: tuple[int, int]
) -> None:
    assert changed_positions(first, second) == changed_positions(second, first) == expected


def test_overlap_counts_in_both_lists_what_the_other_has_within_the_cut_off() -> None:
    assert overlaps([A, B, C], [B, A, D]) == [0.0, 4 / 6, 4 / 6, 4 / 6]
    assert overlaps([A], [A, B, C, D]) == [1.0, 2 / 4, 2 / 5, 2 / 5]
    wide = Passage("p", 0, 99)
    assert overlaps([wide], [A, B, C]) == [1.0, 1.0, 1.0, 1.0]
    many = [Passage("p", at, at + 1) for at in range(100, 112)]
    assert overlaps(many, many[::-1]) == [0.0, 0.0, 0.0, 16 / 20]
    elsewhere = Passage("q", 0, 10)
    assert overlaps([A, elsewhere], [elsewhere, B]) == [0.0, 2 / 4, 2 / 4, 2 / 4]
    assert overlaps([A], [elsewhere]) == [0.0, 0.0, 0.0, 0.0]


passages = st.lists(
    st.tuples(st.sampled_from("pq"), st.integers(0, 40), st.integers(1, 12)).map(
        lambda v: Passage(v[0], v[1], v[1] + v[2])
    ),
    min_size=1,
    max_size=14,
)


@given(passages, passages)
def test_overlap_is_symmetric_within_0_and_1_and_1_with_oneself(first: list[Passage], second: list[Passage]) -> None:
    found = overlaps(first, second)
    assert found == overlaps(second, first)
    assert all(0 <= share <= 1 for share in found)
    assert overlaps(first, first) == [1.0] * len(CUTOFFS)
    for k, share in zip(CUTOFFS, found, strict=True):
        a, b = first[:k], second[:k]
        both = sum(any(map(same_place, b, [x] * len(b))) for x in a) + sum(any(same_place(x, y) for x in a) for y in b)
        assert share == both / (len(a) + len(b))
    changed, ranks = changed_positions(first, second)
    assert 0 <= changed <= ranks == min(DEPTH, max(len(first), len(second)))


SUPPORT = Support(
    frozenset(),
    {
        "q1": {"p": [(0, 5), (4, 8), (12, 14), (50, 60)]},  # three places: 0..8, 12..14, 50..60
        "q2": {"p": [(0, 5)]},
        "q3": {"p": [(0, 5)]},
        "q4": {"p": [(0, 5)]},
        "other": {"p": [(0, 5)]},
    },
    has_pages=True,
)


def test_evidence_is_told_by_whose_it_is_over_the_questions_that_were_asked() -> None:
    first = cited(q1=(A, B), q2=(B,), q3=(A,), q5=(A,))
    second = cited(q1=(B, A), q2=(A,), q3=(), q4=(C,))
    assert overlap_of(first, second, SUPPORT) == {
        "n_both_cite": 2,
        "positions_changed": 1.0,
        "top_1_changed": 1.0,
        "overlap": {"@1": 0.0, "@3": 0.5, "@5": 0.5, "@10": 0.5},
        "n_evidence_both": 2,
        "n_evidence_first_only": 1,
        "n_evidence_second_only": 1,
        "n_evidence_neither": 2,
        "n_supported_both": 1,
        "n_supported_first_only": 1,
        "n_supported_second_only": 1,
        "n_supported_neither": 1,
    }


def test_ranks_are_counted_together_and_first_ranks_by_question() -> None:
    first = cited(q1=(A, B, C), q2=(A,))
    second = cited(q1=(A, C, B), q2=(B,))
    found = overlap_of(first, second, NO_EVIDENCE)
    assert (found["positions_changed"], found["top_1_changed"]) == (3 / 4, 1 / 2)
    assert (found["n_evidence_neither"], found["n_supported_neither"]) == (0, 0)


def test_without_a_question_for_which_both_cite_there_is_nothing_to_tell() -> None:
    assert overlap_of(cited(q1=(A,)), cited(q1=(), q2=(A,)), SUPPORT) == {}
    assert overlap_of({}, {}, SUPPORT) == {}
    assert list(overlap_lines({})) == []


def test_lines_name_both_systems() -> None:
    found = overlap_of(cited(q1=(A, B), q2=(B,)), cited(q1=(A, C), q2=(A,)), SUPPORT)
    assert list(overlap_lines(found, "bm25", "sbert")) == [
        "cited: on 2 question(s) by both; 66.7 % of ranks differ, the first rank on 50.0 %",
        "  overlap @1 0.500, @3 0.250, @5 0.250, @10 0.250",
        "  places of evidence cited by both 1, only bm25 1, only sbert 1, neither 1",
        "  questions with evidence cited by both 1, only bm25 0, only sbert 1, neither 0",
    ]


def test_questions_of_a_kind_are_added_up() -> None:
    ids = ("q1", "q2", "q3", "q4")
    found = overlap_of(cited(**dict.fromkeys(ids, (A,))), cited(**dict.fromkeys(ids, (A,))), SUPPORT)
    assert (found["n_supported_both"], found["n_evidence_both"], found["n_evidence_neither"]) == (4, 4, 2)
    assert (
        list(overlap_lines(found))[-1].strip()
        == "questions with evidence cited by both 4, only A 0, only B 0, neither 0"
    )
