"""Method evidence-v3: a small calibrated model over signs decides whether a sentence supports the gold answer.

The candidates are the N_CANDIDATES heaviest sentences of all pages of the question (`support_signs`). A logistic model
gives each of them a probability from its signs; a sentence is evidence from a threshold on, which is lower
for the best sentence of a question. A sentence that begins with a pronoun is returned with the sentence before it.

The weights are in support_model.json. bench/evidence_fit.py fits them on the `tune` half of the labelled questions in
tests/evidence_labels and chooses the thresholds there. Precision and recall on the other half are in docs/evidence.md.
The method needs no language model and no encoder, so the same pages give the same rows on every machine.

It does not apply to true/false questions: in a trial, the same kind of signs did not tell support of a statement from
other sentences on its topic. It does not apply to questions with "not" or "except" and golds such as "both a and
b" either. For "all of the above", the sentence has to name the other choices.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from math import exp
from pathlib import Path
from typing import NamedTuple

from builder.evidence.spans import SpanPlace, evidence_at, is_negated
from builder.evidence.support_signs import SIGNS, WeighedQuestion, refers_back
from builder.question_sets.question_flags import is_meta_choice
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

WEIGHTS = Path(__file__).with_name("support_model.json")


class SupportModel(NamedTuple):
    """A logistic model: a bias, one weight a sign, and the probabilities from which a sentence is evidence.

    `best_threshold` is for the best sentence of a question, which is right more often than others of its probability.
    """

    bias: float
    weights: tuple[float, ...]
    threshold: float
    best_threshold: float

    def probability(self, signs: Sequence[float]) -> float:
        """The probability that a sentence with these signs supports the gold; rounded, so that ties stay ties."""
        total = self.bias + sum(weight * sign for weight, sign in zip(self.weights, signs, strict=True))
        return round(1 / (1 + exp(-total)), 6)


@cache
def support_model() -> SupportModel:
    """The stored model; its weights are in the order of SIGNS."""
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    weights = tuple(stored["weights"][sign] for sign in SIGNS)
    return SupportModel(stored["bias"], weights, stored["threshold"], stored["best_threshold"])


def answers_to_support(question: Question, gold: Gold) -> list[str]:
    """The texts of the gold answer whose support is looked for; none where the method does not apply."""
    if question.kind == "true_false" or is_negated(question.text):
        return []
    texts = [question.choices[gold.answer]] if gold.answer is not None else list(gold.texts)
    return [text for text in texts if not is_meta_choice(text) or "all" in text.casefold().split()]


class ModelledSupport:
    """Sentences that a calibrated model takes for support of the gold answer."""

    name = "evidence-v3"

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best sentences of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        model = support_model()
        for answer in answers_to_support(question, gold):
            weighed = [
                (model.probability(signs), *place) for place, signs in WeighedQuestion(question, answer, pages).signs()
            ]
            best = max((probability for probability, _, _ in weighed), default=0.0)
            for probability, rank, number in weighed:
                if probability >= (model.best_threshold if probability == best else model.threshold):
                    place = place_of(pages[rank], number)
                    found[place] = min(found.get(place, (0.0, rank)), (-probability, rank))
        return evidence_at(found, question, self.name)


def place_of(page: WebPage, number: int) -> SpanPlace:
    """The place of a sentence; with the sentence before it, if it begins with a pronoun."""
    start, end = page.sentences[number]
    if number and refers_back(page.text[start:end]):
        start = page.sentences[number - 1].start
    return SpanPlace(page.page_id, start, end)
