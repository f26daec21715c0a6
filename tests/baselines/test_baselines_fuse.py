"""Fusion: ranks and weights as the papers' equations have them, worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.parts import ScoredPassage, make
from baselines.retrieve.fuse import rrf, specificity, weighted_rrf
from baselines.retrieve.token_ids import tokenise
from edu_rag.errors import ConfigError

TEXTS = ("rain falls", "rain and snow", "the sun", "the moon")


def ranking(*places: int) -> list[ScoredPassage]:
    return [ScoredPassage(place, 10.0 - rank) for rank, place in enumerate(places)]


def places(found: list[ScoredPassage]) -> list[int]:
    return [item.place for item in found]


def test_rrf_adds_one_by_sixty_plus_rank_over_the_lists() -> None:
    # Place 2 stands second and first: 1/62 + 1/61. Place 0: 1/61 + 1/63. Place 1 only third: 1/63. Place 3: 1/62.
    found = rrf()("", TEXTS, [ranking(0, 2, 1), ranking(2, 3, 0)], 4)
    assert places(found) == [2, 0, 3, 1]
    assert [item.score for item in found] == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63])


def test_equal_scores_go_to_the_smaller_place() -> None:
    assert places(rrf()("", TEXTS, [ranking(3), ranking(1)], 2)) == [1, 3]


def test_specificity_is_one_for_a_word_of_one_text_and_zero_for_a_word_of_all() -> None:
    # idf = ln((N + 1) / (df + 1)) / ln((N + 1) / 2), N = 4: df 1 gives ln(5/2) / ln(5/2) = 1; df 4 gives ln 1 = 0.
    assert specificity("snow", TEXTS) == pytest.approx(1.0)
    assert specificity("all", ["all a", "all b", "all c", "all d"]) == 0.0


def test_specificity_is_the_mean_of_tf_idf_over_the_distinct_words() -> None:
    # "rain rain moon comet": counts 2, 1, 1, so tf = 1, 1/2, 1/2. df: rain 2, moon 1, comet 0 (says nothing: 0).
    # idf(rain) = ln(5/3) / ln(5/2) = 0.55749, idf(moon) = 1. S = (0.55749 + 0.5 + 0) / 3 = 0.35250.
    rain = math.log(5 / 3) / math.log(5 / 2)
    assert specificity("rain rain moon comet", TEXTS) == pytest.approx((rain + 0.5) / 3)
    assert specificity("rain rain moon comet", TEXTS) == pytest.approx(0.35250, abs=5e-6)


@pytest.mark.parametrize(("query", "texts"), [("", TEXTS), ("!?", TEXTS), ("rain", []), ("rain", ["rain"])])
def test_a_query_without_words_or_a_corpus_without_contrast_is_not_specific(query: str, texts: list[str]) -> None:
    assert specificity(query, texts) == 0.0


def test_weighted_rrf_follows_equations_3_to_6() -> None:
    # S("rain moon") = (0.55749 + 1) / 2 = 0.77874 = w_S; w_D = 0.22126; epsilon 1, sparse ranks 3, 0; dense 0, 2:
    # place 3: 0.77874 / 2 = 0.38937; place 0: 0.77874 / 3 + 0.22126 / 2 = 0.37021; place 2: 0.22126 / 3 = 0.07375.
    found = weighted_rrf(epsilon=1.0)("rain moon", TEXTS, [ranking(3, 0), ranking(0, 2)], 3)
    assert places(found) == [3, 0, 2]
    assert [item.score for item in found] == pytest.approx([0.38937, 0.37021, 0.07375], abs=5e-6)


def test_alpha_scales_the_sparse_weight_and_is_cut_at_one() -> None:
    # alpha 0: only the dense ranking counts; alpha 100: S is cut to 1, and only the sparse one does.
    lists = [ranking(0, 1), ranking(2, 3)]
    assert places(weighted_rrf(alpha=0.0)("rain", TEXTS, lists, 2)) == [2, 3]
    found = weighted_rrf(alpha=100.0)("rain", TEXTS, lists, 4)
    assert places(found) == [0, 1, 2, 3]
    assert found[2].score == 0.0


def test_a_fixed_weight_stands_in_for_specificity() -> None:
    lists = [ranking(0), ranking(2)]
    assert places(weighted_rrf(sparse_weight=0.4)("snow", TEXTS, lists, 2)) == [2, 0]
    assert places(weighted_rrf(sparse_weight=0.6)("the", TEXTS, lists, 2)) == [0, 2]


def test_small_epsilon_lets_ranks_decide_and_sixty_lets_the_heavier_list_decide() -> None:
    # w = 0.6 and 0.4. Nearly plain w / rank: 0.6, 0.4, 0.3, 0.2. With 60: 0.6/61 > 0.6/62 > 0.4/61 > 0.4/62.
    lists = [ranking(0, 1), ranking(2, 3)]
    assert places(weighted_rrf(sparse_weight=0.6)("", TEXTS, lists, 4)) == [0, 2, 1, 3]
    assert places(weighted_rrf(sparse_weight=0.6, epsilon=60.0)("", TEXTS, lists, 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("n_lists", [0, 1, 3])
def test_weighted_rrf_wants_a_sparse_and_a_dense_ranking(n_lists: int) -> None:
    with pytest.raises(ConfigError, match="retrieve sparse and dense"):
        weighted_rrf()("rain", TEXTS, [ranking(0)] * n_lists, 1)


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"epsilon": -0.1}, {"sparse_weight": 1.5}, {"sparse_weight": -0.5}])
def test_settings_out_of_bounds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="out of bounds"):
        make("fuse", "weighted-rrf", wrong)


texts_of_any_kind = st.lists(st.text(max_size=40), max_size=8)


@settings(deadline=None)  # a loaded machine
@given(query=st.text(max_size=60), texts=texts_of_any_kind)
def test_specificity_lies_between_zero_and_one_whatever_the_texts_hold(query: str, texts: list[str]) -> None:
    assert 0.0 <= specificity(query, texts) <= 1.0 + 1e-12
    assert specificity(query, list(reversed(texts))) == pytest.approx(specificity(query, texts))


@settings(deadline=None)
@given(data=st.data(), query=st.text(max_size=30), texts=st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_fusion_ranks_each_found_text_once_and_nothing_else(data: st.DataObject, query: str, texts: list[str]) -> None:
    one = st.permutations(range(len(texts))).map(lambda order: ranking(*order))
    lists = [data.draw(one)[: data.draw(st.integers(0, len(texts)))] for _ in range(2)]
    k = data.draw(st.integers(1, 9))
    every = {item.place for ranked in lists for item in ranked}
    for fuse in (rrf(), weighted_rrf(), weighted_rrf(alpha=3.0)):
        found = fuse(query, texts, lists, k)
        assert len(found) == min(k, len(every))
        assert {item.place for item in found} <= every
        assert len({item.place for item in found}) == len(found)
        assert [(-item.score, item.place) for item in found] == sorted((-item.score, item.place) for item in found)


def test_words_are_those_of_bm25() -> None:
    # The weight speaks of what BM25 can find: both must cut a text into the same words.
    assert tokenise("Rain-fall, SNOW") == ["rain", "fall", "snow"]
    assert specificity("SNOW!", TEXTS) == pytest.approx(1.0)
