"""The fit of the house systems' weights, cross-validated by lesson on the tuning questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.house.weighing import CONSTANT, fit, matrix, probabilities
from edu_rag.serve import SystemQuestion

L2 = (2.0, 8.0, 32.0)
FOLDS, ROUNDS = 10, 3
Matrix = NDArray[np.float64]


class Case(NamedTuple):
    """A tuning question with its signs, the place of its right choice, and the lesson that keeps it in one fold."""

    question: SystemQuestion
    signs: Mapping[str, Sequence[float]]
    right: int
    lesson: str
    dataset: str

    @property
    def which(self) -> str:
        """The model of weights that it belongs to."""
        return "true_false" if self.question.kind == "true_false" else "choices"


class Guess(NamedTuple):
    """The guess of a model that was not fitted on the question's lesson."""

    probability: float
    is_right: bool
    logprob: float


def is_read(case: Case, names: Sequence[str]) -> bool:
    """Whether all these signs of a case were computed: those of a language model are not for every case."""
    return all(name in case.signs for name in names)


def _means(cases: Sequence[Case], names: Sequence[str]) -> dict[str, float]:
    """The mean of each sign of statements; 0 for signs of choices, of which only differences count."""
    means = {}
    for name in names:
        values = [case.signs[name][0] for case in cases if case.which == "true_false" and name in case.signs]
        means[name] = sum(values) / len(values) if values else 0.0
    return means


def _centred(case: Case, means: Mapping[str, float]) -> Case:
    return case._replace(signs={name: [v - means.get(name, 0.0) for v in row] for name, row in case.signs.items()})


def _said(case: Case, weights: Mapping[str, float]) -> NDArray[np.float64]:
    """The utility of each choice under these weights."""
    said: NDArray[np.float64] = matrix(case.question, case.signs, list(weights)) @ np.array(list(weights.values()))
    return said


def train(cases: Sequence[Case], names: Sequence[str], l2: float) -> dict[str, float]:
    """The weights of the named signs, in two steps, since a model reads only some of the cases.

    First the signs of the pages, on all cases; then, on the cases that were read, what the signs of the model add to
    them. A statement of average signs is as likely true as false: how many statements of the tuning data are true is
    not used.
    """
    means = _means(cases, names)
    centred = [_centred(case, means) for case in cases]
    weights: dict[str, float] = {}
    pages = [name for name in names if name.startswith("page_")]
    for some in filter(None, (pages, [name for name in names if name not in pages])):
        read = [case for case in centred if is_read(case, some)]
        rows = [matrix(case.question, case.signs, some) for case in read]
        known = [_said(case, weights) for case in read]
        weights |= dict(zip(some, fit(rows, [case.right for case in read], l2, known).tolist(), strict=True))
    if any(case.which == "true_false" for case in cases):
        weights[CONSTANT] = -sum(weights[name] * means[name] for name in names)
    return weights


def _folds(cases: Sequence[Case], seed: int) -> list[int]:
    """The fold of each case: those of one lesson share one."""
    lessons = sorted({(case.dataset, case.lesson) for case in cases})
    order = np.random.default_rng(seed).permutation(len(lessons)).tolist()
    fold_of = {lesson: place % FOLDS for lesson, place in zip(lessons, order, strict=True)}
    return [fold_of[case.dataset, case.lesson] for case in cases]


def guesses(cases: Sequence[Case], names: Sequence[str], l2: float, seed: int) -> list[Guess]:
    """The model's view of each case that was read, when it is fitted on the other folds."""
    folds = _folds(cases, seed)
    found = []
    for fold in range(FOLDS):
        asked = [case for case, own in zip(cases, folds, strict=True) if own == fold and is_read(case, names)]
        if asked:
            rest = [case for case, own in zip(cases, folds, strict=True) if own != fold]
            weights = train(rest, names, l2)
            found += [_guess(case, weights) for case in asked]
    return found


def _guess(case: Case, weights: Mapping[str, float]) -> Guess:
    p = probabilities(list(weights.values()), matrix(case.question, case.signs, list(weights)))
    return Guess(float(p.max()), int(p.argmax()) == case.right, math.log(p[case.right]))


def points(held: Sequence[Guess], bound: float) -> float:
    """Mean points a question when those above the bound are answered."""
    return sum((1 if one.is_right else -1) for one in held if one.probability > bound) / len(held)


def mean_logprob(cases: Sequence[Case], names: Sequence[str], l2: float) -> float:
    """Mean log-probability of the right choice, cross-validated, over the rounds."""
    every = [one.logprob for seed in range(ROUNDS) for one in guesses(cases, names, l2, seed)]
    return sum(every) / len(every)


def best_l2(cases: Sequence[Case], names: Sequence[str]) -> float:
    """The penalty with the best cross-validated log-probability."""
    return max(L2, key=lambda l2: mean_logprob(cases, names, l2))


def fitted(cases: Sequence[Case], names: Sequence[str]) -> dict[str, Any]:
    """The table of weights.json for one kind of question; without signs every choice is equally likely."""
    if not names:
        return {"answer_above": 0.5, "weights": {}}
    l2 = best_l2(cases, names)
    weights = {name: round(value, 6) for name, value in train(cases, names, l2).items()}
    n_read = sum(is_read(case, names) for case in cases)
    return {"answer_above": 0.5, "n": len(cases), "n_read": n_read, "l2": l2, "weights": weights}
