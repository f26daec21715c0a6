"""Tables of many pairs: the fast ways give the numbers of the plain ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag import statistics as s
from edu_rag.statistics import bootstrap, distributions
from edu_rag.statistics.points import unit_sums

SIZES = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 60)), min_size=1, max_size=8, unique_by=lambda x: x[0])


def exact_tail(sizes: list[int], most: int) -> Fraction:
    """P(the sum of fairly thrown sizes <= most), by counting subsets in whole numbers."""
    ways = [1] + [0] * most
    for size in sizes:
        for total in range(most, size - 1, -1):
            ways[total] += ways[total - size]
    return Fraction(sum(ways), 2 ** len(sizes))


def tilted(sizes: np.ndarray, most: int) -> float:
    """The Fourier sum alone, however short the tail is."""
    values, times = np.unique(sizes, return_counts=True)
    period = 256 * math.ceil((9.5 * math.sqrt(float(times @ values**2)) + 4) / 256)
    return distributions._tilted_tail(values.astype(float), times.astype(float), int(sizes.sum()) - 2 * most, period)


@given(SIZES, st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_the_tail_by_fourier_is_the_exact_one_to_1e_11_of_itself(drawn: list[tuple[int, int]], share: float) -> None:
    sizes = np.repeat([size for size, _ in drawn], [times for _, times in drawn])
    most = int(share * (sizes.sum() - 1) / 2 * 0.999)
    expected = float(exact_tail(sizes.tolist(), most))
    if expected > 1e-290:  # below, a double itself has fewer digits
        assert tilted(sizes, most) == pytest.approx(expected, rel=1e-11, abs=0)
    assert s.fair_tail(sizes, most) == pytest.approx(expected, rel=1e-11, abs=1e-290)


@given(SIZES, st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_the_tail_of_a_sum_is_that_of_the_convolution(drawn: list[tuple[int, int]], share: float) -> None:
    sizes = np.repeat([0, *(size for size, _ in drawn)], [3, *(times for _, times in drawn)])
    most = int(share * sizes.sum())
    expected = float(s.fair_sum(sizes[sizes > 0], most).sum())
    found = s.fair_tail(sizes, most)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-290)
    if most <= distributions.SHORT:
        assert found == expected


def test_tails_of_a_large_table_keep_their_digits_far_out() -> None:
    rng = np.random.default_rng(3)
    sizes = np.abs(rng.binomial(14, 0.5, 1_000) - 7)
    total = int(sizes.sum())
    for share in (0.499, 0.45, 0.3, 0.2, 0.1):
        most = int(share * total)
        expected = exact_tail(sizes[sizes > 0].tolist(), most)
        assert tilted(sizes[sizes > 0], most) == pytest.approx(float(expected), rel=1e-11, abs=0), share


@pytest.mark.parametrize("sizes", [[2] * 300, [4, 6] * 150, [2] * 400 + [1], [7] * 200 + [17] * 40, [128] * 300])
def test_sums_on_a_coarse_lattice_lose_no_frequency(sizes: list[int]) -> None:
    values = np.array(sizes)
    for share in (0.499, 0.47, 0.4):
        most = int(share * values.sum())
        expected = float(exact_tail(sizes, most))
        assert s.fair_tail(values, most) == pytest.approx(expected, rel=1e-11, abs=0)


def test_what_is_too_large_for_tables_is_convolved() -> None:
    sizes = np.array([500, 3] * 60)
    assert s.fair_tail(sizes, 14_000) == float(s.fair_sum(sizes, 14_000).sum())
    assert s.fair_tail(np.array([], dtype=np.int64), 0) == 1.0
    assert s.fair_tail(np.array([0, 0]), 0) == 1.0


@pytest.mark.parametrize(
    ("sizes", "most", "by_fourier"),
    [
        ([1] * 400, 96, False),
        ([1] * 400, 97, True),
        ([1] * 400, 199, True),
        ([1] * 400, 200, False),
        ([1] * 400, 300, False),
        ([128] * 60, 3_000, True),
        ([129] * 60, 3_000, False),
        ([128] * 181, 11_000, True),
        ([128] * 181 + [84], 11_000, True),  # of 16,384 frequencies
        ([128] * 181 + [90], 11_000, False),
        ([128] * 182, 11_000, False),
    ],
)
def test_the_fourier_sum_is_used_within_its_limits_alone(
    sizes: list[int], most: int, by_fourier: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "_tilted_tail", lambda *_: 2.0)
    monkeypatch.setattr(distributions, "fair_sum", lambda *_: np.array([3.0]))
    assert s.fair_tail(np.array(sizes), most) == (2.0 if by_fourier else 3.0)
    distributions._tail.cache_clear()


@given(st.integers(13, 30), st.integers(2, 40), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_counted_draws_are_the_gathered_ones(k: int, n_clusters: int, seed: int) -> None:
    columns = np.random.default_rng(seed).integers(-20, 20, (k, n_clusters))
    many = bootstrap.drawn_totals(columns, seed, 700)
    few = np.vstack([bootstrap.drawn_totals(columns[at : at + 5], seed, 700) for at in range(0, k, 5)])
    assert many.dtype == few.dtype == np.int64
    assert (many == few).all()


def test_sums_that_a_double_cannot_hold_are_gathered() -> None:
    columns = np.full((20, 3), 2**53 + 1)
    found = bootstrap.drawn_totals(columns, 0, 5)
    assert (found == 3 * (2**53 + 1)).all()
    assert found.dtype == np.int64


@given(st.integers(2, 16), st.integers(20, 120), st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_intervals_of_pairs_are_those_of_their_differences_to_the_last_bit(
    k: int, n: int, per_lesson: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    systems = rng.choice([-1, 0, 1], (k, n))
    lessons = [at // per_lesson for at in range(n)]
    units = s.units_of(lessons, n)
    if units is None:
        return
    sums = np.stack([unit_sums(row, units) for row in systems])
    pairs = [(i, j) for i in range(k) for j in range(k) if i != j]
    found = list(s.difference_intervals(sums, np.bincount(units), pairs, seed=seed, level=0.9))
    rows = np.stack([systems[i] - systems[j] for i, j in pairs])
    assert found == s.mean_intervals(rows, units, seed=seed, level=0.9)
    # The other way round, signs are turned: the compare page relies on it.
    turned = dict(zip(pairs, found, strict=True))
    assert all(turned[i, j] == (-turned[j, i][1], -turned[j, i][0]) for i, j in pairs)


@pytest.mark.parametrize("per_lesson", [1, 5])
def test_many_systems_at_once_are_the_pairs_one_by_one(per_lesson: int) -> None:
    rng = np.random.default_rng(1)
    systems = ["".join(rng.choice(list("ciauf"), 200)) for _ in range(15)]
    lessons = [at // per_lesson for at in range(200)]
    score, right, spread = (f(systems, lessons) for f in (s.paired_all, s.mcnemar_all, s.spread_all))
    assert len(score) == len(right) == len(spread) == 105
    for i, j in score:
        assert score[i, j] == s.paired(systems[i], systems[j], lessons)
        assert right[i, j] == s.mcnemar(systems[i], systems[j], lessons)
        assert spread[i, j] == s.spread_of(systems[i], systems[j], lessons)
    sds = [one.effective_sd for one in spread.values()]
    assert s.typical_sd(systems, lessons) == float(np.median(sds))


def test_spreads_are_those_of_the_differences_written_out() -> None:
    rng = np.random.default_rng(2)
    for per_lesson in (3, 7):
        a, b = rng.choice([-1, 0, 1], (2, 210))
        lessons = np.arange(210) // per_lesson
        d = a - b
        found = s.spread_of(a, b, lessons.tolist())
        assert found.sd == pytest.approx(float(d.std()), rel=1e-13)
        residuals = np.bincount(lessons, weights=d) - np.bincount(lessons) * d.mean()
        m, centred = lessons[-1] + 1, d - d.mean()
        expected = (residuals @ residuals) * m / (m - 1) / ((centred @ centred) * 210 / 209)
        assert found.design_effect == pytest.approx(float(expected), rel=1e-12)


def _from_half_is_from_all(values: list[int]) -> None:
    support, mass = s.sum_distribution(values)
    n, low = len(values), min(values)
    p = np.bincount(np.array(values) - low) / n
    size = len(support)
    phi = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(len(p))) / size) @ p
    wrapped = np.fft.ifft(phi**n).real
    expected = np.clip(np.roll(wrapped, -((int(support[0]) - n * low) % size)), 0, None)
    assert mass == pytest.approx(expected / expected.sum(), rel=1e-9, abs=1e-13)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=400))
@settings(max_examples=100, deadline=None)
def test_a_distribution_from_half_its_frequencies_is_that_from_all(values: list[int]) -> None:
    _from_half_is_from_all(values)


@pytest.mark.parametrize("values", [[0, 2] * 2_000, [-1, 1, 1] * 100, [0] * 299 + [1], [-2, 0, 0, 2] * 81])
def test_a_distribution_on_a_lattice_keeps_the_frequencies_far_out(values: list[int]) -> None:
    _from_half_is_from_all(values)


def test_logarithms_of_factorials_do_not_depend_on_the_table() -> None:
    for n in (0, 1, 7, 300, 5_000):
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
        assert (distributions._log_factorials(1 << n.bit_length())[: n + 1] == logs).all()


@given(st.integers(1, 12), st.integers(2, 40), st.integers(0, 55), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_columns_that_share_a_number_have_the_sums_of_each_alone(k: int, n_clusters: int, bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(-(2 ** int(rng.integers(0, bits + 1))), 2**bits, (k, n_clusters))
    draws = np.random.default_rng(seed).integers(0, n_clusters, size=(300, n_clusters), dtype=np.int32)
    assert (bootstrap.drawn_totals(columns, seed, 300) == columns[:, draws].sum(axis=2)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.uint64])
def test_columns_of_narrow_integers_lose_no_bits(dtype: type) -> None:
    columns = np.random.default_rng(0).integers(0, 100, (3, 20), dtype=dtype)
    wide = columns.astype(np.int64)
    assert (bootstrap.drawn_totals(columns, 0, 300) == bootstrap.drawn_totals(wide, 0, 300)).all()
