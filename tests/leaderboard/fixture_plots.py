"""Made-up scorecards that hold all that a plot may show: prices, tokens, confidence, probes. Never results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fixture_board as made
from hostile_board import write_hostile

from edu_rag.scorecard.card import OUTCOMES, Prediction, ScoreCard, Slice, Verdict
from edu_rag.scorecard.results_folder import read_scorecard, write_scorecard
from harness.scoring.confidence import confidence_of
from leaderboard.board.rank import BoardRank
from leaderboard.plots.plot_sentences import shown
from leaderboard.plots.plotted_systems import System

NAMES = (
    "Llama 3 8B + RAG",
    "BM25 passages, word overlap",
    "Self-RAG 7B, adaptive retrieval and critique tokens",
    "SmolLM2 360M + RAG",
    "GPT-4o",
    "S-BERT passages, word overlap",
    "Qwen2.5 1.5B, two passages",
    "HyPA-RAG (mid)",
)


def probes_of(score: float, n: int, chance: random.Random) -> dict[str, Any]:
    """No context and evidence only, as the harness stores them, as far as a plot reads it."""
    bare, fed = score - chance.random() * 0.3, min(0.9, score + chance.random() * 0.4)
    correct = round(n * (fed + (1 - fed) * chance.random() * 0.5))
    return {
        "no-context": {
            "n": 2 * n,
            "score": bare,
            "main_score": score,
            "supported": {"n": n, "score": bare, "main_score": score},
        },
        "evidence-only": {
            "n": n,
            "score": fed,
            "main_score": score,
            "interval": [fed - 0.05, fed + 0.05],
            "counts": {outcome: correct if outcome == "correct" else 0 for outcome in OUTCOMES},
        },
    }


def confidence(outcomes: str, chance: random.Random, worth: float) -> dict[str, Any]:
    """What the harness says of confidences that are worth something: 0 is nothing, 1 is knowing."""
    names = {letter: name for name, letter in made.OUTCOME_LETTERS.items()}
    verdicts = [Verdict(question_id=f"q{at}", outcome=names[letter], reason="") for at, letter in enumerate(outcomes)]
    predictions = {
        f"q{at}": Prediction(
            question_id=f"q{at}", answer="a", confidence=worth * (letter == "c") + (1 - worth) * chance.random()
        )
        for at, letter in enumerate(outcomes)
    }
    return confidence_of(verdicts, predictions)


def cost(latency: float, measured: bool, tokens: float, dollars: float | None) -> dict[str, Any]:
    """A cost with all parts that a plot reads."""
    parts: dict[str, Any] = made.latency_cost(latency, 100, measured=measured)
    parts["input_tokens"] = {"mean": tokens, "total": 100 * tokens, "n": 100, "source": "declared"}
    parts["output_tokens"] = {"mean": tokens / 10, "total": 10 * tokens, "n": 100, "source": "declared"}
    if dollars is not None:
        parts["cost_usd"] = {"mean": dollars, "total": 100 * dollars, "n": 100, "source": "declared"}
    return parts


def cards(n_systems: int, n: int = 400) -> list[ScoreCard]:
    """Systems of all kinds, every fifth without probes, every seventh blind, with slices of every size."""
    found = []
    for at in range(n_systems):
        chance = random.Random(at)
        right = 20 + 60 * chance.random()
        outcomes = made.outcomes_of((right, (100 - right) * chance.random(), 10, 1, 1), n, at)
        score = made.counts_of(outcomes).score
        blind = at % 7 == 6
        kinds = (("rare", 6), ("odd", 40))
        few = tuple(Slice(attribute="flag", value=v, counts=made.counts_of(outcomes[:k])) for v, k in kinds)
        seconds, tokens = 10 ** (4 * chance.random() - 2), 10 ** (2 + 2 * chance.random())
        dollars = None if blind else 10 ** (3 * chance.random() - 5)
        found.append(
            made.card_of(
                f"system-{at:03d}",
                outcomes,
                name=f"{NAMES[at % len(NAMES)]} {at}",
                blind=blind,
                slices=(*made.slices_of(outcomes), *few),
                cost={} if at % 9 == 8 else cost(seconds, at % 3 > 0, tokens, dollars),
                confidence=confidence(outcomes, chance, 0.6 * chance.random()) if at % 2 else {},
                probes={} if blind or at % 5 == 4 else probes_of(score, 120, chance),
            )
        )
    return found


def systems(of: Sequence[ScoreCard]) -> list[System]:
    """As a table has them, without the ranking of the whole board: each with a rank of its own."""
    ordered = sorted(of, key=lambda card: -card.counts.score)
    return [
        System(
            number=at,
            name=shown(card.system.name),
            page=f"systems/t/{card.system.slug}.html",
            card=card,
            rank=BoardRank(at, at),
        )
        for at, card in enumerate(ordered, 1)
    ]


def write_hostile_plots(results: Path) -> None:
    """The hostile board with nobody withdrawn, so that every name comes into the pictures."""
    write_hostile(results)
    for path in sorted(results.rglob("scorecard.json")):
        card = read_scorecard(path)
        write_scorecard(path, replace(card, system=replace(card.system, withdrawn="")))
