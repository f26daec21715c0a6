"""Measures of a retrieval run by page: their numbers by hand, and the lines that a terminal shows."""

from __future__ import annotations

import pytest

from edu_rag.scorecard.card import SystemFacts
from edu_rag.scorecard.retrieval_card import PageMeasures, RetrievalCard
from harness.scoring.retrieval import CUTOFFS, DECIMALS, TREC_NAMES, mean_with_interval
from harness.scoring.run_measures import page_measures, run_lines

RELEVANT = {"q1": ["p1"], "q2": ["p2"], "q3": [], "q4": ["p4", "p9"]}
RANKED = {"q1": ["p0", "p1"], "q4": ["p4"], "q3": ["p7"]}
NAMES = [*(f"{name}@{k}" for name in TREC_NAMES.values() for k in CUTOFFS), "MRR"]


def test_the_means_are_over_the_questions_with_a_relevant_page() -> None:
    found = page_measures(RELEVANT, RANKED, {})
    assert found is not None
    assert (found.n, sorted(found.metrics)) == (3, sorted(NAMES))
    assert found.metrics["MRR"] == round((1 / 2 + 0 + 1) / 3, DECIMALS)
    assert found.metrics["R@3"] == round((1 + 0 + 1 / 2) / 3, DECIMALS)
    assert found.metrics["P@1"] == round((0 + 0 + 1) / 3, DECIMALS)


@pytest.mark.parametrize(
    ("lessons", "clusters"),
    [
        ({}, [-1, -1, -1]),
        ({"q1": 0, "q2": 0, "q3": 5, "q4": 1}, [0, 0, 1]),
        # A question without a lesson is its own cluster, not one of lesson 1.
        ({"q1": 1, "q4": 1}, [1, -1, 1]),
        ({"q2": 1, "q4": 1}, [-1, 1, 1]),
    ],
)
def test_the_intervals_are_those_of_the_questions_by_their_lessons(
    lessons: dict[str, int], clusters: list[int]
) -> None:
    found = page_measures(RELEVANT, RANKED, lessons)
    assert found is not None
    mean, low, high = mean_with_interval([1 / 2, 0.0, 1.0], clusters)
    assert found.metrics["MRR"] == round(mean, DECIMALS)
    assert found.intervals["MRR"] == (round(low, DECIMALS), round(high, DECIMALS))


def test_without_a_question_that_has_a_relevant_page_there_are_no_measures() -> None:
    assert page_measures({"q3": []}, RANKED, {}) is page_measures({}, RANKED, {}) is None


def card(evidence: PageMeasures | None, home: PageMeasures | None, sample: str | None) -> RetrievalCard:
    return RetrievalCard(
        system=SystemFacts(slug="bm25-pages", name="BM25 over pages", team="us"),
        dataset="tiny@1.0.0#aaaaaaaa",
        split="test",
        sample=sample,
        harness="edu-rag-bench 0.1.0",
        n=2_000,
        n_ranked=1_999,
        evidence=evidence,
        home=home,
        run_sha256="0" * 64,
        scored_at="2026-11-22T08:00:00Z",
    )


def test_the_lines_show_each_measure_at_each_cut_off() -> None:
    metrics = {name: place / 100 for place, name in enumerate(NAMES)}
    evidence = PageMeasures(n=1_234, metrics=metrics, intervals=dict.fromkeys(NAMES, (0.0, 0.25)))
    assert list(run_lines(card(evidence, None, None))) == [
        "BM25 over pages on tiny@1.0.0#aaaaaaaa, split test",
        "pages ranked for 1,999 of 2,000 questions",
        "pages with evidence, 1,234 questions",
        "  at              P        R  success      MAP     NDCG",
        "  1          0.0000   0.0400   0.0800   0.1200   0.1600",
        "  3          0.0100   0.0500   0.0900   0.1300   0.1700",
        "  5          0.0200   0.0600   0.1000   0.1400   0.1800",
        "  10         0.0300   0.0700   0.1100   0.1500   0.1900",
        "  MRR 0.2000   95 % interval 0.0000 … 0.2500",
    ]


def test_the_lines_name_a_sample_and_show_home_pages_after_evidence() -> None:
    measured = PageMeasures(n=2, metrics=dict.fromkeys(NAMES, 0.5), intervals=dict.fromkeys(NAMES, (0.0, 1.0)))
    lines = list(run_lines(card(measured, measured, "stratified-300-seed-0")))
    assert lines[0] == "BM25 over pages on tiny@1.0.0#aaaaaaaa, split test, stratified-300-seed-0"
    assert [line for line in lines if "questions" in line][1:] == [
        "pages with evidence, 2 questions",
        "home pages, 2 questions",
    ]
    only_home = list(run_lines(card(None, measured, None)))
    assert only_home[2:] == ["home pages, 2 questions", *lines[3:9]]
