"""Dense retrieval: exact inner product between the query's vector and the passages' (no index library is needed)."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.embed import DEFAULT_MODEL, Encoder
from baselines.models import cache_folder
from baselines.parts import Rank, Scored


def dense(encoder: str = DEFAULT_MODEL) -> Rank:
    """The retriever that ranks texts by cosine with the query (Nautiyal et al., section 3.4)."""
    vectors = Encoder(encoder, cache=cache_folder())

    def rank(query: str, texts: Sequence[str], k: int) -> list[Scored]:
        import numpy as np

        cosines = vectors.encode(texts) @ vectors.encode([query])[0]
        return [Scored(int(place), float(cosines[place])) for place in np.argsort(-cosines, kind="stable")[:k]]

    return rank
