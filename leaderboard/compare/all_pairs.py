"""Every pair of systems of a table, tested as `edu-rag compare` tests it: the numbers behind the compare page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import McNemar, Paired

FORMAT = "edu-rag-pairs-v1"
FEW_UNITS = 40
"""Below so many lessons the interval of a difference is too narrow (docs/scoring.md has the simulation)."""
FEW_QUESTIONS = 20


class Tested(NamedTuple):
    """A system against another one: differences of the score and of the strict score, McNemar, p after Holm over all
    pairs of the table, and the smallest true difference that one test finds with 80 % power (None: they never differ).
    """

    score: Paired
    p_holm: float
    strict: Paired
    correctness: McNemar
    mcnemar_p_holm: float
    detectable: float | None

    def turned(self) -> Tested:
        """The same pair, the other system first."""
        m = self.correctness
        return self._replace(
            score=_turned(self.score),
            strict=_turned(self.strict),
            correctness=McNemar(m.n_second_only, m.n_first_only, m.p),
        )


def _turned(d: Paired) -> Paired:
    # 0.0 - x and not -x: a difference of nothing has no sign.
    return d._replace(difference=0.0 - d.difference, low=0.0 - d.high, high=0.0 - d.low)


@dataclass(frozen=True, slots=True)
class TablePairs:
    """All pairs of a table, systems by their place in it; the same lessons for all of them, as for its ranks."""

    tested: Mapping[tuple[int, int], Tested]

    def of(self, first: int, second: int) -> Tested:
        """The pair first - second; two different places."""
        return self.tested[first, second] if first < second else self.tested[second, first].turned()

    @property
    def units(self) -> tuple[int, str]:
        """Lessons (or questions) that were drawn and flipped whole, and what made the intervals. Needs a pair."""
        score = self.tested[0, 1].score
        return score.n_units, score.method


def pairs_of(cards: Sequence[ScoreCard]) -> TablePairs:
    """Test every pair of scorecards on the same questions, as `edu-rag compare A B C ...` does.

    Lessons are those of the whole table (`shared_lessons`): where two scorecards state none and a third does, the
    two are tested by lesson here, which `edu-rag compare` of the two alone cannot know.
    """
    from edu_rag.statistics import (
        holm,
        mcnemar_all,
        paired_all,
        shared_lessons,
        smallest_detectable_difference,
        spread_all,
        strict_points_of,
    )

    outcomes = [card.outcomes for card in cards]
    lessons = shared_lessons([card.lessons for card in cards])
    score, correctness = paired_all(outcomes, lessons), mcnemar_all(outcomes, lessons)
    missing = any("u" in letters or "f" in letters for letters in outcomes)
    strict = paired_all([strict_points_of(letters) for letters in outcomes], lessons) if missing else score
    adjusted = holm([found.p for found in score.values()])
    mcnemar_adjusted = holm([found.p for found in correctness.values()])
    spreads = spread_all(outcomes, lessons)
    return TablePairs(
        {
            pair: Tested(
                score[pair],
                p_holm,
                strict[pair],
                correctness[pair],
                mcnemar_p_holm,
                smallest_detectable_difference(score[pair].n, spreads[pair].effective_sd) if spreads[pair].sd else None,
            )
            for pair, p_holm, mcnemar_p_holm in zip(score, adjusted, mcnemar_adjusted, strict=True)
        }
    )


def _columns(tested: Sequence[Tested]) -> dict[str, list[Any]]:
    """One list a number, one entry a pair."""
    return {
        "difference": [t.score.difference for t in tested],
        "low": [t.score.low for t in tested],
        "high": [t.score.high for t in tested],
        "p": [t.score.p for t in tested],
        "p_holm": [t.p_holm for t in tested],
        "strict_difference": [t.strict.difference for t in tested],
        "strict_low": [t.strict.low for t in tested],
        "strict_high": [t.strict.high for t in tested],
        "strict_p": [t.strict.p for t in tested],
        "first_only": [t.correctness.n_first_only for t in tested],
        "second_only": [t.correctness.n_second_only for t in tested],
        "mcnemar_p": [t.correctness.p for t in tested],
        "mcnemar_p_holm": [t.mcnemar_p_holm for t in tested],
        "detectable": [t.detectable for t in tested],
    }


def pair_values(cards: Sequence[ScoreCard], pairs: TablePairs, at: int) -> dict[str, Any]:
    """A system's file: its outcome letters, in order of question id, and its pairs with all others of the table.

    Differences are this system's less the other's; the entries of all lists are those of `with`, in board order.
    """
    others = [place for place in range(len(cards)) if place != at]
    return {
        "format": FORMAT,
        "system": cards[at].system.slug,
        "outcomes": cards[at].outcomes,
        "with": [cards[other].system.slug for other in others],
        **_columns([pairs.of(at, other) for other in others]),
    }


def caveats(cards: Sequence[ScoreCard], pairs: TablePairs) -> list[str]:
    """Caveats that hold for all comparisons of a table."""
    n, (n_units, _) = cards[0].counts.n, pairs.units
    found = []
    if len({card.lessons for card in cards if card.lessons}) > 1:
        found.append(
            "the scorecards state different lessons, so questions are taken as independent and differences look surer "
            "than they are"
        )
    if n_units < min(FEW_UNITS, n):
        found.append(f"only {n_units} lessons: the interval of a difference is too narrow")
    elif n < FEW_QUESTIONS:
        found.append(f"only {n} question(s): the interval of a difference is too narrow")
    return found
