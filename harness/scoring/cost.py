"""The cost of answering: seconds, tokens, money and energy, each marked as measured by the harness or declared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from edu_rag.scorecard.card import Prediction

DECLARED = ("input_tokens", "output_tokens", "cost_usd", "energy_j")
"""Costs that only the system itself can know."""
_SHOWN = {
    "input_tokens": ("input tokens", ",.0f"),
    "output_tokens": ("output tokens", ",.0f"),
    "cost_usd": ("US dollars", ",.4f"),
    "energy_j": ("joules", ",.1f"),
}


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (inverse of the empirical CDF)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def cost_of(predictions: Iterable[Prediction], *, measured: bool) -> dict[str, Any]:
    """The cost that the predictions state; each part with `n`, the number of predictions that state it, and `source`.

    `latency_s`: median, 95th percentile and mean in seconds; `input_tokens`, `output_tokens`, `cost_usd` (US dollars)
    and `energy_j` (joules): total, and mean over the n. Latency is `measured` where the harness made these very
    predictions (see `rerun_log`); it leaves out the first answer of each process, which includes the process's start.
    Everything else is `declared`.
    """
    known = list(predictions)
    cost: dict[str, Any] = {}
    latencies = sorted(p.latency_s for p in known if p.latency_s is not None)
    if latencies:
        cost["latency_s"] = {
            "median": _quantile(latencies, 0.5),
            "p95": _quantile(latencies, 0.95),
            "mean": math.fsum(latencies) / len(latencies),
            "n": len(latencies),
            "source": "measured" if measured else "declared",
        }
    for name in DECLARED:
        said = [value for p in known if (value := getattr(p, name)) is not None]
        if said:
            total = sum(said) if name.endswith("tokens") else math.fsum(said)
            cost[name] = {"total": total, "mean": total / len(said), "n": len(said), "source": "declared"}
    return cost


def cost_lines(cost: Mapping[str, Any]) -> Iterator[str]:
    """`ScoreCard.cost` for a terminal, one line a part."""
    latency = cost.get("latency_s")
    if latency:
        yield (
            f"latency        median {latency['median']:.3f} s, p95 {latency['p95']:.3f} s, "
            f"mean {latency['mean']:.3f} s "
            f"({latency['source']}, {latency['n']:,} answers, without the first of each process)"
        )
    for name, (words, form) in _SHOWN.items():
        if name in cost:
            part = cost[name]
            yield (
                f"{words:14} {part['total']:{form}} in all, {part['mean']:{form}} a question "
                f"({part['source']}, {part['n']:,} answers)"
            )
