"""Ranks and clean parts of a table from its outcome letters, by the statistics alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from page_numbers import Card, between, score

from edu_rag.statistics import rank_groups, shared_lessons
from edu_rag.statistics.two_parts import is_lower, part_of

POINTS = {"c": 1, "i": -1}


def text_of(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} {last}"


def _ranks(outcomes: Sequence[str], lessons: Sequence[int]) -> list[tuple[int, int]]:
    firsts = rank_groups(outcomes, lessons=lessons)
    sizes = Counter(firsts)
    return [(first, first + sizes[first] - 1) for first in firsts]


class CleanPart(NamedTuple):
    """What a row says of declared overlap: numbers of both parts; the rank is empty where there is none."""

    n: int
    n_declared: int
    score: str
    declared_score: str
    interval: str
    declared_interval: str
    rank: str
    is_lower: bool


class Places:
    """A table's places by slug."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._cards = {card["system"]["slug"]: card for card in cards}
        self._lessons = shared_lessons([tuple(card.get("lessons") or ()) for card in cards])
        ranks = _ranks([card["outcomes"] for card in cards], self._lessons)
        self._full = dict(zip(self._cards, ranks, strict=True))
        self._clean: dict[str, CleanPart | None] = {}

    def order(self, slug: str) -> tuple[int, bool, float, str]:
        """Rows are ordered by tie group, then verified before reported, then by score and slug."""
        card = self._cards[slug]
        again = card.get("rerun") or {}
        is_verified = again.get("own") is True or (again.get("n_same") is not None and again["n_same"] == again["n"])
        is_reported = not card.get("caps") and not is_verified
        points = sum(POINTS.get(letter, 0) for letter in card["outcomes"])
        return self._full[slug][0], is_reported, -points, slug

    def rank(self, slug: str) -> str:
        return text_of(*self._full[slug])

    def clean(self, slug: str) -> CleanPart | None:
        if slug not in self._clean:
            self._clean[slug] = self._clean_part(slug)
        return self._clean[slug]

    def _clean_part(self, slug: str) -> CleanPart | None:
        card = self._cards[slug]
        overlap = card.get("overlap", "")
        if "1" not in overlap:
            return None
        parts = {mark: part_of(card["outcomes"], self._lessons, overlap, mark) for mark in "10"}
        n = overlap.count("0")
        rank = self._clean_rank(slug, overlap) if n >= max(100, math.ceil(0.3 * len(overlap))) else ""
        scores = {mark: _score(card["outcomes"], overlap, mark) for mark in "10"}
        ranges = {mark: "" if part is None else between(*part.interval) for mark, part in parts.items()}
        return CleanPart(
            n,
            overlap.count("1"),
            scores["0"],
            scores["1"],
            ranges["0"],
            ranges["1"],
            rank,
            is_lower(parts["1"], parts["0"]) if parts["1"] is not None else False,
        )

    def _clean_rank(self, slug: str, overlap: str) -> str:
        """Tested with every system on the questions that this one does not declare; never earlier than on all."""
        kept = [at for at, mark in enumerate(overlap) if mark == "0"]
        outcomes = ["".join(card["outcomes"][at] for at in kept) for card in self._cards.values()]
        place = list(self._cards).index(slug)
        clean = _ranks(outcomes, [self._lessons[at] for at in kept] if self._lessons else [])[place]
        full = self._full[slug]
        return text_of(max(clean[0], full[0]), max(clean[1], full[1]))


def _score(outcomes: str, overlap: str, mark: str) -> str:
    points = [POINTS.get(letter, 0) for letter, declared in zip(outcomes, overlap, strict=True) if declared == mark]
    return score(sum(points) / len(points)) if points else ""
