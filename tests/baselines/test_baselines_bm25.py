"""BM25: the formula by hand, equality with the packages, ties, and texts that are tokenised once."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from easy_questions import easy_questions
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.parts import make
from baselines.retrieve import top
from baselines.retrieve.bm25 import BM25, Variant, bm25, tokenise
from baselines.retrieve.token_ids import TokenIds
from edu_rag.errors import ConfigError

WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl"]), max_size=9).map(" ".join)
CORPORA = st.lists(WORDS, min_size=1, max_size=9)
HOSTILE = st.lists(st.text(max_size=20), max_size=6)


def test_lucene_worked_out_by_hand() -> None:
    # N = 3, lengths 2, 4, 2 + 1 = 3: avgdl 3. "ice" is in texts 0 and 1: idf = ln(1 + 1.5 / 2.5) = ln 1.6.
    # Text 0: tf 1, norm 1.2 (1 - 0.75 + 0.75 * 2 / 3) = 0.9: ln 1.6 * 1 / 1.9.
    # Text 1: tf 2, norm 1.2 (0.25 + 0.75 * 4 / 3) = 1.5: ln 1.6 * 2 / 3.5.
    found = BM25(["Ice melts.", "Ice on ice here!", "Rain, wet rain"], k1=1.2, b=0.75).scores("ice")
    assert found == pytest.approx([math.log(1.6) / 1.9, math.log(1.6) * 2 / 3.5, 0.0], abs=1e-15)
    twice = BM25(["Ice melts.", "Ice on ice here!", "Rain, wet rain"], k1=1.2, b=0.75).scores("ice ICE")
    assert twice == pytest.approx(2 * found, abs=1e-15)


def test_rank_bm25_gives_a_token_of_most_texts_a_quarter_of_the_mean_idf() -> None:
    # N = 3, each text of two tokens: norm k1 = 1.5 whatever b. "ice" in 2: ln 1.5 - ln 2.5 < 0; a, b, c in 1 each:
    # ln 2.5 - ln 1.5 = x; d: the same. The mean of the five tokens is (4 x - x) / 5; tf = 1 gives 2.5 / 2.5.
    x = math.log(2.5) - math.log(1.5)
    found = BM25(["ice a", "ice b", "c d"], variant="rank_bm25").scores("ice")
    idf = 0.25 * (4 * x - x) / 5
    assert found == pytest.approx([idf * 2.5 / 2.5, idf, 0.0], abs=1e-15)


@settings(max_examples=100, deadline=None)
@given(texts=CORPORA, query=WORDS, k1=st.floats(0.1, 3), b=st.floats(0, 0.99))
def test_the_variant_rank_bm25_is_that_package_bit_for_bit(texts: list[str], query: str, k1: float, b: float) -> None:
    from rank_bm25 import BM25Okapi

    if not any(texts):
        return  # the package divides by the number of tokens
    theirs = BM25Okapi([tokenise(text) for text in texts], k1=k1, b=b).get_scores(tokenise(query))
    assert np.array_equal(BM25(texts, k1, b, "rank_bm25").scores(query), theirs)


@settings(max_examples=60, deadline=None)
@given(texts=CORPORA, queries=st.lists(WORDS, max_size=4))
@pytest.mark.parametrize("variant", ["lucene", "rank_bm25"])
def test_queries_that_are_asked_together_get_the_scores_of_each_alone(
    variant: Variant, texts: list[str], queries: list[str]
) -> None:
    together = list(BM25(texts, variant=variant).scores_of(queries))
    alone = [BM25(texts, variant=variant).scores(query) for query in queries]
    assert [scores.tobytes() for scores in together] == [scores.tobytes() for scores in alone]


def test_on_real_sentences_both_variants_are_their_packages() -> None:
    import bm25s
    from rank_bm25 import BM25Okapi

    questions = [question for question, _ in easy_questions()]
    texts = [page.text[start:end] for q in questions for page in q.pages for start, end in page.sentences]
    tokens = [tokenise(text) for text in texts]
    okapi, lucene = BM25Okapi(tokens), bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    lucene.index(tokens, show_progress=False)
    for question in questions:
        asked = tokenise(question.text)
        assert np.array_equal(BM25(texts, variant="rank_bm25").scores(question.text), okapi.get_scores(asked))
        assert BM25(texts).scores(question.text) == pytest.approx(lucene.get_scores(asked), rel=1e-12, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(texts=HOSTILE, query=st.text(max_size=20), k=st.integers(0, 8))
@pytest.mark.parametrize("variant", ["lucene", "rank_bm25"])
def test_any_texts_are_ranked_to_finite_scores_with_ties_by_place(
    variant: Variant, texts: list[str], query: str, k: int
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bm25(variant=variant)(query, texts, k)
    assert len(found) == min(k, len(texts))
    assert all(math.isfinite(hit.score) for hit in found)
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.place))


@settings(max_examples=100, deadline=None)
@given(scores=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0]), max_size=12), k=st.integers(-1, 14))
def test_the_top_is_that_of_a_full_sort(scores: list[float], k: int) -> None:
    places = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: max(k, 0)]
    assert top(np.array(scores), k) == [(place, scores[place]) for place in places]
    # And of so many that they are not all sorted: below any score, and as many again that tie with the first.
    many = np.array([*scores, *[-9.0] * 1_000, *scores])
    places = sorted(range(len(many)), key=lambda place: (-many[place], place))[: max(k, 0)]
    assert top(many, k) == [(place, many[place]) for place in places]


def test_the_retriever_never_answers_from_the_texts_of_another_question() -> None:
    rank = bm25()
    one, other = ["ice melts", "rain falls"], ["rain falls", "ice melts"]
    assert [rank("ice", texts, 1)[0].place for texts in (one, other, one, one)] == [0, 1, 0, 0]
    one.reverse()  # the same list, changed by its owner
    assert rank("ice", one, 1)[0].place == 1


def test_scores_hang_neither_on_what_was_asked_before_nor_on_what_is_remembered() -> None:
    texts = ["ice melts in spring", "rain falls", "ice"]
    fresh = BM25(texts, tokens=TokenIds()).scores("spring ice")
    used = TokenIds(most_characters=40)
    kept = BM25(texts, tokens=used)
    for number in range(20):  # passes the bound again and again
        BM25([f"spring number {number} of many", *texts], tokens=used).scores("many ice")
    assert np.array_equal(kept.scores("spring ice"), fresh)
    assert np.array_equal(BM25(texts, tokens=used).scores("spring ice"), fresh)


def test_a_text_is_tokenised_once_and_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenised: list[str] = []

    def counting(text: str) -> list[str]:
        tokenised.append(text)
        return tokenise(text)

    monkeypatch.setattr("baselines.retrieve.token_ids.tokenise", counting)
    tokens = TokenIds(most_characters=10)
    numbers, rows = tokens.of(["b a b", "", "a"])
    # A start and the length of each text; b is number 1, twice; a is number 2, once.
    assert numbers == {"b": 1, "a": 2}
    assert rows.tolist() == [[0, 3], [1, 2], [2, 1], [0, 0], [0, 1], [2, 1]]
    tokens.of(["a", "b a b", "cc"])  # 6 + 1 + 2 + 3 characters, with one for each text, are over 10 …
    assert tokenised == ["b a b", "", "a", "cc"]
    tokens.of(["a"])  # … so that all is forgotten
    assert tokenised == ["b a b", "", "a", "cc", "a"]


@settings(max_examples=60, deadline=None)
@given(
    lists=st.lists(st.lists(st.sampled_from(["ab", "cd ab", "ef" * 8, "", "gh " * 16, "é"]), max_size=9), max_size=6)
)
def test_texts_have_the_same_numbers_whatever_lists_they_came_in_before(lists: list[list[str]]) -> None:
    used = TokenIds()
    for texts in lists:
        numbers, rows = used.of(texts)
        words = {number: word for word, number in numbers.items()}
        alone = [(words.get(int(number)), int(count)) for text in texts for number, count in used.of([text])[1]]
        assert [(words.get(int(number)), int(count)) for number, count in rows] == alone
        assert [count for number, count in rows.tolist() if number == 0] == [len(tokenise(text)) for text in texts]


@pytest.mark.parametrize("wrong", [{"k1": -0.1}, {"k1": float("nan")}, {"b": 1.1}, {"variant": "tf-idf"}])
def test_parameters_out_of_range_are_refused_when_the_part_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        make("retrieve", "bm25", wrong)
