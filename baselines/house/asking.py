"""Ask language models about the choices, without and with the windows of the pages.

No prompt generates text. The large model reads a prompt, and gives the probabilities of the word that would come next.
Two prompts for one question have the same beginning up to the notes, so that a cache reads the question once. The small
model gives how likely each choice's text is after the question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from baselines.prompts.generate import Likelihoods
from baselines.prompts.prompt import harmless, load_prompt
from edu_rag.serve import SystemQuestion

Wanted = Callable[[str], bool]
"""Whether a sign is worth its time, by its name."""
LETTERS = "ABCDEFGHIJ"
"""A question with more choices is not asked: TQA has at most seven."""
MAX_QUESTION, MAX_CHOICE, MAX_NOTES = 700, 200, 700
"""Characters of a text that go into a prompt, so that ten choices still fit the model's window."""
CHOICE, STATEMENT = "house-choice-v2", "house-statement-v2"
_MARKER = re.compile(r"\{(question|choices|context)\}")
MAX_CONTEXT = 600
"""Characters of the pages that are read: about 130 tokens."""


class ModelReply(NamedTuple):
    """Natural log-probabilities of the words that were asked for, and the number of tokens of the prompt."""

    logprobs: list[float]
    n_input: int


class NextWord(Protocol):
    """A model that returns the probabilities of next words. `family` names prompts with a common beginning."""

    def __call__(self, prompt: str, words: Sequence[str], family: str) -> ModelReply:
        """One log-probability a word."""
        ...


class ModelAsked(NamedTuple):
    """Signs by name, each a list of one number a choice; and the tokens that were read."""

    signs: dict[str, list[float]]
    n_input: int


def cut(text: str, most: int) -> str:
    """One harmless line of at most `most` characters."""
    return harmless(text)[:most]


def _fill(name: str, values: Mapping[str, str]) -> str:
    return _MARKER.sub(lambda found: values[found[1]], load_prompt(name).user)


def log_share(values: Sequence[float]) -> list[float]:
    """Log of each word's share among the words that were asked for."""
    top = max(values)
    total = top + math.log(math.fsum(math.exp(value - top) for value in values))
    return [value - total for value in values]


def _ask(
    model: NextWord,
    name: str,
    values: Mapping[str, str],
    notes: Sequence[str],
    words: Sequence[str],
    wanted: Wanted,
) -> dict[str, ModelReply]:
    """`closed`: the reply to the prompt without notes; `read`: with them; those that are wanted."""
    context = cut(" ".join(notes), MAX_NOTES)
    contexts = {"closed": "", "read": f"Notes: {context}\n" if context else ""}
    asked = {way: _fill(name, {**values, "context": text}) for way, text in contexts.items() if wanted(way)}
    return {way: model(prompt, words, name) for way, prompt in asked.items()}


def _n_input(replies: Mapping[str, ModelReply]) -> int:
    return sum(reply.n_input for reply in replies.values())


def ask_choices(model: NextWord, question: SystemQuestion, notes: Sequence[str], wanted: Wanted) -> ModelAsked:
    """`closed` and `read`: log of each letter's share among the letters, without and with notes; 2 to 10 choices."""
    texts = [cut(text, MAX_CHOICE) or "-" for text in question.choices.values()]
    letters = LETTERS[: len(texts)]
    shown = "\n".join(f"{letter}. {text}" for letter, text in zip(letters, texts, strict=True))
    values = {"question": cut(question.text, MAX_QUESTION), "choices": shown}
    replies = _ask(model, CHOICE, values, notes, [f" {letter}" for letter in letters], wanted)
    return ModelAsked({way: log_share(reply.logprobs) for way, reply in replies.items()}, _n_input(replies))


def ask_statement(model: NextWord, question: SystemQuestion, notes: Sequence[str], wanted: Wanted) -> ModelAsked:
    """`closed` and `read`: the log-odds that the statement is true, without and with notes."""
    values = {"question": cut(question.text, MAX_QUESTION), "choices": ""}
    replies = _ask(model, STATEMENT, values, notes, (" True", " False"), wanted)
    odds = {way: [reply.logprobs[0] - reply.logprobs[1]] for way, reply in replies.items()}
    return ModelAsked(odds, _n_input(replies))


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
    """`closed` after the first prefix, `read` after the second, if wanted. Without notes they are the same."""
    asked = {name: prefix for name, prefix in zip(("closed", "read"), prefixes, strict=True) if wanted(name)}
    found = {prefix: model.likelihoods(prefix, texts) for prefix in dict.fromkeys(asked.values())}
    signs = {name: [total(tokens) for tokens in found[prefix].logprobs] for name, prefix in asked.items()}
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
