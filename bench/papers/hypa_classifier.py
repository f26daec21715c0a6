"""HyPA-RAG's classifier of query complexity, trained and tested on questions generated and augmented as it says."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from scored_runs import SPLIT, percent, table

from baselines.classify.tfidf import ModelName, trained, untrained
from baselines.classify.training import SEED, Example, examples, merged

N_FOLDS = 5
N_RESAMPLES = 2_000
PAPER = {
    ("random labels", 3): "0.34 / 0.34 / 0.34",
    ("logistic-regression", 3): "0.84 / 0.84 / 0.84",
    ("svm", 3): "0.86 / 0.86 / 0.86",
    ("random labels", 2): "0.49 / 0.49 / 0.49",
    ("logistic-regression", 2): "0.88 / 0.88 / 0.88",
    ("svm", 2): "0.92 / 0.92 / 0.92",
}
"""Tables 1 and 8: macro precision / recall / F1."""
FIRST_GRAMMAR = {"logistic-regression": (0.953, 0.254), "svm": (0.966, 0.305)}
"""Macro F1, three classes, on unseen questions and on unseen forms: what a first grammar gave, before joined asks."""
Ints = np.ndarray


def confusion(truth: Ints, said: Ints, groups: Ints, n_classes: int) -> Ints:
    """How often each true class (rows) was said to be which (columns), by group: integers of shape (groups, c, c)."""
    n_groups = int(groups.max()) + 1
    cells = (groups * n_classes + truth) * n_classes + said
    return np.bincount(cells, minlength=n_groups * n_classes**2).reshape(n_groups, n_classes, n_classes)


def macro(counts: Ints) -> Ints:
    """Macro precision, recall and F1 (the mean of the classes' F1) of confusions (..., c, c): shape (..., 3).

    A class that is never said has precision 0.
    """
    right = np.diagonal(counts, axis1=-2, axis2=-1).astype(float)
    precision = right / np.maximum(counts.sum(-2), 1)
    recall = right / np.maximum(counts.sum(-1), 1)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return np.stack([precision.mean(-1), recall.mean(-1), f1.mean(-1)], axis=-1)


def f1_interval(counts: Ints) -> tuple[float, float]:
    """95 % percentile bootstrap of macro F1, from confusions by group: whole groups are drawn."""
    n_groups = len(counts)
    drawn = np.random.default_rng(SEED).multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=N_RESAMPLES)
    low, high = np.quantile(macro(np.tensordot(drawn, counts, axes=1))[..., 2], [0.025, 0.975])
    return float(low), float(high)


def out_of_fold(model: ModelName, data: Sequence[Example], labels: Ints, groups: Ints) -> Ints:
    """The model's class of each question when trained on the other folds; groups are never split."""
    from sklearn.model_selection import StratifiedGroupKFold

    texts = np.array([one.text for one in data], dtype=object)
    said = np.full(len(data), -1)
    folds = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=SEED)
    for train, test in folds.split(texts, labels, groups):
        said[test] = untrained(model).fit(texts[train], labels[train]).predict(texts[test])
    return said


def rows(data: Sequence[Example], n_classes: Literal[2, 3]) -> list[list[object]]:
    """Each model on unseen questions and on unseen forms, with the paper's figures."""
    labels = np.array([merged(one.label, n_classes) for one in data])
    forms = np.unique([one.form for one in data], return_inverse=True)[1]
    each = np.arange(len(data))
    drawn = random.Random(SEED)
    guessed = np.array([drawn.randrange(n_classes) for _ in data])
    found: list[list[object]] = []

    def row(name: str, tested: str, said: Ints, groups: Ints, paper: str) -> None:
        counts = confusion(labels, said, groups, n_classes)
        values = " / ".join(f"{value:.2f}" for value in macro(counts.sum(0)))
        low, high = f1_interval(counts)
        found.append([n_classes, name, tested, values, f"[{low:.2f}, {high:.2f}]", paper])

    row("random labels", "", guessed, each, PAPER["random labels", n_classes])
    models: tuple[ModelName, ...] = ("logistic-regression", "svm")
    for model in models:
        row(model, "unseen questions", out_of_fold(model, data, labels, each), each, PAPER[model, n_classes])
        row(model, "unseen forms", out_of_fold(model, data, labels, forms), forms, "-")
    return found


def _on_real(folder: Path, data: Sequence[Example]) -> str:
    from edu_rag.files.dataset import Dataset

    questions = [question.text for question in Dataset(folder / "dataset").questions(SPLIT)]
    found: list[list[object]] = []
    models: tuple[ModelName, ...] = ("logistic-regression", "svm")
    sizes: tuple[Literal[2, 3], ...] = (2, 3)
    for n_classes in sizes:
        for model in models:
            classify = trained(model, data, n_classes)
            counts = Counter(classify(text) for text in questions)
            shares = [percent(counts[k] / len(questions)) if k < n_classes else "-" for k in range(3)]
            found.append([n_classes, model, *shares])
    head = ["classes", "model", "0: one context, %", "1, %", "2, %"]
    return f"What they say of the {len(questions):,} real questions (whose true classes nobody knows):\n\n" + table(
        head, found
    )


def _first_grammar() -> str:
    told = (
        f"{model} {questions:.3f} on unseen questions, {forms:.3f} on unseen forms"
        for model, (questions, forms) in FIRST_GRAMMAR.items()
    )
    return f"A first grammar, without joined asks, gave this macro F1 in three classes: {'; '.join(told)}.\n"


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="holds dataset/: say what the classifiers make of its questions")
    given = parser.parse_args(arguments)
    data = examples()
    head = ["classes", "model", "tested on", "ours: macro P / R / F1", "F1, 95 %", "paper: P / R / F1"]
    print(f"{len(data):,} generated questions, {N_FOLDS} folds, {len({one.form for one in data})} lines of grammar.\n")
    print(table(head, [*rows(data, 2), *rows(data, 3)]))
    print(_first_grammar())
    if given.folder is not None:
        print(_on_real(given.folder, data))


if __name__ == "__main__":
    main()
