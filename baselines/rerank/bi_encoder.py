"""Reranking by a second, larger bi-encoder, for machines without a cross-encoder."""

from __future__ import annotations

from baselines.parts import Rank
from baselines.retrieve.dense import dense


def bi_encoder(encoder: str = "all-mpnet-base-v2") -> Rank:
    """The reranker that orders candidates by the cosine of their vectors with the query's.

    No paper has it. It is dense retrieval among few texts, by an encoder that is too slow for all of them: it reads
    query and text apart, where a cross-encoder (Nautiyal et al., section 3.6) reads them together.
    """
    return dense(encoder)
