"""Where the points go: the questions without a right answer by cause, as a scorecard's attribution counts them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from edu_rag.scorecard.card import CAUSES, Counts, ScoreCard
from edu_rag.scorecard.evidence_share import evidence_sentence, has_few_evidence, n_with_evidence

MAX_CAUSES = 40
"""The harness knows seven; a file may name more."""
BAR = 100


class Loss(NamedTuple):
    """A cause: its questions, their share of all n, and the width of its bar out of BAR."""

    cause: str
    meaning: str
    n: int
    share: float
    width: str


class Losses(NamedTuple):
    """All causes, how many questions have no right answer, and the points that are missing from a perfect score.

    `few` says why the causes are folded away: for few questions evidence was found. Empty if they are not.
    """

    rows: Sequence[Loss]
    n: int
    points: int
    n_left_out: int
    few: str


def points_lost(counts: Counts) -> int:
    """Points below a perfect score: a wrong answer costs one and forgoes one, any other forgoes one."""
    return 2 * counts.incorrect + counts.n_missing


def losses_of(card: ScoreCard) -> Losses | None:
    """The scorecard's attribution; None if it has none."""
    if not card.attribution:
        return None
    most = max(*card.attribution.values(), 1)
    rows = [
        Loss(cause, CAUSES.get(cause, ""), n, n / card.counts.n, f"{n / most * BAR:.2f}".rstrip("0").rstrip("."))
        for cause, n in islice(card.attribution.items(), MAX_CAUSES)
    ]
    lost = card.counts.n - card.counts.correct
    n_with = n_with_evidence(card)
    few = evidence_sentence(n_with, card.counts.n) if n_with is not None and has_few_evidence(card) else ""
    return Losses(rows, lost, points_lost(card.counts), len(card.attribution) - len(rows), few)
