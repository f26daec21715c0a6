"""The cost of retrieval metrics: 13,693 questions with 100 ranked documents each, all measures at four cut-offs.

Usage: .venv/bin/python bench/retrieval_metrics.py [--questions N] [--ranked N] [--runs N]

Makes seeded rankings with five relevant documents among each hundred, and calls `retrieval.measures`, whose
values are trec_eval's (tests/harness/test_harness_retrieval.py holds them against its own expected outputs). The peer
is the definitions in plain Python, whose means must be the same.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from harness.scoring.retrieval import CUTOFFS, measures

GOAL_S = 2.0
N_RELEVANT = 5


def made(n: int, ranked: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Relevant documents, and rankings, by question."""
    rng = random.Random(1)
    names = [f"d{number}" for number in range(2 * ranked)]
    relevant = {f"q{number}": rng.sample(names, N_RELEVANT) for number in range(n)}
    return relevant, {question_id: rng.sample(names, ranked) for question_id in relevant}


def plain(relevant: Mapping[str, Sequence[str]], ranked: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
    """The same measures, written out."""
    values: dict[str, list[float]] = {}
    for question_id, documents in relevant.items():
        wanted, n = set(documents), len(set(documents))
        found = [document in wanted for document in ranked[question_id]]
        ranks = [rank for rank, right in enumerate(found, 1) if right]
        values.setdefault("MRR", []).append(1 / ranks[0] if ranks else 0.0)
        for k in CUTOFFS:
            inside = [rank for rank in ranks if rank <= k]
            gain = sum(1 / math.log2(rank + 1) for rank in inside)
            ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(n, k) + 1))
            for name, value in (
                ("P", len(inside) / k),
                ("R", len(inside) / n),
                ("success", float(bool(inside))),
                ("MAP", sum(at / rank for at, rank in enumerate(inside, 1)) / n),
                ("NDCG", gain / ideal),
            ):
                values.setdefault(f"{name}@{k}", []).append(value)
    return values


def timed(work: Callable[[], dict[str, list[float]]], runs: int) -> tuple[float, float, dict[str, list[float]]]:
    """Medians of wall and CPU seconds, and what came out."""
    walls, cpus = [], []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus), found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--ranked", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    relevant, ranked = made(options.questions, options.ranked)
    wall, cpu, own = timed(lambda: measures(relevant, ranked), options.runs)
    peer_wall, peer_cpu, peer = timed(lambda: plain(relevant, ranked), 1)
    apart = max(abs(a - b) for name, column in own.items() for a, b in zip(column, peer[name], strict=True))
    print(f"{options.questions:,} questions, {options.ranked} ranked documents each, {len(own)} measures:\n")
    print("| | wall s | CPU s |\n|---|---|---|")
    print(f"| **ours** (trec_eval's C beneath) | {wall:.2f} | {cpu:.2f} (goal: {GOAL_S:.0f}) |")
    print(f"| plain Python | {peer_wall:.2f} | {peer_cpu:.2f} |")
    print(f"\nLargest difference between the two in any of {options.questions * len(own):,} values: {apart:.0e}.")


if __name__ == "__main__":
    main()
