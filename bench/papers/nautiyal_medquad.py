"""MedQuAD as Nautiyal et al. search it: documents, questions, what counts as relevant, and the three rankings."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from baselines.embed import DEFAULT_MODEL, Encoder
from baselines.models import cache_folder
from baselines.parts import ScoredPassage
from baselines.retrieve import top
from baselines.retrieve.bm25 import BM25
from baselines.retrieve.fuse import rrf
from harness.scoring.retrieval import measures

K = 10
CANDIDATES = 3 * K
"""Section 3.5: "k x 3 = 30". So k is the length of the list there, not the 60 of equation 2."""
METHODS = ("BM25", "dense", "hybrid")
AT_ONCE = 256
Values = dict[str, dict[int, float]]
"""Metric -> question (its row in the data) -> value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Medquad:
    """The pairs that have an answer, in the order of the file; `focus` is the label that makes two pairs relevant."""

    questions: list[str]
    answers: list[str]
    focus: list[str]
    source: list[str]

    @property
    def for_words(self) -> list[str]:
        """The texts that BM25 reads (section 4.2: question and answer)."""
        return [f"{q} {a}" for q, a in zip(self.questions, self.answers, strict=True)]

    @property
    def for_meaning(self) -> list[str]:
        """The texts that the encoder reads (section 4.3). all-MiniLM-L6-v2 cuts them after 256 word pieces."""
        return [f"{q} [SEP] {a}" for q, a in zip(self.questions, self.answers, strict=True)]

    def by_focus(self) -> dict[str, list[int]]:
        """The rows of each focus area; a pair without one belongs to none."""
        rows: dict[str, list[int]] = {}
        for row, focus in enumerate(self.focus):
            if focus:
                rows.setdefault(focus, []).append(row)
        return rows


def read(path: Path) -> Medquad:
    """The pairs in a file of JSON lines (gzip)."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return Medquad(
        questions=[row["question"] for row in rows],
        answers=[row["answer"] for row in rows],
        focus=[(row["focus"] or "").strip() for row in rows],
        source=[row["source"] for row in rows],
    )


def random_runs(data: Medquad, n_runs: int, n: int, seed: int, largest: int | None = None) -> list[list[int]]:
    """`n_runs` samples of `n` rows with a focus, each without replacement (section 5.1).

    `largest` keeps to the questions of that many focus areas, those with the most pairs.
    """
    areas = sorted(data.by_focus().items(), key=lambda item: (-len(item[1]), item[0]))[:largest]
    rows = sorted(row for _, those in areas for row in those)
    return [random.Random(f"{seed} {run}").sample(rows, n) for run in range(n_runs)]


def first_of_areas(data: Medquad, n: int, largest: int | None = None) -> list[int]:
    """The first question of each focus area in alphabetical order, until there are `n` (section 4.8)."""
    areas = sorted(data.by_focus().items(), key=lambda item: (-len(item[1]), item[0]))[:largest]
    return [rows[0] for _, rows in sorted(areas)[:n]]


def vectors_of(encoder: Encoder, texts: Sequence[str]) -> Any:
    """Unit vectors of texts, float32 (n, d); shorter texts first, so that a batch holds texts of a length."""
    import numpy as np

    distinct = sorted(dict.fromkeys(texts), key=lambda text: (len(text), text))
    row_of = {text: row for row, text in enumerate(distinct)}
    parts = [encoder.encode(distinct[start : start + AT_ONCE]) for start in range(0, len(distinct), AT_ONCE)]
    return np.concatenate(parts)[[row_of[text] for text in texts]]


class Relevance:
    """Which pairs are relevant to a question, those of its focus area, and trec_eval's measures of rankings by it."""

    def __init__(self, data: Medquad) -> None:
        self.data, self._areas = data, data.by_focus()

    def relevant(self, row: int, *, own: bool) -> list[int]:
        """The rows of the same focus area."""
        return [other for other in self._areas[self.data.focus[row]] if own or other != row]

    def measured(self, ranked: Mapping[int, Sequence[int]], *, own: bool) -> Values:
        """P, R, NDCG at 1 … 10 and MRR of rankings by row."""
        found = measures(
            {str(row): [str(one) for one in self.relevant(row, own=own)] for row in ranked},
            {str(row): [str(one) for one in places] for row, places in ranked.items()},
            tuple(range(1, K + 1)),
        )
        return {name: dict(zip(ranked, column, strict=True)) for name, column in found.items()}


Found = tuple[list[ScoredPassage], list[ScoredPassage]]


class _Look(NamedTuple):
    """All that a search needs for each of the questions, by words and by meaning."""

    index: BM25
    documents: Any
    questions: Sequence[str]
    rows: Sequence[int]
    vectors: Any

    def found(self, place: int) -> Found:
        """The best documents of one question, one more than is fused: its own pair may be taken out."""
        scores = self.index.scores(self.questions[self.rows[place]])
        return top(scores, CANDIDATES + 1), top(self.documents @ self.vectors[place], CANDIDATES + 1)

    def all(self, workers: int) -> list[Found]:
        """The same of all questions."""
        places = range(len(self.rows))
        if workers == 1:
            return [self.found(place) for place in places]
        _looks.append(self)
        try:
            with multiprocessing.get_context("fork").Pool(workers) as pool:
                return pool.map(_found_by_worker, places, chunksize=AT_ONCE)
        finally:
            _looks.pop()


_looks: list[_Look] = []
"""Worker processes inherit it: documents and their index are too large to be sent to each."""


def _found_by_worker(place: int) -> Found:
    return _looks[-1].found(place)


class Search(Relevance):
    """BM25 (variant rank_bm25, k1 1.5, b 0.75), dense, and both fused by RRF with 60, over all pairs.

    With `own` a question may find the pair that it was taken from; else that pair is taken out of each list before
    fusion, and out of what is relevant.
    """

    def __init__(self, data: Medquad, rows: Sequence[int], workers: int = 1) -> None:
        super().__init__(data)
        index = BM25(data.for_words, k1=1.5, b=0.75, variant="rank_bm25")
        encoder = Encoder(DEFAULT_MODEL, cache=cache_folder())
        documents = vectors_of(encoder, data.for_meaning)
        distinct = sorted(set(rows))
        asked = vectors_of(encoder, [data.questions[row] for row in distinct])
        look = _Look(index, documents, data.questions, distinct, asked)
        self._found = dict(zip(distinct, look.all(workers), strict=True))

    def ranked(self, row: int, *, own: bool) -> dict[str, list[int]]:
        """The ten best rows by each method."""
        every: list[list[ScoredPassage]] = [*self._lists(row, own=own), self._fused(row, K, own=own)]
        return {name: [one.place for one in found[:K]] for name, found in zip(METHODS, every, strict=True)}

    def fused(self, row: int, n: int, *, own: bool) -> list[int]:
        """The `n` best rows of the hybrid."""
        return [one.place for one in self._fused(row, n, own=own)]

    def _lists(self, row: int, *, own: bool) -> list[list[ScoredPassage]]:
        return [[one for one in found if own or one.place != row][:CANDIDATES] for found in self._found[row]]

    def _fused(self, row: int, n: int, *, own: bool) -> list[ScoredPassage]:
        return rrf()(self.data.questions[row], (), self._lists(row, own=own), n)

    def best(self, row: int, *, own: bool) -> list[int]:
        """A perfect system's result: only relevant rows."""
        return self.relevant(row, own=own)[:K]

    def values(self, rows: Sequence[int], *, own: bool) -> dict[str, Values]:
        """P, R, NDCG at 1 … 10 and MRR by method (and of a perfect system), of the rows that have a relevant one."""
        asked = [row for row in dict.fromkeys(rows) if self.relevant(row, own=own)]
        ranked = {row: self.ranked(row, own=own) | {"perfect": self.best(row, own=own)} for row in asked}
        return {
            name: self.measured({row: ranked[row][name] for row in asked}, own=own) for name in (*METHODS, "perfect")
        }
