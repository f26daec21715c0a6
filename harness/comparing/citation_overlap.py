"""Two systems' citations side by side: how far the rankings differ, and what evidence only one of them found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edu_rag.scorecard.card import Passage, Prediction
from edu_rag.scorecard.support import Support, holds_evidence
from harness.scoring.retrieval import CUTOFFS, Spans, places_of

DEPTH = max(CUTOFFS)
"""Ranks that are compared; what is cited below is not looked at."""


def same_place(first: Passage, second: Passage) -> bool:
    """Whether two passages are of one page and share a character, however they were cut."""
    return first.page_id == second.page_id and first.start < second.end and second.start < first.end


def changed_positions(first: Sequence[Passage], second: Sequence[Passage]) -> tuple[int, int]:
    """(ranks that differ, ranks) down to the end of the longer list, at most DEPTH; a rank that one lacks differs."""
    ranks = min(DEPTH, max(len(first), len(second)))
    same = sum(same_place(a, b) for a, b in zip(first[:ranks], second[:ranks], strict=False))
    return ranks - same, ranks


def _partners(first: Sequence[Passage], second: Sequence[Passage]) -> list[int]:
    """For each passage the first rank of the other list, from 1, that is of the same place; DEPTH + 1 for none."""
    by_page: dict[str, list[tuple[int, Passage]]] = {}
    for rank, passage in enumerate(second[:DEPTH], 1):
        by_page.setdefault(passage.page_id, []).append((rank, passage))
    return [
        next((rank for rank, other in by_page.get(passage.page_id, ()) if same_place(passage, other)), DEPTH + 1)
        for passage in first[:DEPTH]
    ]


def overlaps(first: Sequence[Passage], second: Sequence[Passage]) -> list[float]:
    """Overlap of the first k passages of two lists, 0 … 1, for each of CUTOFFS: the share that the other list has too.

    (a + b) / (|A| + |B|), with a the passages of A that share a place with one of B, and b the other way round. Where
    passages are the same or share nothing, this is the Dice coefficient 2 |A and B| / (|A| + |B|) (Dice 1945).
    """
    there, back = _partners(first, second), _partners(second, first)
    shared = [sum(rank <= k for rank in (*there[:k], *back[:k])) for k in CUTOFFS]
    return [n / (len(there[:k]) + len(back[:k])) for n, k in zip(shared, CUTOFFS, strict=True)]


Predictions = Mapping[str, Prediction]
_WHOSE = ((True, True), (True, False), (False, True), (False, False))


def _passages(predictions: Predictions, question_id: str) -> Sequence[Passage]:
    prediction = predictions.get(question_id)
    return prediction.passages if prediction else ()


def _rankings(pairs: Sequence[tuple[Sequence[Passage], Sequence[Passage]]]) -> dict[str, Any]:
    """How the rankings of the questions differ for which both systems cite something."""
    changed, ranks = map(sum, zip(*(changed_positions(a, b) for a, b in pairs), strict=True))
    by_cutoff = zip(*(overlaps(a, b) for a, b in pairs), strict=True)
    return {
        "n_both_cite": len(pairs),
        "positions_changed": changed / ranks,
        "top_1_changed": sum(not same_place(a[0], b[0]) for a, b in pairs) / len(pairs),
        "overlap": {f"@{k}": math.fsum(found) / len(pairs) for k, found in zip(CUTOFFS, by_cutoff, strict=True)},
    }


def _found_places(passages: Sequence[Passage], evidence: Spans) -> set[tuple[str, int, int]]:
    """The places of evidence that a cited passage shares a character with."""
    return {
        (page_id, start, end)
        for page_id, places in places_of(evidence).items()
        for start, end in places
        if holds_evidence(passages, {page_id: [(start, end)]})
    }


def _evidence(first: Predictions, second: Predictions, support: Support) -> dict[str, int]:
    """Places of evidence, and questions with one, that both systems, only one, or neither cited."""
    places, questions = [0, 0, 0, 0], [0, 0, 0, 0]
    for question_id in sorted(support.evidence.keys() & (first.keys() | second.keys())):
        evidence = support.evidence[question_id]
        a, b = (_found_places(_passages(side, question_id), evidence) for side in (first, second))
        n = sum(map(len, places_of(evidence).values()))
        for at, found in enumerate((a & b, a - b, b - a)):
            places[at] += len(found)
        places[3] += n - len(a | b)
        questions[_WHOSE.index((bool(a), bool(b)))] += 1
    names = ("both", "first_only", "second_only", "neither")
    return {
        **{f"n_evidence_{name}": n for name, n in zip(names, places, strict=True)},
        **{f"n_supported_{name}": n for name, n in zip(names, questions, strict=True)},
    }


def overlap_of(first: Predictions, second: Predictions, support: Support) -> dict[str, Any]:
    """How far two systems cite the same, on the questions for which both cite something; and whose evidence is whose.

    Empty if there is no such question.
    """
    pairs = [(_passages(first, i), _passages(second, i)) for i in sorted(first.keys() & second.keys())]
    pairs = [(a, b) for a, b in pairs if a and b]
    if not pairs:
        return {}
    return {**_rankings(pairs), **_evidence(first, second, support)}


def overlap_lines(values: Mapping[str, Any], first: str = "A", second: str = "B") -> Iterator[str]:
    """The comparison as lines for a terminal."""
    if not values:
        return
    yield (
        f"cited: on {values['n_both_cite']:,} question(s) by both; {100 * values['positions_changed']:.1f} % of ranks "
        f"differ, the first rank on {100 * values['top_1_changed']:.1f} %"
    )
    yield "  overlap " + ", ".join(f"{name} {share:.3f}" for name, share in values["overlap"].items())
    for noun, key in (("places of evidence", "n_evidence"), ("questions with evidence", "n_supported")):
        yield (
            f"  {noun} cited by both {values[key + '_both']:,}, only {first} {values[key + '_first_only']:,}, "
            f"only {second} {values[key + '_second_only']:,}, neither {values[key + '_neither']:,}"
        )
