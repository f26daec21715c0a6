"""Which of two systems is better, in sentences that a terminal and a page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from harness.comparing.compare import Comparison

ALPHA = 0.05


def same_predictions(comparison: Comparison) -> bool:
    """Whether both scorecards were made from the same bytes."""
    return comparison.first.predictions_sha256 == comparison.second.predictions_sha256 != ""


def established(comparison: Comparison) -> bool:
    """Whether the sign-flip test on the score finds a difference."""
    return comparison.difference.p <= ALPHA


T = TypeVar("T")


def _in_order(comparison: Comparison, first: T, second: T) -> tuple[T, T]:
    """The one that scores more, and the other."""
    return (first, second) if comparison.difference.difference > 0 else (second, first)


def better(comparison: Comparison, first: str, second: str) -> str:
    """A sentence that says which system is better, or that no difference is established."""
    if not established(comparison):
        return "these questions do not tell which is better"
    ahead, behind = _in_order(comparison, first, second)
    return f"{ahead} is better than {behind}"


def contrary(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    """Why one system scores more although the other is right more often; nothing where they do not disagree."""
    m = comparison.correctness
    if comparison.difference.difference * (m.n_first_only - m.n_second_only) >= 0:
        return
    ahead, behind = _in_order(comparison, first, second)
    cards = _in_order(comparison, comparison.first, comparison.second)
    mine, other = (card.outcomes for card in cards)
    held_back = sum(a in "auf" and b == "i" for a, b in zip(mine, other, strict=True))
    gave = f"; it gives no answer to {held_back:,} of the questions on which {behind} is wrong" if held_back else ""
    yield (
        f"{ahead} scores more although {behind} is right more often: a wrong answer costs a point, and {behind} is "
        f"wrong on {other.count('i'):,} questions, {ahead} on {mine.count('i'):,}{gave}"
    )
