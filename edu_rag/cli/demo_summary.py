"""What the results of the demo show: the ladder from blind answers to the evidence alone, and one tested sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.comparing.tested_pairs import ALPHA, AllPairs, all_pairs_of
from edu_rag.look.texts import delta, percent, signed
from edu_rag.scorecard.card import Counts, ScoreCard

SILENT = "blind-abstain"
NO_PAGES = "edu-rag-vanilla-smollm2"
"""The language model of the demo's readers without pages."""
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


def best_reader(cards: Sequence[ScoreCard]) -> ScoreCard:
    """The system with the highest score of those that read pages."""
    reading = [card for card in cards if not card.system.blind and card.system.slug != NO_PAGES]
    return max(reading, key=lambda card: card.counts.score)


def _tested(pairs: AllPairs, cards: Sequence[ScoreCard], reader: ScoreCard, slug: str, name: str) -> list[str]:
    """How the reader compares with another system, after Holm's correction; nothing if that one did not run."""
    said = []
    for place, card in enumerate(cards):
        if card.system.slug == slug:
            pair = pairs.of(cards.index(reader), place)
            difference = pair.difference.difference
            found = "better than" if difference > 0 else "worse than"
            verdict = found if pair.p_holm <= ALPHA else "not established to differ from"
            said.append(f"{verdict} {name} ({delta(difference)}, p = {pair.p_holm:.2g})")
    return said


def sentence(cards: Sequence[ScoreCard]) -> str:
    """One sentence on the best system that reads pages: its score, and what the paired tests establish about it."""
    reader, pairs = best_reader(cards), all_pairs_of(cards)
    others = ((SILENT, "always abstaining"), (NO_PAGES, "the language model without pages"))
    said = [text for slug, name in others for text in _tested(pairs, cards, reader, slug, name)]
    lead = f"{reader.system.name} reads pages and scores {signed(reader.counts.score)} on {reader.counts.n:,} questions"
    tests = f"{' and '.join(said)}, with Holm's correction over all {len(pairs.tested):,} pairs"
    given = [f"; given the evidence only, it scores {signed(rung.score)}" for rung in _evidence_rung(reader)]
    return f"{lead}: {tests}{''.join(given)}."


def summary(cards: Sequence[ScoreCard]) -> list[str]:
    """The lines that end the demo: the ladder of the system that was probed, and the sentence."""
    probed = [card for card in cards if EVIDENCE_ONLY in card.probes]
    counts = with_evidence(probed[0]) if probed else None
    lines = ladder_lines(ladder(cards, best_reader(probed)), counts.n) if counts is not None else []
    return [*lines, "", sentence(cards)]
