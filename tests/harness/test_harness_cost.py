from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.scorecard.card import Prediction
from edu_rag.serve import SystemAnswer
from harness.cost import cost_lines, cost_of

SECONDS = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


def taking(seconds: Sequence[float | None]) -> list[Prediction]:
    return [Prediction(question_id=f"q{i}", answer="a", latency_s=s) for i, s in enumerate(seconds)]


def test_what_no_prediction_says_is_left_out() -> None:
    assert cost_of([], measured=True) == {}
    assert cost_of(taking([None, None]), measured=True) == {}
    assert list(cost_lines({})) == []


@given(SECONDS)
def test_latency_is_that_of_numpys_inverted_cdf(seconds: list[float]) -> None:
    latency = cost_of(taking([*seconds, None]), measured=True)["latency_s"]
    assert latency["median"] == np.quantile(seconds, 0.5, method="inverted_cdf")
    assert latency["p95"] == np.quantile(seconds, 0.95, method="inverted_cdf")
    assert latency["mean"] == pytest.approx(np.mean(seconds), rel=1e-12)
    assert latency["n"] == len(seconds)


@pytest.mark.parametrize(("measured", "source"), [(True, "measured"), (False, "declared")])
def test_only_latency_is_ever_measured(measured: bool, source: str) -> None:
    said = Prediction(
        question_id="q", answer="a", latency_s=1.5, input_tokens=10, output_tokens=3, cost_usd=0.25, energy_j=7.5
    )
    cost = cost_of([said, said, *taking([None])], measured=measured)
    assert cost == {
        "latency_s": {"median": 1.5, "p95": 1.5, "mean": 1.5, "n": 2, "source": source},
        "input_tokens": {"total": 20, "mean": 10.0, "n": 2, "source": "declared"},
        "output_tokens": {"total": 6, "mean": 3.0, "n": 2, "source": "declared"},
        "cost_usd": {"total": 0.5, "mean": 0.25, "n": 2, "source": "declared"},
        "energy_j": {"total": 15.0, "mean": 7.5, "n": 2, "source": "declared"},
    }


def test_nothing_is_a_cost_too() -> None:
    free = [Prediction(question_id="q", answer="a", cost_usd=0.0, input_tokens=0)]
    cost = cost_of(free, measured=False)
    assert (cost["cost_usd"]["total"], cost["input_tokens"]["total"]) == (0.0, 0)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_totals_do_not_depend_on_the_order_of_questions(dollars: list[float]) -> None:
    said = [Prediction(question_id=f"q{i}", answer="a", cost_usd=d) for i, d in enumerate(dollars)]
    assert cost_of(said, measured=False) == cost_of(said[::-1], measured=False)
    assert cost_of(said, measured=False)["cost_usd"]["total"] == math.fsum(dollars)


def test_costs_read_as_lines() -> None:
    said = Prediction(
        question_id="q", answer="a", latency_s=1.5, input_tokens=1_000, output_tokens=3, cost_usd=0.25, energy_j=7.5
    )
    assert list(cost_lines(cost_of([said, said], measured=True))) == [
        "latency        median 1.500 s, p95 1.500 s, mean 1.500 s (measured, 2 answers, without the first of each "
        "process)",
        "input tokens   2,000 in all, 1,000 a question (declared, 2 answers)",
        "output tokens  6 in all, 3 a question (declared, 2 answers)",
        "US dollars     0.5000 in all, 0.2500 a question (declared, 2 answers)",
        "joules         15.0 in all, 7.5 a question (declared, 2 answers)",
    ]


def test_a_system_may_say_what_a_prediction_may_hold() -> None:
    ours = {"question_id", "latency_s", "status"}
    assert set(SystemAnswer.__slots__) == set(Prediction.__slots__) - ours


@pytest.mark.parametrize("energy", [-1.0, math.inf, math.nan, 1e308, 1e12 + 1])
def test_energy_is_a_finite_number(energy: float) -> None:
    with pytest.raises(Exception, match="energy_j"):
        Prediction(question_id="q", answer="a", energy_j=energy)
