"""What a reader must know before believing a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edu_rag.comparing.tested_pair import ALPHA, TestedPair
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import Paired

FEW_UNITS = 40
"""Below this many lessons the interval is too narrow; docs/scoring.md has the simulation."""
FEW_QUESTIONS = 20


def _listed(values: Sequence[str]) -> str:
    return " and ".join(sorted(set(values)))


def about_answers(cards: Sequence[ScoreCard]) -> Iterator[str]:
    """Other rules, versions or judges, and answers that were given on other pages."""
    rules, versions = [card.answers_rule for card in cards], [card.dataset for card in cards]
    if len(set(rules)) > 1:
        yield f"answers were read by different rules ({_listed(rules)}): score the older again"
    if len(set(versions)) > 1:
        yield f"the dataset's versions differ ({_listed(versions)}): same questions, but other pages or evidence"
    if any(dict(card.judges) != dict(cards[0].judges) for card in cards):
        yield "free text was graded by different judges"
    for card in cards:
        if card.made_on:
            yield f"{card.system.slug} answered on {card.made_on}, not on {card.dataset}"


def about_lessons(cards: Sequence[ScoreCard], difference: Paired) -> Iterator[str]:
    """Lessons that differ between the scorecards that were tested together, and few lessons or questions."""
    if len({card.lessons for card in cards if card.lessons}) > 1:
        yield (
            "the scorecards state different lessons, so questions are taken as independent and the difference "
            "looks surer than it is: score the older again"
        )
    if difference.n_units < min(FEW_UNITS, difference.n):
        yield f"only {difference.n_units} lessons: the interval of a difference is too narrow"
    elif difference.n < FEW_QUESTIONS:
        yield f"only {difference.n} question(s): the interval of a difference is too narrow"


def about_choice(pair: TestedPair) -> Iterator[str]:
    """A difference that is established for a pair alone, but not among all pairs of its table."""
    if pair.among is None or pair.same_predictions or not pair.established or pair.among.p_holm <= ALPHA:
        return
    yield (
        f"this holds for the pair alone. Among all {pair.among.n_pairs:,} pairs of the table the difference is not "
        f"established (p = {pair.among.p_holm:.2g} after Holm's correction), which counts if you picked the two for "
        "their scores"
    )
