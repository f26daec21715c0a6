"""Agreement with the gold that honest answers hardly reach: signs for a maintainer to look at, never a verdict.

A predictions file may hold the gold answers themselves. docs/operators.md, "Implausible agreement", has the reasons for
each sign, and honest cases that raise it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb, sqrt

from edu_rag.scorecard.card import Counts, ScoreCard

BROKEN_FLAGS = ("truncated", "context_bound", "duplicate_choices")
"""Questions that lack words, refer to a figure that is not there, or have one choice twice."""
MIN_PERFECT = 20
"""Questions from which on not a single mistake is a sign."""
MIN_SUPPORTED = 10
"""Questions with evidence from which on a verified system's accuracy on them is a ceiling."""
GUESSED = 0.5
"""Of broken questions, the share that guessing with some sense may get right; the project's own systems get 0.53."""
ALPHA = 0.001
_Z = 3.29
"""Of the normal distribution, for a one-sided bound at 1 / 2,000."""


def implausible(card: ScoreCard, others: Sequence[ScoreCard] = ()) -> Iterator[str]:
    """The signs in a result, one sentence each; `others` are results on the same questions."""
    counts = card.counts
    if counts.n >= MIN_PERFECT and counts.correct == counts.n:
        yield f"implausible agreement: all {counts.n:,} answers are those of the gold"
    yield from _on_broken(card)
    yield from _without_evidence(card, others)


def _slice(card: ScoreCard, attribute: str, value: str) -> Counts | None:
    return next((part.counts for part in card.slices if (part.attribute, part.value) == (attribute, value)), None)


def _on_broken(card: ScoreCard) -> Iterator[str]:
    """More right on broken questions than guessing gives, and as many as on the others."""
    for flag in BROKEN_FLAGS:
        part = _slice(card, "flag", flag)
        if part is None or not 0 < part.n < card.counts.n:
            continue
        elsewhere = (card.counts.correct - part.correct) / (card.counts.n - part.n)
        if binomial_tail(part.correct, part.n, GUESSED) < ALPHA and part.accuracy >= elsewhere:
            yield (
                f"implausible agreement: {part.correct:,} of {part.n:,} questions with the flag {flag} are right, "
                f"{100 * part.accuracy:.1f} % where the others have {100 * elsewhere:.1f} %: such questions are broken"
            )


def _without_evidence(card: ScoreCard, others: Sequence[ScoreCard]) -> Iterator[str]:
    """More right without evidence than any verified system that reads the pages has with it: the evidence ceiling."""
    mine = _slice(card, "evidence", "unsupported")
    read = [
        (part.accuracy, other.system.slug)
        for other in others
        if not other.reported
        and not other.system.blind
        and other.system.slug != card.system.slug
        and (part := _slice(other, "evidence", "supported")) is not None
        and part.n >= MIN_SUPPORTED
    ]
    if mine is None or not mine.n or not read:
        return
    ceiling, slug = max(read)
    if lower_bound(mine.correct, mine.n) > ceiling:
        yield (
            f"implausible agreement: {100 * mine.accuracy:.1f} % right on the {mine.n:,} questions without evidence in "
            f"the pages; no verified system has more than {100 * ceiling:.1f} % ({slug}) on those with evidence"
        )


def binomial_tail(k: int, n: int, p: float) -> float:
    """P(X >= k) of a binomial distribution; exact."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)) if n <= _EXACT else _normal(k, n, p)


_EXACT = 1_000
"""Trials up to which the tail is summed; of more, powers of p would be too small for a float."""


def _normal(k: int, n: int, p: float) -> float:
    from math import erfc

    return erfc((k - 0.5 - n * p) / sqrt(2 * n * p * (1 - p))) / 2


def lower_bound(k: int, n: int) -> float:
    """Wilson's one-sided lower bound of a rate, k of n, at 1 / 2,000."""
    share, z2 = k / n, _Z * _Z
    spread = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (share + z2 / (2 * n) - spread) / (1 + z2 / n)
