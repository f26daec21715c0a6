"""Augmentation of training questions: vague, noisy, reordered, misspelt, verbose, concise (HyPA-RAG section 7.1).

The paper: "67 % of the queries were modified", 10 % vague, "random noise words or punctuation to another 10 %", both to
a further 10 %, 5 % reordered, 5 % misspelt, 25 % of label 0 verbose, 25 % of label 2 shortened. Read as 10 % for words
or punctuation together, that is at most 65 %, and 56.7 % for classes of one size. Read as 10 % for words and 10 % for
punctuation it is 66.7 %: so it is read here. No question is modified twice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar


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
