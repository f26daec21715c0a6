"""All pairs of twenty systems on the whole question set: ours, and plain resampling as scipy does it, in one run.

    python bench/compare_systems.py [--systems 20] [--board 200] [--questions 13693] [--lessons 1000] [--peer-pairs 3]
                                    [--json FILE]

Ours is what `edu-rag compare` does for a table: paired intervals, sign-flip and McNemar tests, Holm, ranks; and what
the board does for its compare page, which adds the strict reading and the smallest difference that each pair could
find. The peers make one interval a pair from 10,000 resamples and no test; they are timed on a few pairs and
multiplied. `--board 0` leaves the board's table out.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from edu_rag.comparing.tested_pairs import all_pairs_of
from edu_rag.scorecard.card import Counts, ScoreCard, SystemFacts
from edu_rag.statistics import mc_interval, points_of
from harness.comparing.compare import table_of

AT = datetime(2000, 1, 1, tzinfo=UTC)


def systems(n_systems: int, n_questions: int, lessons: Sequence[int]) -> list[ScoreCard]:
    """Made-up scorecards: systems of rising skill on questions and lessons of different difficulty."""
    rng = np.random.default_rng(4)
    hardness = rng.normal(size=n_questions)
    if lessons:
        hardness += rng.normal(size=max(lessons) + 1)[np.array(lessons)]
    cards = []
    for number in range(n_systems):
        skill = number / n_systems + hardness + rng.normal(size=n_questions)
        outcomes = "".join(np.where(rng.random(n_questions) < 0.1, "a", np.where(skill > 0, "c", "i")))
        counts = {name: outcomes.count(name[0]) for name in ("correct", "incorrect", "abstained")}
        facts = SystemFacts(slug=f"system-{number}", name=f"System {number}", team="bench")
        cards.append(
            ScoreCard(
                system=facts,
                dataset="bench@1.0.0#00000000",
                split="test",
                sample=None,
                harness="bench",
                answers_rule="answers-v3",
                outcomes=outcomes,
                lessons=tuple(lessons),
                counts=Counts(**counts),
            )
        )
    return cards


def timed(work: Callable[[], object]) -> float:
    """Seconds of process time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _scipy_interval(difference: np.ndarray) -> None:
    import scipy.stats

    scipy.stats.bootstrap(
        (difference,), np.mean, method="percentile", n_resamples=10_000, batch=100, rng=np.random.default_rng(0)
    )


def board_rows(n_systems: int, n_questions: int, lessons: Sequence[int]) -> list[dict[str, object]]:
    """The board's table of many systems, with lessons and without; some answers name no choice, so that the strict
    reading differs.
    """
    from edu_rag.statistics.distributions import _tail

    rows: list[dict[str, object]] = []
    for name, own in (("by lesson", lessons), ("questions independent", [])):
        cards = [unreadable(card) for card in systems(n_systems, n_questions, own)]
        _tail.cache_clear()
        seconds = timed(lambda cards=cards: all_pairs_of(cards))
        rows.append(
            {
                "what": f"the board's {n_systems} systems, {name}",
                "pairs": n_systems * (n_systems - 1) // 2,
                "seconds": seconds,
            }
        )
    return rows


def unreadable(card: ScoreCard) -> ScoreCard:
    """Every other abstention becomes an answer that names no choice."""
    parts = card.outcomes.split("a")
    outcomes = "".join(part + "au"[at % 2] for at, part in enumerate(parts[:-1])) + parts[-1]
    counts = {"correct": "c", "incorrect": "i", "abstained": "a", "unparseable": "u"}
    return replace(card, outcomes=outcomes, counts=Counts(**{name: outcomes.count(c) for name, c in counts.items()}))


def main() -> None:
    """Time ours with and without lessons, and the peers; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--board", type=int, default=200)
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--lessons", type=int, default=1_000)
    parser.add_argument("--peer-pairs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    n_pairs = given.systems * (given.systems - 1) // 2
    rng = np.random.default_rng(1)
    numbers = np.unique(np.sort(rng.integers(0, given.lessons, given.questions)), return_inverse=True)[1].tolist()
    rows: list[dict[str, object]] = []
    for name, lessons in (("questions independent", []), (f"by lesson, {max(numbers) + 1:,} lessons", numbers)):
        cards = systems(given.systems, given.questions, lessons)
        rows.append({"what": f"ours, {name}", "pairs": n_pairs, "seconds": timed(lambda cards=cards: table_of(cards))})
    if given.board:
        rows += board_rows(given.board, given.questions, numbers)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    points = [points_of(card.outcomes) for card in systems(given.systems, given.questions, [])]
    differences = [points[i] - points[i + 1] for i in range(given.peer_pairs)]
    for name, work in (
        ("scipy.stats.bootstrap, 10,000 resamples", _scipy_interval),
        ("plain numpy loop, 10,000 resamples", lambda d: mc_interval(d, seed=0)),
    ):
        seconds = timed(lambda work=work: [work(d) for d in differences]) / given.peer_pairs * n_pairs
        rows.append({"what": f"{name} (from {given.peer_pairs} pairs)", "pairs": n_pairs, "seconds": seconds})
    ours = float(str(rows[0]["seconds"]))
    print(f"{given.systems} systems, {given.questions:,} questions, all {n_pairs} pairs; process time.\n")
    print("| what | seconds | times ours |\n|---|---|---|")
    for row in rows:
        seconds = float(str(row["seconds"]))
        times = f"{seconds / ours:.1f}" if row["pairs"] == n_pairs else f"{row['pairs']:,} pairs"
        print(f"| {row['what']} | {seconds:.2f} | {times} |")
    print(f"\nPeak memory of ours: {peak:.0f} MB, with the interpreter.")
    if given.json:
        given.json.write_text(json.dumps({"rows": rows, "peak_mb": peak}, indent=1))


if __name__ == "__main__":
    main()
