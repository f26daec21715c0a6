"""The value of a system's stated confidence: risk-coverage, calibration, and the best score by abstaining."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from edu_rag.scorecard.card import Prediction, Verdict

N_BINS = 15
_EDGES = tuple((m + 1) / N_BINS for m in range(N_BINS))
MAX_POINTS = 100
"""Points of the curve that a scorecard keeps; the areas are of the whole curve."""


class CoverageStep(NamedTuple):
    """All answers of one confidence, and all of a higher one: how many were kept, and how many of those were wrong."""

    threshold: float
    n_kept: int
    n_wrong: int

    @property
    def risk(self) -> float:
        """Share of wrong answers among those kept."""
        return self.n_wrong / self.n_kept


def steps_of(stated: Sequence[tuple[float, bool]]) -> list[CoverageStep]:
    """The risk-coverage curve of (confidence, correct) pairs, one step for each confidence, from the highest down.

    Equal confidence goes together: no order inside a tie is known, so none is assumed.
    """
    tally: dict[float, list[int]] = {}
    for confidence, correct in stated:
        at = tally.setdefault(confidence, [0, 0])
        at[0] += 1
        at[1] += not correct
    thresholds = sorted(tally, reverse=True)
    kept = accumulate(tally[threshold][0] for threshold in thresholds)
    wrong = accumulate(tally[threshold][1] for threshold in thresholds)
    return [CoverageStep(*values) for values in zip(thresholds, kept, wrong, strict=True)]


def area_of(steps: Sequence[CoverageStep]) -> float:
    """AURC: the mean risk over the coverages 1/n, 2/n … 1 (Geifman, Uziel & El-Yaniv 2019, section 3).

    The coverages inside a tie have the risk at its end.
    """
    before = [0, *(step.n_kept for step in steps)]
    parts = [(step.n_kept - start) * step.n_wrong / step.n_kept for step, start in zip(steps, before, strict=False)]
    return math.fsum(parts) / steps[-1].n_kept


def best_area(n: int, n_wrong: int) -> float:
    """The AURC of an oracle that is surer of every correct answer than of any wrong one."""
    n_correct = n - n_wrong
    return math.fsum((kept - n_correct) / kept for kept in range(n_correct + 1, n + 1)) / n


def _thinned(steps: Sequence[CoverageStep]) -> Iterator[CoverageStep]:
    """All steps, or of more than MAX_POINTS the first that reaches each hundredth of the coverage."""
    if len(steps) <= MAX_POINTS:
        yield from steps
        return
    reached = 0
    for step in steps:
        hundredths = step.n_kept * MAX_POINTS // steps[-1].n_kept
        if hundredths > reached:
            reached = hundredths
            yield step


def brier_of(stated: Sequence[tuple[float, bool]]) -> float:
    """Brier score (1950): the mean squared distance of confidence from 1 for a correct answer, 0 for a wrong one."""
    # Not by `** 2`: C's pow need not be exact in the last digit, and is not the same everywhere.
    return math.fsum((confidence - correct) * (confidence - correct) for confidence, correct in stated) / len(stated)


def bins_of(stated: Sequence[tuple[float, bool]]) -> list[dict[str, Any]]:
    """The filled ones of 15 bins of equal width, closed above; 0 is in the first (Guo et al. 2017, section 2)."""
    members: dict[int, list[tuple[float, bool]]] = {}
    for confidence, correct in stated:
        members.setdefault(bisect_left(_EDGES, confidence), []).append((confidence, correct))
    return [
        {
            "low": m / N_BINS,
            "high": (m + 1) / N_BINS,
            "n": len(inside),
            "n_correct": sum(correct for _, correct in inside),
            "confidence": math.fsum(confidence for confidence, _ in inside) / len(inside),
        }
        for m, inside in sorted(members.items())
    ]


def calibration_error(stated: Sequence[tuple[float, bool]]) -> float:
    """ECE (Guo et al. 2017, equation 3): the mean over answers of their bin's |accuracy - mean confidence|."""
    sums: dict[int, list[float]] = {}
    for confidence, correct in stated:
        sums.setdefault(bisect_left(_EDGES, confidence), []).append(confidence - correct)
    return math.fsum(abs(math.fsum(inside)) for inside in sums.values()) / len(stated)


def _best_threshold(steps: Sequence[CoverageStep], rest: int, n_questions: int) -> dict[str, Any]:
    """The highest score by giving only answers of at least some confidence; the lowest such threshold among equals.

    `rest` are the points of answers without confidence, which no threshold can hold back.
    """
    best, threshold, kept = 0, None, 0
    for step in steps:
        points = step.n_kept - 2 * step.n_wrong
        if points >= best:
            best, threshold, kept = points, step.threshold, step.n_kept
    return {"score": (best + rest) / n_questions, "threshold": threshold, "n_kept": kept}


def confidence_of(verdicts: Sequence[Verdict], predictions: Mapping[str, Prediction]) -> dict[str, Any]:
    """Risk-coverage curve, AURC, E-AURC, ECE, Brier score and the best score by abstaining; {} where none is stated.

    Defined over the attempted questions (correct or incorrect) for which the system stated a confidence; confidence in
    other questions is not used. `n` and `n_attempted` show how many are covered.
    """
    attempted = [verdict for verdict in verdicts if verdict.outcome in ("correct", "incorrect")]
    stated: list[tuple[float, bool]] = []
    rest = 0
    for verdict in attempted:
        confidence = predictions[verdict.question_id].confidence
        if confidence is None:
            rest += verdict.points
        else:
            stated.append((confidence + 0.0, verdict.outcome == "correct"))  # -0.0 becomes 0.0
    if not stated:
        return {}
    steps, n = steps_of(stated), len(stated)
    area = area_of(steps)
    return {
        "n": n,
        "n_attempted": len(attempted),
        "brier": brier_of(stated),
        "ece": calibration_error(stated),
        "aurc": area,
        "e_aurc": area - best_area(n, steps[-1].n_wrong),
        "bins": bins_of(stated),
        "curve": [
            {"threshold": step.threshold, "coverage": step.n_kept / n, "risk": step.risk} for step in _thinned(steps)
        ],
        "best": _best_threshold(steps, rest, len(verdicts)),
    }


def _best_line(best: Mapping[str, Any]) -> str:
    threshold = best["threshold"]
    given = "none of them" if threshold is None else f"only answers of confidence >= {threshold:.4g}"
    return (
        f"  best score by giving {given}: {100 * best['score']:+.2f} % "
        "(an upper bound: the threshold is tuned on the test questions)"
    )


def confidence_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """The confidence of a scorecard as readable lines; nothing where the system stated none."""
    if not values:
        return
    yield f"confidence     stated for {values['n']:,} of {values['n_attempted']:,} attempted questions"
    yield (
        f"  ECE {values['ece']:.4f}, Brier {values['brier']:.4f} (0 is best); "
        f"AURC {values['aurc']:.4f}, {values['e_aurc']:.4f} above the best order of the same answers"
    )
    yield _best_line(values["best"])
