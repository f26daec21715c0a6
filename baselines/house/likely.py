"""How likely a small base model finds each choice's text after the question, and a statement's own text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from baselines.generate import Likelihoods
from baselines.house.asking import MAX_CHOICE, MAX_QUESTION, ModelAsked, cut
from edu_rag.serve import SystemQuestion


class Likely(Protocol):
    """A model that returns the log-probabilities of a given text."""

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """Of each continuation's tokens after the prefix."""
        ...


def likely_choices(model: Likely, question: SystemQuestion) -> ModelAsked:
    """`gain`: log P(choice | question) - log P(choice), sums over its tokens; `mean`: log P(choice | question) a token.

    The difference removes the choice's prior probability (Holtzman et al. 2021, domain-conditional PMI).
    """
    texts = [" " + (cut(text, MAX_CHOICE) or "-") for text in question.choices.values()]
    given = model.likelihoods(f"Question: {cut(question.text, MAX_QUESTION)}\nAnswer:", texts)
    alone = model.likelihoods("Answer:", texts)
    sums = [math.fsum(tokens) for tokens in given.logprobs]
    signs = {
        "gain": [total - math.fsum(tokens) for total, tokens in zip(sums, alone.logprobs, strict=True)],
        "mean": [total / len(tokens) for total, tokens in zip(sums, given.logprobs, strict=True)],
    }
    return ModelAsked(signs, given.n_input + alone.n_input)


def likely_statement(model: Likely, question: SystemQuestion) -> ModelAsked:
    """`mean` and `least`: mean and smallest log-probability of a statement's tokens: a false one has an odd word."""
    told = model.likelihoods("Fact:", [" " + (cut(question.text, MAX_QUESTION) or "-")])
    tokens = told.logprobs[0]
    return ModelAsked({"mean": [math.fsum(tokens) / len(tokens)], "least": [min(tokens)]}, told.n_input)
