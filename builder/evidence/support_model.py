"""Method evidence-v3: a small calibrated model over signs decides whether a sentence supports the gold answer.

The candidates are the N_CANDIDATES heaviest sentences of all pages of the question at once. Their signs are what a
sentence shares with the question, the gold and the other choices. A word weighs its inverse sentence frequency over
these pages, so a word that most pages repeat counts little. All sums run in sorted order: signs are the same under
every hash seed. A logistic model gives each candidate a probability from its signs; a sentence is evidence from a
threshold on, which is lower for the best sentence of a question. A sentence that begins with a pronoun is returned
with the sentence before it.

The weights are in support_model.json. bench/evidence_fit.py fits them on the `tune` half of the labelled questions in
tests/evidence_labels and chooses the thresholds there. Precision and recall on the other half are in docs/evidence.md.
The method needs no language model and no encoder, so the same pages give the same rows on every machine.

It does not apply to true/false questions: in a trial, the same kind of signs did not tell support of a statement from
other sentences on its topic. It does not apply to questions with "not" or "except" and golds such as "both a and
b" either. For "all of the above", the sentence has to name the other choices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from heapq import nsmallest
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import NamedTuple

from builder.evidence.page_index import PageIndex, index_of
from builder.evidence.spans import SpanPlace, evidence_at, is_negated
from builder.evidence.telling_words import content_stems, english_stems, stop_stems, words_of
from builder.evidence.true_false import denies
from builder.question_sets.question_flags import is_meta_choice
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

N_CANDIDATES = 20
"""Sentences of a question that are weighed; more than half of those that readers marked as support are among them."""
GOLD_WEIGHT = 1.5
NEAR_WEIGHT = 0.3
LONG_SENTENCE = 20
LONG_COST = 0.02
"""A sentence loses LONG_COST for each stem above LONG_SENTENCE: long sentences share words by chance."""
_REFERS_BACK = re.compile(r"\W*(?:it|its|this|these|they|their|those|such|he|she|both)\b", re.IGNORECASE)
_NAMES = re.compile(r" (?:call|term|name|known as|defin|refer to as) ")
SIGNS = (
    "question",
    "question_near",
    "gold",
    "gold_near",
    "gold_whole",
    "rival",
    "rival_near",
    "rivals_whole",
    "question_and_gold",
    "question_and_gold_near",
    "gold_over_rival",
    "pairs_of_words",
    "starts_with_gold",
    "names_gold",
    "denies",
    "refers_back",
    "length",
    "gold_is_one_word",
    "gold_length",
    "own",
    "page_rank",
    "order",
    "below_best",
)
"""The signs of a sentence, in order."""
WEIGHTS = Path(__file__).with_name("support_model.json")


def refers_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that it needs the sentence before it."""
    return _REFERS_BACK.match(sentence) is not None


def line_of(text: str) -> str:
    """An answer's stems as ` stem stem `, without a leading article: what a sentence has to contain."""
    words = words_of(text)
    return (
        f" {' '.join(english_stems(' '.join(words[1:] if words[:1] and words[0] in ('a', 'an', 'the') else words)))} "
    )


def _pairs(stems: Sequence[str]) -> set[tuple[str, str]]:
    empty = stop_stems()
    return set(pairwise(stem for stem in stems if stem not in empty))


class WeighedQuestion:
    """One question with the text of the answer that sentences have to support, over its pages in rank order."""

    def __init__(self, question: Question, answer: str, pages: Sequence[WebPage]) -> None:
        self.question, self.pages = question, pages
        if is_meta_choice(answer):  # "all of the above": the sentence has to name the others
            answer = " ".join(text for text in question.choices.values() if text != answer)
        self.answer_line = line_of(answer)
        self.asked = content_stems(question.text)
        self.gold = content_stems(answer) - self.asked or content_stems(answer)
        self.indexes = [index_of(page) for page in pages]
        others = (
            [] if not answer or question.kind == "true_false" else [t for t in question.choices.values() if t != answer]
        )
        self.rivals = [content_stems(text) - self.asked - self.gold for text in others]
        self.rival_lines = [
            line
            for line in map(line_of, others)
            if line.strip() and line not in self.answer_line and self.answer_line not in line
        ]
        self.pairs = _pairs(english_stems(f"{question.text} {answer}"))

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each stem of question and choices: its inverse sentence frequency over all pages."""
        n = sum(len(index.lines) for index in self.indexes)
        stems = sorted(self.asked.union(self.gold, *self.rivals))
        return {
            stem: self._rarity(sum(len(index.postings.get(stem, ())) for index in self.indexes), n) for stem in stems
        }

    @staticmethod
    def _rarity(n_with: int, n: int) -> float:
        return log(1 + (n - n_with + 0.5) / (n_with + 0.5))

    def share(self, stems: frozenset[str], held: frozenset[str]) -> float:
        """The part of the weight of some stems that is held."""
        total = sum(self.weights[stem] for stem in sorted(stems))
        return sum(self.weights[stem] for stem in sorted(stems & held)) / total if total else 0.0

    def candidates(self) -> list[tuple[int, int]]:
        """(rank of page, number) of the N_CANDIDATES heaviest sentences that state something, best first."""
        wanted = sorted(self.asked | self.gold)
        weight = {
            stem: self.weights[stem] * (GOLD_WEIGHT if stem in self.gold - self.asked else 1.0) for stem in wanted
        }
        found = (item for rank, index in enumerate(self.indexes) for item in self._weighed(rank, index, weight))
        return [(rank, number) for _, rank, number in nsmallest(N_CANDIDATES, found)]

    @staticmethod
    def _weighed(rank: int, index: PageIndex, weight: Mapping[str, float]) -> Iterator[tuple[float, int, int]]:
        sums: dict[int, float] = {}
        near: dict[int, float] = {}
        for stem, value in weight.items():
            places = set(index.postings.get(stem, ()))
            for number in places:
                sums[number] = sums.get(number, 0.0) + value
            for number in {place + step for place in places for step in (-1, 1)} - places:
                near[number] = near.get(number, 0.0) + value
        for number, total in sums.items():
            if index.states[number]:
                long = max(0, len(index.stems(number)) - LONG_SENTENCE)
                yield -round(total + NEAR_WEIGHT * near.get(number, 0.0) - LONG_COST * long, 6), rank, number

    def signs(self) -> list[tuple[tuple[int, int], tuple[float, ...]]]:
        """The candidates and their signs, in the order of SIGNS."""
        places = self.candidates()
        shared = [self.share(self.asked | self.gold, self._stems(*place)) for place in places]
        most = max(shared, default=0.0)
        return [
            (place, (*self._signs(*place), place[0] / 10, order / N_CANDIDATES, share - most))
            for order, (place, share) in enumerate(zip(places, shared, strict=True))
        ]

    def _stems(self, rank: int, number: int) -> frozenset[str]:
        return self.indexes[rank].stems(number)

    def _near(self, rank: int, number: int) -> frozenset[str]:
        """The stems of the neighbours that the sentence itself does not hold."""
        return (self._stems(rank, number - 1) | self._stems(rank, number + 1)) - self._stems(rank, number)

    def _text(self, rank: int, number: int) -> str:
        page = self.pages[rank]
        return page.text[slice(*page.sentences[number])]

    def _shared_pairs(self, line: str) -> float:
        return len(self.pairs & _pairs(line.split())) / len(self.pairs) if self.pairs else 0.0

    def _own(self, held: frozenset[str]) -> float:
        """The part of the sentence's telling stems that question and answer have."""
        telling = held - stop_stems()
        return len(telling & (self.asked | self.gold)) / len(telling) if telling else 0.0

    def _signs(self, rank: int, number: int) -> tuple[float, ...]:
        held, near, line = self._stems(rank, number), self._near(rank, number), self.indexes[rank].lines[number]
        text = self._text(rank, number)
        asked, asked_near = self.share(self.asked - self.gold, held), self.share(self.asked - self.gold, near)
        gold, gold_near = self.share(self.gold, held), self.share(self.gold, near)
        rival = max((self.share(stems, held) for stems in self.rivals), default=0.0)
        rival_near = max((self.share(stems, near) for stems in self.rivals), default=0.0)
        whole = float(bool(self.answer_line.strip()) and self.answer_line in line)
        return (
            asked,
            asked_near,
            gold,
            gold_near,
            whole,
            rival,
            rival_near,
            float(sum(other in line for other in self.rival_lines)),
            asked * gold,
            (asked + asked_near) * (gold + gold_near),
            gold - rival,
            self._shared_pairs(line),
            whole * float(line.startswith(self.answer_line)),
            whole * float(_NAMES.search(line) is not None),
            float(denies(text) != denies(self.question.text)),
            float(refers_back(text)),
            min(len(held), 40) / 20,
            float(len(self.gold) == 1),
            min(len(self.gold), 8) / 8,
            self._own(held),
        )


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
