from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.draw_sample import _shares, choose
from edu_rag.errors import ConfigError
from edu_rag.names import Sample
from edu_rag.records import Question


def strata(questions: list[Question]) -> Counter[tuple[str, int]]:
    return Counter((q.kind, len(q.choices)) for q in questions)


def test_a_sample_keeps_the_proportions_of_kind_and_number_of_choices(questions: list[Question]) -> None:
    chosen = choose(questions, Sample(20, 0))
    assert len(chosen) == 20
    assert set(strata(chosen).values()) == {5}


def test_a_sample_depends_on_its_seed_and_not_on_the_order_of_questions(questions: list[Question]) -> None:
    first = choose(questions, Sample(13, 0))
    assert first == choose(questions[::-1], Sample(13, 0))
    assert first != choose(questions, Sample(13, 1))
    assert [q.question_id for q in first] == sorted(q.question_id for q in first)


def test_a_larger_sample_of_one_seed_keeps_the_smaller_ones_of_equal_strata(questions: list[Question]) -> None:
    small, large = ({q.question_id for q in choose(questions, Sample(n, 3))} for n in (8, 24))
    assert small <= large


def test_the_whole_split_is_a_sample_and_more_is_refused(questions: list[Question]) -> None:
    assert choose(questions, Sample(40, 0)) == questions
    with pytest.raises(ConfigError, match="more than the split's 40"):
        choose(questions, Sample(41, 0))


@given(st.lists(st.integers(1, 500), min_size=1, max_size=8), st.integers(0, 100))
def test_shares_add_up_and_stay_within_one_of_proportion(sizes: list[int], percent: int) -> None:
    n = sum(sizes) * percent // 100
    shares = _shares(sizes, n)
    assert sum(shares) == n
    for share, size in zip(shares, sizes, strict=True):
        assert share <= size
        assert abs(share - n * size / sum(sizes)) < 1
