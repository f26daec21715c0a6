"""Dense retrieval: exact inner product between the query's vector and the passages' (no index library is needed)."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.embed import DEFAULT_MODEL, Encoder
from baselines.models import cache_folder
from baselines.parts import Rank, ScoredPassage
from baselines.retrieve import top


def dense(encoder: str = DEFAULT_MODEL, back_end: str = "torch") -> Rank:
    """The retriever that ranks texts by cosine with the query (Nautiyal et al., section 3.4).

    `encoder` is a name of baselines.models, a folder or a hub id; `back_end` is torch, onnx or onnx-int8.
    The paper's Faiss IndexFlatIP is the same exact inner product. Raises SubmissionError, MissingExtraError or
    ConfigError with the remedy.
    """
    vectors = Encoder(encoder, back_end=back_end, cache=cache_folder())

    def rank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        import numpy as np

        # Not `@`: BLAS rounds a row by its place among the others and by the threads, so that equal texts did not tie.
        return top(np.einsum("ij,j->i", vectors.encode(texts), vectors.encode([query])[0]), k)

    return rank
