"""Phrases that take a choice back: abstentions, hedges, retractions, and another choice named as the answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pkgutil import get_data
from typing import NamedTuple

from harness.reading.choice_text import names
from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.patterns import (
    AGAINST_FALSE,
    AGAINST_TRUE,
    ANOTHER,
    ANSWERED,
    CLAUSE,
    CORRECTS,
    EXPLICIT,
    HEDGED,
    HEDGED_CLAUSE,
    LONE_LETTER,
    NEGATION,
    NOT_TRUE,
    PREFACE,
    RETRACTION,
    TRUE_ONLY,
    UNSURE,
)

_AGAINST = {"true": AGAINST_TRUE, "false": AGAINST_FALSE}
FEW_WORDS = 10
"""A line next to the answer that has no more words than this need only name another label to give it as the answer."""


_PLAIN = re.compile(r"[a-z0-9 '|()]*")
"""A line of the lexicon in which only the apostrophes and the spaces need folding."""
_WHOLE, _FIRM, _EXCUSE = "=", "", "+"


def _spelled_out(parts: list[list[str]], *, is_plain: bool) -> Iterator[str]:
    """Every phrase of a line in which brackets hold alternatives: `(cannot|can't) say`."""
    for words in itertools.product(*parts):
        phrase = "".join(words)
        yield " ".join(phrase.replace("'", "").split()) if is_plain else fold_punctuation(phrase)


class _Line(NamedTuple):
    """A line of the lexicon: its parts, each with its alternatives."""

    parts: list[list[str]]
    is_plain: bool

    def phrases(self) -> Iterator[str]:
        """Its phrases, folded."""
        return _spelled_out(self.parts, is_plain=self.is_plain)

    def first_words(self) -> set[str]:
        """The words that its phrases begin with, from as many parts as they take."""
        for n in range(1, len(self.parts)):
            begins = list(_spelled_out([*self.parts[:n], ["|"]], is_plain=self.is_plain))
            if all(" " in begin for begin in begins):
                return {begin.split()[0] for begin in begins}
        return {phrase.split()[0] for phrase in self.phrases()}


class Lexicon(NamedTuple):
    """Whole answers that abstain, phrases that abstain at any place, and excuses, which take nothing back; folded."""

    whole: frozenset[str]
    phrases: frozenset[str]
    excuses: frozenset[str]


@cache
def _lines() -> Mapping[str, list[_Line]]:
    """The lines of abstentions-v3.txt by their mark; its head says what they mean."""
    data = get_data("harness", "data/abstentions-v3.txt")
    if data is None:
        raise FileNotFoundError("harness/data/abstentions-v3.txt")
    text = data.decode()
    found: dict[str, list[_Line]] = {_WHOLE: [], _FIRM: [], _EXCUSE: []}
    for line in text.splitlines():
        mark = line[:1] if line[:1] in (_WHOLE, _EXCUSE) else _FIRM
        if not line.startswith("#"):
            parts = [part.split("|") for part in re.split(r"[()]", line[len(mark) :])]
            found[mark].append(_Line(parts, _PLAIN.fullmatch(line, len(mark)) is not None))
    return found


@cache
def _all_phrases(mark: str) -> frozenset[str]:
    return frozenset(phrase for line in _lines()[mark] for phrase in line.phrases())


def lexicon() -> Lexicon:
    """All phrases. To spell them out takes the time of a thousand answers: answers are compared with few of them."""
    return Lexicon(*map(_all_phrases, (_WHOLE, _FIRM, _EXCUSE)))


@cache
def _lines_by_first_word(mark: str) -> Mapping[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for line in _lines()[mark]:
        for word in line.first_words():
            found.setdefault(word, []).append(line)
    return found


@cache
def _beginning_with(first: str, mark: str) -> tuple[frozenset[str], frozenset[int]]:
    """The phrases that begin with this word, which begins some, and their numbers of words."""
    spelled = (phrase for line in _lines_by_first_word(mark)[first] for phrase in line.phrases())
    phrases = frozenset(phrase for phrase in spelled if phrase.partition(" ")[0] == first)
    return phrases, frozenset(phrase.count(" ") + 1 for phrase in phrases)


def _holds(folded: str, mark: str) -> bool:
    words, known = folded.split(), _lines_by_first_word(mark)
    for at, word in enumerate(words):
        if word in known:
            phrases, lengths = _beginning_with(word, mark)
            if any(" ".join(words[at : at + n]) in phrases for n in lengths):
                return True
    return False


def wholly_abstains(text: str) -> bool:
    """Whether the text is only a word such as `unknown` or `none`."""
    return fold_punctuation(text) in _all_phrases(_WHOLE)


def is_phrase(text: str) -> bool:
    """Whether a text is one firm phrase of the lexicon and nothing else."""
    folded = fold_punctuation(text)
    first = folded.partition(" ")[0]
    is_firm = first in _lines_by_first_word(_FIRM) and folded in _beginning_with(first, _FIRM)[0]
    return is_firm or folded in _all_phrases(_WHOLE)


def firmly_abstains(text: str) -> bool:
    """Whether a text says "I don't know", excuses such as `the diagram is not provided` aside."""
    return wholly_abstains(text) or _holds(fold_punctuation(text), _FIRM)


def abstains(text: str) -> bool:
    """Whether a text says "I don't know" in the words of abstentions-v3.txt; it says nothing about choices."""
    return firmly_abstains(text) or _holds(fold_punctuation(text), _EXCUSE)


def _own_as_it(folded: str, own: str) -> str:
    if own and folded.startswith(f"{own} "):
        folded = f"it{folded[len(own) :]}"
    return f"{folded[: -len(own)]}it" if own and folded.endswith(f" {own}") else folded


def retracts(text: str, label: str, own: str) -> bool:
    """Whether a text takes back the choice `label`, whose text is `own`.

    `That is wrong.`, `I was mistaken`, `b is incorrect`, `It is not mitosis.`, `Wait, no` do; a text that says of
    something else that it is wrong (`Meiosis is not right`, `It is not meiosis`) does not. For the choices `true` and
    `false` it is the opposite that takes back: `It is not true.` does so of true, not of false.
    """
    folded, own = fold_punctuation(text), fold_punctuation(own)
    if own in _AGAINST:
        return _AGAINST[own].search(NOT_TRUE.sub("wrong", TRUE_ONLY.sub(" ", folded))) is not None
    return RETRACTION.search(_own_as_it(_own_as_it(folded, label), own)) is not None


def other_label(written: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a text names a label other than `label`: `(c)`, `**c**`, `… the answer is c.`; not `vitamin c`.

    A bare letter in running prose cannot be distinguished from vitamin c, so `a) because cells divide b` stays a.
    """
    found = {letter for groups in ANOTHER.findall(written) for letter in groups}
    return not found.isdisjoint(choices.keys() - {label})


def takes_back_beside(remark: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a remark on the line that names `label` hedges, abstains, takes it back or names another label."""
    written = fold_writing(remark)
    return (
        _abstains_beside(remark, choices[label])
        or HEDGED_CLAUSE.search(written) is not None
        or any(retracts(text, label, choices[label]) for text in (remark, f"it {remark}"))
        or other_label(written, label, choices)
    )


def _abstains_beside(text: str, own: str) -> bool:
    """Whether a text takes a choice back by abstaining; an excuse does so after true and false: `No, I cannot see`."""
    return abstains(text) if fold_punctuation(own) in _AGAINST else firmly_abstains(text)


def takes_back_after(line: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a line behind the one that names `label` abstains, hedges, takes it back or answers another label.

    `So I now say that the answer is c` does; a line of few words need only name another label, unless it negates.
    """
    written = fold_writing(line)
    if CORRECTS.match(written) and _mentioned(line, choices) - {label}:
        return True
    if _abstains_beside(line, choices[label]) or HEDGED.match(written) or retracts(line, label, choices[label]):
        return True
    if NEGATION.search(written):
        return False
    said = {match["label"] for match in ANSWERED.finditer(written)}
    few = len(written.split()) <= FEW_WORDS
    return not said.isdisjoint(choices.keys() - {label}) or (few and other_label(written, label, choices))


def _mentioned(text: str, choices: Mapping[str, str]) -> set[str]:
    """The choices that a text mentions, by text or by a marked label."""
    said = {letter for groups in ANOTHER.findall(fold_writing(text)) for letter in groups}
    return {*names(text, choices), *(said & choices.keys())}


def leans(text: str, choices: Mapping[str, str]) -> bool:
    """Whether a text that abstains names a choice all the same, not only to say between which it cannot decide.

    `I don't know, maybe mitosis` leans; `I cannot say whether it is mitosis or meiosis` and `The text does not mention
    mitosis` do not.
    """
    mentioned = _mentioned(text, choices)
    if any(abstains(choices[label]) for label in mentioned):
        return True
    lines = [fold_writing(line) for line in text.splitlines()]
    # One choice alone is leaned to in any clause of its own; among several an answer must be announced.
    several = len(mentioned) > 1
    parts = filter(EXPLICIT.match, lines) if several else (part for line in lines for part in CLAUSE.split(line))
    return any(_mentioned(part, choices) and not abstains(part) for part in parts)


def is_preface(line: str, choices: Mapping[str, str]) -> bool:
    """Whether a line only says what hosted models say before they answer: `As an AI, I cannot see it`."""
    written = fold_writing(line)
    lone = any(match["label"] in choices for match in LONE_LETTER.finditer(written))
    return PREFACE.match(written) is not None and not (UNSURE.search(written) or lone or _mentioned(line, choices))
