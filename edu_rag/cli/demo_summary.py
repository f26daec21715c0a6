"""What the results of the demo show: the ladder from blind answers to the evidence alone, and one tested sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.comparing.tested_pairs import ALPHA, all_pairs_of
from edu_rag.look.texts import delta, percent, signed
from edu_rag.scorecard.card import Counts, ScoreCard
from edu_rag.statistics import holm

SILENT = "blind-abstain"
NO_PAGES = "edu-rag-vanilla-smollm2"
"""The language model of the demo's readers without pages."""
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
    lines = [f"On the {n:,} questions that have evidence on their pages:"]
    lines += [f"  {one.given:<14} {signed(one.score):>7} {percent(one.accuracy):>5}  {one.system}" for one in rungs]
    return lines if rungs else []


def readers(cards: Sequence[ScoreCard]) -> list[ScoreCard]:
    """The systems that read pages, the best first."""
    reading = [card for card in cards if not card.system.blind and card.system.slug != NO_PAGES]
    return sorted(reading, key=lambda card: (-card.counts.score, card.system.slug))


class Against(NamedTuple):
    """A reader's difference from another system, and its p after Holm's correction."""

    name: str
    difference: float
    p: float

    def __str__(self) -> str:
        found = "better than" if self.difference > 0 else "worse than"
        verdict = found if self.p <= ALPHA else "not established to differ from"
        return f"{verdict} {self.name} ({delta(self.difference)}, p = {self.p:.2g})"


def tests_of(cards: Sequence[ScoreCard]) -> tuple[list[Against], int]:
    """The best reader against always abstaining and against no pages, and the number of tests that p is corrected for.

    Holm's correction is over these tests of every reader, since the best one is picked for its score.
    """
    pairs, places = all_pairs_of(cards), {card.system.slug: place for place, card in enumerate(cards)}
    others = {slug: name for slug, name in OTHERS.items() if slug in places}
    tested = [
        (name, pairs.of(places[card.system.slug], places[slug]))
        for card in readers(cards)
        for slug, name in others.items()
    ]
    adjusted = holm([pair.difference.p for _, pair in tested])
    found = [Against(name, pair.difference.difference, p) for (name, pair), p in zip(tested, adjusted, strict=True)]
    return found[: len(others)], len(found)


def sentence(cards: Sequence[ScoreCard]) -> str:
    """One sentence on the best system that reads pages: its score, and what the paired tests establish about it."""
    reader, (tests, n_tests) = readers(cards)[0], tests_of(cards)
    lead = f"{reader.system.name} reads pages and scores {signed(reader.counts.score)} on {reader.counts.n:,} questions"
    tested = f"{' and '.join(map(str, tests))}, by paired tests (Holm's correction over {n_tests})"
    given = [f"; given the evidence only, it scores {signed(rung.score)}" for rung in _evidence_rung(reader)]
    return f"{lead}: {tested}{''.join(given)}."


def summary(cards: Sequence[ScoreCard]) -> list[str]:
    """The lines that end the demo: the ladder of the best reader that was probed, and the sentence."""
    probed = [card for card in readers(cards) if EVIDENCE_ONLY in card.probes]
    counts = with_evidence(probed[0]) if probed else None
    lines = ladder_lines(ladder(cards, probed[0]), counts.n) if counts is not None else []
    return [*lines, "", sentence(cards)]
