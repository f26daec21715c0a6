"""Question files: TQA's nesting and flat lines give the same records, and faults are named all at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.question_sets.question_files import read_files, read_questions, tidy
from edu_rag.errors import EduRagError
from edu_rag.gold import match_gold


def flat(**changes: Any) -> dict[str, Any]:
    fields = {
        "id": "q1",
        "split": "val",
        "type": "Multiple Choice",
        "question": "What is  it?",
        "choices": {"a": "ice", "b": "fire"},
        "answer": "b",
    }
    return fields | changes


def flat_file(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tqa_question(**changes: Any) -> dict[str, Any]:
    fields = {
        "questionType": "Multiple Choice",
        "questionSubType": "Multiple Choice",
        "beingAsked": {"processedText": "Where is Miami?", "rawText": "1. Where is Miami?"},
        "answerChoices": {
            "a": {"processedText": "Florida.", "rawText": "a. Florida."},
            "b": {"processedText": "Texas.", "rawText": "b. Texas."},
        },
        "correctAnswer": {"processedText": "a", "rawText": "1. a"},
    }
    return fields | changes


def tqa_file(tmp_path: Path, questions: dict[str, Any], name: str = "tqa_v1_train.json") -> Path:
    lesson = {"globalID": "L_0002", "lessonName": "our earth", "questions": {"nonDiagramQuestions": questions}}
    path = tmp_path / name
    path.write_text(json.dumps([lesson]), encoding="utf-8")
    return path


def faults(*paths: Path, split: str | None = None) -> list[str]:
    with pytest.raises(EduRagError) as caught:
        read_questions(paths, split)
    return [line.replace(str(paths[0]), "FILE") for line in str(caught.value).splitlines()]


def test_a_lesson_of_tqa_is_read_with_its_kinds_gold_letters_and_lesson(shared_data: Path) -> None:
    questions, golds = read_questions([shared_data / "tqa" / "lesson_sample.json"], "train")
    kinds = [question.kind for question in questions]
    assert [kinds.count(kind) for kind in ("multiple_choice", "true_false", "matching")] == [7, 10, 7]
    assert {question.lesson for question in questions} == {"L_0002 earth science and its branches"}
    by_id = {question.question_id: question for question in questions}
    gold = {gold.question_id: gold.answer for gold in golds}
    assert by_id["NDQ_000053"].text == "study of Earths weather"
    assert list(by_id["NDQ_000053"].choices) == list("abcdefg")
    assert by_id["NDQ_000053"].choices[gold["NDQ_000053"] or ""] == "meteorology"
    assert by_id["NDQ_000060"].choices[gold["NDQ_000060"] or ""] == "false"
    assert by_id["NDQ_000046"].flags == ("meta_choice",)


def test_all_2524_questions_of_tqa_val_are_read_and_one_is_relettered(shared_data: Path) -> None:
    reading = read_files([shared_data / "tqa" / "val" / "questions.jsonl"], None)
    assert (len(reading.questions), reading.faults) == (2524, [])
    assert reading.corrected == {"choices re-lettered (blank or missing letter)": ["NDQ_004046"]}
    match_gold(reading.questions, reading.golds, "val")
    kinds = [question.kind for question in reading.questions]
    assert [kinds.count(kind) for kind in ("multiple_choice", "true_false", "matching")] == [1211, 994, 319]


def test_questions_and_golds_are_sorted_by_id_whatever_the_files_order(tmp_path: Path) -> None:
    path = flat_file(tmp_path, flat(id="q9"), flat(id="q10"), flat(id="q1"))
    questions, golds = read_questions([path], None)
    assert [question.question_id for question in questions] == ["q1", "q10", "q9"]
    assert [gold.question_id for gold in golds] == ["q1", "q10", "q9"]


def test_text_is_changed_in_white_space_and_unicode_form_only(tmp_path: Path) -> None:
    row = flat(question=" Cafe\u0301\u00a0 is\nA ", choices={"a": " x\t", "b": "CO₂"})
    (question,), _ = read_questions([flat_file(tmp_path, row)], None)
    assert (question.text, dict(question.choices)) == ("Café is A", {"a": "x", "b": "CO₂"})


def test_a_blank_choice_is_no_choice_and_the_gold_moves_with_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        flat(id="q1", choices={"a": "ice", "b": " ", "c": "fire"}, answer="c"),
        flat(id="q2", choices={"a": "ice", "c": "fire", "d": "air"}, answer="d"),
        flat(id="q3", choices={"b": "fire", "a": "ice"}, answer="B."),
    ]
    questions, golds = read_questions([flat_file(tmp_path, *rows)], None)
    assert [dict(question.choices) for question in questions] == [
        {"a": "ice", "b": "fire"},
        {"a": "ice", "b": "fire", "c": "air"},
        {"a": "ice", "b": "fire"},
    ]
    assert [gold.answer for gold in golds] == ["b", "c", "b"]
    assert "re-lettered (blank or missing letter): 2 (q1, q2)" in capsys.readouterr().err


def test_a_gold_that_is_the_text_of_one_choice_means_it(tmp_path: Path) -> None:
    row = flat(type="True or False", choices={"a": "true", "b": "false"}, answer="False")
    _, (gold,) = read_questions([flat_file(tmp_path, row)], None)
    assert gold.answer == "b"


def test_free_text_questions_have_texts_and_no_choices(tmp_path: Path) -> None:
    row = flat(type="free_text", choices={}, answer=["ice", " cold  water "])
    (question,), (gold,) = read_questions([flat_file(tmp_path, row)], None)
    assert (question.kind, gold.texts) == ("free_text", ("ice", "cold water"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (flat(answer="c"), "FILE:1: answer: the gold 'c' is not one of the choices a, b"),
        (flat(choices={"a": "x", "b": "", "c": "y"}, answer="b"), "FILE:1: answer: the gold 'b' is a blank choice"),
        (flat(choices={"a": "x"}, answer="a"), "FILE:1: choices: 1 choice(s), at least 2 are needed"),
        (flat(choices={"a": "x", "A": "y"}, answer="a"), "FILE:1: choices: two labels are the same letter"),
        (flat(choices={"a": "x", "b": "x"}, answer="x"), "FILE:1: answer: the gold 'x' is not one of the choices a, b"),
        (flat(question="  "), "FILE:1: text: is blank"),
        (flat(type="Essay"), "FILE:1: type: unknown type 'Essay'"),
        (flat(split="Val!"), "FILE:1: split: 'Val!' is not a name like 'val'"),
        (flat(split=None), "FILE:1: split: is not known: give --split"),
        (flat(answer=["a", "b"]), "FILE:1: answer: a list of texts suits free text only"),
        (flat(type="free text"), "FILE:1: choices: a free_text question has no choices"),
        (flat(answer=2), "FILE:1: answer: is "),
        ({**flat(anser="a"), "answer": None}, "FILE:1: answer: is "),
        (
            {**{k: v for k, v in flat().items() if k != "answer"}, "anser": "a"},
            "FILE:1: answer: missing field: did you",
        ),
        ([1], "FILE:1: is a list, not an object"),
    ],
)
def test_a_broken_question_is_refused_with_file_line_and_field(tmp_path: Path, row: Any, said: str) -> None:
    assert faults(flat_file(tmp_path, row))[0].startswith(said)


def test_all_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    first = flat_file(tmp_path, flat(answer="z"), flat(id="q2"), flat(id="q2"), flat(id="q3", type="?"))
    second = tqa_file(tmp_path, {"N1": tqa_question(correctAnswer={"processedText": "e"})})
    lines = faults(first, second)
    assert [line.split(": ")[0] for line in lines[:3]] == ["FILE:1", "FILE:3", "FILE:4"]
    assert "'q2' is used before, at" in lines[1]
    assert lines[3] == f"{second}: question N1: answer: the gold 'e' is not one of the choices a, b"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({}, "FILE: question N1: beingAsked: missing field"),
        (7, "FILE: question N1: beingAsked: expected its parent to be an object, got int"),
        (tqa_question(beingAsked=[]), "FILE: question N1: beingAsked: expected dict, got list"),
        (tqa_question(answerChoices={"a": {}}), "FILE: question N1: processedText: missing field"),
        (tqa_question(answerChoices={"a": "x"}), "FILE: question N1: processedText: expected its parent"),
        (tqa_question(questionSubType="Essay"), "FILE: question N1: type: unknown type 'Essay'"),
        (tqa_question(correctAnswer={"processedText": ""}), "FILE: question N1: answer: the gold '' is not one"),
    ],
)
def test_a_broken_question_of_tqa_is_refused_with_file_id_and_field(tmp_path: Path, question: Any, said: str) -> None:
    assert faults(tqa_file(tmp_path, {"N1": question}))[0].startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "FILE: expected a list of lessons"),
        ("[]", "FILE: holds no questions"),
        ("[3]", "FILE: lesson 1: globalID: expected its parent"),
        ('[{"globalID": "L", "lessonName": "n", "questions": {}}]', "FILE: lesson 1: nonDiagramQuestions: missing"),
        ("[", "FILE:1: not JSON"),
    ],
)
def test_a_file_that_is_not_tqas_is_one_clear_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "tqa_v1_val.json"
    path.write_text(content)
    assert faults(path)[0].startswith(said)


def test_a_file_of_another_kind_and_a_missing_one_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "q.xlsx").write_bytes(b"PK\x03\x04 and so on")
    assert faults(tmp_path / "q.xlsx") == [
        "FILE: is an Excel workbook or another ZIP archive: export the sheet as CSV in UTF-8, or unpack it"
    ]
    assert faults(tmp_path / "q.jsonl") == ["FILE: No such file or directory: give a readable file"]
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert faults(tmp_path / "pipe.jsonl") == [
        "FILE: is not a regular file: save the questions to a file, and give that"
    ]


def test_the_split_comes_from_tqas_file_name_unless_it_is_given(tmp_path: Path) -> None:
    for name, split in (("tqa_v1_train.json", "train"), ("tqa_v1_val.json", "val"), ("tqa_v2_test.json", "test")):
        (question,), _ = read_questions([tqa_file(tmp_path, {"N1": tqa_question()}, name)], None)
        assert question.split == split
    (question,), _ = read_questions([tqa_file(tmp_path, {"N1": tqa_question()}, "tqa_v1_train.json")], "dev")
    assert question.split == "dev"
    assert "split: is not known" in faults(tqa_file(tmp_path, {"N1": tqa_question()}, "lessons.json"))[0]


def test_a_split_that_contradicts_the_lines_own_is_refused(tmp_path: Path) -> None:
    assert faults(flat_file(tmp_path, flat()), split="test")[0] == (
        "FILE:1: split: says 'val', but --split says 'test'"
    )


def test_tqas_raw_text_shows_which_choices_its_cleaning_cut(tmp_path: Path) -> None:
    cut = {"a": {"processedText": "Florid", "rawText": "a. Florida."}, "b": {"processedText": "B", "rawText": "b. B"}}
    path = tqa_file(tmp_path, {"N1": tqa_question(answerChoices=cut), "N2": tqa_question()})
    questions, _ = read_questions([path], None)
    assert [question.flags for question in questions] == [("truncated",), ()]


def test_equal_faults_are_one_line_with_their_number(tmp_path: Path) -> None:
    rows = [flat(id=f"q{n}", answer="xyz"[n % 3]) for n in range(80)]
    assert faults(flat_file(tmp_path, *rows, flat(id="last", question=" "))) == [
        "FILE:1: answer: the gold 'x' is not one of the choices a, b (and 79 more rows with this fault)",
        "FILE:81: text: is blank",
    ]


@given(st.text())
def test_tidying_text_twice_changes_nothing_more(text: str) -> None:
    assert tidy(tidy(text)) == tidy(text)


def test_a_gold_whose_letter_the_file_leaves_out_is_a_fault_not_another_choice(tmp_path: Path) -> None:
    row = flat(choices={"a": "ice", "c": "fire", "d": "air"}, answer="b")
    assert faults(flat_file(tmp_path, row)) == ["FILE:1: answer: the gold 'b' is not one of the choices a, c, d"]


@pytest.mark.parametrize("label", ["", "1", "aa", "ß", "a)"])
def test_a_label_that_is_no_letter_is_a_fault(tmp_path: Path, label: str) -> None:
    row = flat(choices={"a": "ice", label: "fire"}, answer="a")
    (fault,) = faults(flat_file(tmp_path, row))
    assert "choices: the label" in fault
    assert "is not a letter" in fault
