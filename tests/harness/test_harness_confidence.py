"""What stated confidence is worth: against scikit-learn, a brute force, and cases worked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.scorecard.card import Outcome, Prediction, Verdict
from harness.scoring.confidence import (
    MAX_POINTS,
    area_of,
    best_area,
    bins_of,
    brier_of,
    calibration_error,
    confidence_lines,
    confidence_of,
    steps_of,
)

STATED = st.lists(
    st.tuples(st.sampled_from([0.0, 1 / 15, 0.2, 0.4, 0.5, 2 / 3, 0.9, 1.0]) | st.floats(0, 1), st.booleans()),
    min_size=1,
    max_size=40,
)


def sides(rows: Sequence[tuple[Outcome, float | None]]) -> tuple[list[Verdict], dict[str, Prediction]]:
    verdicts = [Verdict(question_id=f"q{at}", outcome=outcome, reason="") for at, (outcome, _) in enumerate(rows)]
    predictions = {
        f"q{at}": Prediction(
            question_id=f"q{at}", answer=None if outcome == "abstained" else "a", confidence=confidence
        )
        for at, (outcome, confidence) in enumerate(rows)
    }
    return verdicts, predictions


def test_a_system_that_states_no_confidence_has_no_field_and_no_lines() -> None:
    assert confidence_of(*sides([("correct", None), ("abstained", 0.5)])) == {}
    assert confidence_of([], {}) == {}
    assert list(confidence_lines({})) == []


def test_the_worked_example_of_the_page() -> None:
    rows: list[tuple[Outcome, float | None]] = [
        ("correct", 0.9),
        ("correct", 0.9),
        ("incorrect", 0.6),
        ("correct", 0.6),
        ("incorrect", 0.3),
        ("incorrect", None),
        ("abstained", 0.8),
        ("unparseable", 0.7),
    ]
    found = confidence_of(*sides(rows))
    assert found["n"] == 5
    assert found["n_attempted"] == 6
    assert found["brier"] == pytest.approx((0.01 + 0.01 + 0.36 + 0.16 + 0.09) / 5, rel=1e-15)
    assert found["ece"] == pytest.approx((0.2 + 0.2 + 0.3) / 5, rel=1e-15)
    assert found["aurc"] == pytest.approx((0 + 0 + 2 * 0.25 + 0.4) / 5, rel=1e-15)
    assert found["e_aurc"] == pytest.approx(0.18 - (1 / 4 + 2 / 5) / 5, rel=1e-12)
    assert found["curve"] == [
        {"threshold": 0.9, "coverage": 0.4, "risk": 0.0},
        {"threshold": 0.6, "coverage": 0.8, "risk": 0.25},
        {"threshold": 0.3, "coverage": 1.0, "risk": 0.4},
    ]
    assert found["bins"] == [
        {"low": 4 / 15, "high": 5 / 15, "n": 1, "n_correct": 0, "confidence": 0.3},
        {"low": 8 / 15, "high": 9 / 15, "n": 2, "n_correct": 1, "confidence": 0.6},
        {"low": 13 / 15, "high": 14 / 15, "n": 2, "n_correct": 2, "confidence": 0.9},
    ]
    # Two right at 0.9; one right and one wrong at 0.6 change nothing, so the lower threshold is told; minus one for
    # the wrong answer without confidence, over all eight questions.
    assert found["best"] == {"score": 1 / 8, "threshold": 0.6, "n_kept": 4}
    assert list(confidence_lines(found)) == [
        "confidence     stated for 5 of 6 attempted questions",
        "  ECE 0.1400, Brier 0.1260 (0 is best); AURC 0.1800, 0.0500 above the best order of the same answers",
        "  best score by giving only answers of confidence >= 0.6: +12.50 % "
        "(an upper bound: the threshold is tuned on the test questions)",
    ]


def test_where_every_answer_costs_points_the_best_is_to_give_none() -> None:
    found = confidence_of(*sides([("incorrect", 0.9), ("correct", 0.1), ("incorrect", 0.1)]))
    assert found["best"] == {"score": 0.0, "threshold": None, "n_kept": 0}
    assert "by giving none of them: +0.00 %" in list(confidence_lines(found))[2]


def test_negative_zero_is_zero() -> None:
    found = confidence_of(*sides([("correct", -0.0), ("correct", 0.0)]))
    assert math.copysign(1, found["curve"][0]["threshold"]) == 1.0
    assert found["bins"][0]["low"] == 0.0


def test_the_square_in_brier_is_a_product_and_not_a_power_of_c() -> None:
    assert brier_of([(0.7576039219664368, True)]) == 0.058755858646053274


@given(STATED)
@settings(max_examples=100, deadline=None)
def test_brier_is_scikit_learns(stated: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import brier_score_loss

    theirs = brier_score_loss([correct for _, correct in stated], [c for c, _ in stated], labels=[False, True])
    assert brier_of(stated) == pytest.approx(theirs, rel=1e-12)


@given(STATED)
@settings(max_examples=100, deadline=None)
def test_the_curve_its_area_and_the_bins_are_those_of_a_brute_force(stated: list[tuple[float, bool]]) -> None:
    n = len(stated)
    curve = []
    for threshold in sorted({c for c, _ in stated}, reverse=True):
        kept = [correct for c, correct in stated if c >= threshold]
        curve.append((threshold, len(kept), kept.count(False)))
    steps = steps_of(stated)
    assert [tuple(step) for step in steps] == curve
    assert [step.risk for step in steps] == [wrong / kept for _, kept, wrong in curve]
    # The k surest answers, with everything that ties with the k-th.
    risks = []
    for k in range(1, n + 1):
        threshold = sorted((c for c, _ in stated), reverse=True)[k - 1]
        kept = [correct for c, correct in stated if c >= threshold]
        risks.append(kept.count(False) / len(kept))
    assert area_of(steps) == pytest.approx(sum(risks) / n, rel=1e-12, abs=1e-15)
    gaps = []
    for m in range(1, 16):
        inside = [(c, ok) for c, ok in stated if (m - 1) / 15 < c <= m / 15 or (m == 1 and c == 0)]
        if inside:
            gaps.append(abs(sum(ok for _, ok in inside) - sum(c for c, _ in inside)) / n)
    assert calibration_error(stated) == pytest.approx(sum(gaps), rel=1e-12, abs=1e-15)
    assert len(bins_of(stated)) == len(gaps)
    assert sum(part["n"] for part in bins_of(stated)) == n


@given(STATED, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_nothing_depends_on_the_order_of_questions(stated: list[tuple[float, bool]], rng: object) -> None:
    rows: list[tuple[Outcome, float | None]] = [("correct" if ok else "incorrect", c) for c, ok in stated]
    mixed = rows.copy()
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    assert confidence_of(*sides(rows)) == confidence_of(*sides(mixed))


@given(STATED)
@settings(max_examples=60, deadline=None)
def test_no_order_beats_the_oracle_and_a_constant_confidence_has_its_risk_as_area(
    stated: list[tuple[float, bool]],
) -> None:
    n, n_wrong = len(stated), sum(not ok for _, ok in stated)
    assert area_of(steps_of(stated)) >= best_area(n, n_wrong)
    assert area_of(steps_of([(0.5, ok) for _, ok in stated])) == pytest.approx(n_wrong / n)
    oracle = [(1 - at / n, ok) for at, (_, ok) in enumerate(sorted(stated, key=lambda row: not row[1]))]
    assert area_of(steps_of(oracle)) == best_area(n, n_wrong)


@given(STATED)
@settings(max_examples=60, deadline=None)
def test_the_best_threshold_is_that_of_trying_all(stated: list[tuple[float, bool]]) -> None:
    rows: list[tuple[Outcome, float | None]] = [("correct" if ok else "incorrect", c) for c, ok in stated]
    found = confidence_of(*sides(rows))["best"]
    tried = {t: sum(1 if ok else -1 for c, ok in stated if c >= t) for t in {c for c, _ in stated}}
    best = max(0, *tried.values())
    assert found["score"] == best / len(stated)
    reaching = [t for t, points in tried.items() if points == best]
    assert found["threshold"] == (min(reaching) if reaching else None)
    assert found["n_kept"] == sum(c >= found["threshold"] for c, _ in stated if found["threshold"] is not None)


@pytest.mark.parametrize("n", [MAX_POINTS, MAX_POINTS + 1, 1_234])
def test_a_long_curve_is_thinned_to_a_hundredth_of_coverage_each_and_keeps_its_end(n: int) -> None:
    rows: list[tuple[Outcome, float | None]] = [
        ("correct" if at % 3 else "incorrect", 1 - at / (2 * n)) for at in range(n)
    ]
    found = confidence_of(*sides(rows))
    kept = [round(point["coverage"] * n) for point in found["curve"]]
    assert kept == [-(-n * j // 100) for j in range(1, 101)]
    assert found["curve"][-1] == {"threshold": 1 - (n - 1) / (2 * n), "coverage": 1.0, "risk": -(-n // 3) / n}
    assert found["aurc"] == area_of(steps_of([(1 - at / (2 * n), at % 3 != 0) for at in range(n)]))


def test_a_curve_of_exactly_as_many_steps_as_a_scorecard_keeps_is_kept_whole() -> None:
    rows: list[tuple[Outcome, float | None]] = [("correct", 1 - at / 200) for at in range(MAX_POINTS - 1)]
    found = confidence_of(*sides([*rows, *[("incorrect", 0.1)] * 10_000]))
    assert len(found["curve"]) == MAX_POINTS
    assert [round(point["coverage"] * 10_099) for point in found["curve"]] == [*range(1, MAX_POINTS), 10_099]


def test_a_wrong_answer_at_the_highest_confidence_counts_at_every_coverage() -> None:
    assert area_of(steps_of([(0.9, False), (0.5, True)])) == (1 + 1 / 2) / 2


def test_every_wrong_answer_without_confidence_costs_its_point() -> None:
    found = confidence_of(*sides([("correct", 0.9), ("incorrect", None), ("incorrect", None), ("correct", None)]))
    assert found["best"] == {"score": 0.0, "threshold": 0.9, "n_kept": 1}
    found = confidence_of(*sides([("correct", 0.9), ("incorrect", None), ("incorrect", None), ("incorrect", None)]))
    assert found["best"] == {"score": -2 / 4, "threshold": 0.9, "n_kept": 1}


def test_thinning_a_curve_with_a_large_tie_skips_the_hundredths_inside_it() -> None:
    rows: list[tuple[Outcome, float | None]] = [("correct", 0.99)] * 500 + [
        ("incorrect", 0.9 - at / 1_000) for at in range(500)
    ]
    found = confidence_of(*sides(rows))
    assert found["curve"][0]["coverage"] == 0.5
    assert len(found["curve"]) == 51
