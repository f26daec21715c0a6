"""How likely a small language model finds each choice's text after the question, without and with the pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from baselines.generate import Likelihoods
from baselines.house.asking import MAX_CHOICE, MAX_QUESTION, ModelAsked, Wanted, cut
from edu_rag.serve import SystemQuestion

MAX_CONTEXT = 600
"""Characters of the pages that are read: about 130 tokens."""


class Likely(Protocol):
    """A model that returns the log-probabilities of a given text."""

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """Of each continuation's tokens after the prefix."""
        ...


def _sum(tokens: Sequence[float]) -> float:
    return math.fsum(tokens)


def _mean(tokens: Sequence[float]) -> float:
    return math.fsum(tokens) / len(tokens)


def _conditions(
    model: Likely,
    prefixes: tuple[str, str],
    texts: Sequence[str],
    total: Callable[[Sequence[float]], float],
    wanted: Wanted,
) -> ModelAsked:
    """`closed` after the first prefix, `read` after the second, if wanted."""
    asked = {name: prefix for name, prefix in zip(("closed", "read"), prefixes, strict=True) if wanted(name)}
    found = {name: model.likelihoods(prefix, texts) for name, prefix in asked.items()}
    signs = {name: [total(tokens) for tokens in one.logprobs] for name, one in found.items()}
    return ModelAsked(signs, sum(one.n_input for one in found.values()))


def _with_context(notes: Sequence[str], prefix: str) -> str:
    context = cut(" ".join(notes), MAX_CONTEXT)
    return f"Context: {context}\n\n{prefix}" if context else prefix


def likely_choices(model: Likely, question: SystemQuestion, notes: Sequence[str], wanted: Wanted) -> ModelAsked:
    """Log-probability of each choice's text after the question: `closed` without, `read` with the notes."""
    texts = [" " + (cut(text, MAX_CHOICE) or "-") for text in question.choices.values()]
    prefix = f"Question: {cut(question.text, MAX_QUESTION)}\nAnswer:"
    return _conditions(model, (prefix, _with_context(notes, prefix)), texts, _sum, wanted)


def likely_statement(model: Likely, question: SystemQuestion, notes: Sequence[str], wanted: Wanted) -> ModelAsked:
    """Mean log-probability of the statement's tokens: `closed` without, `read` with the notes."""
    text = [" " + (cut(question.text, MAX_QUESTION) or "-")]
    return _conditions(model, ("Fact:", _with_context(notes, "Fact:")), text, _mean, wanted)
