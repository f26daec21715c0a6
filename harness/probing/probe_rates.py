"""Rates of a probe beyond its counts: position bias under permuted choices, stability of repeated runs. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

DRAWS = 10_000


def wilson(n_holds: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) score interval of a share, which says something at 0 and at 100 % too; n is at least 1."""
    z, share = NormalDist().inv_cdf((1 + level) / 2), n_holds / n
    middle, spread = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def positions_of(chosen: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """How often each place was chosen, by the number of choices; `chosen` holds (number of choices, place from 0)."""
    counts: dict[str, list[int]] = {}
    for n_choices, place in sorted(chosen):
        counts.setdefault(str(n_choices), [0] * n_choices)[place] += 1
    return counts


def _chi_square(counts: Any, expected: float) -> Any:
    return ((counts - expected) ** 2 / expected).sum(axis=-1)


def position_p(positions: Mapping[str, Sequence[int]], seed: int = 0, draws: int = DRAWS) -> float | None:
    """The p of Pearson's X² against places chosen evenly, summed over the numbers of choices; None if nothing was.

    Every choice is equally likely at every place, so a system that only uses content chooses places evenly. The
    distribution of X² is by `draws` seeded multinomial draws, exact enough where counts are small: p = (1 + draws at or
    above X²) / (1 + draws) (Davison & Hinkley 1997, section 4.2).
    """
    import numpy as np

    known = {int(k): np.asarray(counts) for k, counts in positions.items() if sum(counts)}
    if not known:
        return None
    rng = np.random.default_rng(seed)
    observed, drawn = 0.0, np.zeros(draws)
    for k in sorted(known):
        expected = known[k].sum() / k
        observed += float(_chi_square(known[k], expected))
        drawn += _chi_square(rng.multinomial(known[k].sum(), [1 / k] * k, size=draws), expected)
    return (1 + int((drawn >= observed - 1e-9).sum())) / (1 + draws)


def stability_of(readings: Sequence[Mapping[str, str]], outcomes: Sequence[str]) -> dict[str, Any]:
    """The agreement of several runs over the same questions.

    `readings` holds, a run, what each question's answer reads as (a label, `abstained`, `unparseable` or `failed`);
    `outcomes` one letter a question, a run. `identical` is the share of questions that read the same in all runs,
    `n_flips` the number of questions whose outcome differs between two of them, `scores` the score of each run and
    `spread` the greatest less the least.
    """
    ids = list(readings[0])
    alike = sum(len({run[question_id] for run in readings}) == 1 for question_id in ids)
    scores = [(run.count("c") - run.count("i")) / len(ids) for run in outcomes]
    return {
        "n_runs": len(readings),
        "n_identical": alike,
        "identical": alike / len(ids),
        "n_flips": sum(len(set(letters)) > 1 for letters in zip(*outcomes, strict=True)),
        "scores": scores,
        "spread": max(scores) - min(scores),
    }
