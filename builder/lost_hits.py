"""Search results whose page was lost: how many there are, and from which share on a dataset is unfit.

A page that a server refuses or that a filter drops says something about the page. A lost connection, a name that did
not resolve, a time-out and a server that is busy say something about the day of the crawl: another day would have given
another dataset. A hit is lost if all attempts at its page ended so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from builder.fetch.fetched import TRANSIENT_STATUSES
from edu_rag.records import SearchHit

LOST_OUTCOMES = ("connection", "dns", "robots_unreachable", "timeout")
"""The outcomes of a hit that the network caused: the only list of them. Of the other outcomes but `kept`, only an
`http_error` of LOST_STATUSES is not final.
"""
LOST_STATUSES = frozenset(map(str, TRANSIENT_STATUSES))
"""The details of an `http_error` that a later run asks for again: the server may answer then."""
MAX_LOST = 0.05
"""The share of all hits that may be lost unless `[build] max_lost` gives another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitLosses:
    """The hits of a dataset by what became of them: `kept`, `lost` by cause, or dropped for good.

    `taken_down` of the dropped ones were in an earlier version of the dataset.
    """

    kept: int
    lost: Mapping[str, int]
    dropped: int
    taken_down: int = 0

    @property
    def n_lost(self) -> int:
        """All lost hits."""
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
        reasons = ", ".join(f"{cause} {n:,}" for cause, n in sorted(self.lost.items()))
        lost = f"lost {self.n_lost:,}" + (f" ({reasons})" if reasons else "")
        return f"of {self.n_hits:,} search results kept {self.kept:,}, {lost}, dropped for good {self.dropped:,}"

    def fault(self, max_lost: float) -> str:
        """Why a dataset with these hits must not pass as valid, or an empty text. For datasets of an engine only."""
        if self.share > max_lost:
            lost = f"lost {self.share:.1%} of its search results to the network or to busy servers"
            return f"{lost}, and {max_lost:.1%} may be lost: {self}"
        if not self.kept and not self.taken_down:
            return f"has no page, although a search engine was asked: {self}"
        return ""


def cause_of(outcome: str, detail: str) -> str:
    """What a hit is counted as: its outcome, with the status where that decides whether the hit is lost."""
    return f"{outcome} {detail}" if outcome == "http_error" and detail in LOST_STATUSES else outcome


def is_lost(cause: str) -> bool:
    """Whether a hit with this cause is lost: another day may bring its page."""
    return cause in LOST_OUTCOMES or " " in cause


def losses_of(causes: Mapping[str, int]) -> HitLosses:
    """The losses in counts of hits by `cause_of`."""
    lost = {cause: n for cause, n in causes.items() if is_lost(cause) and n}
    return HitLosses(
        kept=causes.get("kept", 0),
        lost=lost,
        dropped=sum(n for cause, n in causes.items() if cause != "kept" and cause not in lost),
        taken_down=causes.get("taken_down", 0),
    )


def losses_of_hits(hits: Iterable[SearchHit]) -> HitLosses:
    """The losses among hits."""
    return losses_of(Counter(cause_of(hit.outcome, hit.detail) for hit in hits))


def counts_in_sources(causes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Counts by cause as a manifest's `sources` hold them: `hits_by_outcome`, and the lost `http_error`s by status."""
    outcomes, statuses = Counter[str](), Counter[str]()
    for cause, n in causes.items():
        outcome, _, status = cause.partition(" ")
        outcomes[outcome] += n
        if status:
            statuses[status] += n
    counts = {"hits_by_outcome": dict(sorted(outcomes.items()))}
    return counts | ({"hits_lost_by_status": dict(sorted(statuses.items()))} if statuses else {})


def counted_by_status(sources: Mapping[str, Any], losses: HitLosses) -> bool:
    """Whether a manifest's counts hold what busy servers cost: those of earlier builds count every `http_error` as
    dropped for good.
    """
    return "hits_lost_by_status" in sources or set(losses.lost) <= set(LOST_OUTCOMES)


def _counts(value: object) -> dict[str, int]:
    return {str(key): n for key, n in value.items() if isinstance(n, int)} if isinstance(value, Mapping) else {}


def losses_in_sources(sources: Mapping[str, Any]) -> HitLosses:
    """The losses that a manifest's own counts show; a manifest of before counts no `http_error` as lost."""
    causes, statuses = _counts(sources.get("hits_by_outcome")), _counts(sources.get("hits_lost_by_status"))
    n_lost = min(sum(statuses.values()), causes.get("http_error", 0))
    if n_lost:
        causes["http_error"] -= n_lost
        causes |= {f"http_error {status}": n for status, n in statuses.items()}
    return losses_of(causes)


def asked_an_engine(sources: Mapping[str, Any]) -> bool:
    """Whether a manifest's `sources` name a search engine: a dataset of `--engine none` has no hits."""
    return bool(sources.get("engine", "none") != "none")


def allowed_share(sources: Mapping[str, Any]) -> float:
    """The share that the build of a manifest's `sources` allowed: MAX_LOST unless they give another one."""
    found = sources.get("max_lost", MAX_LOST)
    return float(found) if isinstance(found, int | float) and 0 <= found <= 1 else MAX_LOST


def fault_in_sources(sources: Mapping[str, Any]) -> str:
    """The fault that a manifest's own counts show, or an empty text."""
    if not asked_an_engine(sources) or not isinstance(sources.get("hits_by_outcome"), Mapping):
        return ""
    return losses_in_sources(sources).fault(allowed_share(sources))
