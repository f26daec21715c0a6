from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag import statistics as s
from edu_rag.statistics.distributions import places_of

POINTS = st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60)


def outcomes(seed: int, n: int, p: tuple[float, ...] = (0.5, 0.3, 0.1, 0.05, 0.05)) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ciauf"), n, p=p))


def test_letters_become_the_points_of_crag() -> None:
    assert s.points_of("ciauf").tolist() == [1, -1, 0, 0, 0]


def test_unknown_letters_are_refused() -> None:
    with pytest.raises(ValueError, match="letters other than"):
        s.points_of("cx")


def test_sum_of_three_fair_draws_is_the_known_trinomial() -> None:
    support, mass = s.sum_distribution([-1, 0, 1])
    assert support.tolist() == list(range(-3, 4))
    assert mass * 27 == pytest.approx([1, 3, 6, 7, 6, 3, 1])


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_the_distribution_of_sums_is_that_of_all_resamples(values: list[int]) -> None:
    sums = [sum(draw) for draw in product(values, repeat=len(values))]
    support, mass = s.sum_distribution(values)
    for value, p in zip(support, mass, strict=True):
        assert p == pytest.approx(sums.count(value) / len(sums), abs=1e-12)


def test_one_draw_has_the_distribution_of_the_values() -> None:
    support, mass = s.sum_distribution([-1, 1, 1, 0], 1)
    assert (support.tolist(), mass.tolist()) == ([-1, 0, 1], pytest.approx([0.25, 0.25, 0.5]))


def test_the_window_of_a_small_variance_is_as_narrow_as_it_says_and_no_probability_is_negative() -> None:
    n, p = 100_000, 0.3
    support, mass = s.sum_distribution([0] * 7 + [1] * 3, n)
    reach = 14 * math.sqrt(p * (1 - p) * n) + 2
    assert (support[0], support[-1]) == (math.floor(p * n - reach), math.ceil(p * n + reach))
    assert mass.min() >= 0.0


@pytest.mark.parametrize("n", [2_524, 100_000])
def test_distribution_on_a_window_equals_the_binomial(n: int) -> None:
    import scipy.stats

    right = int(0.4 * n)
    support, mass = s.sum_distribution([1] * right + [0] * (n - right))
    assert mass == pytest.approx(scipy.stats.binom.pmf(support, n, right / n), abs=1e-11)
    assert mass.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 60, 700])
def test_exact_interval_is_what_ten_thousand_resamples_approach(n: int) -> None:
    letters = outcomes(n, n)
    assert s.mean_interval(letters) == pytest.approx(s.mc_interval(letters, seed=1), abs=2.5 / n)


def test_plain_resampling_draws_questions_one_by_one_and_takes_the_same_places() -> None:
    letters = outcomes(3, 40)
    points = [{"c": 1, "i": -1}.get(letter, 0) for letter in letters]
    rng = np.random.default_rng(5)
    means = sorted(sum(points[at] for at in rng.integers(0, 40, 40)) / 40 for _ in range(200))
    assert s.mc_interval(letters, seed=5, resamples=200) == (means[4], means[195])
    assert s.mc_interval(letters, seed=5, resamples=200, level=0.8) == (means[19], means[180])
    drawn = np.random.default_rng(6).integers(0, 2, size=(10_000, 2))
    assert s.mc_interval("ca", seed=6) == tuple(np.sort((drawn == 0).mean(axis=1))[[249, 9_750]])


@pytest.mark.parametrize(
    ("n", "level", "places"),
    [
        (10_000, 0.95, (249, 9_750)),
        (200, 0.95, (4, 195)),
        (200, 0.8, (19, 180)),
        (1_001, 0.95, (25, 975)),
        (10, 0.95, (0, 9)),
        (1, 0.95, (0, 0)),
        (4, 1.0, (0, 3)),
    ],
)
def test_as_many_resamples_lie_below_an_interval_as_above(n: int, level: float, places: tuple[int, int]) -> None:
    assert places_of(n, level) == places


def test_intervals_by_unit_come_from_seed_0_unless_another_is_given() -> None:
    rng = np.random.default_rng(0)
    rows, units = rng.integers(0, 10**6, (1, 200)), np.arange(200) // 5
    found = [s.mean_intervals(rows, units, seed=seed) for seed in (0, 1)]
    assert s.mean_intervals(rows, units) == found[0] != found[1]


def test_exact_interval_agrees_with_scipys_percentile_bootstrap() -> None:
    import scipy.stats

    points = s.points_of(outcomes(5, 400))
    theirs = scipy.stats.bootstrap(
        (points,), np.mean, method="percentile", n_resamples=9_999, rng=np.random.default_rng(0)
    ).confidence_interval
    assert s.mean_interval(points) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_interval_covers_the_truth_about_95_times_in_100() -> None:
    rng = np.random.default_rng(11)
    trials, n, covered = 1_000, 300, 0
    for _ in range(trials):
        low, high = s.mean_interval(rng.choice([-1, 0, 1], n, p=[0.3, 0.1, 0.6]))
        covered += low <= 0.3 <= high
    assert 0.93 <= covered / trials <= 0.97


@given(POINTS)
@settings(max_examples=60, deadline=None)
def test_interval_holds_the_mean_and_mirrors_with_the_signs(points: list[int]) -> None:
    low, high = s.mean_interval(points)
    assert low - 1e-9 <= np.mean(points) <= high + 1e-9 or len(set(points)) > 1
    assert -1 <= low <= high <= 1


def test_constant_outcomes_have_an_interval_without_width() -> None:
    assert s.rate_intervals("a" * 50)[0]["score"] == (0.0, 0.0)
    assert s.rate_intervals("c" * 50)[0]["accuracy"] == (1.0, 1.0)


def test_no_questions_is_an_error_not_a_zero() -> None:
    with pytest.raises(ValueError, match="no values"):
        s.mean_interval([])


def test_unknown_lessons_give_the_exact_method_and_known_ones_the_clustered() -> None:
    letters = outcomes(3, 90)
    exact, method = s.rate_intervals(letters, [None] * 90)
    assert (exact, method) == (s.rate_intervals(letters)[0], "bootstrap-exact-v1")
    assert s.rate_intervals(letters, [f"l{i % 9}" for i in range(90)])[1] == "bootstrap-by-lesson-v1, seed 0"


def test_a_single_lesson_cannot_be_resampled_and_gives_the_exact_interval() -> None:
    letters = outcomes(3, 90)
    assert s.rate_intervals(letters, ["l"] * 90) == s.rate_intervals(letters)
    assert s.rate_intervals(letters, ["l"] * 89 + [None])[1] == "bootstrap-by-lesson-v1, seed 0"


def test_one_question_a_lesson_is_the_plain_bootstrap() -> None:
    letters = outcomes(4, 300)
    exact, _ = s.rate_intervals(letters)
    clustered, _ = s.rate_intervals(letters, [f"l{i}" for i in range(300)])
    for name in s.RATES:
        assert clustered[name] == pytest.approx(exact[name], abs=0.015)


def test_lessons_that_stand_or_fall_together_widen_the_interval() -> None:
    letters = "".join("c" * 10 if i % 2 else "i" * 10 for i in range(30))
    (low, high), (wide_low, wide_high) = (
        s.rate_intervals(letters, lessons)[0]["score"] for lessons in (None, [f"l{i // 10}" for i in range(300)])
    )
    assert wide_high - wide_low > 2.5 * (high - low)


def test_clustered_interval_repeats_under_its_seed_only() -> None:
    letters, lessons = outcomes(6, 200), [f"l{i % 20}" for i in range(200)]
    assert s.rate_intervals(letters, lessons, seed=1) == s.rate_intervals(letters, lessons, seed=1)
    assert s.rate_intervals(letters, lessons, seed=1) != s.rate_intervals(letters, lessons, seed=2)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_sign_flip_p_is_the_share_of_all_sign_patterns(differences: list[int]) -> None:
    reached = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True))) >= abs(sum(differences))
        for signs in product((1, -1), repeat=len(differences))
    ]
    assert s.sign_flip_p(differences) == pytest.approx(sum(reached) / len(reached))


@pytest.mark.parametrize("differences", [[2, 2, 1, -1, 1], [2, -2, 2, 2, 1, 0], [1, 1, 1, 2], [2, 2, 2], [1, -1], []])
def test_sign_flip_counts_differences_of_two_twice(differences: list[int]) -> None:
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    n_reached = sum(total >= abs(sum(differences)) for total in sums)
    assert s.sign_flip_p(differences) == pytest.approx(n_reached / len(sums), rel=1e-12)


def test_no_p_exceeds_1_by_rounding() -> None:
    for k in range(150):
        surplus = [1] * (k + 1) + [-1] * k
        assert s.sign_flip_p(surplus) <= 1.0
        assert s.sign_flip_p([*surplus, 0, 0], [*range(2 * k + 1), 999, 999]) <= 1.0


def test_a_sum_of_nothing_is_0() -> None:
    assert s.fair_sum(np.array([], dtype=np.int64)).tolist() == [1.0]


def test_a_fair_sum_ends_at_the_largest_that_is_asked_for() -> None:
    assert s.fair_sum(np.array([2, 2]), 2).tolist() == [0.25, 0.0, 0.5]
    assert s.fair_sum(np.array([2, 2, 3]), 3).tolist() == [0.125, 0.0, 0.25, 0.125]


def test_sign_flip_refuses_differences_that_points_cannot_have() -> None:
    with pytest.raises(ValueError, match=r"^differences of points lie in -2 … 2$"):
        s.sign_flip_p([3])


def test_sign_flip_of_ones_is_scipys_binomial_test() -> None:
    import scipy.stats

    assert s.sign_flip_p([1] * 70 + [-1] * 45 + [0] * 500) == pytest.approx(scipy.stats.binomtest(70, 115).pvalue)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 0), (10, 10), (40, 62), (3_000, 3_200)])
def test_mcnemar_is_scipys_exact_binomial_test(b: int, c: int) -> None:
    import scipy.stats

    first, second = "c" * b + "i" * c + "c" * 7, "i" * b + "c" * c + "c" * 7
    found = s.mcnemar(first, second)
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert (found.n_first_only, found.n_second_only, found.p) == (b, c, pytest.approx(expected, abs=1e-9))


def test_outcomes_of_different_length_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="paired"):
        s.paired("ccc", "cc")


def test_paired_difference_is_antisymmetric() -> None:
    a, b = outcomes(1, 400), outcomes(2, 400)
    ab, ba = s.paired(a, b), s.paired(b, a)
    assert (ab.difference, ab.p) == (-ba.difference, ba.p)
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low), abs=2 / 400)


def test_holm_gives_the_textbook_values() -> None:
    assert s.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = s.holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    assert [a for _, a in sorted(zip(p_values, adjusted, strict=True))] == sorted(adjusted)


def test_clearly_different_systems_get_their_own_ranks() -> None:
    assert s.rank_groups(["i" * 200, "c" * 200, "a" * 200]) == [3, 1, 2]


def test_systems_without_an_established_difference_share_a_rank() -> None:
    assert s.rank_groups([outcomes(1, 100), outcomes(2, 100), "i" * 100]) == [1, 1, 3]
    assert s.rank_groups([]) == []
    assert s.rank_groups(["cic"]) == [1]


@given(st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_ranks_do_not_depend_on_the_order_of_systems(rng: random.Random) -> None:
    systems = [outcomes(i, 150, (0.2 + 0.1 * (i % 5), 0.6 - 0.1 * (i % 5), 0.1, 0.05, 0.05)) for i in range(8)]
    by_system = dict(zip(systems, s.rank_groups(systems), strict=True))
    rng.shuffle(systems)
    assert s.rank_groups(systems) == [by_system[system] for system in systems]


@given(st.lists(st.text("ciauf", min_size=12, max_size=12), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_equal_scores_share_a_rank_and_better_scores_never_rank_lower(systems: list[str]) -> None:
    totals, ranks = [int(s.points_of(x).sum()) for x in systems], s.rank_groups(systems)
    for t1, r1 in zip(totals, ranks, strict=True):
        for t2, r2 in zip(totals, ranks, strict=True):
            assert r1 == r2 if t1 == t2 else (r1 <= r2) == (t1 > t2) or r1 == r2


def test_equal_systems_are_split_in_at_most_one_board_of_twenty() -> None:
    rng = np.random.default_rng(7)
    boards = [rng.choice([-1, 0, 1], (6, 200), p=[0.3, 0.2, 0.5]) for _ in range(200)]
    assert sum(len(set(s.rank_groups(list(board)))) > 1 for board in boards) <= 10 + 8  # 5 % and 2.6 standard errors


def test_smallest_detectable_difference_is_found_as_often_as_promised() -> None:
    n, rng = 400, np.random.default_rng(3)
    p_both = 0.3
    sd = float(np.sqrt(2 * p_both))
    gap = s.smallest_detectable_difference(n, sd)
    found = 0
    for _ in range(600):
        d = rng.choice([-1, 0, 1], n, p=[p_both - gap / 2, 1 - 2 * p_both, p_both + gap / 2])
        found += s.sign_flip_p(d) <= 0.05
    assert 0.74 <= found / 600 <= 0.86


def test_typical_spread_needs_two_systems() -> None:
    assert s.typical_sd(["ccc"]) is None
    assert s.typical_sd(["cc", "ci"]) == pytest.approx(1.0)
