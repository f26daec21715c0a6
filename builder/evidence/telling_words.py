"""Words for comparing texts: case folded, without punctuation; stop words; endings cut, crudely or by Snowball."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

_STOP_WORDS_TEXT = (
    "a about above after all also always an and another any are as at be because been before being below best between"
    " both but by called can come comes could did do does done each either every for from get gets given had has have"
    " having he her here him his how however i if in include includes into is it its itself just known like made make"
    " makes many may means might more most much must my never no none of often on one only or other our out over own"
    " part same see she should so some such than that the their them then there these they this those through to too"
    " two type types up us use used uses using usually very was we were what when where which while who whose why will"
    " with within would you your following statement true false describes describe best example examples answer choose"
    " complete sentence during off since until"
)
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
# Words that carry a question rather than its matter: their absence from a sentence says little.
_GENERIC_TEXT = (
    "ability able affect allow amount appear area around become begin believe bring carry cause certain change common"
    " complete condition consist contain correct create depend determine develop device different due effect enter"
    " event exist explain fact find first follow form found function general give group happen help hold important"
    " increase involve kind large lead least level located main material mean measure method move name need next number"
    " object occur organism particular people place play point possible prevent process produce property provide rate"
    " reach reason require result role scientist show simple single size small special start state structure substance"
    " support system take tell tend term thing time unit various way work"
)
GENERIC = frozenset(_GENERIC_TEXT.split())
MAX_WORD = 60
"""Longer words are cut, so that a page of one endless word costs nothing."""
_APOSTROPHE_MARKS = "'’‘`"
_APOSTROPHES = re.compile(f"[{_APOSTROPHE_MARKS}]")
_WORDS = re.compile(r"[^\W_]+")
_GAP = r"[\W_]+"
_BETWEEN_WORDS = re.compile(r"[^\w\n]+")


def words_of(text: str) -> list[str]:
    """The words of a text for comparing: case folded, without punctuation; "Earth's" is "earths", as TQA spells it."""
    return _WORDS.findall(_APOSTROPHES.sub("", text.casefold()))


@lru_cache(maxsize=256)
def _in_order(words: tuple[str, ...]) -> re.Pattern[str]:
    # It begins with plain letters, which `re` finds fast; what is before them is looked at after that.
    return re.compile(rf"{words[0]}(?<![^\W_]{words[0]}){_GAP.join(('', *words[1:]))}(?![^\W_])")


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    folded = text.casefold()
    for apostrophe in _APOSTROPHE_MARKS:  # four times as fast as the pattern
        folded = folded.replace(apostrophe, "")
    return folded


def may_hold_words(text: str, words: Sequence[str]) -> bool:
    """Whether a text has these words (from `words_of`) one after another, be it across the end of a sentence.

    A quick look that does not cut the text into words.
    """
    return _in_order(tuple(words)).search(_folded(text)) is not None


def words_of_each(texts: Iterable[str]) -> list[str]:
    """The words of each text, joined by spaces: the same as `words_of`, faster for all sentences of a page."""
    lines = [text.replace("\n", " ") for text in texts]
    folded = _APOSTROPHES.sub("", "\n".join(lines).casefold()).replace("_", " ")
    return [line.strip(" ") for line in _BETWEEN_WORDS.sub(" ", folded).split("\n")] if lines else []


def stem(word: str) -> str:
    """A word without its plural ending; crude, the same on both sides."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def content_words(text: str) -> frozenset[str]:
    """The stems of a text's words that are not stop words."""
    return frozenset(stem(word) for word in words_of(text) if word not in STOP_WORDS)


@cache
def _stemmer() -> Any:
    # The class itself, not `stemmer()`: that one answers with PyStemmer's C code wherever it happens to be installed.
    from importlib import import_module

    stemmer_type: Any = import_module("snowballstemmer.english_stemmer").EnglishStemmer

    return stemmer_type()


@lru_cache(maxsize=50_000)
def english_stem(word: str) -> str:
    """A word's stem by Snowball's English rules (Porter 2): "erosion" is "eros", "solids" is "solid"."""
    return str(_stemmer().stemWord(word))


def english_stems(text: str) -> tuple[str, ...]:
    """The stems of all words of a text, in order, stop words too."""
    return tuple(english_stem(word[:MAX_WORD]) for word in words_of(text))


def content_stems(text: str) -> frozenset[str]:
    """The stems (`english_stem`) of a text's words that are not stop words."""
    return frozenset(english_stem(word[:MAX_WORD]) for word in words_of(text) if word not in STOP_WORDS)


@cache
def generic_stems() -> frozenset[str]:
    """The stems of GENERIC. Made when they are first asked for: the stemmer takes a while to load."""
    return frozenset(map(english_stem, sorted(GENERIC)))


@cache
def stop_stems() -> frozenset[str]:
    """The stems of STOP_WORDS, made in the same way."""
    return frozenset(map(english_stem, STOP_WORDS))
