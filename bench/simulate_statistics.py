"""Do the statistics keep their promises? Coverage of intervals, false alarms, and power, on made-up systems.

    python bench/simulate_statistics.py [--trials 4000] [--seed 20261122] [--json FILE]

Lessons are of 4 to 20 questions. A system's chance of a right answer is its own draw for each lesson (beta, mean 0.6),
so questions of a lesson are correlated; one answer in ten is missing. "By question" ignores that.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edu_rag.statistics import (
    mcnemar,
    mean_interval,
    mean_intervals,
    n_needed,
    pair_p,
    power_of,
    rank_groups,
    sign_flip_p,
    smallest_detectable_difference,
    spread_of,
    units_of,
)

Ints = NDArray[np.int64]
POINTS, CHANCES, TRUTH = (-1, 0, 1), (0.25, 0.15, 0.6), 0.35
LESSON_TRUTH = 0.9 * (2 * 0.6 - 1)


class Row(NamedTuple):
    """One measured share with its standard error and what it should be."""

    what: str
    share: float
    trials: int
    wanted: str

    @property
    def error(self) -> float:
        """Standard error of the share."""
        return math.sqrt(self.share * (1 - self.share) / self.trials)


def share(what: str, wanted: str, trials: int, trial: Callable[[], bool]) -> Row:
    """How often a trial succeeds."""
    return Row(what, sum(trial() for _ in range(trials)) / trials, trials, wanted)


def lessons_of(rng: np.random.Generator, n_lessons: int) -> list[int]:
    """The lesson number of each question; 4 to 20 questions a lesson."""
    return np.repeat(np.arange(n_lessons), rng.integers(4, 21, n_lessons)).tolist()


def answers(rng: np.random.Generator, lessons: Sequence[int], lift: float = 0.0) -> Ints:
    """Points of a system whose skill varies from lesson to lesson; `lift` raises the mean chance of a right answer."""
    numbers = np.array(lessons)
    skill = rng.beta(6 * (0.6 + lift), 6 * (0.4 - lift), numbers.max() + 1)[numbers]
    right = np.where(rng.random(len(numbers)) < skill, 1, -1)
    return np.where(rng.random(len(numbers)) < 0.1, 0, right)


def coverage(rng: np.random.Generator, trials: int) -> Iterator[Row]:
    """How often 95 % intervals hold the truth: questions independent, and lessons."""
    for n in (20, 50, 100, 300, 1_000, 2_524):

        def plain(n: int = n) -> bool:
            low, high = mean_interval(rng.choice(POINTS, n, p=CHANCES))
            return low <= TRUTH <= high

        yield share(f"independent questions, n = {n:,}", "0.93 … 0.97", trials, plain)
    for n_lessons in (5, 10, 20, 40, 80, 160):

        def by_lesson(n_lessons: int = n_lessons, whole: bool = True) -> bool:
            lessons = lessons_of(rng, n_lessons)
            units = units_of(lessons, len(lessons)) if whole else None
            points = answers(rng, lessons)
            ((low, high),) = mean_intervals(points[None, :], units, resamples=2_000)
            return low <= LESSON_TRUTH <= high

        wanted = "0.93 … 0.97" if n_lessons >= 40 else "may fall short"
        yield share(f"by lesson, {n_lessons} lessons", wanted, trials, by_lesson)
        if n_lessons == 80:
            yield share(
                f"by question although there are {n_lessons} lessons",
                "falls short",
                trials,
                lambda: by_lesson(80, False),
            )


def false_alarms(rng: np.random.Generator, trials: int) -> Iterator[Row]:
    """How often equal systems are declared different at the 5 % level."""
    for n_lessons in (8, 40):

        def single(test: Callable[..., float], whole: bool, n_lessons: int = n_lessons) -> bool:
            lessons = lessons_of(rng, n_lessons)
            return test(answers(rng, lessons), answers(rng, lessons), lessons if whole else None) <= 0.05

        def flip(a: Ints, b: Ints, lessons: Sequence[int] | None) -> float:
            return sign_flip_p(a - b, lessons)

        def correctness(a: Ints, b: Ints, lessons: Sequence[int] | None) -> float:
            return mcnemar(a, b, lessons).p

        for name, test in (("sign-flip", flip), ("McNemar", correctness)):
            yield share(
                f"{name} by lesson, {n_lessons} lessons",
                "<= 0.05",
                trials,
                lambda test=test, single=single: single(test, whole=True),
            )
            yield share(
                f"{name} by question although there are {n_lessons} lessons",
                "too often",
                trials,
                lambda test=test, single=single: single(test, whole=False),
            )
    boards = max(200, trials // 4)

    def board(n_lessons: int) -> bool:
        lessons = lessons_of(rng, n_lessons)
        return len(set(rank_groups([answers(rng, lessons) for _ in range(6)], lessons=lessons))) > 1

    def plain_board() -> bool:
        return len(set(rank_groups(list(rng.choice(POINTS, (6, 300), p=CHANCES))))) > 1

    def plain_pair() -> bool:
        p = pair_p(list(rng.choice(POINTS, (6, 300), p=CHANCES)))
        return min(p.values()) <= 0.05

    yield share("ranks of 6 equal systems, 300 independent questions: any split", "<= 0.05", boards, plain_board)
    yield share("ranks of 6 equal systems, 40 lessons: any split", "<= 0.05", boards, lambda: board(40))
    yield share("any of 15 pairs of 6 equal systems without Holm", "too often", boards, plain_pair)


def found(rng: np.random.Generator, trials: int) -> Iterator[Row]:
    """How often a true difference is found, and the predicted rate."""
    for n, disagree in ((200, 0.5), (1_000, 0.3), (2_524, 0.25)):
        gap = smallest_detectable_difference(n, math.sqrt(disagree))

        def trial(n: int = n, disagree: float = disagree, gap: float = gap) -> bool:
            half = disagree / 2
            return sign_flip_p(rng.choice(POINTS, n, p=(half - gap / 2, 1 - disagree, half + gap / 2))) <= 0.05

        yield share(f"smallest detectable difference {gap:.3f} at n = {n:,}", "0.80", trials, trial)
    needed = n_needed(0.05, math.sqrt(0.3))
    p = (0.15 - 0.025, 0.7, 0.15 + 0.025)
    yield share(
        f"difference 0.05 on the {needed:,} questions it needs",
        "0.80",
        trials,
        lambda: sign_flip_p(rng.choice(POINTS, needed, p=p)) <= 0.05,
    )
    lift, n_lessons = 0.05, 250
    lessons = lessons_of(rng, 4_000)
    spread = spread_of(answers(rng, lessons, lift), answers(rng, lessons), lessons)
    for name, sd in (("with the design effect", spread.effective_sd), ("without it", spread.sd)):
        predicted = power_of(12 * n_lessons, 0.9 * 2 * lift, sd)

        def lesson_trial() -> bool:
            own = lessons_of(rng, n_lessons)
            return sign_flip_p(answers(rng, own, lift) - answers(rng, own), own) <= 0.05

        yield share(
            f"difference {1.8 * lift:.2f} on {n_lessons} lessons, predicted {name}",
            f"{predicted:.2f}",
            trials,
            lesson_trial,
        )


def main() -> None:
    """Run all simulations and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    tables: dict[str, list[Row]] = {}
    for title, rows in (
        ("coverage of 95 % intervals", coverage),
        ("false alarms at the 5 % level", false_alarms),
        ("power", found),
    ):
        tables[title] = list(rows(rng, given.trials))
        print(f"\n| {title} | share | standard error | trials | expected |\n|---|---|---|---|---|")
        for row in tables[title]:
            print(f"| {row.what} | {row.share:.3f} | {row.error:.3f} | {row.trials:,} | {row.wanted} |")
    if given.json:
        given.json.write_text(json.dumps({title: [row._asdict() for row in rows] for title, rows in tables.items()}))


if __name__ == "__main__":
    main()
