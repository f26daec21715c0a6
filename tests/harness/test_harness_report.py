from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import Counts, Prediction, ScoreCard, Slice, SystemFacts
from harness.exam import open_exam
from harness.scoring.score import score
from harness.scoring.scorecard_text import brief_line, card_lines

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
FACTS = SystemFacts(slug="test-system", name="Test", team="us")


@pytest.fixture(scope="module")
def card(tiny: Dataset, gold: dict[str, str]) -> ScoreCard:
    exam = open_exam(tiny, "test", None)
    page_id = next(iter(next(iter(exam.support.evidence.values()))))
    said = {
        i: Prediction(question_id=i, answer=label, confidence=0.75, latency_s=2.0, passages=((page_id, 0, 9),))  # type: ignore[arg-type]
        for i, label in gold.items()
    }
    answers: dict[str, str | None] = {"q001": None, "q002": "zzz", "q003": "b"}
    for question_id, answer in answers.items():
        said[question_id] = replace(said[question_id], answer=answer)
    del said["q004"]
    return score(exam, said, FACTS, scored_at=WHEN).card


def starts(lines: list[str]) -> list[str]:
    """The first word of each part of the report."""
    return [line.split()[0] for before, line in zip(["", *lines], lines, strict=False) if not before and line]


def test_a_report_goes_from_the_score_to_its_reasons(card: ScoreCard) -> None:
    lines = list(card_lines(card))
    assert lines[0] == f"Test (test-system) on {card.dataset}, test"
    assert lines[1].startswith("score            +87.50 %   95 % interval +")
    assert lines[2] == "strict score     +82.50 %   (unparseable and failed cost a point too)"
    assert lines[3].startswith("accuracy          90.00 %   95 % interval ")
    assert lines[4].startswith("hallucination      2.50 %   95 % interval ")
    assert lines[5].startswith("missing            7.50 %   95 % interval ")
    assert lines[6] == "attempted         92.50 %   37 of 40 questions"
    assert lines[7] == "  of these        97.30 %   correct: accuracy given attempted"
    assert lines[9] == "  correct          36 of 40   90.00 %"
    assert starts(lines) == [
        "Test",
        "correct",
        "slice",
        "4",
        "cited",
        "confidence",
        "latency",
        "evidence",
        "reported:",
        "intervals:",
    ]
    assert lines[-1].endswith("; answers read by answers-v3; edu-rag-bench 0.1.0")


def test_what_is_empty_has_no_part_and_an_empty_card_divides_by_nothing() -> None:
    nothing = ScoreCard(
        system=FACTS,
        dataset="data@1.0.0#00000000",
        split="test",
        sample="stratified-1-seed-0",
        harness="h",
        answers_rule="answers-v3",
        counts=Counts(abstained=1),
        outcomes="a",
        intervals=dict.fromkeys(("score", "accuracy", "hallucination", "missing"), (0.0, 0.0)),
    )
    lines = list(card_lines(nothing))
    assert lines[0].endswith("on data@1.0.0#00000000, test, stratified-1-seed-0")
    assert not any("of these" in line for line in lines)
    assert starts(lines) == ["Test", "correct", "slice", "reported:", "intervals:"]


def test_an_attribute_of_many_values_is_counted_and_not_shown(card: ScoreCard) -> None:
    part = card.slices[0].counts
    few = tuple(Slice(attribute="few", value=f"v{i}", counts=part) for i in range(20))
    many = tuple(Slice(attribute="lesson", value=f"lesson {i}", counts=part) for i in range(21))
    large = replace(part, correct=20)
    lines = list(card_lines(replace(card, slices=(*(replace(one, counts=large) for one in few), *many))))
    assert sum(line.startswith("few = ") for line in lines) == 20
    assert not any(line.startswith("lesson = ") for line in lines)
    assert "  21 values of lesson: see --json" in lines


def test_a_slice_of_few_questions_is_counted_and_shown_on_demand(card: ScoreCard) -> None:
    sizes = (1, 19, 20, 21)
    parts = tuple(Slice(attribute="kind", value=f"k{n}", counts=Counts(correct=n)) for n in sizes)
    some = replace(card, slices=parts)

    def names(**wish: bool) -> list[str]:
        return [line.split()[2] for line in card_lines(some, **wish) if line.startswith("kind = ")]

    assert names() == ["k20", "k21"]
    assert "  2 slices with fewer than 20 questions: --all-slices shows them" in list(card_lines(some))
    assert names(all_slices=True) == ["k1", "k19", "k20", "k21"]
    assert not any("--all-slices" in line for line in card_lines(some, all_slices=True))


def test_the_name_of_a_slice_is_shown_whole_and_lines_stay_within_110_characters(card: ScoreCard) -> None:
    part = card.slices[0].counts
    names = ("layers of the atmosphere", "y" * 51, "x" * 200)
    lessons = tuple(Slice(attribute="lesson", value=name, counts=part) for name in names)
    shown = card_lines(replace(card, slices=lessons), all_slices=True)
    lines = [line for line in shown if line.startswith(("slice", "lesson"))]
    assert [names[0] in lines[1], names[1] in lines[2], f"lesson = {'x' * 50}…" in lines[3]] == [True] * 3
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) <= 110


def test_carried_answers_judges_and_probes_are_told(card: ScoreCard) -> None:
    judged = {"name": "model-x", "counts": {"rules": {"correct": 3, "incorrect": 1}, "model-x": {"correct": 1}}}
    lines = list(card_lines(replace(card, made_on="tiny@0.9.0", judges=judged)))
    assert "free text      graded by model-x" in lines
    assert "  rules: correct 3, incorrect 1" in lines
    assert "answered on tiny@0.9.0: retrieval, attribution and slices by pages are left out" in lines
    assert "free text      graded by rules" in list(card_lines(replace(card, judges={"chain": []})))


def test_one_line_has_the_score_its_interval_and_the_five_outcomes(card: ScoreCard) -> None:
    line = brief_line(card)
    assert line.startswith("test-system: score +87.50 % (+")
    assert line.endswith("): correct 36, incorrect 1, abstained 1, unparseable 1, failed 1")


def test_a_report_says_in_words_whether_there_was_a_sandbox(card: ScoreCard) -> None:
    def told(caps: dict[str, str]) -> list[str]:
        return [line for line in card_lines(replace(card, caps=caps)) if "sandbox" in line]

    assert "made without a sandbox" in told({"sandbox": "none"})[0]
    assert "made in a sandbox: bubblewrap" in told({"sandbox": "bubblewrap"})[0]
    granted = {"sandbox": "bubblewrap", "network": ["api.example.org"]}
    assert "with the network, to api.example.org" in list(card_lines(replace(card, caps=granted)))
    assert told({}) == []
