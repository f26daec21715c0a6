"""Training data for the classifier of query complexity, generated and augmented as HyPA-RAG section 7.1 says.

The paper's data (GPT-4o on legal documents) are not public here, and no language model is at hand for 0 dollars that
could write better ones: questions come from a small grammar (templates over topics) instead, augmented by rules.
"""

from __future__ import annotations

import random
from typing import Literal, NamedTuple

from baselines.classify.augmented_questions import augmented
from baselines.classify.templates import ASKS, JOINS, TEMPLATES
from baselines.classify.topics import FIELDS, Topic
from edu_rag.errors import ConfigError

N_PER_CLASS = 600
SEED = 5
"""The paper gives no size and no seed for its data; 5 is the random state of its models (section 7.2)."""


class Sketch(NamedTuple):
    """A question before it is written out: a template, the field and the topics that fill it.

    `form` is the line of the grammar that the template comes from.
    """

    form: str
    template: str
    field: str
    topics: tuple[Topic, ...]

    def text(self, vague: bool = False) -> str:
        """The question; `vague` names the kind of the first topic in place of the topic."""
        names = [topic.name for topic in self.topics]
        if vague:
            names[0] = f"this {self.topics[0].kind}"
        filled = self.template.format(field=self.field, **dict(zip("abcd", names, strict=True)))
        return filled[:1].upper() + filled[1:]


class Example(NamedTuple):
    """A question, the contexts it needs (0: one, 1: two, 2: three or more), and its line of the grammar."""

    text: str
    label: int
    form: str


def _template(label: int, i: int, random_: random.Random) -> tuple[str, str]:
    """A line of the grammar, and the template that it makes: whole ones and joined asks by turns."""
    if i % 2 == 0:
        form = TEMPLATES[label][i // 2 % len(TEMPLATES[label])]
        return form, form
    form = JOINS[label][i // 2 % len(JOINS[label])]
    asks = random_.sample(ASKS, label + 1)
    return form, form.format(*(ask.format(f"{{{letter}}}") for ask, letter in zip(asks, "abc", strict=False)))


def sketches(label: int, n: int, random_: random.Random) -> list[Sketch]:
    """`n` questions of a class, each line of the grammar equally often (as far as `n` allows), in random order."""
    found = []
    for i in range(n):
        form, template = _template(label, i, random_)
        field = random_.choice(list(FIELDS))
        topics = random_.sample(FIELDS[field], 4)
        found.append(Sketch(form, template, field, tuple(topics)))
    random_.shuffle(found)
    return found


def examples(n_per_class: int = N_PER_CLASS, seed: int = SEED) -> list[Example]:
    """Three classes of `n_per_class` questions each; the same seed gives the same questions on every machine.

    Raises ConfigError if `n_per_class` gives no questions.
    """
    if n_per_class < 1:
        raise ConfigError("parts.classify.n_per_class", f"{n_per_class} is under 1", f"{N_PER_CLASS} is usual")
    random_ = random.Random(seed)
    return [
        Example(text, label, sketch.form)
        for label in range(len(TEMPLATES))
        for sketch, text in augmented(label, sketches(label, n_per_class, random_), random_)
    ]


def merged(label: int, n_classes: Literal[2, 3]) -> int:
    """The label in 2 or 3 classes.

    The paper does not say how its second column joins the three: here "one context" stays 0, and two and more are 1,
    which is what its words for the two classes ("simpler", "more complex", section 8.1) suggest.
    """
    return min(label, n_classes - 1)
