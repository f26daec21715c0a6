"""From a judge's claims and verdicts on one answer to values: pure functions, each the definition of one metric.

A value is a numerator and a denominator. Where the denominator is 0 (no claims, no nuggets) there is no value, and
callers count the answer as one without a value. RAGAS gives NaN there, RAGChecker and TREC's nuggetizer give 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

Assignment = Literal["support", "partial_support", "not_support"]
Importance = Literal["vital", "okay"]
ASSIGNMENTS: tuple[Assignment, ...] = get_args(Assignment)
IMPORTANCES: tuple[Importance, ...] = get_args(Importance)
LEAST_CORRECT = 4.0
"""HyPA-RAG, section 5.3: an answer of at least this score is correct."""


class ClaimValue(NamedTuple):
    """A metric of one answer: its numerator and denominator; no value where the denominator is 0."""

    numerator: float
    denominator: float

    @property
    def value(self) -> float | None:
        """The ratio of the two."""
        return self.numerator / self.denominator if self.denominator else None


NOTHING = ClaimValue(0.0, 0.0)
ZERO = ClaimValue(0.0, 1.0)


def share(verdicts: Sequence[bool]) -> ClaimValue:
    """The share of claims that a text supports.

    Faithfulness (claims of the answer, by the passages) and context recall (claims of the reference, by the passages)
    of RAGAS (HyPA-RAG, section 5.2); precision (claims of the answer, by the reference) and recall (claims of the
    reference, by the answer) of RAGChecker (Ru et al. 2024, section 3.3).
    """
    return ClaimValue(float(sum(verdicts)), float(len(verdicts)))


def f1(precision: ClaimValue, recall: ClaimValue) -> ClaimValue:
    """The harmonic mean of claim precision and claim recall; 0 if both are 0.

    Without a recall the reference has no claims, and there is no value. Without a precision the answer has none: 0.
    """
    p, r = precision.value, recall.value
    if r is None:
        return NOTHING
    if p is None:
        return ZERO
    return ClaimValue(2 * p * r, p + r) if p + r else ZERO


def context_precision(relevant: Sequence[bool]) -> ClaimValue:
    """Mean precision at the ranks of relevant passages (HyPA-RAG, section 5.2); 0 if no passage is relevant.

    RAGAS adds 1e-10 to the denominator, which moves a value by at most 1e-10.
    """
    if not relevant:
        return NOTHING
    ranks = [rank for rank, holds in enumerate(relevant, 1) if holds]
    return ClaimValue(sum(found / rank for found, rank in enumerate(ranks, 1)), float(len(ranks))) if ranks else ZERO


def answer_relevancy(cosines: Sequence[float], noncommittal: Sequence[bool]) -> ClaimValue:
    """The mean cosine of the question and the questions made from the answer (HyPA-RAG, section 5.2).

    RAGAS makes it 0 where every reply calls the answer noncommittal, which the paper does not mention.
    """
    if not cosines:
        return NOTHING
    return ClaimValue(0.0 if noncommittal and all(noncommittal) else float(sum(cosines)), float(len(cosines)))


def retrieved_recall(supported: Sequence[Sequence[bool]]) -> ClaimValue:
    """RAGChecker's claim recall of the passages: the share of reference claims that one passage at least supports.

    `supported` has a row a claim and a column a passage; without passages no claim is supported.
    """
    return share([any(row) for row in supported])


def retrieved_precision(supported: Sequence[Sequence[bool]]) -> ClaimValue:
    """RAGChecker's context precision: the share of passages that support one reference claim at least."""
    return share([any(column) for column in zip(*supported, strict=True)])


class Nugget(NamedTuple):
    """A fact that a good answer holds: vital if an answer without it is not good, else okay."""

    text: str
    importance: Importance


def nugget_recall(
    importances: Sequence[Importance], assignments: Sequence[Assignment], *, vital: bool, strict: bool
) -> ClaimValue:
    """TREC RAG's nugget scores (Pradeep et al. 2025, section 4): nuggets in the answer, of the vital ones or of all.

    A partly supported nugget counts a half, and nothing if `strict`.
    """
    counted = [a for i, a in zip(importances, assignments, strict=True) if i == "vital" or not vital]
    half = 0.0 if strict else 0.5
    found = sum({"support": 1.0, "partial_support": half, "not_support": 0.0}[a] for a in counted)
    return ClaimValue(found, float(len(counted)))


def correctness(score: float) -> ClaimValue:
    """HyPA-RAG's absolute correctness, from 1 to 5 (section 5.3)."""
    return ClaimValue(score, 1.0)


def is_correct(score: float) -> ClaimValue:
    """Whether a score reaches the paper's threshold of 4: its correctness score is the mean."""
    return ClaimValue(float(score >= LEAST_CORRECT), 1.0)
