"""The file of a system on the compare page: its pairs with all others, as numbers, as texts and in sentences.

`pairs/TABLE/SYSTEM.json` is {format, system, outcomes, with, a list per number, texts, lead, because, remarks, notes,
shown}. Outcome letters are in order of question id, differences are this system's less the other's, and the entries of
all lists are those of `with`, in board order. `lead`, `because`, `remarks` and `notes` are places in `texts`: the
sentences of `edu_rag.comparing.pair_sentences`, with names in braces for what `shown` has, and for `first`, `second`,
`ahead` and `behind`, the systems. `shown` has a list per name, or one text where all pairs have the same. Sentences
that are complete would make a file of 199 pairs several times as large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from edu_rag.comparing.pair_sentences import about_answers, about_choice, about_lessons, fields_of, sentences_of
from edu_rag.comparing.tested_pairs import AllPairs, TestedPair
from edu_rag.look.texts import clip, delta, plain
from edu_rag.scorecard.card import ScoreCard

FORMAT = "edu-rag-pairs-v2"
MAX_NOTE = 400
GAPS = ("accuracy", "hallucination", "missing")
"""Rates whose difference is shown, in percentage points."""


class Texts:
    """Texts by number, each stored once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """The place of each text; a new one is added."""
        return [self._places.setdefault(text, len(self._places)) for text in texts]

    @property
    def stored(self) -> list[str]:
        """The texts in order of their places."""
        return list(self._places)


def _numbers(pairs: Sequence[TestedPair]) -> dict[str, list[Any]]:
    """A list per number, with an entry per pair."""
    return {
        "difference": [pair.difference.difference for pair in pairs],
        "low": [pair.difference.low for pair in pairs],
        "high": [pair.difference.high for pair in pairs],
        "p": [pair.difference.p for pair in pairs],
        "p_holm": [pair.p_holm for pair in pairs],
        "strict_difference": [pair.strict.difference for pair in pairs],
        "strict_low": [pair.strict.low for pair in pairs],
        "strict_high": [pair.strict.high for pair in pairs],
        "strict_p": [pair.strict.p for pair in pairs],
        "first_only": [pair.correctness.n_first_only for pair in pairs],
        "second_only": [pair.correctness.n_second_only for pair in pairs],
        "mcnemar_p": [pair.correctness.p for pair in pairs],
        "mcnemar_p_holm": [pair.mcnemar_p_holm for pair in pairs],
        "detectable": [pair.detectable for pair in pairs],
    }


def _gaps(pair: TestedPair) -> dict[str, str]:
    a, b = pair.first.counts, pair.second.counts
    return {f"{rate}_gap": delta((getattr(a, rate) - getattr(b, rate)) * 100, 1) for rate in GAPS}


def _shown(pairs: Sequence[TestedPair]) -> dict[str, list[str] | str]:
    """A list per name with an entry per pair; one text where all entries are the same."""
    fields = [{**fields_of(pair), **_gaps(pair)} for pair in pairs]
    names = dict.fromkeys(name for one in fields for name in one)
    columns = {name: [one.get(name, "") for one in fields] for name in names}
    return {name: texts if len(set(texts)) > 1 else texts[0] for name, texts in columns.items()}


def _notes(pair: TestedPair, about_table: Sequence[str]) -> list[str]:
    about = [*about_choice(pair), *about_table, *about_answers([pair.first, pair.second])]
    return [f"{plain(clip(text, MAX_NOTE))}." for text in about]


def _sentences(pairs: Sequence[TestedPair], about_table: Sequence[str]) -> dict[str, Any]:
    texts, said = Texts(), [sentences_of(pair) for pair in pairs]
    return {
        "lead": texts.numbers(one.lead for one in said),
        "because": texts.numbers(one.because for one in said),
        "remarks": [texts.numbers(one.remarks) for one in said],
        "notes": [texts.numbers(_notes(pair, about_table)) for pair in pairs],
        "texts": texts.stored,
    }


def pair_files(cards: Sequence[ScoreCard], pairs: AllPairs) -> Iterator[dict[str, Any]]:
    """The file of each system of a table, in order."""
    # Once a table: lessons are one number per question.
    about_table = list(about_lessons(cards, pairs.tested[0, 1].difference))
    for at in range(len(cards)):
        yield _pair_file(cards, pairs, at, about_table)


def _pair_file(cards: Sequence[ScoreCard], pairs: AllPairs, at: int, about_table: Sequence[str]) -> dict[str, Any]:
    others = [place for place in range(len(cards)) if place != at]
    mine = [pairs.of(at, other) for other in others]
    return {
        "format": FORMAT,
        "system": cards[at].system.slug,
        "outcomes": cards[at].outcomes,
        "with": [cards[other].system.slug for other in others],
        **_numbers(mine),
        **_sentences(mine, about_table),
        "shown": _shown(mine),
    }
