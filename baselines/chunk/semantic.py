"""Semantic chunks: a page is split where neighbouring sentences are least similar (HyPA-RAG, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from baselines.chunk.sentences import chunker, n_tokens, runs
from baselines.embed import DEFAULT_MODEL, Encoder
from baselines.models import cache_folder
from baselines.parts import Chunk
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Texts to unit vectors, of shape (len(texts), d)."""


def dissimilarities(vectors: NDArray[np.floating]) -> list[float]:
    """1 - cosine of each unit vector with the next, of n vectors: n - 1 numbers in 0 … 2."""
    import numpy as np

    return [1.0 - cosine for cosine in np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64).tolist()]


def limit(values: Sequence[float], percentile: float) -> float:
    """The percentile of these numbers, linear between two of them (numpy's default); infinite if there are none."""
    import numpy as np

    return float(np.percentile(values, percentile)) if values else float("inf")


def splits(values: Sequence[float], threshold: float, buffer: int) -> list[tuple[int, int]]:
    """Chunks as (first, end) of len(values) + 1 sentences: a new one where a dissimilarity is over `threshold`.

    A split comes only after at least `buffer` sentences of its chunk; the last chunk may have fewer.
    """
    found, first = [], 0
    for place, value in enumerate(values, 1):
        if value > threshold and place - first >= buffer:
            found.append((first, place))
            first = place
    return [*found, (first, len(values) + 1)]


def semantic_by(
    encode: Encode, *, percentile: float = 95.0, threshold: float | None = None, buffer: int = 1, tokens: int = 512
) -> Chunk:
    """The semantic chunker over any encoder; see `semantic`."""
    if threshold is None and not 0 <= percentile <= 100:
        raise ConfigError("parts.chunk.percentile", f"{percentile} is not in 0 … 100", "95 is usual")
    if threshold is not None and not 0 <= threshold <= 2:
        raise ConfigError("parts.chunk.threshold", f"{threshold} is not in 0 … 2", "it is 1 - cosine: try 0.5")
    for name, value in (("buffer", buffer), ("tokens", tokens)):
        if value < 1:
            raise ConfigError(f"parts.chunk.{name}", f"{value} is under 1", "give a number of at least 1")

    def cut(page: SystemPage) -> list[tuple[int, int]]:
        # A blank sentence has no meaning to compare, and would be a split on either side.
        spans = [(start, end) for start, end in page.sentences if page.text[start:end].strip()]
        if not spans:
            return []
        texts = [page.text[start:end] for start, end in spans]
        values = dissimilarities(encode(texts)) if len(texts) > 1 else []
        lengths = [n_tokens(text) for text in texts]
        found = []
        for first, end in splits(values, limit(values, percentile) if threshold is None else threshold, buffer):
            for start, stop in runs(lengths[first:end], tokens):
                found.append((spans[first + start][0], spans[first + stop - 1][1]))
        return found

    return chunker(cut)


def semantic(
    encoder: str = DEFAULT_MODEL,
    percentile: float = 95.0,
    threshold: float | None = None,
    buffer: int = 1,
    tokens: int = 512,
) -> Chunk:
    """The chunker that splits where 1 - cosine of two neighbouring sentences is over a threshold.

    The threshold is `threshold`, or the `percentile` of the page's own dissimilarities: the paper names neither (95 is
    the default of the tools that made the method known). `buffer` is the least number of sentences before a split, as
    the paper has it; elsewhere a parameter of that name is how many sentences are encoded together. `tokens` cuts
    longer chunks between sentences, which the paper does not do: a page without a split would be one chunk that no
    model reads to its end. Raises ConfigError on settings out of range.
    """
    chosen = Encoder(encoder, cache=cache_folder())
    return semantic_by(chosen.encode, percentile=percentile, threshold=threshold, buffer=buffer, tokens=tokens)
