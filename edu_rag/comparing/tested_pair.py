"""Two systems that were tested on the same questions: `edu-rag compare` and the board share the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import McNemar, Paired

ALPHA = 0.05
"""A difference with a larger p is not established."""


class AmongPairs(NamedTuple):
    """The place of a pair among all pairs of a table: how many there are, and both p after Holm over all of them."""

    n_pairs: int
    p_holm: float
    mcnemar_p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPair:
    """Two systems on the same n questions. All differences are first - second.

    `difference` is that of the scores (paired bootstrap interval and sign-flip p; with lessons unless the scorecards
    state different ones), `strict` that of the strict scores, `correctness` McNemar's test, `detectable` the smallest
    score difference that one test on these questions finds with 80 % power (None if the two never differ). `among` is
    None where the two were tested alone.
    """

    __test__ = False  # pytest takes a name with Test for a test

    first: ScoreCard
    second: ScoreCard
    difference: Paired
    strict: Paired
    correctness: McNemar
    detectable: float | None
    among: AmongPairs | None = None

    @property
    def same_predictions(self) -> bool:
        """Whether both scorecards were made from the same bytes."""
        return self.first.predictions_sha256 == self.second.predictions_sha256 != ""

    @property
    def established(self) -> bool:
        """Whether the sign-flip test on the score finds a difference."""
        return self.difference.p <= ALPHA

    @property
    def p_holm(self) -> float:
        """The sign-flip p after Holm over all pairs; that of one test for a pair that was tested alone."""
        return self.difference.p if self.among is None else self.among.p_holm

    @property
    def mcnemar_p_holm(self) -> float:
        """McNemar's p, likewise."""
        return self.correctness.p if self.among is None else self.among.mcnemar_p_holm

    @property
    def first_is_ahead(self) -> bool:
        """Whether the first scores more."""
        return self.difference.difference > 0


def turned(d: Paired) -> Paired:
    """The same difference, the other system first."""
    # 0.0 - x and not -x: a difference of nothing has no sign.
    return d._replace(difference=0.0 - d.difference, low=0.0 - d.high, high=0.0 - d.low)


def turned_pair(pair: TestedPair) -> TestedPair:
    """The same pair, the other system first."""
    m = pair.correctness
    return TestedPair(
        first=pair.second,
        second=pair.first,
        difference=turned(pair.difference),
        strict=turned(pair.strict),
        correctness=McNemar(m.n_second_only, m.n_first_only, m.p),
        detectable=pair.detectable,
        among=pair.among,
    )
