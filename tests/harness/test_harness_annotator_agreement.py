"""Two people's labels of the same answers: which answers are compared, and Cohen's kappa with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from edu_rag.files.annotated import Annotation, ShownReply, read_annotations
from edu_rag.files.jsonl import write_records
from harness.commands.judge_command import judge
from harness.judging.annotator_agreement import LABELS, agreement

RIGHT, WRONG, LITTLE = LABELS


def marked(question: str, label: str, answer: str | None = "b", page_input: str = "own") -> Annotation:
    reply = ShownReply(
        dataset="asked@1.0.0#12345678",
        question_id=question,
        question=f"{question}?",
        choices={},
        page_input=page_input,
        system="bm25",
        answer=answer,
        status="ok",
        outcome=None,
    )
    return Annotation(at=datetime(2026, 1, 2, tzinfo=UTC), label=label, correctness=None, reply=reply)


def labelled(labels: Sequence[str]) -> list[Annotation]:
    return [marked(f"q{place}", label) for place, label in enumerate(labels)]


def test_kappa_is_agreement_beyond_chance() -> None:
    # Same: 7 of 10. By chance: right 5 x 4, wrong 3 x 4, little 2 x 2 of 100: 0.36. (0.7 - 0.36) / (1 - 0.36).
    first = labelled([RIGHT] * 5 + [WRONG] * 3 + [LITTLE] * 2)
    second = labelled([RIGHT] * 3 + [WRONG] * 2 + [WRONG] * 2 + [RIGHT] + [LITTLE] + [LITTLE])
    found = agreement(first, second)
    assert found.counts == ((3, 2, 0), (1, 2, 0), (0, 0, 2))
    assert (found.n, found.n_same, found.n_questions) == (10, 7, 10)
    assert found.kappa == pytest.approx(34 / 64)
    assert found.interval is not None
    assert found.interval[0] < 34 / 64 < found.interval[1]
    assert agreement(first, second) == found


def test_only_answers_that_both_labelled_are_compared_and_the_last_label_counts() -> None:
    first = [marked("q1", WRONG), marked("q1", RIGHT), marked("q2", RIGHT), marked("q3", RIGHT)]
    second = [marked("q1", RIGHT), marked("q2", RIGHT, answer="c"), marked("q3", LITTLE, page_input="top-1")]
    found = agreement(first, second)
    assert (found.n, found.first_only, found.second_only) == (1, 2, 2)
    assert (found.kappa, found.interval) == (None, None)  # one label alone: nothing beyond chance can be seen


def test_people_without_a_common_answer_have_no_agreement() -> None:
    found = agreement([marked("q1", RIGHT)], [])
    assert (found.n, found.kappa, found.interval, found.n_questions) == (0, None, None, 0)


def test_the_command_reads_two_files_and_names_a_broken_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write_records(one, labelled([RIGHT, WRONG, WRONG]))
    write_records(two, labelled([RIGHT, WRONG, RIGHT]))
    assert read_annotations(one) == labelled([RIGHT, WRONG, WRONG])
    done = CliRunner().invoke(judge, ["agreement", str(one), str(two)])
    assert done.exit_code == 0
    assert "3 answers to 3 questions labelled by both" in done.output
    assert "same label       2 of 3" in done.output
    two.write_text('{"at": "2026-01-02T00:00:00Z", "label": "Right"}\n')
    done = CliRunner().invoke(judge, ["agreement", str(one), str(two)])
    assert str(done.exception).startswith(f"{two}:1: ")
