"""Phrases that take a choice back: abstentions, hedges, retractions, and another choice named as the answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.patterns import (
    AGAINST_FALSE,
    AGAINST_TRUE,
    ANOTHER,
    ANSWERED,
    HEDGED,
    HEDGED_CLAUSE,
    NEGATION,
    NOT_TRUE,
    RETRACTION,
)

_AGAINST = {"true": AGAINST_TRUE, "false": AGAINST_FALSE}
FEW_WORDS = 10
"""A line next to the answer that has no more words than this need only name another label to give it as the answer."""


def _spelled_out(line: str) -> Iterator[str]:
    """Every phrase of a line in which brackets hold alternatives: `(cannot|can't) say`."""
    parts = [part.split("|") for part in re.split(r"[()]", line)]
    for words in itertools.product(*parts):
        yield fold_punctuation("".join(words))


@cache
def lexicon() -> tuple[frozenset[str], frozenset[str]]:
    """Whole answers that abstain, and the phrases that abstain at any place, all folded."""
    text = files("harness").joinpath("data/abstentions-v1.txt").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = frozenset(phrase for line in lines if line.startswith("=") for phrase in _spelled_out(line[1:]))
    return whole, frozenset(phrase for line in lines if not line.startswith("=") for phrase in _spelled_out(line))


@cache
def _lengths() -> dict[str, set[int]]:
    """The numbers of words of the phrases that begin with a word."""
    lengths: dict[str, set[int]] = {}
    for words in map(str.split, lexicon()[1]):
        lengths.setdefault(words[0], set()).add(len(words))
    return lengths


def wholly_abstains(text: str) -> bool:
    """Whether the text is only a word such as `unknown` or `none`."""
    return fold_punctuation(text) in lexicon()[0]


def abstains(text: str) -> bool:
    """Whether a text says "I don't know" in the words of abstentions-v1.txt; it says nothing about choices."""
    folded, (whole, phrases), lengths = fold_punctuation(text), lexicon(), _lengths()
    words = folded.split()
    return folded in whole or any(
        " ".join(words[i : i + n]) in phrases for i, word in enumerate(words) for n in lengths.get(word, ())
    )


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
        return _AGAINST[own].search(NOT_TRUE.sub("wrong", folded)) is not None
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
        abstains(remark)
        or HEDGED_CLAUSE.search(written) is not None
        or any(retracts(text, label, choices[label]) for text in (remark, f"it {remark}"))
        or other_label(written, label, choices)
    )


def takes_back_after(line: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a line behind the one that names `label` abstains, hedges, takes it back or answers another label.

    `So I now say that the answer is c` does; a line of few words need only name another label, unless it negates.
    """
    written = fold_writing(line)
    if abstains(line) or HEDGED.match(written) or retracts(line, label, choices[label]):
        return True
    if NEGATION.search(written):
        return False
    said = {match["label"] for match in ANSWERED.finditer(written)}
    few = len(written.split()) <= FEW_WORDS
    return not said.isdisjoint(choices.keys() - {label}) or (few and other_label(written, label, choices))
