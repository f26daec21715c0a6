"""The fit of the house system's weights, cross-validated on questions outside the board's sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.house.weighing import fit, matrix, probabilities
from edu_rag.serve import SystemQuestion

HABITS = {
    "choices": ("all", "none", "other_meta", "length"),
    "true_false": ("constant", "only", "absolute", "negated", "may", "some", "number"),
}
"""Signs that need no model: fitted first, on questions whose other signs were not computed."""
L2_OF_HABITS = 2.0
L2 = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
FOLDS, ROUNDS = 10, 5
BOUNDS = (0.40, 0.45, 0.50, 0.55, 0.60)
Matrix = NDArray[np.float64]


class Case(NamedTuple):
    """A tuning question, its signs (none but habits where no model was asked), and the place of its right choice."""

    question: SystemQuestion
    signs: Mapping[str, Sequence[float]]
    right: int

    @property
    def which(self) -> str:
        """The model of weights it belongs to."""
        return "true_false" if self.question.kind == "true_false" else "choices"


class Guess(NamedTuple):
    """The guess of a model that has not seen the question."""

    probability: float
    is_right: bool
    logprob: float


def habit_weights(cases: Sequence[Case], which: str) -> dict[str, float]:
    """The weights of habits, from questions that nothing else is fitted on."""
    own = [case for case in cases if case.which == which]
    rows = [matrix(case.question, {}, HABITS[which]) for case in own]
    values = fit(rows, [case.right for case in own], L2_OF_HABITS)
    return dict(zip(HABITS[which], values.tolist(), strict=True))


def design(cases: Sequence[Case], names: Sequence[str], habits: Mapping[str, float]) -> list[Matrix]:
    """The named signs of each case and, as the last column, what habits say."""
    rows = []
    for case in cases:
        habit = matrix(case.question, {}, tuple(habits)) @ np.array(list(habits.values()))
        rows.append(np.column_stack([matrix(case.question, case.signs, names), habit]))
    return rows


def guesses(rows: Sequence[Matrix], right: Sequence[int], l2: float, seed: int) -> list[Guess]:
    """The model's view of each question when it is fitted on the other folds."""
    order = np.random.default_rng(seed).permutation(len(rows))
    found: list[Guess | None] = [None] * len(rows)
    for fold in range(FOLDS):
        kept_out = {int(number) for number in order[fold::FOLDS]}
        used = [number for number in range(len(rows)) if number not in kept_out]
        weights = fit([rows[number] for number in used], [right[number] for number in used], l2)
        for number in kept_out:
            p = probabilities(weights.tolist(), rows[number])
            found[number] = Guess(float(p.max()), int(p.argmax()) == right[number], math.log(p[right[number]]))
    return [one for one in found if one is not None]


def points(held: Sequence[Guess], bound: float) -> float:
    """Mean points a question when those above the bound are answered."""
    return sum((1 if one.is_right else -1) for one in held if one.probability > bound) / len(held)


def mean_logprob(rows: Sequence[Matrix], right: Sequence[int], l2: float) -> float:
    """Mean log-probability of the right choice, cross-validated, over the rounds."""
    every = [one.logprob for seed in range(ROUNDS) for one in guesses(rows, right, l2, seed)]
    return sum(every) / len(every)


def best_l2(rows: Sequence[Matrix], right: Sequence[int]) -> float:
    """The penalty with the best cross-validated log-probability."""
    return max(L2, key=lambda l2: mean_logprob(rows, right, l2))


def flat(values: Sequence[float], names: Sequence[str], habits: Mapping[str, float]) -> dict[str, float]:
    """Weights of signs and of each habit: the last value times what the first fit found."""
    own = dict(zip(names, (float(value) for value in values[:-1]), strict=True))
    return {name: round(value, 6) for name, value in (own | {k: values[-1] * v for k, v in habits.items()}).items()}


def fitted(cases: Sequence[Case], unused: Sequence[Case], which: str, names: Sequence[str]) -> dict[str, Any]:
    """The table of weights.json for one model: `unused` cases give the habits, `cases` the rest."""
    habits = habit_weights(unused, which)
    own = [case for case in cases if case.which == which]
    rows, right = design(own, names, habits), [case.right for case in own]
    l2 = best_l2(rows, right)
    weights = fit(rows, right, l2)
    return {"answer_above": 0.5, "n": len(own), "l2": l2, "weights": flat(weights.tolist(), names, habits)}
