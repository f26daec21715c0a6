"""Power and design effect as statsmodels has them; simulations of the promises of intervals, ranks and power."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edu_rag import statistics as s

POINTS, CHANCES, TRUTH = (-1, 0, 1), (0.25, 0.15, 0.6), 0.35


def lessons_of(rng: np.random.Generator, n_lessons: int) -> list[int]:
    return np.repeat(np.arange(n_lessons), rng.integers(4, 21, n_lessons)).tolist()


def answers(rng: np.random.Generator, lessons: list[int], lift: float = 0.0) -> np.ndarray:
    """Points of a system whose chance of a right answer is drawn for each lesson; the mean is 0.6 + lift."""
    skill = rng.beta(6 * (0.6 + lift), 6 * (0.4 - lift), max(lessons) + 1)[lessons]
    return np.where(rng.random(len(lessons)) < skill, 1, -1)


@pytest.mark.parametrize("n", [20, 200, 2_524])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_power_is_statsmodels_normal_power(n: int, alpha: float) -> None:
    from statsmodels.stats.power import NormalIndPower

    power = NormalIndPower()
    for difference, sd in ((0.01, 1.0), (0.05, 0.7), (-0.3, 1.1)):
        theirs = power.power(abs(difference) / sd, n, alpha, ratio=0, alternative="two-sided")
        assert s.power_of(n, difference, sd, alpha=alpha) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(("difference", "sd", "wanted"), [(0.03, 1.0, 0.8), (0.1, 0.5, 0.9), (0.02, 1.2, 0.7)])
def test_the_questions_needed_are_statsmodels(difference: float, sd: float, wanted: float) -> None:
    from statsmodels.stats.power import NormalIndPower

    power = NormalIndPower()
    theirs = power.solve_power(difference / sd, power=wanted, alpha=0.05, ratio=0, alternative="two-sided")
    assert abs(s.n_needed(difference, sd, power=wanted) - theirs) <= 1
    assert s.n_needed(-difference, sd, power=wanted) == s.n_needed(difference, sd, power=wanted)


def test_power_of_nothing_is_the_level_of_the_test() -> None:
    assert s.power_of(500, 0.0, 1.0) == pytest.approx(0.05)
    assert s.power_of(500, 0.0, 1.0, alpha=0.2) == pytest.approx(0.2)


def test_the_three_answers_about_power_agree_with_one_another() -> None:
    gap = s.smallest_detectable_difference(1_000, 0.8, alpha=0.01, power=0.9)
    assert s.power_of(1_000, gap, 0.8, alpha=0.01) == pytest.approx(0.9, abs=1e-6)
    assert s.n_needed(gap * 0.9999999, 0.8, alpha=0.01, power=0.9) == 1_001
    assert s.n_needed(gap * 1.0000001, 0.8, alpha=0.01, power=0.9) == 1_000
    assert s.smallest_detectable_difference(100, 1.0) == pytest.approx((1.959964 + 0.841621) / 10, rel=1e-6)
    assert s.n_needed(2, 0.01) == 1


def test_no_number_of_questions_finds_a_difference_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"^no number of questions finds a difference of 0$"):
        s.n_needed(0, 1.0)


def test_spread_is_that_of_the_difference_a_question() -> None:
    assert s.spread_of("ccci", "ciii") == s.Spread(1.0, 1.0)
    assert s.spread_of("cc", "ii") == s.Spread(0.0, 1.0)
    assert s.spread_of("cccc", "iiii", [0, 0, 1, 1]) == s.Spread(0.0, 1.0)


def test_design_effect_of_lessons_that_repeat_one_question_is_nearly_their_size() -> None:
    rng = np.random.default_rng(2)
    once = rng.choice([-1, 0, 1], 400)
    repeated, lessons = np.repeat(once, 5), np.repeat(np.arange(400), 5).tolist()
    effect = s.spread_of(repeated, np.zeros(2_000, dtype=int), lessons).design_effect
    assert effect == pytest.approx(5 * (400 / 399) / (2_000 / 1_999), rel=1e-12)


def test_design_effect_is_that_of_cochrans_ratio_written_out() -> None:
    d, lessons = [2, 1, 0, -1, 2, 2, 0], [0, 0, 1, 1, 1, 2, -1]
    mean = sum(d) / 7
    residuals = [3 - 2 * mean, 1 - 3 * mean, 2 - mean, 0 - mean]
    by_lesson = sum(r * r for r in residuals) * 4 / 3
    by_question = sum((x - mean) ** 2 for x in d) * 7 / 6
    found = s.spread_of(d, [0] * 7, lessons)
    assert found.design_effect == pytest.approx(by_lesson / by_question, rel=1e-12)
    assert found.sd == pytest.approx(float(np.std(d)), rel=1e-12)


def test_lessons_never_make_a_plan_more_hopeful() -> None:
    assert s.Spread(0.5, 4.0).effective_sd == 1.0
    assert s.Spread(0.5, 0.25).effective_sd == 0.5


def test_typical_spread_is_the_median_over_pairs_with_lessons() -> None:
    systems = ["cccc", "ccii", "ciai"]
    lessons = [0, 0, 1, 1]
    pairs = [s.spread_of(systems[i], systems[j], lessons).effective_sd for i, j in ((0, 1), (0, 2), (1, 2))]
    assert s.typical_sd(systems, lessons) == pytest.approx(sorted(pairs)[1])
    assert s.typical_sd(systems) == pytest.approx(
        sorted(
            s.spread_of(a, b).sd
            for a, b in ((systems[0], systems[1]), (systems[0], systems[2]), (systems[1], systems[2]))
        )[1]
    )
    assert s.typical_sd(systems[:1], lessons) is None
    assert s.typical_sd([]) is None


@pytest.mark.parametrize("n", [50, 300, 1_000])
def test_intervals_of_independent_questions_hold_the_truth_about_95_times_in_100(n: int) -> None:
    rng, covered = np.random.default_rng(n), 0
    for _ in range(1_000):
        low, high = s.mean_interval(rng.choice(POINTS, n, p=CHANCES))
        covered += low <= TRUTH <= high
    assert 0.93 <= covered / 1_000 <= 0.97


def test_intervals_by_lesson_hold_the_truth_and_intervals_by_question_do_not() -> None:
    rng, covered, by_question = np.random.default_rng(1), 0, 0
    for _ in range(400):
        lessons = lessons_of(rng, 60)
        points = answers(rng, lessons)
        ((low, high),) = s.mean_intervals(points[None, :], s.units_of(lessons, len(lessons)), resamples=1_000)
        covered += low <= 0.2 <= high
        low, high = s.mean_interval(points)
        by_question += low <= 0.2 <= high
    assert 0.93 <= covered / 400 <= 0.97
    assert by_question / 400 < 0.85


def test_equal_systems_differ_by_lesson_at_most_5_times_in_100() -> None:
    rng, flips, mcnemars, naive = np.random.default_rng(2), 0, 0, 0
    for _ in range(400):
        lessons = lessons_of(rng, 30)
        a, b = answers(rng, lessons), answers(rng, lessons)
        flips += s.sign_flip_p(a - b, lessons) <= 0.05
        mcnemars += s.mcnemar(a, b, lessons).p <= 0.05
        naive += s.sign_flip_p(a - b) <= 0.05
    margin = 2 * math.sqrt(0.05 * 0.95 / 400)
    assert flips / 400 <= 0.05 + margin
    assert mcnemars / 400 <= 0.05 + margin
    assert naive / 400 > 0.12


def test_equal_systems_with_lessons_are_split_in_at_most_one_board_of_twenty() -> None:
    rng, split = np.random.default_rng(3), 0
    for _ in range(150):
        lessons = lessons_of(rng, 30)
        split += len(set(s.rank_groups([answers(rng, lessons) for _ in range(5)], lessons=lessons))) > 1
    assert split / 150 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 150)


def test_a_difference_on_lessons_is_found_as_often_as_the_design_effect_predicts() -> None:
    rng, lift, n_lessons = np.random.default_rng(4), 0.06, 150
    many = lessons_of(rng, 3_000)
    spread = s.spread_of(answers(rng, many, lift), answers(rng, many), many)
    assert spread.design_effect > 1.5
    found = 0
    for _ in range(300):
        lessons = lessons_of(rng, n_lessons)
        found += s.sign_flip_p(answers(rng, lessons, lift) - answers(rng, lessons), lessons) <= 0.05
    predicted = s.power_of(12 * n_lessons, 2 * lift, spread.effective_sd)
    assert found / 300 == pytest.approx(predicted, abs=0.06)
    assert s.power_of(12 * n_lessons, 2 * lift, spread.sd) > predicted + 0.1
