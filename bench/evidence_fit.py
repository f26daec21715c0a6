"""Fit the trees of evidence-v4 or evidence-v5 on labelled questions, choose their thresholds, and store them.

    python bench/evidence_fit.py --dataset RUNS/open-textbooks --dataset RUNS/tqa-val [--method NAME] [--write]

Boosted trees on the signs of the candidates. The questions are those of the first round of labels, and the `tune` half
of the second; this script does not read the `test` half of the second round. The thresholds are those that cover most
questions with a right span while the cross-validated precision, by question, is at least GOAL. Prints what it chose;
--write stores it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GroupKFold

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]

from built_dataset import BuiltDataset  # noqa: E402
from labelled_spans import LabelledQuestion, for_tuning, is_judged, supports  # noqa: E402

from builder.evidence import boosted_support, embedded_support  # noqa: E402
from builder.evidence.boosted_support import ScoredSpan, apart, model_from, span_of  # noqa: E402
from builder.evidence.embedded_support import EMBEDDED_SIGNS, EncodeMeanings, candidates, load_meanings  # noqa: E402
from builder.evidence.embedding import DEFAULT_MODEL  # noqa: E402
from builder.evidence.spans import SpanPlace  # noqa: E402
from builder.evidence.support_model import answers_to_support  # noqa: E402
from builder.evidence.support_signs import DECIMALS, SIGNS, SignedQuestion  # noqa: E402

GOAL = 0.85
FOLDS = 6
MIN_SPANS = 50
LIMITS = np.arange(-2.0, 3.6, 0.1)
Numbers = NDArray[np.float64]


class Row(NamedTuple):
    """A judged candidate: the number of its question, its span, its signs, and whether the span supports the gold."""

    question: int
    rank: int
    span: SpanPlace
    signs: tuple[float, ...]
    right: bool


def rows_of(labelled: Sequence[LabelledQuestion], data: Mapping[str, BuiltDataset]) -> Iterator[Row]:
    """The judged candidates of the questions."""
    for number, one in enumerate(labelled):
        question, gold, pages = data[one.dataset].exam(one.question_id)
        for answer in answers_to_support(question, gold):
            for place, signs in SignedQuestion(question, answer, pages, gold.home_page).signs():
                span = span_of(pages[place.rank], place, signs)
                if is_judged(tuple(span), one):
                    right = any(supports(tuple(span), sentence) for sentence in one.sentences)
                    yield Row(number, place.rank, span, signs, right)


def embedded_rows_of(
    labelled: Sequence[LabelledQuestion], data: Mapping[str, BuiltDataset], encode: EncodeMeanings | None = None
) -> Iterator[Row]:
    """The same for evidence-v5. evidence-v4's trees, which know these questions, chose the candidates."""
    for number, one in enumerate(labelled):
        question, gold, pages = data[one.dataset].exam(one.question_id)
        for answer in answers_to_support(question, gold):
            for found in candidates(question, answer, gold, pages, encode or load_meanings(DEFAULT_MODEL)):
                if is_judged(tuple(found.span), one):
                    right = any(supports(tuple(found.span), sentence) for sentence in one.sentences)
                    yield Row(number, found.place.rank, found.span, found.signs, right)


def boosted(signs: Numbers, right: Numbers) -> Any:
    """The ensemble; small trees on parts of rows and signs, since there are few questions."""
    return GradientBoostingClassifier(
        n_estimators=150,
        learning_rate=0.05,
        max_depth=3,
        subsample=0.5,
        min_samples_leaf=15,
        max_features=12,
        random_state=0,
    ).fit(signs, right)


def held_out_scores(rows: Sequence[Row]) -> Numbers:
    """Each candidate's score by a model that has not seen its question."""
    signs, right = np.array([row.signs for row in rows]), np.array([row.right for row in rows])
    groups, scores = np.array([row.question for row in rows]), np.zeros(len(rows))
    for train, test in GroupKFold(FOLDS).split(signs, right, groups):
        scores[test] = boosted(signs[train], right[train]).decision_function(signs[test])
    return np.round(scores, DECIMALS)


class Kept(NamedTuple):
    """A span that overlaps with no better one: its score, its question, whether it is that one's best, and right."""

    score: float
    question: int
    best: bool
    right: bool


def kept_of(rows: Sequence[Row], scores: Numbers) -> list[Kept]:
    """What the method would look at for each question."""
    kept = []
    for number in sorted({row.question for row in rows}):
        some = [(row, float(score)) for row, score in zip(rows, scores, strict=True) if row.question == number]
        right = {row.span: row.right for row, _ in some}
        spans = apart(ScoredSpan(score, row.rank, row.span) for row, score in some)
        kept += [Kept(one.score, number, order == 0, right[one.span]) for order, one in enumerate(spans)]
    return kept


class Chosen(NamedTuple):
    """Thresholds and what they give: questions with a right span, spans, precision."""

    n_questions: int
    n_spans: int
    precision: float
    best_threshold: float
    threshold: float


def thresholds(kept: Sequence[Kept]) -> Chosen:
    """The pair with most covered questions whose precision is at least GOAL; ties go to more right spans."""
    options = []
    for best in LIMITS:
        for other in LIMITS[best <= LIMITS]:
            some = [one for one in kept if one.score >= (best if one.best else other)]
            n_right = sum(one.right for one in some)
            if len(some) >= MIN_SPANS and n_right / len(some) >= GOAL:
                n_questions = len({one.question for one in some if one.right})
                options.append(
                    (
                        n_questions + 0.1 * n_right,
                        Chosen(n_questions, len(some), n_right / len(some), float(best), float(other)),
                    )
                )
    if not options:
        raise SystemExit(f"no thresholds reach a precision of {GOAL}: more labels or better signs are needed")
    return max(options)[1]


def stored(model: Any, chosen: Chosen, signs: Sequence[str]) -> dict[str, Any]:
    """The model as its JSON file holds it."""
    trees = []
    for (tree,) in model.estimators_:
        nodes = tree.tree_
        leaf = nodes.children_left < 0
        values = np.where(leaf, model.learning_rate * nodes.value[:, 0, 0], nodes.threshold)
        trees.append(
            {
                "sign": np.where(leaf, -1, nodes.feature).tolist(),
                "limit": [round(float(value), DECIMALS) for value in values],
                "left": nodes.children_left.tolist(),
                "right": nodes.children_right.tolist(),
            }
        )
    prior = model.init_.class_prior_
    return {
        "signs": list(signs),
        "start": round(float(np.log(prior[1] / prior[0])), DECIMALS),
        "threshold": round(chosen.threshold, 3),
        "best_threshold": round(chosen.best_threshold, 3),
        "trees": trees,
    }


class Method(NamedTuple):
    """What is fitted: the rows of questions, their signs, and the file."""

    rows: Callable[[Sequence[LabelledQuestion], Mapping[str, BuiltDataset]], Iterator[Row]]
    signs: Sequence[str]
    weights: Path


METHODS = {
    "evidence-v4": Method(rows_of, SIGNS, boosted_support.WEIGHTS),
    "evidence-v5": Method(embedded_rows_of, (*SIGNS, *EMBEDDED_SIGNS), embedded_support.WEIGHTS),
}


def main() -> None:
    """Fit, print, and store the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
    parser.add_argument("--method", choices=tuple(METHODS), default="evidence-v4")
    parser.add_argument("--write", action="store_true", help="store the model")
    given = parser.parse_args()
    method = METHODS[given.method]
    data = {one.name: one for one in map(BuiltDataset.read, given.dataset)}
    labelled = [one for one in for_tuning() if one.dataset in data and one.kind != "true_false"]
    for one in labelled:
        data[one.dataset].require_same_text(one)
    rows = list(method.rows(labelled, data))
    print(f"{len(rows):,} candidates of {len(labelled)} questions, {sum(row.right for row in rows):,} support")
    chosen = thresholds(kept_of(rows, held_out_scores(rows)))
    print(f"cross-validated: {chosen}")
    text = json.dumps(
        stored(
            boosted(np.array([row.signs for row in rows]), np.array([row.right for row in rows])), chosen, method.signs
        ),
        separators=(",", ":"),
    )
    model_from(text, method.signs)
    if given.write:
        method.weights.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
