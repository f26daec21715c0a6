"""Query complexity by TF-IDF and a linear model: logistic regression or a support vector machine (HyPA-RAG, 7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from baselines.classify.marked import read_marked
from baselines.classify.training import N_PER_CLASS, SEED, Example, examples, merged
from baselines.parts import Classify
from edu_rag.errors import MissingExtraError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

ModelName = Literal["logistic-regression", "svm"]
RANDOM_STATE = 5
MAX_ITER = 1_000
"""Both from section 7.2."""


def untrained(model: ModelName) -> Pipeline:
    """TF-IDF and the model, untrained.

    Section 7.2 gives the random state, 1,000 iterations and "a linear kernel"; the features (words, not pairs of words;
    weights as scikit-learn's) are its defaults, since the paper says no more.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import SVC
    except ImportError:
        raise MissingExtraError(
            "parts.classify", "scikit-learn is not installed", "pip install 'edu-rag-bench[parts]'"
        ) from None
    if model == "svm":
        return make_pipeline(TfidfVectorizer(), SVC(kernel="linear", random_state=RANDOM_STATE))
    return make_pipeline(TfidfVectorizer(), LogisticRegression(random_state=RANDOM_STATE, max_iter=MAX_ITER))


def trained(model: ModelName, data: Sequence[Example], n_classes: Literal[2, 3]) -> Classify:
    """The classifier trained on these examples, in 2 or 3 classes; a query without known words has one, too."""
    fitted = untrained(model)
    fitted.fit([one.text for one in data], [merged(one.label, n_classes) for one in data])

    def classify(query: str) -> int:
        return int(fitted.predict([query])[0])

    return classify


def logistic_regression(
    n_classes: Literal[2, 3] = 3, n_per_class: int = N_PER_CLASS, seed: int = SEED, marked: str | None = None
) -> Classify:
    """TF-IDF and logistic regression, trained when made on `n_per_class` generated questions a class.

    `marked` is a file of annotations, whose questions are added (baselines.classify.marked).
    """
    return trained("logistic-regression", [*examples(n_per_class, seed), *read_marked(marked, n_classes)], n_classes)


def svm(
    n_classes: Literal[2, 3] = 3, n_per_class: int = N_PER_CLASS, seed: int = SEED, marked: str | None = None
) -> Classify:
    """TF-IDF and a linear SVM, trained when made on the same questions."""
    return trained("svm", [*examples(n_per_class, seed), *read_marked(marked, n_classes)], n_classes)
