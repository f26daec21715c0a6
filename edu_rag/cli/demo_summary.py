"""What the results of the demo show: the ladder from blind answers to the evidence alone, and one tested sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.comparing.tested_pairs import all_pairs_of
from edu_rag.look.texts import delta, percent, signed
from edu_rag.scorecard.card import Counts, ScoreCard
from edu_rag.statistics import ALPHA, holm

SILENT = "blind-abstain"
NO_PAGES = "edu-rag-vanilla-smollm2"
"""The language model of the demo's reader without pages."""
OTHERS = {SILENT: "always abstaining", NO_PAGES: "the language model without pages"}
EVIDENCE_ONLY = "evidence-only"


class Rung(NamedTuple):
    """A step of the ladder: what was given, which system answered, its score and accuracy."""

    given: str
    system: str
    score: float
    accuracy: float


def with_evidence(card: ScoreCard) -> Counts | None:
    """A system's counts on the questions that have evidence on their pages."""
    found = (part for part in card.slices if (part.attribute, part.value) == ("evidence", "supported"))
    return next((part.counts for part in found), None)


def _rung(given: str, card: ScoreCard) -> list[Rung]:
    counts = with_evidence(card)
    return [Rung(given, card.system.name, counts.score, counts.accuracy)] if counts is not None else []


def _score_with_evidence(card: ScoreCard) -> float:
    counts = with_evidence(card)
    return card.counts.score if counts is None else counts.score


def _evidence_rung(reader: ScoreCard) -> list[Rung]:
    probe: Any = reader.probes.get(EVIDENCE_ONLY)
    if not isinstance(probe, Mapping) or not probe.get("n"):
        return []
    return [Rung("evidence only", reader.system.name, probe["score"], probe["counts"]["correct"] / probe["n"])]


def ladder(cards: Sequence[ScoreCard], reader: ScoreCard) -> list[Rung]:
    """The steps, all on the questions with evidence: the best blind system that answers, no pages, pages, evidence."""
    guessing = [card for card in cards if card.system.blind and card.counts.accuracy]
    blind = [max(guessing, key=_score_with_evidence)] if guessing else []
    bare = [card for card in cards if card.system.slug == NO_PAGES]
    steps = [("blind", blind), ("no pages", bare), ("retrieval", [reader])]
    return [rung for given, found in steps for card in found for rung in _rung(given, card)] + _evidence_rung(reader)


def ladder_lines(rungs: Sequence[Rung], n: int) -> list[str]:
    """The ladder as text for a terminal."""
    lines = [f"On the {n:,} questions that have evidence on their pages (score, accuracy in %):"]
    lines += [f"  {one.given:<14} {signed(one.score):>7} {percent(one.accuracy):>5}  {one.system}" for one in rungs]
    return lines if rungs else []


def reader_of(cards: Sequence[ScoreCard]) -> ScoreCard:
    """The system that the demo speaks of: the one that was asked with the evidence only, chosen before any result."""
    return next(card for card in cards if EVIDENCE_ONLY in card.probes)


class Against(NamedTuple):
    """A reader's difference from another system, and its p after Holm's correction."""

    name: str
    difference: float
    p: float

    def __str__(self) -> str:
        found = "better than" if self.difference > 0 else "worse than"
        verdict = found if self.p <= ALPHA else "not established to differ from"
        return f"{verdict} {self.name} ({delta(self.difference)}, p = {self.p:.2g})"


def tests_of(cards: Sequence[ScoreCard], reader: ScoreCard) -> list[Against]:
    """The reader against always abstaining and against no pages, with Holm's correction over these tests."""
    pairs, places = all_pairs_of(cards), {card.system.slug: place for place, card in enumerate(cards)}
    tested = {
        name: pairs.of(places[reader.system.slug], places[slug]) for slug, name in OTHERS.items() if slug in places
    }
    adjusted = holm([pair.difference.p for pair in tested.values()])
    return [
        Against(name, pair.difference.difference, p) for (name, pair), p in zip(tested.items(), adjusted, strict=True)
    ]


def sentence(cards: Sequence[ScoreCard]) -> str:
    """One sentence on the reader: its score, what the paired tests establish about it, and its score with evidence."""
    reader = reader_of(cards)
    lead = f"{reader.system.name} scores {signed(reader.counts.score)} on {reader.counts.n:,} questions"
    tested = " and ".join(map(str, tests_of(cards, reader)))
    given = [
        f"; given the evidence only, it scores {signed(rung.score)} where there is some"
        for rung in _evidence_rung(reader)
    ]
    return f"{lead}: by paired tests it is {tested}{''.join(given)}."


def summary(cards: Sequence[ScoreCard]) -> list[str]:
    """The lines that end the demo: the ladder and the sentence."""
    reader = reader_of(cards)
    counts = with_evidence(reader)
    lines = ladder_lines(ladder(cards, reader), counts.n) if counts is not None else []
    return [*lines, "", sentence(cards)]
