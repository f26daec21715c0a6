"""Mala et al. 2025 rebuilt: sparse, dense and hybrid retrieval on two tasks, and what each part of the hybrid adds.

Usage: bench/page.py papers/mala:PART --dataset DIR --cranfield DIR [--encoder NAME] [--submissions DIR]

PART is one of
  evidence   question -> evidence: the questions of a dataset folder that have evidence, their own pages as the corpus
  cranfield  Cranfield: 225 queries, 1,400 documents in one corpus, relevance judged by people
  weights    how the score moves with the sparse retriever's weight, on both (writes mala-weights.svg)
  answers    the three systems' answers (--submissions DIR: folders with predictions), with the paper's Table 2
  failed     the questions that a model alone fails, by themselves (--run DIR, as bench/papers/scored_runs.py describes)
  sources    answers by source: the books of open-textbooks (--run DIR)
The paper's figures are constants here; every other figure is measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mala_answers
import mala_failed
import mala_sources
import mala_tasks
import mala_weights
from board_runs import table
from mala_ceiling import ceiling_table
from mala_metrics import AP_MIN, MAP, NDCG, Values, interval, metrics_of, paired_rows
from mala_systems import ABLATIONS, SYSTEMS, Searcher, Variant
from mala_tasks import Task

PAPER = {"sparse": (0.724, 0.732), "dense": (0.768, 0.783), "hybrid": (0.897, 0.915)}
"""Table 1: MAP@3 and NDCG@3 on HaluBench's 13,867 questions."""
BY_RUN = {"failed": mala_failed.report, "sources": mala_sources.report}
"""Parts that read the published answers."""
CLAIMS = (("hybrid", "sparse"), ("hybrid", "dense"), ("dense", "sparse"))


def systems_table(values: Mapping[str, Values]) -> str:
    """The three systems and the paper's figures."""
    rows = []
    for name in SYSTEMS:
        mean = {metric: interval(values[name][metric]) for metric in (MAP, AP_MIN, NDCG)}
        rows.append((name, *(f"{PAPER[name][at]:.3f}" for at in (0, 1)), *mean.values()))
    return table(("system", "paper MAP@3", "paper NDCG@3", MAP, AP_MIN, NDCG), rows)


def pairs_table(values: Mapping[str, Values], pairs: Sequence[tuple[str, str]]) -> str:
    """Paired tests of both metrics, after Holm over all rows of the table."""
    head = ("difference of", "metric", "difference", "95 % interval", "p", "p after Holm", "better / worse / same")
    return table(head, paired_rows(values, pairs, (MAP, NDCG)))


def ablation_table(values: Mapping[str, Values]) -> str:
    """Every variant's means, and its difference from the hybrid."""
    rows = [(name, *(interval(values[name][metric]) for metric in (MAP, NDCG))) for name in (*SYSTEMS, *ABLATIONS)]
    return table(("variant", MAP, NDCG), rows)


def values_of(task: Task, variants: Iterable[Variant], searcher: Searcher) -> dict[str, Values]:
    """Each variant's metrics by question."""
    return {one.name: metrics_of(task, [searcher.rank(one, at) for at in range(len(task.queries))]) for one in variants}


def report(task: Task, encoder: str) -> str:
    """The tables of one task."""
    searcher = Searcher(task, encoder)
    values = values_of(task, (*SYSTEMS.values(), *ABLATIONS.values()), searcher)
    hybrid_against = [("hybrid", name) for name in ABLATIONS]
    parts = (
        f"{task.told} Encoder of the dense retriever: `{Path(encoder).name}`.",
        systems_table(values),
        "Claims, tested:",
        pairs_table(values, CLAIMS),
        "What the parts of the hybrid add (the hybrid changed in one thing, or one retriever with expansion):",
        ablation_table(values),
        "The hybrid against each, tested:",
        pairs_table(values, hybrid_against),
        searcher.expansion_told(),
        ceiling_table(values, PAPER),
    )
    return "\n\n".join(parts)


def main() -> None:
    """Print one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("evidence", "cranfield", "weights", "answers", *BY_RUN))
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--cranfield", type=Path)
    parser.add_argument("--submissions", type=Path)
    parser.add_argument("--encoder", default="all-mpnet-base-v2")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    tasks: dict[str, Callable[[], Task]] = {
        "evidence": lambda: mala_tasks.evidence(given.dataset),
        "cranfield": lambda: mala_tasks.cranfield(given.cranfield),
    }
    if given.part in tasks:
        print(report(tasks[given.part](), given.encoder))
    elif given.part == "weights":
        print(mala_weights.report([make() for make in tasks.values()], given.encoder))
    elif given.part in BY_RUN:
        print(BY_RUN[given.part](given.run, given.split))
    else:
        print(mala_answers.report(given.dataset, given.submissions))


if __name__ == "__main__":
    main()
