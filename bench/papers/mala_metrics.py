"""The paper's metrics by question (trec_eval's, through harness.scoring.retrieval), and paired tests of their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from mala_tasks import Task
from numpy.typing import NDArray
from scipy import stats

from edu_rag.statistics import holm
from harness.scoring.retrieval import measures

MAP = "MAP@3, by all relevant"
AP_MIN = "MAP@3, by min(relevant, 3)"
NDCG = "NDCG@3"
HIT = "found among 3"
RESAMPLES = 10_000
SEED = 0
Values = Mapping[str, NDArray[np.float64]]


def metrics_of(task: Task, ranked: Sequence[Sequence[int]]) -> Values:
    """Average precision at 3 by both denominators (equation 7), and NDCG at 3 (equations 9-10), of every query.

    trec_eval's map_cut divides by all relevant passages, as equation 7 says; the other denominator is what a ranking of
    three can reach. Its NDCG has the ideal of all relevant passages cut at 3; binary grades make 2^rel - 1 = rel.
    HIT is 1 where any of the three is relevant.
    """
    relevant = {str(at): [str(place) for place in sorted(places)] for at, places in enumerate(task.relevant)}
    runs = {str(at): [str(place) for place in places] for at, places in enumerate(ranked)}
    found = measures(relevant, runs, (3,))
    sizes = np.array([len(places) for places in task.relevant], dtype=np.float64)
    by_all = np.array(found["MAP@3"])
    by_reach = by_all * sizes / np.minimum(sizes, 3)
    return {MAP: by_all, AP_MIN: by_reach, NDCG: np.array(found["NDCG@3"]), HIT: np.array(found["success@3"])}


def _bounds(values: NDArray[np.float64]) -> tuple[float, float]:
    """95 % percentile bootstrap of the mean over questions, seeded."""
    rng = np.random.default_rng(SEED)
    means = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def interval(values: NDArray[np.float64]) -> str:
    """A mean with its interval."""
    low, high = _bounds(values)
    return f"{values.mean():.3f} ({low:.3f} … {high:.3f})"


def sign_flip_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p of the mean difference under random signs (10,000 seeded flips of whole questions)."""
    if not np.any(differences):
        return 1.0
    found = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=RESAMPLES, rng=np.random.default_rng(SEED)
    )
    return float(found.pvalue)


def paired_rows(
    values: Mapping[str, Values], pairs: Sequence[tuple[str, str]], metrics: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """One row a pair and metric: mean difference, its interval, p, p after Holm over all rows, and how many differ."""
    keys = [(first, second, metric) for first, second in pairs for metric in metrics]
    differences = [values[first][metric] - values[second][metric] for first, second, metric in keys]
    plain = [sign_flip_p(one) for one in differences]
    for (first, second, metric), d, p, adjusted in zip(keys, differences, plain, holm(plain), strict=True):
        low, high = _bounds(d)
        counts = [int(np.sum(part)) for part in (d > 1e-12, d < -1e-12, np.abs(d) <= 1e-12)]
        yield (
            f"{first} − {second}",
            metric,
            f"{d.mean():+.3f}",
            f"{low:+.3f} … {high:+.3f}",
            f"{p:.2g}",
            f"{adjusted:.2g}",
            " / ".join(map(str, counts)),
        )
