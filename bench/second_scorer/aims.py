"""The aim of a random answer: one choice of a question, and another one to confuse it with."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

Choices = Mapping[str, str]


class Aim(NamedTuple):
    """The aim of an answer: a choice, and another one to confuse it with."""

    rng: random.Random
    choices: Choices
    label: str
    other: str

    @property
    def text(self) -> str:
        """The text of the choice."""
        return self.choices[self.label]

    def filled(self, template: str) -> str:
        """A template with its marks `@` (label), `#` (text), `%` (other label) and `$` (other text) filled in."""
        marks = {"@": self.label, "#": self.text, "%": self.other, "$": self.choices[self.other]}
        return "".join(marks.get(char, char) for char in template)


def aim_at(rng: random.Random, choices: Choices, label: str) -> Aim:
    """An aim at one choice; the other one is drawn."""
    others = [one for one in choices if one != label]
    return Aim(rng, choices, label, rng.choice(others) if others else label)
