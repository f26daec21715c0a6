"""The parts of a scorecard beyond its outcomes, as the tables of a system's page.

Retrieval: citations against the evidence, by the number of passages. Probes: the system asked again under other
conditions. Losses: the questions without a right answer by cause, as the attribution counts them. Details: all other
parts, as plain tables under names that a reader understands.
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
MAX_ROWS = 200
TITLES: Mapping[str, str] = {
    "retrieval": "What it cites",
    "probes": "Probes, in detail",
    "confidence": "How well it knows what it knows",
    "cost": "Cost",
    "judges": "Judges of free text",
    "caps": "What the sandbox enforced",
    "rerun": "A maintainers' run, to compare",
}
WORDS: Mapping[str, str] = {
    "n_citing": "answers that cite",
    "n_passages_mean": "passages a citing answer",
    "n_characters_mean": "characters a citing answer",
    "n_supported": "questions with evidence",
    "n_answered_supported": "of these answered",
    "n_grounded": "correct with evidence among the cited (grounded)",
    "n_lucky": "correct without (lucky)",
    "evidence_cited": "answered with evidence among the cited",
    "n_evidence_mean": "places of evidence a question",
    "metrics": "",
    "intervals": "95 % interval",
    "n": "questions",
    "n_attempted": "attempted",
    "brier": "Brier score",
    "ece": "calibration error (ECE)",
    "aurc": "area under the risk-coverage curve",
    "e_aurc": "of which above the best order",
    "best": "best by abstaining",
    "threshold": "that threshold (tuned on these questions)",
    "n_kept": "answers kept by it",
    "latency_s": "seconds a question",
    "p95": "95th percentile",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cost_usd": "US dollars",
    "energy_j": "joules",
    "total": "in all",
    "sandbox": "by",
    "user": "as user",
    "gaps": "left open",
    "network": "hosts that it could reach",
    "n_packages": "packages that it brings",
    "packages_sha256": "these packages, by their hashes",
    "memory": "memory is capped by",
    "processes": "processes are capped by",
    "cpu": "CPU time is capped by",
    "memory_bytes": "memory, bytes",
    "n_processes": "processes",
    "file_bytes": "largest file, bytes",
    "n_files": "open files",
    "tmp_bytes": "temporary files, bytes",
    "shm_bytes": "shared memory, bytes",
    "cpu_s": "CPU seconds a question",
    "n_same": "same answers",
    "made_at": "when",
    "own": "these are its answers",
    "mean": "mean",
    "source": "source",
    "success": "Success",
    "P": "Precision",
    "R": "Recall",
}
UNKNOWN: Mapping[str, str] = {
    "attribution": "where its points go",
    "retrieval": "how well it finds evidence",
    "probes": "how it fares under other conditions (probes)",
    "confidence": "how well it knows what it knows",
    "cost": "what it costs",
    "rerun": "whether it gives the same answers again",
}
"""Fields of a scorecard that may be empty, and what is not known then."""
_AT = re.compile(r"(P|R|success|MAP|NDCG)@(\d{1,4})\Z")


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
    """The metrics by depth; a depth of 0 means all passages. `rest`: what else the scorecard says."""

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


class Detail(NamedTuple):
    """One table: its heading, and rows of a name and a value."""

    title: str
    rows: tuple[tuple[str, str], ...]


def _word(key: str) -> str:
    match = _AT.match(key)
    return f"{WORDS.get(match[1], match[1])} at {match[2]}" if match else WORDS.get(key, key)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " … ".join(_shown(part) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "none" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _rows(values: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _rows(value, (*names, _word(str(key))))
    # Lists of records, such as the points of a curve, are for the scorecard's readers.
    elif not (isinstance(values, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in values)):
        yield " · ".join(name for name in names if name), _shown(values)


def details_of(card: ScoreCard) -> list[Detail]:
    """A table for each field that says more than the page's own tables; at most MAX_ROWS rows each."""
    fields: dict[str, Any] = {name: getattr(card, name) for name in TITLES}
    fields["retrieval"] = retrieved_of(card.retrieval).rest
    fields["probes"] = probes_of(card.probes).rest
    tables = ((title, tuple(islice(_rows(fields[name]), MAX_ROWS))) for name, title in TITLES.items())
    return [Detail(title, rows) for title, rows in tables if rows]


def unknown_of(card: ScoreCard) -> list[str]:
    """The missing parts of this scorecard, in words."""
    return [words for name, words in UNKNOWN.items() if not getattr(card, name)]
