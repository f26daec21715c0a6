from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.records import QUESTION_FLAGS, Question
from edu_rag.scorecard.card import OUTCOMES, POINTS, Outcome, Passage, Prediction, Verdict
from edu_rag.scorecard.support import Support
from harness.scoring.attribution import (
    BROKEN_FLAGS,
    CAUSES,
    REMEDIES,
    attribute,
    attribution_lines,
    attribution_of,
    causes_of,
    points_lost,
)

EVIDENCE = Support(frozenset({"q"}), {"q": {"p": [(10, 20)]}}, has_pages=True)
NONE = Support(frozenset({"q"}), {}, has_pages=True)
NO_PAGES = Support(frozenset(), {}, has_pages=False)
HELD, OTHER = Passage("p", 5, 11), Passage("p", 20, 30)


def question(*flags: str, question_id: str = "q") -> Question:
    return Question(
        question_id=question_id,
        text="?",
        choices={"a": "1", "b": "2"},
        kind="multiple_choice",
        split="val",
        flags=flags,
    )


def cause(outcome: Outcome, support: Support, *passages: Passage, flags: tuple[str, ...] = ()) -> str | None:
    prediction = Prediction(question_id="q", answer="a", passages=passages)
    return attribute(question(*flags), prediction, Verdict(question_id="q", outcome=outcome, reason=""), support)


TABLE = [  # outcome, support, cited, flags, cause: the rules of docs/scoring-spec.md, section 7
    ("correct", EVIDENCE, (), (), None),
    ("correct", NONE, (HELD,), ("context_bound",), None),
    ("failed", EVIDENCE, (HELD,), (), "failed"),
    ("failed", NONE, (), ("context_bound",), "failed"),
    ("unparseable", EVIDENCE, (HELD,), (), "unparseable"),
    ("unparseable", NONE, (), (), "unparseable"),
    ("unparseable", EVIDENCE, (), ("duplicate_choices",), "flagged_broken"),
    ("incorrect", EVIDENCE, (HELD,), ("context_bound",), "flagged_broken"),
    ("abstained", NONE, (), ("meta_choice", "duplicate_choices"), "flagged_broken"),
    ("incorrect", NONE, (), ("meta_choice", "truncated", "duplicate_question"), "evidence_not_found"),
    ("incorrect", NONE, (HELD,), (), "evidence_not_found"),
    ("abstained", NONE, (), (), "evidence_not_found"),
    ("abstained", NO_PAGES, (), (), "evidence_not_found"),
    ("incorrect", NO_PAGES, (), (), "evidence_not_found"),
    ("abstained", EVIDENCE, (), (), "over_abstained"),
    ("abstained", EVIDENCE, (OTHER, HELD), (), "over_abstained"),
    ("abstained", EVIDENCE, (OTHER,), (), "not_retrieved"),
    ("incorrect", EVIDENCE, (OTHER,), (), "not_retrieved"),
    ("incorrect", EVIDENCE, (), (), "not_retrieved"),
    ("incorrect", EVIDENCE, (OTHER, HELD), (), "not_used"),
]


@pytest.mark.parametrize(("outcome", "support", "cited", "flags", "expected"), TABLE)
def test_a_lost_point_has_the_first_cause_that_fits(
    outcome: Outcome, support: Support, cited: tuple[Passage, ...], flags: tuple[str, ...], expected: str | None
) -> None:
    assert cause(outcome, support, *cited, flags=flags) == expected


def test_every_cause_occurs_in_the_table_and_has_a_meaning_and_a_remedy() -> None:
    assert {row[-1] for row in TABLE} - {None} == set(CAUSES) == set(REMEDIES)
    assert set(QUESTION_FLAGS) > BROKEN_FLAGS == {"context_bound", "duplicate_choices"}
    assert list(CAUSES) == [
        "failed",
        "flagged_broken",
        "unparseable",
        "evidence_not_found",
        "over_abstained",
        "not_retrieved",
        "not_used",
    ]


def test_a_question_without_a_prediction_has_failed_and_one_abstained_without_is_read_as_citing_nothing() -> None:
    failed = Verdict(question_id="q", outcome="failed", reason="no prediction for this question")
    assert attribute(question(), None, failed, EVIDENCE) == "failed"
    abstained = Verdict(question_id="q", outcome="abstained", reason="")
    assert attribute(question(), None, abstained, EVIDENCE) == "over_abstained"


def test_each_question_is_held_against_its_own_prediction_verdict_and_evidence() -> None:
    rows: list[tuple[Outcome, tuple[Passage, ...], tuple[str, ...], bool]] = [
        ("incorrect", (HELD,), (), True),
        ("incorrect", (OTHER,), (), True),
        ("incorrect", (HELD,), (), False),
        ("correct", (), (), True),
        ("failed", (), (), True),
        ("abstained", (), ("context_bound",), True),
        ("abstained", (), (), True),
        ("incorrect", (HELD,), (), True),
    ]
    names = [f"q{at}" for at in range(len(rows))]
    questions = [question(*flags, question_id=name) for name, (*_, flags, _) in zip(names, rows, strict=True)]
    predictions = {
        name: Prediction(question_id=name, answer="a", passages=cited)
        for name, (_, cited, _, _) in zip(names, rows, strict=True)
    }
    verdicts = [Verdict(question_id=n, outcome=row[0], reason="") for n, row in zip(names, rows, strict=True)]
    evidence = {name: {"p": [(10, 20)]} for name, row in zip(names, rows, strict=True) if row[-1]}
    support = Support(frozenset(names), evidence, has_pages=True)
    causes = causes_of(questions, predictions, verdicts, support)
    assert causes == [
        "not_used",
        "not_retrieved",
        "evidence_not_found",
        None,
        "failed",
        "flagged_broken",
        "over_abstained",
        "not_used",
    ]
    assert attribution_of(questions, predictions, verdicts, support) == {
        "failed": 1,
        "flagged_broken": 1,
        "unparseable": 0,
        "evidence_not_found": 1,
        "over_abstained": 1,
        "not_retrieved": 1,
        "not_used": 2,
    }
    assert points_lost(causes, verdicts) == {
        "failed": 1,
        "flagged_broken": 1,
        "unparseable": 0,
        "evidence_not_found": 2,
        "over_abstained": 1,
        "not_retrieved": 2,
        "not_used": 4,
    }


CASES = list(product(OUTCOMES, (EVIDENCE, NONE), ((), (HELD,), (OTHER,)), ((), ("context_bound",), ("truncated",))))


@given(st.lists(st.sampled_from(CASES), max_size=30))
def test_causes_add_up_to_the_lost_questions_and_points_to_1_minus_the_score(
    cases: list[tuple[Outcome, Support, tuple[Passage, ...], tuple[str, ...]]],
) -> None:
    questions, predictions, verdicts, evidence = [], {}, [], {}
    for i, (outcome, support, passages, flags) in enumerate(cases):
        question_id = f"q{i:02}"
        questions.append(question(*flags, question_id=question_id))
        if outcome != "failed":
            predictions[question_id] = Prediction(question_id=question_id, answer="a", passages=passages)
        verdicts.append(Verdict(question_id=question_id, outcome=outcome, reason=""))
        evidence.update({question_id: support.evidence["q"]} if support.evidence else {})
    support = Support(frozenset(evidence), evidence, has_pages=True)
    found = attribution_of(questions, predictions, verdicts, support)
    causes = causes_of(questions, predictions, verdicts, support)
    lost = points_lost(causes, verdicts)
    n = Counter(outcome for outcome, *_ in cases)
    assert list(found) == list(lost) == list(CAUSES)
    assert sum(found.values()) == len(cases) - n["correct"]
    assert found["failed"] == n["failed"]
    assert sum(lost.values()) == len(cases) - sum(POINTS[outcome] * n[outcome] for outcome in OUTCOMES)
    assert found == {name: causes.count(name) for name in CAUSES}
    assert causes == [cause(outcome, support_, *passages, flags=flags) for outcome, support_, passages, flags in cases]


def test_points_lost_are_2_for_an_incorrect_answer_and_1_for_a_missing_one() -> None:
    verdicts = [Verdict(question_id=str(i), outcome=outcome, reason="") for i, outcome in enumerate(OUTCOMES)]
    lost = points_lost([None, "not_used", "over_abstained", "unparseable", "failed"], verdicts)
    assert {name: n for name, n in lost.items() if n} == {
        "failed": 1,
        "unparseable": 1,
        "over_abstained": 1,
        "not_used": 2,
    }


def test_lines_name_the_largest_cause_first_and_ties_in_order_of_precedence() -> None:
    values = dict.fromkeys(CAUSES, 0) | {"not_used": 3, "failed": 1, "unparseable": 1, "evidence_not_found": 5}
    lines = list(attribution_lines(values))
    assert lines[0].startswith("10 question(s) without a right answer, by cause")
    assert [line.split()[0] for line in lines[1:]] == ["evidence_not_found", "not_used", "failed", "unparseable"]
    assert (
        lines[1]
        == "  evidence_not_found      5    50.00 %   no evidence was found in its pages, which may still have some"
    )
    assert list(attribution_lines(dict.fromkeys(CAUSES, 0)))[1:] == []


def test_the_table_of_the_documentation_is_what_the_code_does() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md").read_text(encoding="utf-8")
    lines = page.split("| outcome | flags | evidence | cited | cause |\n")[1].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    assert len(rows) == 13
    for outcome, flag, evidence, cited, expected in rows:
        passages = {"none": (), "evidence": (OTHER, HELD), "other": (OTHER,)}[cited]
        found = cause(
            outcome,
            EVIDENCE if evidence == "yes" else NONE,
            *passages,
            flags=(flag,) if flag else (),  # type: ignore[arg-type]
        )
        assert (found or "-") == expected, (outcome, flag, evidence, cited)


def test_the_rules_of_the_documentation_stand_in_the_order_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md").read_text(encoding="utf-8")
    section = page.split("## 7. Attribution")[1].split("\n## 8. ")[0]
    assert re.findall(r"^\| \d \| `(\w+)` \|", section, re.MULTILINE) == list(CAUSES)


def test_verdicts_of_other_questions_are_refused() -> None:
    verdict = Verdict(question_id="q", outcome="correct", reason="")
    for questions, verdicts in (([question()], []), ([], [verdict])):
        with pytest.raises(ValueError, match="zip"):
            causes_of(questions, {}, verdicts, EVIDENCE)
    with pytest.raises(ValueError, match="zip"):
        points_lost([None], [])
