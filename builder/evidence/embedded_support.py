"""Method evidence-v5: evidence-v4's signs of a sentence, and how near its meaning is to question, gold and choices.

evidence-v4's trees choose the N_READ best candidates of a question. A sentence-transformers model encodes their spans,
the question and its choices. EMBEDDED_SIGNS compare them as wholes (cosines) and token by token: the mean, over the
tokens of a choice, of the best cosine with a token of the span (late interaction; Khattab & Zaharia, ColBERT, SIGIR
2020). Boosted trees over all signs decide. Spans, thresholds and the questions that it applies to are evidence-v4's.

The trees are in embedded_support.json. bench/evidence_fit.py fits them for all-MiniLM-L6-v2; another model gives other
numbers. Cosines are rounded, so that a batch's order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from builder.evidence.boosted_support import BoostedTrees, ScoredSpan, apart, boosted_trees, model_from, span_of
from builder.evidence.embedding import load_token_encoder
from builder.evidence.spans import SpanPlace, evidence_at
from builder.evidence.support_model import answers_to_support
from builder.evidence.support_signs import SIGNS, Place, SignedQuestion
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

N_READ = 24
"""Candidates of a question that are encoded."""
MAX_CHARACTERS = 400
DECIMALS = 4
WEIGHTS = Path(__file__).with_name("embedded_support.json")
EMBEDDED_SIGNS = (
    "asked_gold",
    "asked_gold_ahead",
    "asked",
    "asked_gold_over_asked",
    "near_gold",
    "near_gold_ahead",
    "tokens_gold",
    "tokens_gold_ahead",
    "tokens_asked",
    "asked_gold_below_best",
    "asked_gold_ahead_below_best",
)
"""The signs of a span beyond evidence-v4's: `ahead` of the best other choice, `below_best` of the other candidates."""


class Meaning(NamedTuple):
    """A text as a unit vector, and its tokens as unit vectors (tokens, width)."""

    whole: Vectors
    tokens: Vectors


EncodeMeanings = Callable[[Sequence[str]], Sequence[Meaning]]


def _token_nearness(wanted: Vectors, held: Vectors) -> float:
    """The mean, over the tokens of one text, of the best cosine with a token of another."""
    return float((wanted @ held.T).max(axis=1).mean()) if len(wanted) and len(held) else 0.0


class _Compared:
    """The meanings of a question, of its gold and of its other choices."""

    def __init__(self, question: Question, answer: str, encode: EncodeMeanings) -> None:
        texts = [answer, *(text for text in question.choices.values() if text != answer)]
        found = encode([question.text, *texts, *(f"{question.text} {text}" for text in texts)])
        self.question, self.choices, self.asked = found[0], found[1 : 1 + len(texts)], found[1 + len(texts) :]

    def signs(self, span: Meaning) -> list[float]:
        """The signs of a span but the last two. The gold is the first of the choices."""
        asked = [float(one.whole @ span.whole) for one in self.asked]
        near = [float(one.whole @ span.whole) for one in self.choices]
        tokens = [_token_nearness(one.tokens, span.tokens) for one in self.choices]
        alone = float(self.question.whole @ span.whole)
        return [
            *_with_lead(asked),
            alone,
            asked[0] - alone,
            *_with_lead(near),
            *_with_lead(tokens),
            _token_nearness(self.question.tokens, span.tokens),
        ]


def _with_lead(values: Sequence[float]) -> tuple[float, float]:
    """The gold's value, and by how much it is ahead of the best of the others."""
    return values[0], values[0] - max(values[1:], default=0.0)


def embedded_signs(
    question: Question, answer: str, spans: Sequence[str], encode: EncodeMeanings
) -> list[tuple[float, ...]]:
    """EMBEDDED_SIGNS of each span."""
    if not spans:
        return []
    compared = _Compared(question, answer, encode)
    rows = [compared.signs(one) for one in encode([text[:MAX_CHARACTERS] for text in spans])]
    best = [max(row[at] for row in rows) for at in (0, 1)]
    return [tuple(round(sign, DECIMALS) for sign in (*row, row[0] - best[0], row[1] - best[1])) for row in rows]


@cache
def embedded_trees() -> BoostedTrees:
    """The stored trees."""
    return model_from(WEIGHTS.read_text(encoding="utf-8"), (*SIGNS, *EMBEDDED_SIGNS))


class Candidate(NamedTuple):
    """A candidate with its span and all its signs."""

    place: Place
    span: SpanPlace
    signs: tuple[float, ...]


def candidates(
    question: Question, answer: str, gold: Gold, pages: Sequence[WebPage], encode: EncodeMeanings
) -> list[Candidate]:
    """The N_READ candidates of a question that evidence-v4's trees find best."""
    signed = SignedQuestion(question, answer, pages, gold.home_page).signs()
    read = nsmallest(N_READ, signed, key=lambda one: -boosted_trees().score(one[1]))
    spans = [span_of(pages[place.rank], place, signs) for place, signs in read]
    text_of: Mapping[str, str] = {page.page_id: page.text for page in pages}
    texts = [" ".join(text_of[span.page_id][span.start : span.end].split()) for span in spans]
    added = embedded_signs(question, answer, texts, encode)
    return [
        Candidate(place, span, (*signs, *more)) for (place, signs), span, more in zip(read, spans, added, strict=True)
    ]


@cache
def load_meanings(model: str) -> EncodeMeanings:
    """Texts to meanings by a sentence-transformers model (see load_token_encoder)."""
    import numpy as np

    encode = load_token_encoder(model)

    def unit(vectors: Vectors) -> Vectors:
        found: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-9))
        return found

    def meanings(texts: Sequence[str]) -> list[Meaning]:
        # The first and the last token are marks of the model: they count for the whole only.
        return [Meaning(unit(tokens.mean(axis=0)), unit(tokens[1:-1])) for tokens in encode(texts)]

    return meanings


class EmbeddedSupport:
    """Sentences that calibrated trees over words and meanings take for support of the gold answer."""

    name = "evidence-v5"

    def __init__(self, model: str, encode: EncodeMeanings | None = None) -> None:
        self._model, self._encode = model, encode

    def with_model(self, model: str) -> EmbeddedSupport:
        """The method with another model."""
        return self if model == self._model else EmbeddedSupport(model)

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best spans of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        for answer in answers_to_support(question, gold):
            encode, trees = self._encode or load_meanings(self._model), embedded_trees()
            spans = [
                ScoredSpan(trees.score(one.signs), one.place.rank, one.span)
                for one in candidates(question, answer, gold, pages, encode)
            ]
            for order, (score, rank, span) in enumerate(apart(spans)):
                if score >= (trees.threshold if order else trees.best_threshold):
                    found[span] = min(found.get(span, (0.0, rank)), (-score, rank))
        return evidence_at(found, question, self.name)
