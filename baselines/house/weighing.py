"""From signs to probabilities of the choices: a conditional logit (McFadden 1974) with few, regularised weights.

P(choice j) = exp(w . x_j) / sum over k of exp(w . x_k). A true/false question is the same with two choices, where
"false" has zeros and "true" has its signs and a constant. Weights are fitted by Newton's method under the penalty
(l2 / 2) |w|^2, which keeps what little a few hundred questions can say from being believed too much.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from baselines.house.asking import is_meta
from edu_rag.serve import SystemQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALL = re.compile(r"all\s+(?:of\s+)?(?:the|these|of)\b")
_NONE = re.compile(r"(?:none|neither)\b")
_CUES = {
    "only": r"only|solely",
    "absolute": r"always|never|all|every|none|must|entirely|completely|exactly|same",
    "negated": r"not|no|cannot",
    "may": r"may|can|could|might|sometimes|often|usually|generally|typically",
    "some": r"some|many|most|several|few",
    "number": r"one|two|three|four|five|six|seven|ten|half|\d+",
}
_CUE = {name: re.compile(rf"\b(?:{words})\b") for name, words in _CUES.items()}
_MOST_CUES = 2
CLIP = 8.0
"""Log-odds beyond this say no more."""


def meta_signs(text: str) -> tuple[float, float, float]:
    """Whether a choice says "all of the above", "none of the above", or refers to others in another way."""
    folded = text.strip().casefold()
    kinds = [bool(_ALL.match(folded)), bool(_NONE.match(folded))]
    return float(kinds[0]), float(kinds[1]), float(is_meta(folded) and not any(kinds))


def cue_signs(text: str) -> dict[str, float]:
    """How often (2 at most) a statement has words that test writers put into true or into false ones, by sort."""
    folded = text.casefold()
    return {name: float(min(_MOST_CUES, len(found.findall(folded)))) for name, found in _CUE.items()}


def habit_signs(question: SystemQuestion) -> dict[str, list[float]]:
    """Signs that need no knowledge and no model: habits of test writers. One number a choice, or one a statement.

    Of choices: whether one refers to the others (three sorts), and the log of its length if none of these holds.
    """
    if question.kind == "true_false":
        return {"constant": [1.0]} | {name: [value] for name, value in cue_signs(question.text).items()}
    texts = list(question.choices.values())
    metas = [meta_signs(text) for text in texts]
    columns = [list(column) for column in zip(*metas, strict=True)]
    length = [0.0 if any(meta) else math.log(len(text) + 3) for text, meta in zip(texts, metas, strict=True)]
    return dict(zip(("all", "none", "other_meta"), columns, strict=True)) | {"length": length}


def _clipped(values: Sequence[float], most: float = CLIP) -> list[float]:
    return [min(most, max(-most, value)) for value in values]


def matrix(question: SystemQuestion, signs: Mapping[str, Sequence[float]], names: Sequence[str]) -> NDArray[np.float64]:
    """The named signs of each choice, float64 of shape (choices, names); "false" has zeros."""
    import numpy as np

    every = habit_signs(question) | {name: _clipped(row) for name, row in signs.items()}
    if question.kind == "true_false":
        sides = [text.strip().casefold() == "true" for text in question.choices.values()]
        return np.array([[every[name][0] * side for name in names] for side in sides], dtype=np.float64)
    return np.array([every[name] for name in names], dtype=np.float64).reshape(len(names), len(question.choices)).T


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


def fit(rows: Sequence[NDArray[np.float64]], right: Sequence[int], l2: float, steps: int = 100) -> NDArray[np.float64]:
    """The weights that make the right choices likeliest, by Newton's method; deterministic, unique for l2 > 0.

    The penalty applies to weights of standardised signs (centred in each question, divided by their sd over all
    choices). Rows are of shape (choices, signs); `right` are places of choices.
    """
    import numpy as np

    x, real = _stacked(rows)
    scale = x[real].std(axis=0)
    scale[scale == 0] = 1.0
    x = x / scale
    chosen = x[np.arange(len(rows)), np.asarray(right)].sum(axis=0)
    weights = np.zeros(x.shape[2])
    for _ in range(steps):
        utility = np.where(real, x @ weights, -np.inf)
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
