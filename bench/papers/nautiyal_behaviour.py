"""How far rankings differ, who finds relevant pairs alone, and what reranking moves (Nautiyal et al., 5.6 and 5.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from board_runs import table
from nautiyal_medquad import METHODS, Relevance, Search
from nautiyal_tests import pooled_row

from baselines.parts import Rank
from baselines.rerank.cross_encoder import bi_encoder
from harness.scoring.retrieval import mean_with_interval

PAPER_CHANGES = {
    ("BM25", "dense"): ("8.0", "40 %"),
    ("BM25", "hybrid"): ("9.0", "45 %"),
    ("dense", "hybrid"): ("7.5", "35 %"),
}
"""Table 6, from 20 queries."""
PAPER_RERANKED = ("8.3", "55 %")
CHANGED = ("changed of 10", "first changed")
PAPER_ALONE = {"BM25": "10 %", "dense": "7 %", "hybrid": "6 %"}


def n_changed(first: Sequence[int], second: Sequence[int]) -> int:
    """At how many of the places two rankings hold different pairs; a place that only one has counts."""
    same = sum(one == other for one, other in zip(first, second, strict=False))
    return max(len(first), len(second)) - same


class Shares:
    """Means over questions with 95 % intervals; questions of one focus area are not independent."""

    def __init__(self, search: Relevance, rows: Sequence[int]) -> None:
        names = {name: number for number, name in enumerate(dict.fromkeys(search.data.focus[row] for row in rows))}
        self._clusters = [names[search.data.focus[row]] for row in rows]

    def of(self, values: Sequence[float], scale: float = 100.0, unit: str = " %") -> str:
        """`mean unit (low … high)`."""
        mean, low, high = mean_with_interval(values, self._clusters)
        return f"{scale * mean:.1f}{unit} ({scale * low:.1f} … {scale * high:.1f})"

    def changes(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[str, str]:
        """Changed places of ten, and how often the first one changes."""
        return (
            self.of([n_changed(*pair) / 10 for pair in pairs], 10.0, ""),
            self.of([float(first[:1] != second[:1]) for first, second in pairs]),
        )


def tables(search: Search, rows: Sequence[int]) -> str:
    """Table 6 without its last line, and section 5.7, with the question's own pair kept and taken out."""
    changed: list[tuple[str, ...]] = []
    alone: list[tuple[str, ...]] = []
    for own in (True, False):
        asked = [row for row in rows if search.relevant(row, own=own)]
        shares, ranked = Shares(search, asked), {row: search.ranked(row, own=own) for row in asked}
        told = f"{'kept' if own else 'out'} ({len(asked)})"
        for first, second in combinations(METHODS, 2):
            found = shares.changes([(ranked[row][first], ranked[row][second]) for row in asked])
            changed.append((f"{first} against {second}", told, *PAPER_CHANGES[first, second], *found))
        relevant = {row: set(search.relevant(row, own=own)) for row in asked}
        hits = [{name: relevant[row] & set(ranked[row][name]) for name in METHODS} for row in asked]
        alone += [(name, told, paper, shares.of(values)) for name, paper, values in _overlap(hits)]
    told = "own pair (questions)"
    names = [f"{whose}: {what}" for whose in ("paper", "ours") for what in CHANGED]
    first_table = table(("rankings", told, *names), changed)
    second = table(("share of questions", told, "paper", "ours"), alone)
    return f"{first_table}\n\n{second}"


def _overlap(hits: Sequence[dict[str, set[int]]]) -> Iterator[tuple[str, str, list[float]]]:
    """The paper does not define its 42 %: both readings of "all three agree"."""
    same = [float(len({frozenset(found) for found in one.values()}) == 1) for one in hits]
    yield "all three find the same relevant pairs", "42 %", same
    common = [float(bool(set.intersection(*one.values()))) for one in hits]
    yield "all three find one relevant pair in common", "42 %", common
    for name, paper in PAPER_ALONE.items():
        others = [other for other in METHODS if other != name]
        values = [float(bool(h[name].difference(*(h[other] for other in others)))) for h in hits]
        yield f"{name} alone finds a relevant pair", paper, values


def reranking(search: Search, rows: Sequence[int], encoder: str, seed: int) -> str:
    """The hybrid's ten reordered by a bi-encoder that reads query and answer (section 4.5: "document_response")."""
    rank = bi_encoder(encoder)
    moved: list[tuple[str, ...]] = []
    gains: list[tuple[str, ...]] = []
    for own in (True, False):
        asked = [row for row in rows if search.relevant(row, own=own)]
        before = {row: search.ranked(row, own=own)["hybrid"] for row in asked}
        after = {row: _reordered(search, rank, row, places) for row, places in before.items()}
        told = f"{'kept' if own else 'out'} ({len(asked)})"
        pairs = [(before[row], after[row]) for row in asked]
        moved.append((told, *PAPER_RERANKED, *Shares(search, asked).changes(pairs)))
        values, reordered = search.measured(before, own=own), search.measured(after, own=own)
        for metric in ("P@1", "P@10", "MRR", "NDCG@10"):
            _, difference, interval, established = pooled_row(
                reordered[metric], values[metric], search.data.focus, seed
            )
            means = [f"{100 * sum(one[metric].values()) / len(asked):.2f}" for one in (values, reordered)]
            gains.append((metric, told, *means, difference, interval, established))
    told = "own pair (questions)"
    first = table((told, *(f"{whose}: {what}" for whose in ("paper", "ours") for what in CHANGED)), moved)
    head = ("hybrid, %", told, "before", "after", "difference (points)", "95 % interval", "established")
    return f"Reranker: `{encoder}` (a bi-encoder; the paper's is a cross-encoder).\n\n{first}\n\n{table(head, gains)}"


def _reordered(search: Search, rank: Rank, row: int, places: Sequence[int]) -> list[int]:
    texts = [search.data.answers[place] for place in places]
    return [places[one.place] for one in rank(search.data.questions[row], texts, len(places))]
