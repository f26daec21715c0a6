"""Whether a question asks what its sentence states: it has enough of the sentence's words, and few others.

A question with few of them is vague, and other choices are right, too. One with other words is about something else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

from builder.evidence.telling_words import content_stems, english_stems, generic_stems
from builder.generating.lone_numbers import number_faults

LEAST_SHARE = 1 / 3
"""Of the telling words of a sentence, without its answer, that a question needs."""
LEAST_WORDS = 2
ENOUGH_WORDS = 5
ENOUGH_BY_A_NUMBER = 3
"""So many are enough for a long sentence. A number is the only one of its sentence."""
MOST_OTHER = 1
"""Telling words of a question that its sentence does not have; none where a number is asked for."""
_ASKING = (
    "year number amount percent percentage share fraction value average approximate approximately total"
    " term word called name refer happen scientist science"
)
"""Words that ask for something."""
_QUANTITIES = {
    "temperature hot cold": ("K", "°C", "°F"),
    "mass weight weigh heavy": ("mg", "g", "kg", "amu"),
    "frequency": ("Hz", "kHz", "MHz", "GHz"),
    "energy": ("eV", "keV", "MeV", "J", "kJ"),
    "pressure": ("Pa", "kPa", "atm"),
    "volume": ("L", "mL"),
    "speed velocity fast": ("m/s", "km/s", "km/h"),
}
"""Words that name what a unit measures. A length may be a depth or a diameter, so its word has to be the sentence's."""
_SAME = ("distance far", "length long", "height high tall", "depth deep", "width wide", "thick thickness", "age old")
"""Words for one quantity: one is in the sentence where another one is."""


@cache
def _asking_stems() -> frozenset[str]:
    return frozenset(english_stems(_ASKING))


def _quantity_stems(answer: str, stated: frozenset[str]) -> frozenset[str]:
    """Those of the words that may name the quantity of an answer with a unit."""
    unit = re.sub(r"^[\d.,\s]+", "", answer)
    fit = [words for words, units in _QUANTITIES.items() if unit in units]
    fit += [words for words in _SAME if stated & frozenset(english_stems(words))]
    return frozenset(english_stems(" ".join(fit)))


def off_span_faults(question: str, answer: str, sentence: str, kind: str) -> Iterator[tuple[bool, str]]:
    """What makes a question another one than its sentence answers, each with whether it is so."""
    is_number = kind == "number"
    right = content_stems(answer) if not is_number else frozenset()
    stated = content_stems(sentence) - right
    asked = content_stems(question) - right
    enough = ENOUGH_BY_A_NUMBER if is_number else ENOUGH_WORDS
    n_needed = min(len(stated), max(LEAST_WORDS, min(enough, math.ceil(LEAST_SHARE * len(stated)))))
    n_shared = len(stated & asked)
    yield n_shared < n_needed, f"has {n_shared} telling words of the sentence, not {n_needed}"
    others = asked - stated - _asking_stems() - (_quantity_stems(answer, stated) if is_number else generic_stems())
    n_most = 0 if is_number else MOST_OTHER
    yield len(others) > n_most, f"has other words than the sentence: {', '.join(sorted(others))[:200]}"
    if is_number:
        yield from number_faults(question, answer, sentence)
        yield not _near(answer, sentence) & content_stems(question), "asks for nothing that is next to the number"


def _near(answer: str, sentence: str) -> frozenset[str]:
    """The nearest telling words before and after the number, and those of its unit."""
    before, _, after = sentence.partition(answer)
    return frozenset(
        {*_telling(before)[-2:], *_telling(after)[:2], *content_stems(answer)},
    )


def _telling(text: str) -> list[str]:
    known = content_stems(text)
    return [stem for stem in english_stems(text) if stem in known]
