"""From signs to probabilities of the choices: a conditional logit (McFadden 1974) with few, regularised weights.

P(choice j) = exp(w . x_j) / sum over k of exp(w . x_k). A true/false question is the same with two choices, where
"false" has zeros and "true" has its signs and a constant. Weights are fitted by Newton's method under the penalty
(l2 / 2) |w|^2, which keeps what little a few hundred questions can say from being believed too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.serve import SystemQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLIP = 8.0
"""A choice whose sign is this far below the best one's, and log-odds this far from zero, say no more further away."""
CONSTANT = "constant"
"""The sign that is 1 for "true": how likely a statement of which nothing else is known is true."""


def _below_best(values: Sequence[float]) -> list[float]:
    best = max(values)
    return [max(-CLIP, value - best) for value in values]


def matrix(question: SystemQuestion, signs: Mapping[str, Sequence[float]], names: Sequence[str]) -> NDArray[np.float64]:
    """The named signs of each choice, float64 of shape (choices, names); "false" has zeros."""
    import numpy as np

    if question.kind == "true_false":
        odds = [1.0 if name == CONSTANT else min(CLIP, max(-CLIP, signs[name][0])) for name in names]
        sides = [text.strip().casefold() == "true" for text in question.choices.values()]
        return np.array([[value * side for value in odds] for side in sides], dtype=np.float64)
    rows = [_below_best(signs[name]) for name in names]
    return np.array(rows, dtype=np.float64).reshape(len(names), len(question.choices)).T


class Weights(NamedTuple):
    """A fitted model of one kind of question: names of its signs, and their weights."""

    names: tuple[str, ...]
    values: tuple[float, ...]


def probabilities(weights: Sequence[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P of each choice, float64 of shape (choices,)."""
    import numpy as np

    utility = x @ np.asarray(weights, dtype=np.float64)
    share: NDArray[Any] = np.exp(utility - utility.max())
    shares: NDArray[np.float64] = share / share.sum()
    return shares


def _stacked(rows: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Rows centred in each question and filled up to equally many choices, and which choices are real."""
    import numpy as np

    most = max(len(x) for x in rows)
    stacked = np.zeros((len(rows), most, rows[0].shape[1]))
    real = np.zeros((len(rows), most), dtype=np.bool_)
    for number, x in enumerate(rows):
        stacked[number, : len(x)] = x - x.mean(axis=0)
        real[number, : len(x)] = True
    return stacked, real


def fit(
    rows: Sequence[NDArray[np.float64]],
    right: Sequence[int],
    l2: float,
    known: Sequence[NDArray[np.float64]] | None = None,
    steps: int = 100,
) -> NDArray[np.float64]:
    """The weights that make the right choices likeliest, by Newton's method; deterministic, unique for l2 > 0.

    The penalty applies to weights of standardised signs (centred in each question, divided by their sd over all
    choices). Rows are of shape (choices, signs); `right` are places of choices; `known` are utilities (choices,)
    that other signs have given already.
    """
    import numpy as np

    x, real = _stacked(rows)
    scale = x[real].std(axis=0)
    scale[scale == 0] = 1.0
    x = x / scale
    chosen = x[np.arange(len(rows)), np.asarray(right)].sum(axis=0)
    weights = np.zeros(x.shape[2])
    before = np.zeros(real.shape) if known is None else _stacked([row[:, None] for row in known])[0][:, :, 0]
    for _ in range(steps):
        utility = np.where(real, before + x @ weights, -np.inf)
        p = np.exp(utility - utility.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        means = np.einsum("nc,ncs->ns", p, x)
        gradient = chosen - means.sum(axis=0) - l2 * weights
        curvature = np.einsum("nc,ncs,nct->st", p, x, x) - means.T @ means + l2 * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-10:
            break
    result: NDArray[np.float64] = weights / scale
    return result
