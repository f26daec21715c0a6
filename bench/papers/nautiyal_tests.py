"""The paired bootstrap of Nautiyal et al. (section 4.8), and a fairer one that draws focus areas whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edu_rag.statistics import RESAMPLES, cluster_ratios

ByRow = Mapping[int, float]
WHOLE = 10**9
"""Differences are counted in parts of this size: the resampling adds whole numbers, and cuts others off."""


def resampled(differences: Sequence[float], clusters: Sequence[int], seed: int, resamples: int) -> np.ndarray:
    """The means of resampled differences, floats of shape (resamples,); clusters, numbered from 0, are drawn whole."""
    counts = np.rint(np.asarray(differences, dtype=np.float64) * WHOLE).astype(np.int64)
    sums = np.zeros(max(clusters) + 1, dtype=np.int64)
    np.add.at(sums, np.asarray(clusters), counts)
    return cluster_ratios(sums[None, :], np.bincount(clusters), seed, resamples)[:, 0] / WHOLE


def bootstrap_p(differences: Sequence[float], seed: int, resamples: int = RESAMPLES) -> float:
    """Twice the smaller share of resampled means on one side of 0, or at it (the paper does not define its p).

    Such a share is not an exact p-value; it is what the paper's words describe. At least 1 / resamples.
    """
    return p_of(resampled(differences, range(len(differences)), seed, resamples))


def p_of(draws: np.ndarray) -> float:
    """Twice the smaller share of resampled differences on one side of 0, or at it; at least 1 / resamples."""
    share = min(float((draws <= 0).mean()), float((draws >= 0).mean()))
    return min(1.0, max(2 * share, 1 / len(draws)))


def pooled_p(first: ByRow, second: ByRow, focus: Sequence[str], seed: int) -> float:
    """The p of `pooled_row`'s difference: focus areas are drawn whole."""
    differences = [first[row] - second[row] for row in first]
    return p_of(resampled(differences, numbered(list(first), focus), seed, RESAMPLES))


def numbered(rows: Sequence[int], focus: Sequence[str]) -> list[int]:
    """The focus area of each question, numbered from 0."""
    names = {name: number for number, name in enumerate(dict.fromkeys(focus[row] for row in rows))}
    return [names[focus[row]] for row in rows]


def run_ps(first: ByRow, second: ByRow, runs: Sequence[Sequence[int]], seed: int) -> list[float]:
    """The p of each run, over its own questions."""
    return [bootstrap_p([first[row] - second[row] for row in run if row in first], seed) for run in runs]


def pooled_row(first: ByRow, second: ByRow, focus: Sequence[str], seed: int) -> tuple[str, str, str, str]:
    """All distinct questions of all runs: how many, the difference, its 95 % interval, and whether that leaves out 0.

    Questions of one focus area share what is relevant to them, so areas are drawn whole (10,000 seeded resamples).
    """
    rows = list(first)
    numbers = numbered(rows, focus)
    differences = np.array([first[row] - second[row] for row in rows])
    ratios = resampled(differences, numbers, seed, RESAMPLES)
    low, high = np.quantile(ratios, (0.025, 0.975))
    shown = f"{100 * low:+.2f} … {100 * high:+.2f}"
    established = "yes" if low > 0 or high < 0 else "no"
    return f"{len(rows)}, {max(numbers) + 1}", f"{100 * differences.mean():+.2f}", shown, established


def spreads(matrix: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Lower quartile, median, upper quartile and standard deviation of each row: floats of shape (rows, 4).

    A quartile is the least value that a quarter of the questions does not exceed (numpy's `inverted_cdf`). `weights`
    counts each question; without it each counts once.
    """
    weights = np.ones(matrix.shape[1], dtype=np.int64) if weights is None else weights
    total, found = weights.sum(), []
    for row in matrix:
        order = np.argsort(row, kind="stable")
        places = np.searchsorted(np.cumsum(weights[order]), total * np.array([0.25, 0.5, 0.75]))
        centre = row @ weights / total
        found.append((*row[order[places]], np.sqrt((row - centre) ** 2 @ weights / total)))
    return np.array(found)


def resampled_spreads(matrix: np.ndarray, clusters: Sequence[int], seed: int, resamples: int = 2_000) -> np.ndarray:
    """`spreads` of resampled questions, floats of shape (resamples, rows, 4); clusters are drawn whole."""
    n = max(clusters) + 1
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return np.array([spreads(matrix, counts[np.asarray(clusters)]) for counts in drawn])
