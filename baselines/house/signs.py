"""All signs of one question: from the pages, from the small model's reading, and from the large one's."""

from __future__ import annotations

from typing import NamedTuple

from baselines.house.asking import LETTERS, ModelAsked, NextWord, Wanted, ask_choices, ask_statement
from baselines.house.choice_passages import Encodes, select
from baselines.house.likely import Likely, likely_choices, likely_statement
from baselines.passages import PagePassage
from edu_rag.serve import SystemQuestion


class Models(NamedTuple):
    """The models that compute the signs; a system without one of them has no sign of it."""

    small: Likely | None = None
    large: NextWord | None = None
    encoder: Encodes | None = None


class ChoiceSigns(NamedTuple):
    """`values`: sign -> one number a choice (one in all for true/false). `windows` were read; tokens were read."""

    values: dict[str, list[float]]
    windows: list[PagePassage]
    n_input: int


def can_ask(question: SystemQuestion) -> bool:
    """Whether the question has choices that we can weigh: 2 to 10, or a statement with both sides."""
    if question.kind == "true_false":
        said = [text.strip().casefold() for text in question.choices.values()]
        return sorted(said) == ["false", "true"]
    return 2 <= len(question.choices) <= len(LETTERS)


def signs_of(question: SystemQuestion, models: Models, wanted: Wanted = lambda name: True) -> ChoiceSigns:
    """The signs of a question that `can_ask` lets through; those of the language models only where they are wanted."""
    found = select(question, models.encoder)
    notes = [window.text for window in found.windows]
    statement = question.kind == "true_false"
    asked: dict[str, ModelAsked] = {}
    if models.small is not None:
        read = likely_statement if statement else likely_choices
        asked["small"] = read(models.small, question, notes, lambda name: wanted(f"small_{name}"))
    if models.large is not None:
        ask = ask_statement if statement else ask_choices
        asked["large"] = ask(models.large, question, notes, lambda name: wanted(f"large_{name}"))
    values = {f"page_{name}": row for name, row in found.signs.items()}
    values |= {f"{model}_{name}": row for model, one in asked.items() for name, row in one.signs.items()}
    return ChoiceSigns(values, found.windows, sum(one.n_input for one in asked.values()))
