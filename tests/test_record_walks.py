"""bench/record_walks.py counts the files that a record enters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import record_walks  # noqa: E402

from edu_rag.records import Question  # noqa: E402
from edu_rag.scorecard.card import Verdict  # noqa: E402

MARKS = [record_walks.TEXT, record_walks.CHOICE]
CHOICES = {"a": f"{record_walks.CHOICE} gas", "b": "helium"}
TEXT = f"Which gas do {record_walks.TEXT} plants take in?"
KIND = "multiple_choice"
IDS = (record_walks.QUESTION_ID, "Q2")
RECORD = Question(question_id="Q1", text=TEXT, choices=CHOICES, kind=KIND, split="test")
OTHER = Question(question_id="Q2", text=TEXT, choices={"a": "helium", "b": "argon"}, kind=KIND, split="test")


@pytest.mark.parametrize(
    "value",
    [RECORD, [RECORD], {"Q1": RECORD}.values(), {"row": {"text": TEXT, **CHOICES}}, f"{TEXT} {CHOICES}".encode()],
)
def test_a_record_is_found_in_every_form(value: object) -> None:
    assert record_walks.holds(value, MARKS)


@pytest.mark.parametrize("value", [OTHER, TEXT, CHOICES["a"], None, 7, iter([RECORD])])
def test_a_part_of_a_record_is_not_the_record(value: object) -> None:
    assert not record_walks.holds(value, MARKS)


def test_a_verdict_is_a_form_of_its_own_prediction_only() -> None:
    own, other = (Verdict(question_id=name, outcome="correct", reason="") for name in IDS)
    assert record_walks.holds([own], [record_walks.RESPONSE])
    assert not record_walks.holds([other], [record_walks.RESPONSE])
    assert not record_walks.holds([own], MARKS)


@pytest.mark.nightly
@pytest.mark.process
def test_the_walks_go_from_the_reader_of_the_file_to_the_row_and_to_the_scorecard() -> None:
    command = [sys.executable, str(ROOT / "bench" / "record_walks.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    question, prediction = printed.split("prediction to scorecard")
    assert "carries  builder/question_sets/question_files.py" in question
    assert "carries  edu_rag/files/dataset_writer.py" in question
    assert "carries  harness/submission/predictions_file.py" in prediction
    assert "carries  harness/judging/outcomes.py" in prediction
    assert "reads    harness/scoring/retrieval.py" in prediction
