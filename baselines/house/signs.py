"""All signs of one question: from the large model, from the small one, and from the pages."""

from __future__ import annotations

from typing import NamedTuple

from baselines.house.asking import LETTERS, NextWord, Wanted, ask_choices, ask_statement
from baselines.house.choice_passages import Encodes, Read, read
from baselines.house.likely import Likely, likely_choices, likely_statement
from edu_rag.serve import SystemQuestion


class Models(NamedTuple):
    """The models that compute the signs."""

    large: NextWord
    small: Likely | None
    encoder: Encodes


class ChoiceSigns(NamedTuple):
    """`values`: sign -> one number a choice (one in all for true/false). `passages` were read; tokens were read."""

    values: dict[str, list[float]]
    read: Read
    n_input: int


def can_ask(question: SystemQuestion) -> bool:
    """Whether the question has choices that we can weigh: 2 to 10, or a statement with both sides."""
    if question.kind == "true_false":
        said = [text.strip().casefold() for text in question.choices.values()]
        return sorted(said) == ["false", "true"]
    return 2 <= len(question.choices) <= len(LETTERS)


def signs_of(question: SystemQuestion, models: Models, wanted: Wanted = lambda name: True) -> ChoiceSigns:
    """The signs of a question that `can_ask` lets through; those of the large model only where they are wanted."""
    found = read(question, models.encoder)
    notes = [passage.text for passage in found.passages]
    statement = question.kind == "true_false"
    ask, find_likely = (ask_statement, likely_statement) if statement else (ask_choices, likely_choices)
    large = ask(models.large, question, notes, lambda name: wanted(f"large_{name}"))
    values = {f"large_{name}": row for name, row in large.signs.items()}
    n_input = large.n_input
    if models.small is not None:
        small = find_likely(models.small, question)
        values |= {f"small_{name}": row for name, row in small.signs.items()}
        n_input += small.n_input
    values |= {f"page_{name}": row for name, row in found.signs.items()}
    return ChoiceSigns(values, found, n_input)
