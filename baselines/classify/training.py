"""Training data for the classifier of query complexity, generated and augmented as HyPA-RAG section 7.1 says.

The paper's data (GPT-4o on legal documents) are not public here, and no language model is at hand for 0 dollars that
could write better ones: questions come from a small grammar (templates over topics) instead, augmented by rules.

`{a}`, `{b}`, `{c}` and `{d}` are topics, `{field}` is their field. Each class has questions, unfinished
statements and orders, short and long ones: neither length nor form alone reveals the class (HyPA-RAG section 7.1
warns of this). Half of the questions are whole templates; the other half are joined from asks that are the same in all
classes, so that the class depends on their number, not on their content.

Each topic is a noun phrase and its kind, which replaces it in a vague question ("this process").
No question of a benchmark was read to write it.

The paper: "67 % of the queries were modified", 10 % vague, "random noise words or punctuation to another 10 %", both to
a further 10 %, 5 % reordered, 5 % misspelt, 25 % of label 0 verbose, 25 % of label 2 shortened. Read as 10 % for words
or punctuation together, that is at most 65 %, and 56.7 % for classes of one size. Read as 10 % for words and 10 % for
punctuation it is 66.7 %: so it is read here. No question is modified twice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

from edu_rag.errors import ConfigError

ONE = (
    "What is {a}?",
    "Define {a}.",
    "Where does one find {a}?",
    "Who first described {a}?",
    "What causes {a}?",
    "Which word names {a} in the study of {field}?",
    "In the study of {field}, what do scientists mean when they speak of {a}?",
    "What is the main function of {a}?",
    "How is {a} measured?",
    "Which of these is an example of {a}?",
    "An example of {a} is",
    "The main purpose of {a} is to",
    "The term for {a} comes from",
    "{a} can best be described as",
    "Which of the following statements about {a} is true?",
    "Is {a} important for life on earth?",
    "What happens during {a}?",
    "When does {a} begin?",
    "How many kinds of {a} are known?",
    "Name one property of {a} that can be seen without any instrument in a school laboratory.",
    "If a student looks closely at {a}, which feature will the student notice first?",
    "Why is {a} useful?",
    "{a} is made of",
    "____ is another name for {a}.",
)
"""One context answers these: a definition, a property, a cause, a place."""

TWO = (
    "How do {a} and {b} differ?",
    "What is the difference between {a} and {b}?",
    "Compare {a} with {b}.",
    "What do {a} and {b} have in common?",
    "How does {a} affect {b}?",
    "What is {a}, and where does one find {b}?",
    "What causes {a}, and what does {b} have to do with it?",
    "Define {a} and give an example of {b}.",
    "Why does {a} depend on {b}?",
    "Is {a} more important than {b} in the study of {field}?",
    "Which comes first, {a} or {b}, and why?",
    "{a} and {b} are alike because both",
    "Unlike {a}, {b} is",
    "The link between {a} and {b} is that",
    "If {a} were to increase, what would happen to {b}?",
    "A student confuses {a} with {b}. What should the student be told?",
    "What is {a}? How is {b} measured?",
    "Both {a} and {b} occur in nature. Which one is easier to observe?",
    "Without {b}, could there be {a}?",
    "Tell {a} from {b}.",
    "How can knowledge of {a} be used to explain what is seen when scientists study {b}?",
    "Which property of {a} does {b} lack?",
    "What role does {b} play in {a}?",
    "Describe {a} and name its effect on {b}.",
)
"""Two contexts: two things compared, or the effect of one on the other."""

THREE = (
    "Compare {a}, {b} and {c}.",
    "How do {a}, {b} and {c} work together?",
    "Explain how {a} leads to {b} and then to {c}.",
    "Give an overview of {field}.",
    "What are the roles of {a}, {b}, {c} and {d} in {field}?",
    "What is {a}, how does it differ from {b}, and where does {c} come in?",
    "Rank {a}, {b} and {c}.",
    "Summarise everything that is known about {field}, from {a} to {d}.",
    "Which of {a}, {b} and {c} matters most, and why?",
    "Define {a}, {b} and {c}.",
    "Describe the whole chain from {a} through {b} to {c}.",
    "How has our understanding of {field} changed, and what do {a} and {b} show about it?",
    "What are the causes of {a}, its effects on {b}, and the ways in which {c} can be observed?",
    "{a}, {b} and {c} are alike because all of them",
    "The order of {a}, {b}, {c} and {d} is",
    "All of these belong to {field} except: {a}, {b}, {c}",
    "Sort {a}, {b}, {c} and {d} into groups.",
    "Discuss {field}: {a}, {b}, {c}.",
    "What is {a}? What is {b}? What is {c}?",
    "Why do {a} and {b} both depend on {c}?",
    "Suppose that {a} stopped. What would become of {b}, and what would follow for {c} and {d}?",
    "Explain the main ideas of {field}.",
    "Using {a} and {b} as examples, explain what holds for {c}.",
    "List the parts that {a}, {b} and {c} share.",
)
"""Three or more: several things put in order or related, and overviews of a field."""

TEMPLATES = (ONE, TWO, THREE)
"""By class: 0 (one context), 1 (two), 2 (three and more)."""

ASKS = (
    "what {} is",
    "what {} is called in everyday words",
    "where one finds {}",
    "what causes {}",
    "how {} is measured",
    "what {} is good for",
    "who discovered {}",
    "when {} begins",
    "what {} is made of",
    "how {} changes over time",
    "why {} matters",
    "what happens to {} at night",
    "which property of {} is easiest to see",
    "how much {} there is on earth",
    "what follows from {}",
    "what can stop {}",
)
"""One piece of information each."""

JOINS = (
    (
        "Explain {}.",
        "Can you tell me {}?",
        "I wonder {}.",
        "Students should know {}.",
        "The book says {}.",
        "Tell the class {}.",
        "Please say {}.",
        "Does anyone know {}?",
    ),
    (
        "Explain {} and {}.",
        "Can you tell me {}, and also {}?",
        "I wonder both {} and {}.",
        "Students should know {} as well as {}.",
        "The book says {}, but not {}.",
        "Tell the class {} and then {}.",
        "Please say {}. Also say {}.",
        "Does anyone know {} or {}?",
    ),
    (
        "Explain {}, {} and {}.",
        "Can you tell me {}, {}, and also {}?",
        "I wonder {}, {}, and finally {}.",
        "Students should know {} as well as {}, and besides {}.",
        "The book says {} and {}, but not {}.",
        "Tell the class {}, then {} and then {}.",
        "Please say {}. Also say {}. Then say {}.",
        "Does anyone know {}, {} or {}?",
    ),
)
"""By class: asks joined into a question."""


class Topic(NamedTuple):
    """A thing to ask about, and its kind."""

    name: str
    kind: str


def _topics(kind: str, names: str) -> list[Topic]:
    return [Topic(name.strip(), kind) for name in names.split(",")]


FIELDS: dict[str, list[Topic]] = {
    "cells": [
        *_topics("part", "the cell wall, the nucleus, mitochondria, ribosomes, the cell membrane, chloroplasts"),
        *_topics("process", "mitosis, meiosis, osmosis, active transport, fermentation, protein synthesis"),
    ],
    "plants": [
        *_topics("part", "roots, leaves, the stem, stomata, pollen, xylem"),
        *_topics("process", "photosynthesis, transpiration, pollination, germination, seed dispersal, phototropism"),
    ],
    "the human body": [
        *_topics("organ", "the heart, the lungs, the liver, the kidneys, the skin, the small intestine"),
        *_topics("process", "digestion, breathing, blood clotting, the immune response, sweating, hearing"),
    ],
    "ecosystems": [
        *_topics("group", "producers, decomposers, predators, herbivores, parasites, invasive species"),
        *_topics("process", "the carbon cycle, the nitrogen cycle, succession, competition, migration, eutrophication"),
    ],
    "the weather": [
        *_topics("event", "a thunderstorm, a tornado, a hurricane, fog, a cold front, hail"),
        *_topics("quantity", "air pressure, humidity, wind speed, temperature, cloud cover, rainfall"),
    ],
    "rocks and the earth": [
        *_topics("material", "granite, limestone, basalt, marble, coal, soil"),
        *_topics("process", "erosion, weathering, subduction, an earthquake, a volcanic eruption, sedimentation"),
    ],
    "space": [
        *_topics("body", "the sun, the moon, Mars, Jupiter, a comet, an asteroid"),
        *_topics("event", "a solar eclipse, a lunar eclipse, the seasons, the tides, a supernova, a meteor shower"),
    ],
    "matter": [
        *_topics("substance", "water, carbon dioxide, salt, iron, oxygen, an alloy"),
        *_topics("process", "melting, evaporation, condensation, combustion, rusting, diffusion"),
    ],
    "forces and motion": [
        *_topics("quantity", "speed, acceleration, momentum, mass, weight, pressure"),
        *_topics("force", "friction, gravity, buoyancy, magnetism, tension, air resistance"),
    ],
    "energy and waves": [
        *_topics("form of energy", "heat, light, sound, kinetic energy, nuclear energy, electricity"),
        *_topics("effect", "reflection, refraction, conduction, convection, radiation, resonance"),
    ],
}
"""Field -> its topics. Topics of one question come from one field."""


class WrittenQuestion(Protocol):
    """A question that can be written out, plainly or vaguely."""

    def text(self, vague: bool = False) -> str:
        """The question."""
        ...


W = TypeVar("W", bound=WrittenQuestion)

_NOISE = (
    "well", "actually", "okay", "basically", "so", "perhaps", "just", "really", "today", "please", "hmm", "anyway",
    "quite", "then", "indeed", "also",
)  # fmt: skip
_MARKS = (",", ";", "...", "!", "?", "-", ":", ".")
_OPENINGS = (
    "I am preparing for a test and would be very grateful to learn, in your own words, the following: {}",
    "Could you kindly explain to me, as clearly as you possibly can and with all that belongs to it: {}",
    "My teacher asked the whole class this question yesterday and I would like to have it answered properly. {}",
    "For a project at school, which has to be handed in by the end of the week, I need to know this: {}",
)
_CLOSINGS = (
    " Please be so kind as to answer in a complete sentence.",
    " I have been wondering about this for quite some time now.",
    " It would help me a lot to understand it once and for all.",
    "",
)
_FILLERS = frozenset((
    "a", "an", "the", "of", "in", "to", "is", "are", "was", "were", "be", "do", "does", "did", "that", "this",
    "these", "it", "its", "at", "all", "by", "as", "for", "from", "through", "one", "what",
))  # fmt: skip


def noise_words(text: str, random_: random.Random) -> str:
    """One to three words that mean nothing, anywhere."""
    words = text.split()
    for _ in range(random_.randint(1, 3)):
        words.insert(random_.randint(0, len(words)), random_.choice(_NOISE))
    return " ".join(words)


def noise_marks(text: str, random_: random.Random) -> str:
    """One to three marks after words, anywhere."""
    words = text.split()
    for _ in range(random_.randint(1, 3)):
        place = random_.randrange(len(words)) if words else 0
        words[place : place + 1] = [(words[place] if words else "") + random_.choice(_MARKS)]
    return " ".join(words)


def noise(text: str, random_: random.Random) -> str:
    """Both."""
    return noise_marks(noise_words(text, random_), random_)


def reordered(text: str, random_: random.Random) -> str:
    """Two phrases change places: cut at a comma or a joining word, else anywhere between words."""
    words = text.split()
    if len(words) < 2:
        return text
    joints = [i for i in range(1, len(words)) if words[i - 1].endswith((",", ";")) or words[i].lower() in ("and", "in")]
    cut = random_.choice(joints) if joints else random_.randrange(1, len(words))
    return " ".join([*words[cut:], *words[:cut]])


def misspelt(text: str, random_: random.Random) -> str:
    """One or two words of four or more letters lose a letter, double one, or have two change places."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(re.findall(r"\w", word)) >= 4]
    for i in random_.sample(long, min(len(long), random_.randint(1, 2))):
        word, at = words[i], random_.randrange(1, len(words[i]) - 1)
        kinds = (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
        words[i] = random_.choice(kinds)
    return " ".join(words)


def verbose(text: str, random_: random.Random) -> str:
    """The same question in many words (in place of the prompt of appendix A.9.2)."""
    return random_.choice(_OPENINGS).format(text) + random_.choice(_CLOSINGS)


def concise(text: str, random_: random.Random) -> str:
    """The same question without its empty words (in place of the prompt of appendix A.9.3)."""
    kept = [word for word in text.split() if word.lower().strip(".,?!:;") not in _FILLERS]
    return " ".join(kept) or text


Change = Callable[[str, random.Random], str]
EVERYWHERE: tuple[tuple[Change | None, float], ...] = (
    (None, 0.10),  # vague: written out differently from the start
    (noise_words, 0.10),
    (noise_marks, 0.10),
    (noise, 0.10),
    (reordered, 0.05),
    (misspelt, 0.05),
)
BY_LABEL: dict[int, tuple[Change, float]] = {0: (verbose, 0.25), 2: (concise, 0.25)}


def augmented(label: int, sketches: Sequence[W], random_: random.Random) -> Iterator[tuple[W, str]]:
    """Each question with its text, the shares of section 7.1 of them modified; the order of `sketches` is kept."""
    shares = [*EVERYWHERE, BY_LABEL[label]] if label in BY_LABEL else list(EVERYWHERE)
    bounds: list[tuple[int, Change | None]] = []
    total = 0.0
    for change, share in shares:
        total += share
        bounds.append((round(total * len(sketches)), change))
    for i, sketch in enumerate(sketches):
        vague = i < bounds[0][0]
        change = next((change for bound, change in bounds if i < bound), None)
        yield sketch, sketch.text(vague) if change is None else change(sketch.text(), random_)


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
