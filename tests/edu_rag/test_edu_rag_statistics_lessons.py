"""Questions of a lesson stand or fall together: units, exact tests by lesson, the bootstrap over lessons."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag import statistics as s
from edu_rag.statistics.paired_tests import Differ
from edu_rag.statistics.points import unit_sums

LETTERS = "ciauf"


def outcomes(seed: int, n: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list(LETTERS), n, p=(0.5, 0.3, 0.1, 0.05, 0.05)))


def lumpy(seed: int, lessons: list[int]) -> np.ndarray:
    """Points of a system whose skill varies from lesson to lesson."""
    rng = np.random.default_rng(seed)
    skill = rng.beta(2, 2, max(lessons) + 1)[lessons]
    return np.where(rng.random(len(lessons)) < skill, 1, -1)


@pytest.mark.parametrize(
    ("lessons", "n", "expected"),
    [
        (None, 3, None),
        ((), 3, None),
        ([None, None, None], 3, None),
        ((-1, -1, -1), 3, None),
        (["a", "a", "a"], 3, None),
        ([0, 1, 2], 3, None),
        (["b", "a", "b"], 3, [0, 1, 0]),
        ([7, -1, 7, -1], 4, [0, 1, 0, 2]),
        ([None, "x", None, "x", "y"], 5, [0, 1, 2, 1, 3]),
        ([0, 0, -1], 3, [0, 0, 1]),
    ],
)
def test_a_unit_is_a_lesson_or_a_question_without_one(lessons: list[object], n: int, expected: object) -> None:
    found = s.units_of(lessons, n)  # type: ignore[arg-type]
    assert (None if found is None else found.tolist()) == expected


def test_a_lesson_for_some_questions_only_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^2 lessons for 3 questions$"):
        s.units_of([0, 0], 3)


def test_lessons_of_a_table_count_only_where_all_scorecards_agree() -> None:
    assert s.shared_lessons([(0, 0, 1), (0, 0, 1)]) == (0, 0, 1)
    assert s.shared_lessons([(0, 0, 1), (0, 1, 1)]) == ()
    assert s.shared_lessons([(0, 0, 1), ()]) == (0, 0, 1)
    assert s.shared_lessons([(0, 0, 1), (), (0, 1, 1)]) == ()
    assert s.shared_lessons([(), ()]) == ()
    assert s.shared_lessons([]) == ()


def test_strict_points_take_a_point_for_what_is_unparseable_or_failed() -> None:
    assert s.strict_points_of("ciauf").tolist() == [1, -1, 0, -1, -1]


@given(st.lists(st.integers(1, 9), max_size=10))
@settings(max_examples=80, deadline=None)
def test_a_fair_sum_is_the_distribution_over_all_subsets(sizes: list[int]) -> None:
    throws = list(product((0, 1), repeat=len(sizes)))
    sums = [sum(size * taken for size, taken in zip(sizes, throw, strict=True)) for throw in throws]
    expected = np.bincount(sums, minlength=sum(sizes) + 1) / len(sums)
    assert s.fair_sum(np.array(sizes, dtype=np.int64)) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_fair_sum_of_ranks_is_scipys_exact_wilcoxon_distribution() -> None:
    import scipy.stats

    values = np.array([3.0, -1.0, 4.0, 5.0, -2.0, 6.0, 8.0, 7.0, 9.0, 10.0])
    mass = s.fair_sum(np.arange(1, 11))
    assert 2 * mass[: 1 + 2 + 1].sum() == pytest.approx(scipy.stats.wilcoxon(values, mode="exact").pvalue, rel=1e-12)


def test_far_tails_are_exact_where_an_fft_would_leave_noise() -> None:
    assert s.fair_sum(np.array([3] * 60 + [5] * 40))[0] == pytest.approx(2.0**-100, rel=1e-9)
    assert s.sign_flip_p([1] * 120, [i // 2 for i in range(120)]) == pytest.approx(2.0**-59, rel=1e-9)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-1, 3)), min_size=1, max_size=9))
@settings(max_examples=120, deadline=None)
def test_sign_flip_by_lesson_is_the_share_of_all_flips_of_whole_lessons(rows: list[tuple[int, int]]) -> None:
    differences, lessons = [d for d, _ in rows], [lesson for _, lesson in rows]
    sums: dict[object, int] = {}
    for at, (d, lesson) in enumerate(rows):
        key: object = (at,) if lesson == -1 else lesson
        sums[key] = sums.get(key, 0) + d
    if len(sums) == 1:  # nothing to be flipped against: as without lessons
        assert s.sign_flip_p(differences, lessons) == s.sign_flip_p(differences)
        return
    flips = list(product((1, -1), repeat=len(sums)))
    reached = sum(
        abs(sum(a * b for a, b in zip(signs, sums.values(), strict=True))) >= abs(sum(differences)) for signs in flips
    )
    assert s.sign_flip_p(differences, lessons) == pytest.approx(reached / len(flips), rel=1e-10)


def test_sign_flip_by_lesson_is_scipys_exact_permutation_test_of_lesson_sums() -> None:
    import scipy.stats

    lessons = [i // 7 for i in range(84)]
    a, b = lumpy(1, lessons), lumpy(2, lessons)
    a_sums, b_sums = (np.bincount(lessons, weights=x) for x in (a, b))
    theirs = scipy.stats.permutation_test(
        (a_sums, b_sums), lambda x, y: (x - y).sum(), permutation_type="samples", n_resamples=np.inf
    )
    assert s.sign_flip_p(a - b, lessons) == pytest.approx(theirs.pvalue, rel=1e-12)
    assert s.sign_flip_p(a - b, lessons) != pytest.approx(s.sign_flip_p(a - b), rel=0.01)


def test_one_question_a_lesson_changes_nothing_to_the_last_digit() -> None:
    a, b, lessons = outcomes(1, 200), outcomes(2, 200), list(range(200))
    assert s.paired(a, b, lessons) == s.paired(a, b)
    assert s.mcnemar(a, b, lessons) == s.mcnemar(a, b)
    assert s.rate_intervals(a, lessons) == s.rate_intervals(a)
    assert s.spread_of(a, b, lessons) == s.spread_of(a, b)


def test_one_shared_lesson_hardly_moves_the_tests_of_two_hundred() -> None:
    # The unit path is another algorithm than the path by question: they must meet where they nearly coincide.
    a, b, lessons = outcomes(1, 200), outcomes(2, 200), [0, 0, *range(1, 199)]
    points = s.points_of(a) - s.points_of(b)
    assert points[0] + points[1] != 0
    assert s.sign_flip_p(points, lessons) == pytest.approx(s.sign_flip_p(points), abs=0.02)
    assert s.mcnemar(a, b, lessons).p == pytest.approx(s.mcnemar(a, b).p, abs=0.02)


def test_lessons_that_cancel_each_other_give_1() -> None:
    assert s.sign_flip_p([1, 1, -1, -1], [0, 0, 1, 1]) == 1.0
    assert s.sign_flip_p([1, -1, 2, -2], [0, 0, 1, 1]) == 1.0


def test_mcnemar_by_lesson_flips_the_surplus_of_each_lesson() -> None:
    # Surplus of the first in four lessons: +2, +1, -1, +1, so the sum 3 is reached by 6 of 16 flips in size.
    first, second, lessons = "cc" + "c" + "i" + "ca", "ii" + "a" + "c" + "ia", [0, 0, 1, 2, 3, 3]
    found = s.mcnemar(first, second, lessons)
    reached = sum(abs(2 * a + b + c + d) >= 3 for a, b, c, d in product((1, -1), repeat=4))
    assert found == (4, 1, pytest.approx(reached / 16))
    assert s.mcnemar("ci", "ic", [0, 0]).p == 1.0
    assert s.mcnemar("cicc", "icaa", [0, 0, 1, 1]) == (3, 1, 1.0)


def test_statsmodels_has_the_same_exact_mcnemar() -> None:
    from statsmodels.stats import contingency_tables

    for b, c in ((3, 9), (0, 0), (20, 20), (310, 255)):
        theirs = contingency_tables.mcnemar([[50, b], [c, 20]], exact=True).pvalue
        expected = 1.0 if b == c == 0 else theirs
        assert s.mcnemar("c" * b + "i" * c, "i" * b + "c" * c).p == pytest.approx(expected, rel=1e-9)


def test_paired_by_lesson_states_units_and_method() -> None:
    a, b = outcomes(1, 90), outcomes(8, 90)
    plain, d = s.paired(a, b), s.points_of(a) - s.points_of(b)
    assert (plain.n, plain.n_units, plain.method) == (90, 90, "bootstrap-exact-v1")
    assert plain.difference == int(d.sum()) / 90 != 0
    assert (plain.low, plain.high) == s.mean_interval(d)
    assert s.paired(a, b, level=0.5)[2:4] == s.mean_interval(d, 0.5) != plain[2:4]
    assert plain.p == s.sign_flip_p(d)
    lessons = [i // 9 for i in range(90)]
    found = s.paired(a, b, lessons)
    assert (found.n, found.n_units, found.method) == (90, 10, "bootstrap-by-lesson-v1, seed 0")
    assert found.difference == plain.difference
    assert found.p == s.sign_flip_p(d, lessons)
    assert s.paired(a, b, lessons, seed=5).method == "bootstrap-by-lesson-v1, seed 5"
    assert s.paired(a, b, lessons, seed=5)[2:4] != found[2:4]
    wide, narrow = s.paired(a, b, lessons, level=0.99), s.paired(a, b, lessons, level=0.5)
    assert wide.high - wide.low > found.high - found.low > narrow.high - narrow.low


def test_the_bootstrap_by_lesson_is_the_one_on_the_page() -> None:
    # docs/scoring-spec.md, section 4: draws, ratios and quantile written out with nothing of ours.
    lessons = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, -1, -1]
    a, b = outcomes(5, 12), outcomes(6, 12)
    d = [{"c": 1, "i": -1}.get(x, 0) - {"c": 1, "i": -1}.get(y, 0) for x, y in zip(a, b, strict=True)]
    sizes, sums = [3, 2, 4, 1, 1, 1], [sum(d[:3]), sum(d[3:5]), sum(d[5:9]), d[9], d[10], d[11]]
    drawn = np.random.Generator(np.random.PCG64(0)).integers(0, 6, size=(10_000, 6), dtype=np.int32).tolist()
    ratios = sorted(sum(sums[u] for u in row) / sum(sizes[u] for u in row) for row in drawn)
    found = s.paired(a, b, lessons)
    assert (found.low, found.high) == (ratios[249], ratios[9_750])


def test_the_ends_of_an_interval_are_the_250th_smallest_and_the_250th_largest() -> None:
    # Powers of 1,000 make every resample's ratio its own, so that a slip by one place would show.
    row = np.array([[1_000**at for at in (0, 1, 2, 3, 4, 5)]])
    units = np.array([0, 1, 2, 3, 4, 4])
    sums, sizes = np.array([[1, 10**3, 10**6, 10**9, 10**12 + 10**15]]), np.array([1, 1, 1, 1, 2])
    ratios = np.unique(s.cluster_ratios(sums, sizes, 0)[:, 0], return_counts=True)
    ordered = np.repeat(*ratios)
    assert len(ratios[0]) > 100
    assert s.mean_intervals(row, units) == [(ordered[249], ordered[9_750])]
    for level, low, high in ((0.9, 499, 9_500), (0.5, 2_499, 7_500), (0.9999, 0, 9_999), (1.0, 0, 9_999)):
        assert s.mean_intervals(row, units, level=level) == [(ordered[low], ordered[high])]
    few = np.sort(s.cluster_ratios(sums, sizes, 3, 1_001)[:, 0])
    assert s.mean_intervals(row, units, seed=3, resamples=1_001) == [(few[25], few[975])]


def test_the_draws_do_not_depend_on_the_block_or_on_other_systems() -> None:
    sizes = np.array([3, 1, 4, 1, 5])
    sums = np.array([[1, 0, -2, 1, 3], [2, 1, 0, 0, -5]])
    both = s.cluster_ratios(sums, sizes, 7, 1_203)
    assert both.shape == (1_203, 2)
    assert (s.cluster_ratios(sums[1:], sizes, 7, 1_203)[:, 0] == both[:, 1]).all()
    assert (s.cluster_ratios(sums, sizes, 7, 700) == both[:700]).all()
    drawn = np.random.default_rng(7).integers(0, 5, size=(1_203, 5), dtype=np.int32)
    assert (both[:, 0] == sums[0][drawn].sum(axis=1) / sizes[drawn].sum(axis=1)).all()


def test_intervals_of_pairs_come_from_seed_0_and_10_000_resamples_unless_others_are_given() -> None:
    sums, sizes = np.array([[4, 0, -2, 1, 3], [2, 1, 0, 0, -5]]), np.array([4, 1, 4, 1, 5])
    ratios = s.cluster_ratios(np.array([[2, -1, -2, 1, 8]]), sizes, 0)[:, 0]
    ordered = np.sort(ratios)
    assert list(s.difference_intervals(sums, sizes, [(0, 1)])) == [(ordered[249], ordered[9_750])]
    few = np.sort(s.cluster_ratios(np.array([[2, -1, -2, 1, 8]]), sizes, 3, 201)[:, 0])
    assert list(s.difference_intervals(sums, sizes, [(0, 1)], seed=3, resamples=201)) == [(few[5], few[195])]


def test_points_that_are_far_apart_are_refused_for_their_own_pair_alone() -> None:
    arrays, units = [np.array(row) for row in ([2, 1, 1, 2], [0, 0, 1, 2], [-1, 0, 1, 2])], np.array([0, 0, 1, 1])
    differ = Differ(arrays, units)
    assert differ.p(0, 1) == s.sign_flip_p([2, 1, 0, 0], [0, 0, 1, 1]) == 1.0
    assert s.sign_flip_p([2, 1, 0, 0]) == 0.5
    with pytest.raises(ValueError, match="lie in -2 … 2"):
        differ.p(0, 2)


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^outcomes hold letters other than ciauf$"):
        s.strict_points_of("cx")
    with pytest.raises(ValueError, match=r"^3 and 2 outcomes cannot be paired$"):
        s.paired("ccc", "cc")
    assert s.points_of(np.array([True, False])).dtype == np.int64


def test_sums_of_units_are_integers_and_a_question_alone_is_its_own_sum() -> None:
    values = np.array([1, -1, 2])
    assert unit_sums(values, None) is values
    found = unit_sums(values, np.array([0, 1, 0]))
    assert (found.tolist(), found.dtype.kind) == ([3, -1], "i")


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_ends_of_an_exact_interval_are_scipys_binomial_quantiles(level: float) -> None:
    import scipy.stats

    for right, n in ((3, 10), (60, 150), (1, 40), (900, 1_000)):
        tail = (1 - level) / 2
        low, high = (float(scipy.stats.binom.ppf(q - 1e-12, n, right / n)) for q in (tail, 1 - tail))
        assert s.mean_interval([1] * right + [0] * (n - right), level) == (low / n, high / n)


def test_a_probability_that_is_just_reached_counts_as_reached() -> None:
    # Two throws: F(0) = 0.25 and F(1) = 0.75 exactly.
    assert s.mean_interval([0, 1], 0.5) == (0.0, 0.5)
    assert s.mean_interval([1, 0, 0, 1], 1 - 2 / 16) == (0.0, 0.75)


def test_the_window_of_sums_is_the_one_on_the_page() -> None:
    n, p = 100_000, 0.3
    support, mass = s.sum_distribution([-1] * 3 + [2] * 7, n)
    reach = 14 * math.sqrt(9 * p * 0.7 * n) + 2
    mean = 3 * 0.7 * n
    assert (support[0], support[-1]) == (math.floor(mean - reach) - n, math.ceil(mean + reach) - n)
    assert mass.sum() == pytest.approx(1)
    small, _ = s.sum_distribution([0, 3, 1], 4)
    assert small.tolist() == list(range(13))


def test_the_number_of_draws_may_be_another_than_that_of_values() -> None:
    support, mass = s.sum_distribution([0, 1], 3)
    assert (support.tolist(), (8 * mass).tolist()) == ([0, 1, 2, 3], pytest.approx([1, 3, 3, 1]))
    for values, n in (([], 3), ([1], 0), ([], None)):
        with pytest.raises(ValueError, match=r"^no values to draw from$"):
            s.sum_distribution(values, n)


def test_each_rate_has_the_interval_of_its_own_indicator() -> None:
    letters, lessons = outcomes(8, 60), [at // 4 for at in range(60)]
    units = s.units_of(lessons, 60)
    indicators = [
        s.points_of(letters),
        *(np.array([x in wanted for x in letters], dtype=np.int64) for wanted in ("c", "i", "auf")),
    ]
    for row, name in zip(indicators, ("score", "accuracy", "hallucination", "missing"), strict=True):
        assert s.rate_intervals(letters)[0][name] == s.mean_interval(row)
        assert s.rate_intervals(letters, level=0.8)[0][name] == s.mean_interval(row, 0.8)
        for seed, level in ((0, 0.95), (4, 0.95), (4, 0.8)):
            found, method = s.rate_intervals(letters, lessons, seed=seed, level=level)
            assert s.mean_intervals(row[None, :], units) == s.mean_intervals(row[None, :], units, seed=0)
            assert [found[name]] == s.mean_intervals(row[None, :], units, seed=seed, level=level)
            assert method == f"bootstrap-by-lesson-v1, seed {seed}"
    assert list(s.rate_intervals("cccciiaauf")[0].values()) == [(-0.3, 0.6), (0.1, 0.7), (0.0, 0.5), (0.1, 0.7)]


def test_the_other_way_round_the_interval_by_lesson_turns_its_signs() -> None:
    a, b, lessons = outcomes(1, 120), outcomes(2, 120), [at // 6 for at in range(120)]
    ab, ba = s.paired(a, b, lessons), s.paired(b, a, lessons)
    assert (ab.difference, ab.low, ab.high, ab.p) == (-ba.difference, -ba.high, -ba.low, ba.p)


def test_all_pairs_at_once_are_the_pairs_one_by_one() -> None:
    systems = [outcomes(i, 120) for i in range(4)]
    for lessons in ((), [i // 6 for i in range(120)]):
        table = s.paired_all(systems, lessons, seed=3)
        assert list(table) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        for (i, j), found in table.items():
            assert found == s.paired(systems[i], systems[j], lessons, seed=3)
            assert s.pair_p(systems, lessons)[i, j] == found.p
    assert s.paired_all(systems[:2], lessons)[0, 1] == s.paired(systems[0], systems[1], lessons)
    assert s.paired_all(["cc"]) == {}
    assert s.paired_all([]) == {}
    assert s.pair_p([]) == {}


def test_paired_intervals_agree_with_scipys_bootstrap_of_lessons() -> None:
    import scipy.stats

    lessons = [i // 8 for i in range(480)]
    d = lumpy(3, lessons) - lumpy(4, lessons)
    sums = np.bincount(lessons, weights=d)
    theirs = scipy.stats.bootstrap(
        (sums,),
        lambda x, axis: x.sum(axis=axis) / 480,
        method="percentile",
        n_resamples=9_999,
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = s.paired(lumpy(3, lessons), lumpy(4, lessons), lessons)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_lessons_can_take_a_difference_away_that_questions_alone_establish() -> None:
    first = "c" * 20 + "i" * 10 + "c" * 30
    second = "i" * 20 + "c" * 10 + "c" * 30
    lessons = [i // 10 for i in range(60)]
    assert s.rank_groups([first, second, "i" * 60]) == [1, 1, 3]
    assert s.rank_groups(["c" * 20 + "a" * 40, "a" * 60]) == [1, 2]
    assert s.rank_groups(["c" * 20 + "a" * 40, "a" * 60], lessons=lessons) == [1, 1]
    assert s.pairwise_p(["c" * 20 + "a" * 40, "a" * 60], lessons) == {(0, 1): 0.5}


def test_a_level_decides_what_a_rank_needs() -> None:
    systems = ["c" * 6 + "a" * 30, "a" * 36]  # p = 2/64
    assert s.rank_groups(systems) == [1, 2]
    assert s.rank_groups(systems, alpha=s.pairwise_p(systems)[0, 1]) == [1, 2]
    assert s.rank_groups(systems, alpha=2 / 64 - 1e-9) == [1, 1]


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_statsmodels_has_the_same_holm(n: int) -> None:
    from statsmodels.stats import multitest

    p_values = np.random.default_rng(n).beta(0.4, 4, n).round(2).tolist()
    theirs = multitest.multipletests(p_values, method="holm")[1]
    assert s.holm(p_values) == pytest.approx(theirs.tolist(), rel=1e-12)


def test_sums_with_fractions_are_refused() -> None:
    with pytest.raises(TypeError, match="give integers"):
        s.cluster_ratios(np.array([[0.5, 1.0]]), np.array([1, 1]), seed=0)
