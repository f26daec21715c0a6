"""Fit the model of evidence-v3 on the `tune` half of the labelled sentences, and write support_model.json.

    python bench/evidence_fit.py --dataset RUNS/open-textbooks --dataset RUNS/tqa-val [--write]

Logistic regression on the signs of the candidates, with the penalty of the best log-likelihood in cross-validation by
question. A threshold is the smallest probability at which the cross-validated precision reaches GOAL. Prints what
it chose; --write stores it. This script does not read the `test` half.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]

from built_dataset import BuiltDataset  # noqa: E402
from labelled_spans import LabelledQuestion, read_spans, supports  # noqa: E402

from builder.evidence.support_model import SIGNS, WEIGHTS, WeighedQuestion, answers_to_support, place_of  # noqa: E402

GOAL = 0.85
PENALTIES = (0.03, 0.1, 0.3, 1.0)
Shares = NDArray[np.float64]
Table = tuple[Shares, NDArray[np.int64], NDArray[np.int64]]


def table_of(labelled: Sequence[LabelledQuestion], data: Mapping[str, BuiltDataset]) -> Table:
    """Signs, labels and numbers of questions of all judged candidates."""
    rows = [row for number, one in enumerate(labelled) for row in _rows(one, data[one.dataset], number)]
    signs, labels, groups = zip(*rows, strict=True)
    return np.array(signs), np.array(labels), np.array(groups)


def _rows(one: LabelledQuestion, data: BuiltDataset, number: int) -> Iterator[tuple[tuple[float, ...], int, int]]:
    question, gold, pages = data.exam(one.question_id)
    judged = {(sentence.page_id, sentence.end): sentence for sentence in one.sentences}
    for answer in answers_to_support(question, gold):
        for (rank, place), signs in WeighedQuestion(question, answer, pages).signs():
            span = place_of(pages[rank], place)
            if (span.page_id, span.end) in judged:
                yield signs, int(supports(tuple(span), judged[span.page_id, span.end])), number


def fitted(table: Table) -> dict[str, Any]:
    """The model as support_model.json holds it."""
    signs, labels, groups = table
    folds = GroupKFold(n_splits=10)

    def predicted(penalty: float) -> Shares:
        shares = cross_val_predict(_model(penalty), signs, labels, groups=groups, cv=folds, method="predict_proba")
        return np.asarray(shares[:, 1])

    def likelihood(shares: Shares) -> float:
        return float(np.mean(np.log(np.where(labels == 1, shares, 1 - shares))))

    best = max(PENALTIES, key=lambda penalty: likelihood(predicted(penalty)))
    shares = predicted(best)
    first = best_of_each(shares, groups)
    threshold, precision, recall = threshold_for(shares, labels)
    best_threshold, best_precision, best_recall = threshold_for(shares[first], labels[first])
    print(f"{len(labels):,} sentences of {len(set(groups.tolist()))} questions, {labels.sum()} support; penalty {best}")
    print(f"cross-validated, from {threshold:.3f} on: precision {precision:.3f}, recall {recall:.3f}")
    print(f"best of a question, from {best_threshold:.3f} on: {best_precision:.3f}, {best_recall:.3f}")
    scaler, logistic = _model(best).fit(signs, labels)
    weights = logistic.coef_[0] / scaler.scale_
    bias = float(logistic.intercept_[0] - np.sum(weights * scaler.mean_))
    stored = {sign: round(float(weight), 4) for sign, weight in zip(SIGNS, weights, strict=True)}
    thresholds = {"threshold": round(threshold, 3), "best_threshold": round(best_threshold, 3)}
    return {"bias": round(bias, 4), **thresholds, "weights": stored}


def best_of_each(shares: Shares, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row with the highest probability of each question."""
    order = np.lexsort((-shares, groups))
    return np.asarray(order[np.unique(groups[order], return_index=True)[1]])


def _model(penalty: float) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=2_000))


def threshold_for(shares: Shares, labels: NDArray[np.int64]) -> tuple[float, float, float]:
    """The smallest probability at which precision reaches GOAL (else the one of best precision), precision, recall."""
    order = np.argsort(-shares, kind="stable")
    right = np.cumsum(labels[order])
    precision = right / np.arange(1, len(order) + 1)
    precision[:9] = 0  # too few to judge
    reached = np.flatnonzero(precision >= GOAL)
    at = int(reached[-1]) if len(reached) else int(np.argmax(precision))
    return float(shares[order[at]]), float(precision[at]), float(right[at] / labels.sum())


def main() -> None:
    """Fit, print, and store the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
    parser.add_argument("--write", action="store_true", help="store the model")
    given = parser.parse_args()
    data = {one.name: one for one in map(BuiltDataset.read, given.dataset)}
    labelled = [one for one in read_spans() if one.half == "tune" and one.dataset in data]
    for one in labelled:
        data[one.dataset].require_same_text(one)
    model = fitted(table_of(labelled, data))
    if given.write:
        WEIGHTS.write_text(json.dumps(model, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
