"""The parts of a scorecard that a system's page shows as tables: retrieval, probes, and where the points go.

Retrieval: citations against the evidence, by the number of passages. Probes: the system asked again under other
conditions. Losses: the questions without a right answer by cause, as the attribution counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from edu_rag.scorecard.card import CAUSES, Counts, ScoreCard, evidence_sentence, has_few_evidence, n_with_evidence
from leaderboard.board.badges import count_of

METRICS: Mapping[str, str] = {
    "P": "Precision",
    "R": "Recall",
    "success": "Success",
    "MAP": "MAP",
    "NDCG": "NDCG",
    "MRR": "MRR",
}
MEANINGS: Mapping[str, str] = {
    "P": "share of the first k passages that hold evidence",
    "R": "share of the evidence that the first k passages hold",
    "success": "questions with evidence among the first k",
    "MAP": "mean average precision",
    "NDCG": "normalised discounted cumulative gain",
    "MRR": "mean reciprocal rank of the first passage with evidence",
}
MAX_DEPTHS = 8
_NAME = re.compile(r"(P|R|success|MAP|NDCG)@([1-9]\d{0,3})\Z")
ASKED: Mapping[str, str] = {
    "no-context": "without any page: what it knows, or guesses",
    "evidence-only": "with the evidence sentences alone: the ceiling of better retrieval",
    "other-pages": "with the pages of another question: it should abstain",
    "half-noise": "with half of its pages replaced by those of other questions",
    "permuted": "with the choices in another order",
    "repeat": "the same again",
}
"""Every probe in the harness's order, and how the system is asked."""
_TABLED = frozenset(("n", "score", "interval", "main_score", "difference", "difference_interval", "p"))
MAX_CAUSES = 40
"""The harness knows seven; a file may name more."""
BAR = 100


class Measured(NamedTuple):
    """A metric's value with its 95 % interval, where the scorecard has one."""

    value: float
    interval: tuple[float, float] | None


class Metric(NamedTuple):
    """A row: a metric, what it means, and its values by depth; None if one is missing."""

    words: str
    meaning: str
    values: Sequence[Measured | None]


class Retrieved(NamedTuple):
    """The metrics by depth; a depth of 0 stands for all passages. `rest`: what else the scorecard says."""

    depths: Sequence[int]
    rows: Sequence[Metric]
    rest: Mapping[str, Any]


def number_of(value: object, low: float, high: float) -> float | None:
    """A number within the bounds; None for any other value that a file may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return None
    return float(value)


def interval_of(value: object, low: float, high: float) -> tuple[float, float] | None:
    """A pair of numbers within the bounds."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    first, last = (number_of(end, low, high) for end in value)
    return None if first is None or last is None else (first, last)


def _place(name: str) -> tuple[str, int] | None:
    """A metric and its depth, from `NDCG@10`; None if we do not know it."""
    if name == "MRR":
        return name, 0
    match = _NAME.match(name)
    return (match[1], int(match[2])) if match else None


def _without(values: Mapping[str, Any], part: str, names: set[str]) -> dict[str, Any]:
    inner = values.get(part)
    if not isinstance(inner, Mapping):
        return dict(values)
    kept = {name: value for name, value in inner.items() if name not in names}
    return {name: value for name, value in values.items() if name != part} | ({part: kept} if kept else {})


def retrieved_of(retrieval: Mapping[str, Any]) -> Retrieved:
    """The table of `ScoreCard.retrieval`; without rows where it holds no metric that we know."""
    metrics, intervals = retrieval.get("metrics"), retrieval.get("intervals")
    metrics = metrics if isinstance(metrics, Mapping) else {}
    intervals = intervals if isinstance(intervals, Mapping) else {}
    found: dict[tuple[str, int], Measured] = {}
    used: set[str] = set()
    for name, value in metrics.items():
        place, known = _place(str(name)), number_of(value, 0, 1)
        if place is not None and known is not None:
            found[place] = Measured(known, interval_of(intervals.get(name), 0, 1))
            used.add(name)
    depths = sorted({depth for _, depth in found}, key=lambda depth: (depth == 0, depth))
    if len(depths) > MAX_DEPTHS:
        return Retrieved([], [], retrieval)
    rows = [
        Metric(words, MEANINGS[name], [found.get((name, depth)) for depth in depths])
        for name, words in METRICS.items()
        if any(metric == name for metric, _ in found)
    ]
    shown = {name for name in used if name not in intervals or interval_of(intervals[name], 0, 1) is not None}
    return Retrieved(depths, rows, _without(_without(retrieval, "metrics", used), "intervals", shown))


class Probe(NamedTuple):
    """A probe of n questions and the main run on the same ones; `difference` is probe - main run."""

    name: str
    asked: str
    n: int
    score: float
    interval: tuple[float, float] | None
    main_score: float
    difference: float
    difference_interval: tuple[float, float] | None
    p: float | None


class Probes(NamedTuple):
    """The probes that we know, and what else the scorecard says of them."""

    rows: Sequence[Probe]
    rest: Mapping[str, Any]


def _probe(name: str, values: Mapping[str, Any]) -> Probe | None:
    n = count_of(values.get("n"))
    score, main = number_of(values.get("score"), -1, 1), number_of(values.get("main_score"), -1, 1)
    difference = number_of(values.get("difference"), -2, 2)
    if not n or score is None or main is None or difference is None:
        return None
    return Probe(
        name,
        ASKED[name],
        n,
        score,
        interval_of(values.get("interval"), -1, 1),
        main,
        difference,
        interval_of(values.get("difference_interval"), -2, 2),
        number_of(values.get("p"), 0, 1),
    )


def _rest(name: str, values: object, probe: Probe | None) -> Iterator[tuple[str, object]]:
    if probe is None or not isinstance(values, Mapping):
        yield name, values
        return
    shown = {field for field in _TABLED if getattr(probe, field) is not None}
    further = {field: value for field, value in values.items() if field not in shown}
    if further:
        yield name, further


def probes_of(probes: Mapping[str, Any]) -> Probes:
    """The table of `ScoreCard.probes`, in the harness's order; without rows where none is known."""
    known = {name: values for name in ASKED if isinstance(values := probes.get(name), Mapping)}
    rows = {name: probe for name, values in known.items() if (probe := _probe(name, values)) is not None}
    rest = dict(pair for name, values in probes.items() for pair in _rest(name, values, rows.get(name)))
    return Probes(list(rows.values()), rest)


class Loss(NamedTuple):
    """A cause: its questions, their share of all n, and the width of its bar out of BAR."""

    cause: str
    meaning: str
    n: int
    share: float
    width: str


class Losses(NamedTuple):
    """All causes, how many questions have no right answer, and the points that are missing from a perfect score.

    `few` says why the causes are folded away: for few questions evidence was found. Empty if they are not.
    """

    rows: Sequence[Loss]
    n: int
    points: int
    n_left_out: int
    few: str


def points_lost(counts: Counts) -> int:
    """Points below a perfect score: a wrong answer costs one and forgoes one, any other forgoes one."""
    return 2 * counts.incorrect + counts.n_missing


def losses_of(card: ScoreCard) -> Losses | None:
    """The scorecard's attribution; None if it has none."""
    if not card.attribution:
        return None
    most = max(*card.attribution.values(), 1)
    rows = [
        Loss(cause, CAUSES.get(cause, ""), n, n / card.counts.n, f"{n / most * BAR:.2f}".rstrip("0").rstrip("."))
        for cause, n in islice(card.attribution.items(), MAX_CAUSES)
    ]
    lost = card.counts.n - card.counts.correct
    n_with = n_with_evidence(card)
    few = evidence_sentence(n_with, card.counts.n) if n_with is not None and has_few_evidence(card) else ""
    return Losses(rows, lost, points_lost(card.counts), len(card.attribution) - len(rows), few)
