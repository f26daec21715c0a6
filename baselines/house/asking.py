"""Ask the language model about each choice: log-probabilities of the next word after several prompts.

A letter after the question, with the choices in two orders; the same after passages; "Yes" after each choice alone.
No prompt generates text: one read of the prompt, and the probabilities of the word that would come next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from baselines.prompt import harmless, load_prompt
from edu_rag.serve import SystemQuestion

Wanted = Callable[[str], bool]
"""Whether a sign is worth its time, by its name."""
LETTERS = "ABCDEFGHIJ"
"""A question with more choices is not asked: TQA has at most seven."""
MAX_QUESTION, MAX_CHOICE, MAX_NOTE = 700, 200, 350
"""Characters of a text that go into a prompt, so that ten choices still fit the model's window."""
_MARKER = re.compile(r"\{(question|choices|context)\}")
_NAMES_LETTERS = re.compile(r"\b(?:all|none|neither|both|above|[a-d] ?(?:and|&|or) ?[a-d])\b")


class ModelReply(NamedTuple):
    """Natural log-probabilities of the words that were asked for, and the number of tokens of the prompt."""

    logprobs: list[float]
    n_input: int


class NextWord(Protocol):
    """A model that returns the probabilities of next words. `family` names prompts with a common beginning."""

    def __call__(self, prompt: str, words: Sequence[str], family: str) -> ModelReply:
        """One log-probability a word."""
        ...


def cut(text: str, most: int) -> str:
    """One harmless line of at most `most` characters."""
    return harmless(text)[:most]


def _fill(name: str, values: Mapping[str, str]) -> str:
    return _MARKER.sub(lambda found: values[found[1]], load_prompt(name).user).rstrip("\n")


def _chat(name: str, values: Mapping[str, str]) -> str:
    """The prompt in the turns of Qwen2.5's chat template (ChatML), up to where the reply begins."""
    prompt = load_prompt(name)
    return (
        f"<|im_start|>system\n{prompt.system.strip()}<|im_end|>\n<|im_start|>user\n{_fill(name, values)}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def is_meta(text: str) -> bool:
    """Whether a choice refers to other choices ("all of the above"): it must keep its place."""
    return _NAMES_LETTERS.search(text.casefold()) is not None


def other_order(texts: Sequence[str]) -> list[int]:
    """A second order of the choices: the plain ones reversed among their places, those that refer to others stay.

    The result's i-th entry is the place of the choice that is shown i-th.
    """
    plain = [place for place, text in enumerate(texts) if not is_meta(text)]
    order = list(range(len(texts)))
    for place, shown in zip(plain, reversed(plain), strict=True):
        order[place] = shown
    return order


class ModelAsked(NamedTuple):
    """Signs by name, each a list of one number a choice; and the tokens that were read."""

    signs: dict[str, list[float]]
    n_input: int


class _Asking:
    """Asks about one question and counts its tokens."""

    def __init__(self, model: NextWord, question: SystemQuestion, notes: Sequence[str]) -> None:
        self._model, self.n_input = model, 0
        self.text = cut(question.text, MAX_QUESTION)
        self.texts = [cut(text, MAX_CHOICE) or "-" for text in question.choices.values()]
        self.notes = " ".join(cut(note, MAX_NOTE) for note in notes) or "none"

    def ask(self, prompt: str, words: Sequence[str], family: str) -> list[float]:
        told = self._model(prompt, words, family)
        self.n_input += told.n_input
        return told.logprobs

    def values(self, order: Sequence[int], context: str = "") -> dict[str, str]:
        shown = "\n".join(f"{LETTERS[i]}. {self.texts[place]}" for i, place in enumerate(order))
        return {"question": self.text, "choices": shown, "context": context}

    def letters(self, prompt: str, order: Sequence[int], family: str, *, space: str = " ") -> list[float]:
        """The letters' log-probabilities, in the order of the question's own choices."""
        told = self.ask(prompt, [space + LETTERS[i] for i in range(len(order))], family)
        by_place = dict(zip(order, told, strict=True))
        return [by_place[place] for place in range(len(order))]

    def odds(self, prompt: str, yes: str, no: str, family: str) -> float:
        first, second = self.ask(prompt, [yes, no], family)
        return first - second


def log_share(values: Sequence[float]) -> list[float]:
    """Log of each word's share among the words that were asked for."""
    top = max(values)
    total = top + math.log(math.fsum(math.exp(value - top) for value in values))
    return [value - total for value in values]


def _proposal(one: _Asking, text: str) -> float:
    prompt = _fill("house-proposal-v1", {"question": one.text, "choices": "", "context": text})
    return one.odds(prompt, " Yes", " No", "right")


def ask_choices(
    model: NextWord, question: SystemQuestion, notes: Sequence[str], wanted: Wanted = lambda name: True
) -> ModelAsked:
    """Signs of a question with 2 to 10 choices, those that are wanted.

    `few`, `few_other` (a second order), `chat` and `notes`: log of the letter's share among the letters.
    `right`: log-odds of Yes against No for the choice alone.
    """
    one = _Asking(model, question, notes)
    own, other = list(range(len(one.texts))), other_order(one.texts)
    ways: dict[str, Callable[[], list[float]]] = {
        "few": lambda: one.letters(_fill("house-choice-v1", one.values(own)), own, "choice"),
        "few_other": lambda: one.letters(_fill("house-choice-v1", one.values(other)), other, "choice"),
        "chat": lambda: one.letters(_chat("house-chat-v1", one.values(own)), own, "chat", space=""),
        "notes": lambda: one.letters(_fill("house-notes-v1", one.values(own, one.notes)), own, "notes"),
        "right": lambda: [_proposal(one, text) for text in one.texts],
    }
    signs = {name: way() for name, way in ways.items() if wanted(name)}
    shares = {name: values if name == "right" else log_share(values) for name, values in signs.items()}
    return ModelAsked(shares, one.n_input)


def ask_statement(
    model: NextWord, question: SystemQuestion, notes: Sequence[str], wanted: Wanted = lambda name: True
) -> ModelAsked:
    """Signs of a true/false question, each one number: the log-odds that its statement is true.

    `few` after examples, `chat` as a question to the chat model, `notes` after examples and passages.
    """
    one = _Asking(model, question, notes)
    values = {"question": one.text, "choices": "", "context": one.notes}
    ways: dict[str, Callable[[], float]] = {
        "few": lambda: one.odds(_fill("house-statement-v1", values), " True", " False", "statement"),
        "chat": lambda: one.odds(_chat("house-check-v1", values), "Yes", "No", "check"),
        "notes": lambda: one.odds(_fill("house-statement-notes-v1", values), " True", " False", "statement-notes"),
    }
    return ModelAsked({name: [way()] for name, way in ways.items() if wanted(name)}, one.n_input)
