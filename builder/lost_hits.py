"""Search results whose page was lost to the network: how many there are, and from which share on a dataset is unfit.

A page that a server refuses or that a filter drops says something about the page. A lost connection, a name that did
not resolve and a time-out say something about the day of the crawl: another day would have given another dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOST_OUTCOMES = ("connection", "dns", "robots_unreachable", "timeout")
"""The outcomes of a hit that the network caused: the only list of them. Every other outcome but `kept` is final."""
MAX_LOST = 0.05
"""The share of all hits that may be lost unless `[build] max_lost` gives another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitLosses:
    """The hits of a dataset by what became of them: `kept`, `lost` to the network by outcome, or dropped for good.

    `taken_down` of the dropped ones were in an earlier version of the dataset.
    """

    kept: int
    lost: Mapping[str, int]
    dropped: int
    taken_down: int = 0

    @property
    def n_lost(self) -> int:
        """All hits that the network lost."""
        return sum(self.lost.values())

    @property
    def n_hits(self) -> int:
        """All hits."""
        return self.kept + self.n_lost + self.dropped

    @property
    def share(self) -> float:
        """Lost hits of all hits."""
        return self.n_lost / self.n_hits if self.n_hits else 0.0

    def __str__(self) -> str:
        reasons = ", ".join(f"{outcome} {n:,}" for outcome, n in sorted(self.lost.items()))
        lost = f"lost to the network {self.n_lost:,}" + (f" ({reasons})" if reasons else "")
        return f"of {self.n_hits:,} search results kept {self.kept:,}, {lost}, dropped for good {self.dropped:,}"

    def fault(self, max_lost: float) -> str:
        """Why a dataset with these hits must not pass as valid, or an empty text. For datasets of an engine only."""
        if self.share > max_lost:
            return f"lost {self.share:.1%} of its search results to the network, and {max_lost:.1%} may be lost: {self}"
        if not self.kept and not self.taken_down:
            return f"has no page, although a search engine was asked: {self}"
        return ""


def losses_of(outcomes: Mapping[str, int]) -> HitLosses:
    """The losses in counts of hits by outcome."""
    lost = {outcome: n for outcome, n in outcomes.items() if outcome in LOST_OUTCOMES and n}
    return HitLosses(
        kept=outcomes.get("kept", 0),
        lost=lost,
        dropped=sum(n for outcome, n in outcomes.items() if outcome != "kept" and outcome not in lost),
        taken_down=outcomes.get("taken_down", 0),
    )


def asked_an_engine(sources: Mapping[str, Any]) -> bool:
    """Whether a manifest's `sources` name a search engine: a dataset of `--engine none` has no hits."""
    return bool(sources.get("engine", "none") != "none")


def allowed_share(sources: Mapping[str, Any]) -> float:
    """The share that the build of a manifest's `sources` allowed: MAX_LOST unless they give another one."""
    found = sources.get("max_lost", MAX_LOST)
    return float(found) if isinstance(found, int | float) and 0 <= found <= 1 else MAX_LOST


def fault_in_sources(sources: Mapping[str, Any]) -> str:
    """The fault that a manifest's own counts show, or an empty text."""
    outcomes = sources.get("hits_by_outcome")
    if not asked_an_engine(sources) or not isinstance(outcomes, Mapping):
        return ""
    counts = {str(outcome): n for outcome, n in outcomes.items() if isinstance(n, int)}
    return losses_of(counts).fault(allowed_share(sources))
