"""Method evidence-v4: a small calibrated model over signs decides whether a sentence supports the gold answer.

The candidates and their signs are in support_signs.py. A boosted ensemble of small decision trees gives each candidate
a score. The span of a candidate is the sentence, with one neighbour where that adds enough of the question's and the
gold's words, or where the sentence begins with a pronoun. Of spans that overlap, the best stays. A span is evidence
from a threshold on, which is lower for the best span of a question.

The trees are in boosted_support.json. bench/evidence_fit.py fits them on labelled questions in tests/evidence_labels
and chooses the thresholds by cross-validation. Precision and recall on other questions are in docs/evidence.md.
The method needs no language model and no encoder; scores are sums of stored numbers in a fixed order, so the same
pages give the same rows on every machine.

It does not apply to true/false questions: in a trial, the same kind of signs did not distinguish support of a statement
from other sentences on its topic. It does not apply to questions with "not" or "except" and golds such as "both a and
b" either. For "all of the above", the sentence has to name the other choices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from builder.evidence.spans import SpanPlace, evidence_at
from builder.evidence.support_model import answers_to_support, refers_back
from builder.evidence.support_signs import DECIMALS, SIGNS, Place, SignedQuestion
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

NEIGHBOUR_ADDS = 0.25
"""A neighbour joins the span if its shares of question and gold, beyond the sentence's own, sum to this."""
WEIGHTS = Path(__file__).with_name("boosted_support.json")
_BEFORE = (SIGNS.index("question_before"), SIGNS.index("gold_before"))
_AFTER = (SIGNS.index("question_after"), SIGNS.index("gold_after"))


class Tree(NamedTuple):
    """A decision tree: node n goes to `left[n]` where the sign is at most the limit, else to `right[n]`.

    `sign[n]` is -1 at a leaf, whose value is `limit[n]`.
    """

    sign: tuple[int, ...]
    limit: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    def value(self, signs: Sequence[float]) -> float:
        """The value of the leaf that the signs lead to."""
        node = 0
        while self.sign[node] >= 0:
            node = self.left[node] if signs[self.sign[node]] <= self.limit[node] else self.right[node]
        return self.limit[node]


class BoostedTrees(NamedTuple):
    """Trees whose values are summed, and the scores (log odds) from which a span is evidence.

    `best_threshold` is for the best span of a question, which is right more often than others of its score.
    """

    start: float
    trees: tuple[Tree, ...]
    threshold: float
    best_threshold: float

    def score(self, signs: Sequence[float]) -> float:
        """The log odds that a candidate with these signs supports the gold; rounded, so that ties stay ties."""
        return round(self.start + sum(tree.value(signs) for tree in self.trees), DECIMALS)


def model_from(stored: str, signs: Sequence[str] = SIGNS) -> BoostedTrees:
    """The model of a JSON text. Raises ValueError if it was fitted on other signs."""
    row = json.loads(stored)
    if tuple(row["signs"]) != tuple(signs):
        raise ValueError("the model was fitted on other signs: run bench/evidence_fit.py --write")
    trees = tuple(Tree(*(tuple(one[field]) for field in Tree._fields)) for one in row["trees"])
    return BoostedTrees(row["start"], trees, row["threshold"], row["best_threshold"])


@cache
def boosted_trees() -> BoostedTrees:
    """The stored model."""
    return model_from(WEIGHTS.read_text(encoding="utf-8"))


def span_of(page: WebPage, place: Place, signs: Sequence[float]) -> SpanPlace:
    """The span of a candidate: the sentence, with the neighbour that adds most if that is enough or needed."""
    start, end = page.sentences[place.number]
    before, after = sum(signs[at] for at in _BEFORE), sum(signs[at] for at in _AFTER)
    needs = refers_back(page.text[start:end])
    if place.number and (needs or before >= max(NEIGHBOUR_ADDS, after)):
        start = page.sentences[place.number - 1].start
    elif not needs and after >= NEIGHBOUR_ADDS and place.number + 1 < len(page.sentences):
        end = page.sentences[place.number + 1].end
    return SpanPlace(page.page_id, start, end)


class ScoredSpan(NamedTuple):
    """A span, its score and the rank of its page."""

    score: float
    rank: int
    span: SpanPlace


def apart(spans: Iterable[ScoredSpan]) -> Iterator[ScoredSpan]:
    """The spans, best first, without those that overlap with a better one."""
    kept: list[SpanPlace] = []
    for one in sorted(spans, key=lambda one: (-one.score, one.rank, one.span)):
        page_id, start, end = one.span
        if not any(other.page_id == page_id and start < other.end and other.start < end for other in kept):
            kept.append(one.span)
            yield one


class BoostedSupport:
    """Sentences that a calibrated model takes for support of the gold answer."""

    name = "evidence-v4"

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best spans of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        model = boosted_trees()
        for answer in answers_to_support(question, gold):
            weighed = SignedQuestion(question, answer, pages, gold.home_page)
            spans = [
                ScoredSpan(model.score(signs), place.rank, span_of(pages[place.rank], place, signs))
                for place, signs in weighed.signs()
            ]
            for order, (score, rank, span) in enumerate(apart(spans)):
                if score >= (model.threshold if order else model.best_threshold):
                    found[span] = min(found.get(span, (0.0, rank)), (-score, rank))
        return evidence_at(found, question, self.name)
