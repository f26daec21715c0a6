"""The cost of a question for a system, from its scorecard: seconds, and US dollars if known, else tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from edu_rag.scorecard.card import MAX_AMOUNT

MAX_LATENCY_S = 1e6


class Cost(NamedTuple):
    """The mean over the answers that declare it: US dollars a question, or tokens (input and output)."""

    amount: float
    in_dollars: bool

    @property
    def text(self) -> str:
        """The amount as a row shows it."""
        return dollars(self.amount) if self.in_dollars else f"{self.amount:,.0f}"


def dollars(value: float) -> str:
    """US dollars with two digits that mean something, at least, and cents where there are some."""
    if 0 < value < 0.0001:
        return "<$0.0001"
    digits = 4 if value < 0.01 else 3 if value < 1 else 2
    return f"${value:,.{digits}f}" if value else "$0"


def mean_of(cost: Mapping[str, Any], name: str) -> float | None:
    """The mean of a part of `ScoreCard.cost`; None if the scorecard holds nothing that makes sense there."""
    part = cost.get(name)
    value = part.get("mean") if isinstance(part, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_AMOUNT:
        return None
    return float(value)


def cost_of(cost: Mapping[str, Any]) -> Cost | None:
    """The cost of a question; None if neither dollars nor tokens are known."""
    usd = mean_of(cost, "cost_usd")
    if usd is not None:
        return Cost(usd, in_dollars=True)
    tokens = [mean_of(cost, name) for name in ("input_tokens", "output_tokens")]
    known = [value for value in tokens if value is not None]
    return Cost(sum(known), in_dollars=False) if known else None


def latency_of(cost: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Median seconds a question, and whether the harness measured them itself (else they are declared)."""
    latency = cost.get("latency_s")
    value = latency.get("median") if isinstance(latency, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_LATENCY_S:
        return None, False
    return float(value), latency.get("source") == "measured" if isinstance(latency, Mapping) else False
