"""Records: one that exists is valid, and says which field is at fault when it cannot exist."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from edu_rag.errors import DataError, RecordError
from edu_rag.gold import Gold, match_gold
from edu_rag.records import Evidence, Question, SearchHit, Span, WebPage, page_id_of
from edu_rag.scorecard.card import MAX_QUESTIONS, Counts, Passage, Prediction, ScoreCard, Slice, SystemFacts, Verdict

NOW = datetime(2026, 1, 2, tzinfo=UTC)
URL = "http://a.example/p"


def question(**changes: Any) -> Question:
    fields: dict[str, Any] = {
        "question_id": "q1",
        "text": "What?",
        "choices": {"a": "x", "b": "y"},
        "kind": "multiple_choice",
        "split": "val",
    }
    return Question(**fields | changes)


def page(**changes: Any) -> WebPage:
    fields: dict[str, Any] = {
        "page_id": page_id_of(URL),
        "url": URL,
        "title": "T",
        "text": "One. Two.",
        "sentences": (Span(0, 4), Span(5, 9)),
        "fetched_at": NOW,
        "html_sha256": "0" * 64,
        "extractor": "bs4-v1",
    }
    return WebPage(**fields | changes)


def hit(**changes: Any) -> SearchHit:
    fields: dict[str, Any] = {
        "question_id": "q1",
        "page_id": page_id_of(URL),
        "url": URL,
        "rank": 1,
        "engine": "folder",
        "query": "What?",
        "searched_at": NOW,
        "outcome": "kept",
    }
    return SearchHit(**fields | changes)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("question_id", {"question_id": " "}),
        ("question_id", {"question_id": "a\nb"}),
        ("question_id", {"question_id": "x" * 201}),
        ("text", {"text": " \n"}),
        ("choices", {"choices": {"a": "x"}}),
        ("choices", {"choices": {"a": "x", "c": "y"}}),
        ("choices", {"choices": {"b": "x", "a": "y"}}),
        ("choices", {"choices": {"a": "x", "b": "y"}, "kind": "free_text"}),
        ("kind", {"kind": "essay"}),
        ("split", {"split": "Val"}),
        ("split", {"split": "val\n"}),
        ("split", {"split": "../val"}),
        ("split", {"split": "all"}),
        ("flags", {"flags": ("odd",)}),
    ],
)
def test_a_question_that_breaks_an_invariant_cannot_exist(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(RecordError) as caught:
        question(**changes)
    assert caught.value.where == field


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("page_id", {"page_id": "p" + "0" * 16}),
        ("html_sha256", {"html_sha256": "0" * 63}),
        ("html_sha256", {"html_sha256": "0" * 64 + "\n"}),
        ("extractor", {"extractor": ""}),
        ("fetched_at", {"fetched_at": NOW.replace(tzinfo=None)}),
        ("fetched_at", {"fetched_at": NOW.astimezone(timezone(timedelta(hours=1)))}),
        ("sentences", {"sentences": (Span(0, 4), Span(3, 9))}),
        ("end", {"sentences": (Span(0, 10),)}),
        ("start", {"sentences": (Span(3, 3),)}),
        ("start", {"sentences": (Span(-1, 3),)}),
        ("flags", {"flags": ("meta_choice",)}),
    ],
)
def test_a_page_that_breaks_an_invariant_cannot_exist(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(RecordError) as caught:
        page(**changes)
    assert caught.value.where == field


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("rank", {"rank": 0}),
        ("url", {"url": ""}),
        ("outcome", {"outcome": "lost"}),
        ("page_id", {"page_id": None}),
        ("page_id", {"outcome": "robots"}),
        ("searched_at", {"searched_at": NOW.replace(tzinfo=None)}),
    ],
)
def test_a_hit_that_breaks_an_invariant_cannot_exist(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(RecordError) as caught:
        hit(**changes)
    assert caught.value.where == field


def test_sentences_are_cut_from_the_text() -> None:
    assert page().sentence_texts() == ["One.", "Two."]


def test_a_page_id_depends_on_the_url_alone_and_takes_any_string() -> None:
    assert page_id_of(URL) == page_id_of(URL) != page_id_of(URL + "/")
    assert page_id_of("http://x/\ud800").startswith("p")


def test_evidence_names_a_real_span_and_its_method() -> None:
    good = {"question_id": "q1", "page_id": page_id_of(URL), "start": 0, "end": 4, "method": "m-v1"}
    assert Evidence(**good).end == 4
    for broken in ({"end": 0}, {"start": -1}, {"page_id": "q1"}, {"method": ""}):
        with pytest.raises(RecordError):
            Evidence(**good | broken)


@pytest.mark.parametrize(
    "fields",
    [{}, {"answer": "a", "texts": ("x",)}, {"answer": "ab"}, {"answer": ""}, {"answer": "A"}, {"texts": (" ",)}],
)
def test_a_gold_is_one_label_or_texts_never_both_or_neither(fields: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        Gold(question_id="q1", **fields)


@pytest.mark.parametrize(
    ("golds", "said"),
    [
        ([], "q1 has no gold"),
        ([Gold(question_id="q1", answer="a"), Gold(question_id="q1", answer="a")], "two golds"),
        ([Gold(question_id="q1", answer="c")], "not one of its choices"),
        ([Gold(question_id="q1", texts=("x",))], "does not suit its kind"),
        ([Gold(question_id="q1", answer="a"), Gold(question_id="q2", answer="a")], "unknown question q2"),
    ],
)
def test_gold_must_match_the_questions_one_to_one(golds: list[Gold], said: str) -> None:
    with pytest.raises(DataError, match=said):
        match_gold([question()], golds, "here")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "lost"},
        {"status": "crash", "answer": "a"},
        {"confidence": 1.1},
        {"confidence": float("nan")},
        {"latency_s": -1.0},
        {"cost_usd": float("inf")},
        {"passages": (Passage("p1", 4, 4),)},
        {"passages": (Passage("", 0, 4),)},
    ],
)
def test_a_prediction_that_breaks_an_invariant_cannot_exist(changes: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        Prediction(**{"question_id": "q1", "answer": "a"} | changes)


def test_rates_come_from_counts_over_all_questions_and_missing_costs_nothing() -> None:
    counts = Counts(correct=5, incorrect=3, abstained=1, unparseable=1, failed=2)
    assert (counts.n, counts.n_missing) == (12, 4)
    assert counts.score == 2 / 12
    assert counts.strict_score == -1 / 12
    assert counts.accuracy_given_attempted == 5 / 8
    assert Counts(abstained=3).score == 0.0
    assert Counts(abstained=3).accuracy_given_attempted is None
    assert Counts().score == 0.0
    with pytest.raises(RecordError):
        Counts(failed=-1)


def test_points_follow_the_outcome() -> None:
    points = {
        outcome: Verdict(question_id="q", outcome=outcome, reason="").points  # type: ignore[arg-type]
        for outcome in ("correct", "incorrect", "abstained", "unparseable", "failed")
    }
    assert points == {"correct": 1, "incorrect": -1, "abstained": 0, "unparseable": 0, "failed": 0}


def test_a_scorecard_whose_outcomes_are_not_its_counts_cannot_exist() -> None:
    fields: dict[str, Any] = {
        "system": SystemFacts(slug="sys", name="S", team="T"),
        "dataset": "data@1.0.0#00000000",
        "split": "val",
        "sample": None,
        "harness": "0",
        "answers_rule": "r-v1",
        "counts": Counts(correct=1, failed=1),
        "outcomes": "cf",
    }
    assert ScoreCard(**fields).counts.n == 2
    big = Slice(attribute="kind", value="x", counts=Counts(correct=3))
    whole = {"counts": Counts(correct=MAX_QUESTIONS), "outcomes": "c" * MAX_QUESTIONS}
    assert ScoreCard(**fields | whole).counts.n == 1_000_000
    for broken in ({"outcomes": "cc"}, {"outcomes": "cfx"}, {"slices": (big,)}, {"intervals": {"score": (1.0, 0.0)}}):
        with pytest.raises(RecordError):
            ScoreCard(**fields | broken)
    more = {"counts": Counts(correct=MAX_QUESTIONS + 1), "outcomes": "c" * (MAX_QUESTIONS + 1)}
    with pytest.raises(RecordError, match="add up to 1,000,001 questions, more than 1,000,000"):
        ScoreCard(**fields | more)
