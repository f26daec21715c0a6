"""Tables of the hybrid with and without reranking by the cross-encoders of nautiyal_training.py."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from board_runs import table
from nautiyal_behaviour import CHANGED, PAPER_RERANKED, Shares
from nautiyal_medquad import CANDIDATES, METHODS, K, Medquad, Relevance, Values
from nautiyal_tests import pooled_row, run_ps
from nautiyal_training import Prepared, by_row, read_prepared, readings

METRICS = ("P@10", "R@10", "MRR", "NDCG@10")
HYBRID, DENSE, WORDS = "hybrid", "dense", "BM25"
TEN, ALL = "hybrid, its 10 reranked", f"hybrid, {CANDIDATES} reranked"
PAIRS = ((HYBRID, WORDS), (HYBRID, DENSE), (TEN, HYBRID), (TEN, WORDS), (TEN, DENSE), (ALL, HYBRID), (ALL, WORDS))
DOCUMENTS = {"answer": "the answer", "pair": "both texts"}
Scores = dict[int, dict[int, float]]


class Trained(NamedTuple):
    """The scores of one seed's models for what they read of a pair, and how they were trained."""

    document: str
    seed: int
    scores: Scores
    settings: dict[str, Any]
    halves: list[dict[str, Any]]


def read_trained(folder: Path) -> list[Trained]:
    """The files that `train` wrote into a folder."""
    found = []
    for path in sorted(folder.glob("scores-*.json.gz")):
        parts = re.fullmatch(r"scores-(\w+)-(\d+)\.json\.gz", path.name)
        if parts is not None:
            made = json.loads(gzip.decompress(path.read_bytes()))
            scores = {row: by_row(one) for row, one in by_row(made["scores"]).items()}
            found.append(Trained(parts[1], int(parts[2]), scores, made["settings"], made["halves"]))
    return found


def reordered(scores: Mapping[int, float], places: Sequence[int]) -> list[int]:
    """Rows by score, the best first; equal scores keep their order."""
    return sorted(places, key=lambda one: -scores[one])


class Rankings:
    """All rankings of the measured questions, and their values."""

    def __init__(self, data: Medquad, prepared: Prepared) -> None:
        self.data, self.relevance, self._ranked = data, Relevance(data), prepared.ranked

    def asked(self, rows: Sequence[int], *, own: bool) -> list[int]:
        """The distinct rows that have a relevant pair."""
        return [row for row in dict.fromkeys(rows) if self.relevance.relevant(row, own=own)]

    def without(self, method: str, rows: Sequence[int], *, own: bool) -> dict[int, list[int]]:
        """The ten best by a method without reranking."""
        return {row: self._ranked[row][str(own)][method][:K] for row in rows}

    def reranked(self, scores: Scores, rows: Sequence[int], n: int, *, own: bool) -> dict[int, list[int]]:
        """The ten best of the hybrid's first `n` by a cross-encoder."""
        first = {row: self._ranked[row][str(own)][HYBRID][:n] for row in rows}
        return {row: reordered(scores[row], places)[:K] for row, places in first.items()}

    def values(self, trained: Sequence[Trained], rows: Sequence[int], *, own: bool) -> dict[str, Values]:
        """The measures of every method; of the reranked, a question's mean over the seeds."""
        found = {name: self.relevance.measured(self.without(name, rows, own=own), own=own) for name in METHODS}
        for name, n in ((TEN, K), (ALL, CANDIDATES)):
            each = [self.relevance.measured(self.reranked(one.scores, rows, n, own=own), own=own) for one in trained]
            found[name] = {m: {row: fmean(one[m][row] for one in each) for row in rows} for m in METRICS}
        return found


def _told(n: int, own: bool) -> str:
    return f"{'kept' if own else 'out'} ({n})"


def values_table(rankings: Rankings, trained: Sequence[Trained]) -> str:
    """Table 5 with the reranked hybrid, with intervals over questions whose focus areas count as one."""
    rows: list[tuple[str, ...]] = []
    for name, runs in readings(rankings.data).items():
        for own in (True, False):
            asked = rankings.asked([row for run in runs for row in run], own=own)
            shares = Shares(rankings.relevance, asked)
            for method, values in rankings.values(trained, asked, own=own).items():
                cells = [shares.of([values[metric][row] for row in asked], unit="") for metric in METRICS]
                rows.append((name, _told(len(asked), own), method, *cells))
    return table(("questions", "own pair (questions)", "method", *(f"{metric} (%)" for metric in METRICS)), rows)


def tests_table(rankings: Rankings, trained: Sequence[Trained], seed: int) -> str:
    """Section 5.2's tests, run by run and over all questions of the random draws."""
    runs, rows = next(iter(readings(rankings.data).values())), []
    for own in (True, False):
        asked = rankings.asked([row for run in runs for row in run], own=own)
        values = rankings.values(trained, asked, own=own)
        for metric in ("NDCG@10", "MRR"):
            for first, second in PAIRS:
                one, other = values[first][metric], values[second][metric]
                found = run_ps(one, other, runs, seed)
                told = f"{median(found):.4f}, {sum(p < 0.05 for p in found)} of {len(found)}"
                pooled = pooled_row(one, other, rankings.data.focus, seed)
                rows.append((metric, f"{first} − {second}", "kept" if own else "out", told, *pooled))
    head = ("of", "difference", "own pair", "runs: median p, p < 0.05")
    return table((*head, "questions, areas", "difference (points)", "95 % interval", "established"), rows)


def moved_table(rankings: Rankings, trained: Sequence[Trained]) -> str:
    """Section 5.6: how much reranking the first ten changes, for each seed."""
    runs, rows = next(iter(readings(rankings.data).values())), []
    for own in (True, False):
        asked = rankings.asked([row for run in runs for row in run], own=own)
        before = rankings.without(HYBRID, asked, own=own)
        for one in trained:
            after = rankings.reranked(one.scores, asked, K, own=own)
            changes = Shares(rankings.relevance, asked).changes([(before[row], after[row]) for row in asked])
            values = rankings.relevance.measured(after, own=own)["NDCG@10"]
            cells = (*PAPER_RERANKED, *changes, f"{100 * fmean(values.values()):.2f}")
            rows.append((_told(len(asked), own), str(one.seed), *cells))
    head = ("own pair (questions)", "seed", *(f"{whose}: {what}" for whose in ("paper", "ours") for what in CHANGED))
    return table((*head, "NDCG@10 (%)"), rows)


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def training_table(trained: Sequence[Trained]) -> str:
    """How the models were trained."""
    rows = [(DOCUMENTS[t.document], t.seed, *map(_number, half.values())) for t in trained for half in t.halves]
    told = "; ".join(f"{name} {value}" for name, value in trained[0].settings.items())
    return f"{table(('read of a pair', 'seed', *trained[0].halves[0]), rows)}\n\n{told}."


def tables(data: Medquad, folder: Path, seed: int) -> str:
    """All tables, for each reading of what a cross-encoder reads of a pair."""
    rankings, every, parts = Rankings(data, read_prepared(folder)), read_trained(folder), []
    shown: tuple[Callable[[list[Trained]], str], ...] = (
        lambda some: values_table(rankings, some),
        lambda some: tests_table(rankings, some, seed),
        lambda some: moved_table(rankings, some),
    )
    for document, told in DOCUMENTS.items():
        some = [one for one in every if one.document == document]
        if some:
            seeds = ", ".join(str(one.seed) for one in some)
            parts += [
                f"The cross-encoder reads the question, and {told} of a pair. Means over the seeds {seeds}.",
                *(f(some) for f in shown),
            ]
    return "\n\n".join([*parts, "Training, each half of the areas:", training_table(every)])
