"""Fusion: one ranking made of several, by ranks alone (RRF), or weighted by how specific the query is."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.parts import Fuse, Scored


def best(scores: dict[int, float], k: int) -> list[Scored]:
    """The `k` best places, best first; ties go to the smaller place."""
    return [Scored(place, score) for place, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]]


def rrf(constant: float = 60.0) -> Fuse:
    """Reciprocal rank fusion: the sum over lists of 1 / (constant + rank) (Nautiyal et al., eq. 2; ranks from 1)."""

    def fuse(query: str, texts: Sequence[str], lists: Sequence[Sequence[Scored]], k: int) -> list[Scored]:
        scores: dict[int, float] = {}
        for ranking in lists:
            for rank, item in enumerate(ranking, 1):
                scores[item.place] = scores.get(item.place, 0.0) + 1 / (constant + rank)
        return best(scores, k)

    return fuse
