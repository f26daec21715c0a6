"""What answering cost: seconds, tokens and money, each marked as measured by the harness or declared by the system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from edu_rag.results import Prediction


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (inverse of the empirical CDF)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def cost_of(predictions: Iterable[Prediction], *, measured: bool) -> dict[str, Any]:
    """Latency (median, 95th percentile, seconds) and totals of tokens and US dollars, with how many predictions say so.

    `latency` is `measured` for runnable systems, whose latency the harness writes; all else is declared.
    """
    known = list(predictions)
    cost: dict[str, Any] = {}
    latencies = sorted(p.latency_s for p in known if p.latency_s is not None)
    if latencies:
        cost["latency_s"] = {
            "median": _quantile(latencies, 0.5), "p95": _quantile(latencies, 0.95), "n": len(latencies),
            "source": "measured" if measured else "declared",
        }  # fmt: skip
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        said = [value for p in known if (value := getattr(p, name)) is not None]
        if said:
            cost[name] = {
                "total": math.fsum(said) if name == "cost_usd" else sum(said),
                "n": len(said),
                "source": "declared",
            }
    return cost
