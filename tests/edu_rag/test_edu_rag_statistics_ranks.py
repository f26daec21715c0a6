"""Ranks that leave clear pairs to a bound are those of the exact tests of all pairs."""

from __future__ import annotations

import random

import pytest

from edu_rag.statistics import pairwise_p, rank_groups, ranks


def table(seed: int) -> tuple[list[str], list[int]]:
    """Systems on the same questions, some alike and some far apart, and lessons or none."""
    chance = random.Random(seed)
    n = chance.randint(40, 300)
    hard = [chance.random() for _ in range(n)]
    systems = []
    for _ in range(chance.randint(2, 9)):
        skill, noise = chance.random(), chance.random()
        systems.append(
            "".join("c" if h * (1 - noise) + chance.random() * noise < skill else chance.choice("iia") for h in hard)
        )
    return systems, [at // 6 for at in range(n)] if seed % 2 else []


@pytest.mark.parametrize("block", range(4))
def test_ranks_are_those_of_the_exact_tests_of_all_pairs(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [table(seed) for seed in range(15 * block, 15 * block + 15)]
    quick = [rank_groups(systems, lessons=lessons) for systems, lessons in made]
    bounded = [ranks._decisive_p(systems, 0.05, lessons) != pairwise_p(systems, lessons) for systems, lessons in made]
    assert any(bounded)
    monkeypatch.setattr(ranks, "_decisive_p", lambda systems, _alpha, lessons: pairwise_p(systems, lessons))
    assert quick == [rank_groups(systems, lessons=lessons) for systems, lessons in made]


@pytest.mark.parametrize("seed", range(20))
def test_what_a_bound_decides_is_established_by_the_exact_tests_too(seed: int) -> None:
    systems, lessons = table(seed)
    exact = pairwise_p(systems, lessons)
    for pair, p in ranks._decisive_p(systems, 0.05, lessons).items():
        assert (p <= 0.05) == (exact[pair] <= 0.05)


def test_systems_that_never_differ_share_a_rank() -> None:
    assert rank_groups(["ccc", "ccc", "cci"]) == [1, 1, 1]
    assert rank_groups(["c" * 50, "c" * 50, "i" * 50]) == [1, 1, 3]
