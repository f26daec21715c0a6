"""The papers' tables by query, by source and by kind of question: what their rows are made of."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "papers")]

import huo_numbers  # noqa: E402
import mala_failed  # noqa: E402
import nautiyal_cutoffs as cutoffs  # noqa: E402
import nautiyal_queries as queries  # noqa: E402
from nautiyal_medquad import METHODS, Medquad, Relevance, Values  # noqa: E402
from nautiyal_tests import resampled_spreads, spreads  # noqa: E402

from edu_rag.records import Question  # noqa: E402

RANKED = {
    "BM25": {0: [1, 8, 9], 2: [9, 8, 3], 4: [8, 9, 5]},
    "dense": {0: [8, 9, 1], 2: [8, 9, 3], 4: [5, 8, 9]},
    "hybrid": {0: [1, 8, 9], 2: [3, 8, 9], 4: [5, 8, 9]},
}
"""Each question has one relevant pair, the next row."""


def relevance() -> Relevance:
    focus = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "f"]
    return Relevance(Medquad(questions=focus, answers=focus, focus=focus, source=[*"xxxxyyyyyy"]))


def measured(search: Relevance) -> dict[bool, dict[str, Values]]:
    return {False: {name: search.measured(RANKED[name], own=False) for name in METHODS}}


def test_the_quartiles_are_numpy_s_and_a_weight_is_a_repeated_question() -> None:
    matrix = np.random.default_rng(3).random((2, 41)).round(1)
    expected = np.quantile(matrix, (0.25, 0.5, 0.75), axis=1, method="inverted_cdf").T
    assert np.allclose(spreads(matrix)[:, :3], expected)
    assert np.allclose(spreads(matrix)[:, 3], matrix.std(axis=1))
    weights = np.arange(41) % 3
    assert np.allclose(spreads(matrix, weights), spreads(np.repeat(matrix, weights, axis=1)))


def test_areas_are_drawn_whole_for_the_spread() -> None:
    matrix = np.array([[0.0, 0.0, 1.0, 1.0]])
    drawn = resampled_spreads(matrix, [0, 0, 1, 1], seed=0, resamples=200)
    assert set(np.round(drawn[:, 0, 3], 6)) == {0.0, 0.5}
    assert np.array_equal(drawn, resampled_spreads(matrix, [0, 0, 1, 1], seed=0, resamples=200))


def test_the_lead_at_ten_minus_that_at_one_is_the_change_of_the_difference() -> None:
    search = relevance()
    rows = {row[0]: row for row in cutoffs.leads(measured(search), search.data.focus, 0)}
    # BM25 is right at 1 on one of three questions, the hybrid on all; both find all within ten.
    assert [cell.partition(" ")[0] for cell in rows["R, hybrid − BM25"][3:6]] == ["+66.67", "+0.00", "-66.67"]
    assert rows["R, hybrid − BM25"][2] == "3, 3"


def test_differences_by_query_count_gains_losses_and_ties() -> None:
    search = relevance()
    rows = {row[0]: row for row in queries.difference_rows(measured(search), search)}
    assert [cell.partition(" ")[0] for cell in rows["hybrid − BM25"][2:5]] == ["66.7", "33.3", "0.0"]
    assert rows["hybrid − BM25"][5:] == ("+50.0", "–")


def test_the_first_place_is_counted_by_source_the_largest_first() -> None:
    search = relevance()
    found = list(queries.source_rows(measured(search), search, 0))
    assert [row[:2] for row in found] == [("x", "out (2)"), ("y", "out (1)")]
    assert [cell.partition(" ")[0] for cell in found[0][2:5]] == ["50.0", "0.0", "100.0"]


def test_the_pictures_repeat_to_the_byte(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = measured(relevance())
    for name in ("one", "two"):
        cutoffs.draw(found, tmp_path / f"{name}-cutoffs.svg")
        queries.draw_boxes(found, tmp_path / f"{name}-boxes.svg")
        queries.draw_differences(found, tmp_path / f"{name}-differences.svg")
    for kind in ("cutoffs", "boxes", "differences"):
        one, two = ((tmp_path / f"{name}-{kind}.svg").read_bytes() for name in ("one", "two"))
        assert one == two


@pytest.mark.parametrize(
    ("choices", "expected"),
    [(("51 J", "76 J", "0"), True), (("two", "3"), False), (("the 2nd", "it gains 0.26 MeV"), True)],
)
def test_a_question_has_numbers_if_every_choice_has_a_digit(choices: tuple[str, ...], expected: bool) -> None:
    labelled = dict(zip("abc", choices, strict=False))
    question = Question(question_id="q", text="How much?", choices=labelled, kind="multiple_choice", split="test")
    assert huo_numbers.has_numbers(question) is expected


def test_retrievers_are_compared_in_the_groups_of_the_model_alone() -> None:
    found = {"edu-rag-vanilla-gemma3": "iiiicccc", "nautiyal-bm25": "iiiicccc", "nautiyal-dense": "cciicccc"}
    ((name, failed, right),) = mala_failed.pair_rows(found)
    assert name == "`nautiyal-dense` − `nautiyal-bm25`"
    assert failed.startswith("+50.0 ")
    assert right.startswith("+0.0 ")
