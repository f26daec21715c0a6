"""Question files of other datasets: eight layouts need no option, and what cannot be read is one right line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.question_sets.choice_cells import choices_of, hash_order, texts_of
from builder.question_sets.question_columns import ColumnMap, parse_map
from builder.question_sets.question_files import ReadQuestions, read_question_set
from builder.question_sets.question_stats import flat_lines, question_stats
from edu_rag.errors import EduRagError
from edu_rag.files.jsonl import write_records
from edu_rag.gold import match_gold


def read(path: Path, *mapping: str, split: str | None = None) -> ReadQuestions:
    found = read_question_set([path], split, parse_map(mapping))
    match_gold(found.questions, found.golds, path)
    return found


def answers(found: ReadQuestions) -> dict[str, Any]:
    """By question id: the text of the gold choice, or the accepted texts."""
    golds = {gold.question_id: gold for gold in found.golds}
    return {
        question.question_id: question.choices[answer]
        if (answer := golds[question.question_id].answer) is not None
        else golds[question.question_id].texts
        for question in found.questions
    }


def extras(found: ReadQuestions) -> list[dict[str, Any]]:
    return [json.loads(gold.extra) if gold.extra else {} for gold in found.golds]


def parquet(path: Path, rows: list[dict[str, Any]], names: Mapping[str, list[str]] | None = None) -> Path:
    """A Parquet file as `datasets` writes it, with the names of class labels in its metadata."""
    table = pa.Table.from_pylist(rows)
    if names:
        features = {column: {"names": labels, "_type": "ClassLabel"} for column, labels in names.items()}
        info = {"info": {"features": {"question": {"dtype": "string", "_type": "Value"}} | features}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    pq.write_table(table, path)
    return path


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def cells(path: Path, rows: list[dict[str, Any]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def faults(path: Path, *mapping: str) -> list[str]:
    with pytest.raises(EduRagError) as caught:
        read(path, *mapping)
    return [line.replace(str(path), "FILE") for line in str(caught.value).splitlines()]


ARC = {
    "id": "M1",
    "question": "What melts?",
    "choices": {"text": ["ice", "fire"], "label": ["A", "B"]},
    "answerKey": "A",
}
CSQA = {
    "id": "1afa",
    "question": "What melts?",
    "question_concept": "ice",
    "choices": {"label": ["A", "B", "C"], "text": ["fire", "ice", "air"]},
    "answerKey": "B",
}
OBQA = {
    "id": "7-980",
    "question_stem": "What melts?",
    "choices": {"text": ["fire", "ice"], "label": ["A", "B"]},
    "answerKey": "B",
    "fact1": "ice is frozen water",
    "humanScore": 1.0,
    "clarity": 2.0,
    "turkIdAnonymized": "b356",
}
SCIQ = {
    "question": "What melts?",
    "distractor3": "air",
    "distractor1": "fire",
    "distractor2": "smoke",
    "correct_answer": "ice",
    "support": "Ice melts at 0 degrees.",
}
SCIENCE_QA = {
    "image": None,
    "question": "What melts?",
    "choices": ["fire", "ice"],
    "answer": 1,
    "hint": "It is warm.",
    "task": "closed choice",
    "grade": "grade2",
    "subject": "natural science",
    "topic": "physics",
    "category": "States of matter",
    "skill": "melting",
    "lecture": "Solids melt.",
    "solution": "Ice is a solid.",
}
MMLU = {"question": "What melts?", "subject": "astronomy", "choices": ["fire", "ice", "air", "smoke"], "answer": 1}
SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Ice",
            "paragraphs": [
                {
                    "context": "Ice melts at 0 degrees.",
                    "qas": [
                        {
                            "id": "s1",
                            "question": "What melts?",
                            "answers": [{"text": "Ice", "answer_start": 0}, {"text": "ice", "answer_start": 0}],
                            "is_impossible": False,
                        },
                        {"id": "s2", "question": "What burns?", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}
PAPER = [
    {
        "beingAsked": "What melts?",
        "answerChoices": "{'a': {'idStructural': 'a.', 'processedText': 'fire'}, 'b': {'processedText': 'ice'}}",
        "correctAnswer": "b",
    },
    {"beingAsked": "Does ice melt?", "answerChoices": "{'a': 'true', 'b': 'false'}", "correctAnswer": "a"},
]


def _written(name: str, folder: Path) -> Path:
    as_parquet: Mapping[str, tuple[list[dict[str, Any]], dict[str, list[str]] | None]] = {
        "ARC": ([ARC], None),
        "CommonsenseQA": ([CSQA], None),
        "OpenBookQA": ([OBQA], None),
        "SciQ": ([SCIQ], None),
        "MMLU": ([MMLU], {"answer": ["A", "B", "C", "D"]}),
    }
    if name in as_parquet:
        rows, names = as_parquet[name]
        return parquet(folder / "test-00000-of-00001.parquet", rows, names)
    if name == "ScienceQA":
        picture = {**SCIENCE_QA, "image": {"bytes": b"\x89PNG", "path": None}}
        return parquet(folder / "test-00000-of-00001.parquet", [SCIENCE_QA, picture])
    if name == "SQuAD":
        (folder / "dev-v2.0.json").write_text(json.dumps(SQUAD), encoding="utf-8")
        return folder / "dev-v2.0.json"
    return cells(folder / "questions.csv", PAPER)


LAYOUTS: Mapping[str, tuple[Any, dict[str, Any]]] = {
    "ARC": ("ice", {}),
    "CommonsenseQA": ("ice", {"question_concept": "ice"}),
    "OpenBookQA": (
        "ice",
        {"fact1": "ice is frozen water", "humanScore": 1.0, "clarity": 2.0, "turkIdAnonymized": "b356"},
    ),
    "SciQ": ("ice", {"support": "Ice melts at 0 degrees."}),
    "ScienceQA": (
        "ice",
        {
            "task": "closed choice",
            "grade": "grade2",
            "subject": "natural science",
            "topic": "physics",
            "category": "States of matter",
            "skill": "melting",
            "lecture": "Solids melt.",
            "solution": "Ice is a solid.",
        },
    ),
    "MMLU": ("ice", {"subject": "astronomy"}),
    "SQuAD": (("Ice", "ice"), {"context": "Ice melts at 0 degrees.", "is_impossible": False}),
    "EDU-RAG paper": ("ice", {}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_eight_layouts_of_others_are_read_without_an_option(tmp_path: Path, name: str) -> None:
    found = read(_written(name, tmp_path))
    answer, extra = LAYOUTS[name]
    question = found.questions[0]
    assert question.text == ("It is warm. What melts?" if name == "ScienceQA" else "What melts?")
    assert answers(found)[question.question_id] == answer
    assert extras(found)[0] == extra
    assert question.split == ("dev" if name == "SQuAD" else "test")
    assert question.kind == ("free_text" if name == "SQuAD" else "multiple_choice")
    assert question.lesson == ("Ice" if name == "SQuAD" else None)


def test_rows_that_need_a_picture_or_have_no_answer_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, why in (("ScienceQA", "needs a picture: 1"), ("SQuAD", "has no answer: 1")):
        assert len(read(_written(name, tmp_path)).questions) == 1
        assert f"questions: left out, {why}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"question": {"stem": "What?", "choices": [{"text": "ice", "label": "1"}, {"text": "air", "label": "2"}]},
          "id": "A1", "answerKey": "1"}, "ice"),
        ({"question": "What melts?", "opa": "fire", "opb": "ice", "opc": "air", "opd": "", "cop": "b"}, "ice"),
        ({"question": "What melts?", "A": "fire", "B": "ice", "C": "air", "answer": "B"}, "ice"),
        ({"question": "What melts?", "option1": "fire", "option2": "ice", "label": 2}, "ice"),
        ({"question": "What melts?", "Answer A": "fire", "Answer B": "ice", "correct": "Answer B"}, "ice"),
        ({"question": "What melts?", "choice_text_1": "fire", "choice_text_2": "ice", "label": "choice_text_2"}, "ice"),
        ({"question": "What melts?", "options": ["fire", "ice"], "answer": "Ice."}, "ice"),
        ({"question": "What melts?", "options": ["fire", "ice"], "answer": ["B"]}, "ice"),
        ({"question": "What melts?", "options": ["fire", "ice"], "answer": "(b) ice"}, "ice"),
        ({"question": "What melts?", "correct_answer": "ice", "incorrect_answers": ["fire", "air"]}, "ice"),
        ({"question": "Does ice melt?", "answer": True, "passage": "It does."}, "true"),
        ({"question": "What melts?", "answer": {"value": "ice", "aliases": ["frozen water", "ice"]}},
         ("ice", "frozen water")),
        ({"question": "How many?", "answer": 4}, ("4",)),
    ],
)  # fmt: skip
def test_other_shapes_of_choices_and_answers_are_understood(tmp_path: Path, row: Any, answer: Any) -> None:
    assert list(answers(read(lines(tmp_path / "q.jsonl", row))).values()) == [answer]


@pytest.mark.parametrize(
    "cell",
    [
        '["fire", "ice"]',
        "['fire', 'ice']",
        '{"a": "fire", "b": "ice"}',
        '[{"label": "A", "text": "fire"}, {"label": "B", "text": "ice"}]',
        "{'text': array(['fire', 'ice'], dtype=object), 'label': array(['A', 'B'], dtype=object)}",
        "['fire' 'ice']",
        "['fire'\n \"ice\"]",
        '["A. fire", "B) ice"]',
        "a) fire b) ice",
        "(A) fire (B) ice",
        "A. fire\nB. ice",
        "1. fire; 2. ice",
        "fire\nice",
        "fire | ice",
        "fire; ice",
    ],
)
def test_choices_in_one_cell_are_read_in_each_usual_form(cell: str) -> None:
    assert [text for _, text in choices_of(cell)] == ["fire", "ice"]


def test_mmlus_own_file_without_names_of_columns_is_read_from_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "astronomy_test.csv"
    path.write_text('What melts?,fire,ice,ice,smoke,B\n"Where, then?",a,b,c,d,D\n', encoding="utf-8")
    assert answers(read(path)) == {"astronomy-test-00001": "ice", "astronomy-test-00002": "d"}


@pytest.mark.parametrize(("numbers", "golds"), [((0, 1, 2), "xyz"), ((1, 2, 3), "xyz"), (("0", "2"), "xz")])
def test_numbered_answers_count_from_what_the_whole_file_shows(tmp_path: Path, numbers: Any, golds: str) -> None:
    rows = [{"id": f"q{n}", "question": "Which?", "choices": ["x", "y", "z"], "answer": n} for n in numbers]
    assert "".join(answers(read(lines(tmp_path / "q.jsonl", *rows))).values()) == golds


def test_a_number_that_may_count_from_0_or_1_is_refused_until_it_is_said(tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", {"question": "Which?", "choices": ["x", "y", "z"], "answer": 1})
    what = "'1' is the number of a choice, and no row shows whether the first is 0 or 1"
    assert faults(path) == [f"FILE:1: answer: {what}: add --map first=0 or --map first=1"]
    assert list(answers(read(path, "first=0")).values()) == ["y"]
    assert list(answers(read(path, "first=1")).values()) == ["x"]


def test_a_number_that_may_be_a_text_or_a_place_is_refused_until_it_is_said(tmp_path: Path) -> None:
    rows = [{"question": "1 + 1?", "choices": '["1", "2", "3"]', "answer": n} for n in ("2", "3")]
    path = cells(tmp_path / "q.csv", rows)
    assert list(answers(read(path, "first=1")).values()) == ["2", "3"]
    rows = [{"question": "1 + 1?", "choices": '["2", "1", "3"]', "answer": n} for n in ("2", "3")]
    path = cells(tmp_path / "q.csv", rows)
    assert faults(path)[0].startswith("FILE:2: answer: '2' may be a choice's text or its number: say which number")
    assert list(answers(read(path, "first=1")).values()) == ["1", "3"]


def test_a_map_names_columns_of_any_table(tmp_path: Path) -> None:
    row = {"Stem": "What melts?", "w": "fire", "x": "ice", "key": "x2", "right": "ice", "no": "fire", "about": "Heat"}
    path = cells(tmp_path / "q.csv", [row])
    found = read(path, "question=stem", "choices=w,x", "answer=right", "lesson=about", "context=key")
    assert list(answers(found).values()) == ["ice"]
    assert (found.questions[0].lesson, found.questions[0].text) == ("Heat", "x2 What melts?")
    assert extras(found) == [{"no": "fire"}]
    row = {"stem": "What melts?", "w": "fire", "x": "", "y": "ice", "key": "Y"}
    found = read(cells(tmp_path / "names.csv", [row]), "choices=w,x,y", "answer=key")
    assert list(answers(found).values()) == ["ice"], "an answer may name the column of its choice"
    found = read(path, "question=Stem", "wrong=no", "answer=right")
    assert (list(answers(found).values()), set(found.questions[0].choices.values())) == (["ice"], {"ice", "fire"})


@pytest.mark.parametrize(
    ("mapping", "fault"),
    [
        (["question"], "--map: 'question' is not ROLE=COLUMN: roles are question, choices, wrong, answer"),
        (["qestion=a"], "--map: 'qestion=a' is not ROLE=COLUMN: did you mean 'question'?"),
        (["first=2"], "--map: 'first=2': the first choice is number 0 or 1: give first=0 or first=1"),
        (["answer=a", "answer=b"], "--map: 'answer' is given twice: give each role once"),
        (["question=stm"], "FILE: has no column 'stm' for question: did you mean 'stem'?"),
    ],
)
def test_a_map_that_does_not_fit_is_one_clear_line(tmp_path: Path, mapping: list[str], fault: str) -> None:
    path = cells(tmp_path / "q.csv", [{"stem": "What?", "answer": "x"}])
    assert faults(path, *mapping)[0].startswith(fault)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (
            {"text": "What?", "solution": "x"},
            "FILE: no column is known to hold the question; its columns are text, solu",
        ),
        (
            {"question": "What?", "solved": "x"},
            "FILE: no column is known to hold the answer; its columns are question, ",
        ),
        ({"question": " ", "answer": "x"}, "FILE:2: question: is blank: fill it, or remove the row"),
        ({"question": "What?", "answer": " "}, "FILE:2: answer: is blank: fill it, or remove the row"),
        ({"question": "What?", "choices": "x", "answer": "x"}, "FILE:2: choices: 'x' is not a list of choices: write"),
        (
            {"question": "What?", "choices": "x|y", "answer": "z"},
            "FILE:2: answer: the gold 'z' is not one of the choic",
        ),
        ({"question": "What?", "choices": "x|", "answer": "x"}, "FILE:2: choices: 1 choice(s), at least 2 are needed"),
        ({"question": "What?", "choices": str(list(range(30))), "answer": "1"}, "FILE:2: choices: 30 choices, at most"),
        ({"question": "x" * 60_000, "answer": "x"}, "FILE:2: question: has 60,000 characters, at most 50,000 are allo"),
        (
            {"question": "What?", "distractor1": "x", "correct_answer": "X"},
            "FILE:2: choices: 'X' is both right and wro",
        ),
        (
            {"question": "What?", "answer": "x", "page": "file://host/x"},
            "FILE:2: page: 'file://host/x' is not a web address: give",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_with_row_column_and_remedy(tmp_path: Path, row: Any, fault: str) -> None:
    found = faults(cells(tmp_path / "q.csv", [row]))
    assert len(found) == 1
    assert (found[0] + " ").startswith(fault)


def test_the_same_slip_on_every_row_is_one_line(tmp_path: Path) -> None:
    rows = [{"question": f"What {n}?", "choices": "x|y", "answer": f"z{n}"} for n in range(400)]
    (fault,) = faults(cells(tmp_path / "q.csv", rows))
    assert fault.startswith("FILE:2: answer: the gold 'z0' is not one of the choices a, b (and 399 more rows with this")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_of_any_encoding_and_delimiter_gives_the_same_questions(
    tmp_path: Path, encoding: str, delimiter: str
) -> None:
    rows = [{"question": "Größe von H₂O; Eis, oder?", "choices": "groß|klein", "answer": "groß"}]
    found = read(cells(tmp_path / "q.csv", rows, delimiter, encoding))
    assert (found.questions[0].text, answers(found)) == ("Größe von H₂O; Eis, oder?", {"q-00001": "groß"})


def test_unknown_columns_are_kept_with_the_gold_and_noted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": f"q{n}", "type": "Multiple Choice", "split": "val", "question": "What?", "choices": {"a": "x", "b": "y"},
         "answer": "a", "year": 2020 + n, "explanation": "x, since …", "lesons": None, "big": "x" * 20_001}
        for n in range(60)
    ]  # fmt: skip
    found = read(lines(tmp_path / "q.jsonl", *rows))
    assert extras(found)[0] == {"year": 2020, "explanation": "x, since …"}
    notes = capsys.readouterr().err.splitlines()
    assert notes == [
        "questions: columns kept as `extra`, which no system sees: 'year', 'explanation'",
        "questions: values left out of `extra` (bytes, or over 20,000 characters): 'big'",
    ]


def test_a_column_that_looks_like_a_slip_is_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(cells(tmp_path / "q.csv", [{"question": "What?", "answer": "x", "lessn": "Heat"}]))
    assert "'lessn' (did you mean 'lesson'?)" in capsys.readouterr().err


def test_control_characters_are_taken_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = read(lines(tmp_path / "q.jsonl", {"question": "What\x1b[31m\x07 melts?", "answer": "ice"}))
    assert found.questions[0].text == "What [31m melts?"
    assert "control characters removed: 1 (q-00001)" in capsys.readouterr().err


def test_a_type_or_page_of_another_meaning_is_extra_and_the_kind_is_inferred(tmp_path: Path) -> None:
    rows = [
        {"question": "What?", "answer": "x", "type": "bridge", "page": ""},
        {"question": "Who?", "answer": "y", "type": "pair", "page": "12"},
    ]
    found = read(cells(tmp_path / "q.csv", rows))
    assert [question.kind for question in found.questions] == ["free_text", "free_text"]
    assert extras(found) == [{"type": "bridge"}, {"type": "pair", "page": "12"}]


def test_a_table_whose_answers_are_all_true_or_false_asks_for_these(tmp_path: Path) -> None:
    found = read(
        cells(tmp_path / "q.csv", [{"question": "Is it?", "answer": "TRUE"}, {"question": "So?", "answer": "false"}])
    )
    assert {question.kind for question in found.questions} == {"true_false"}
    assert list(answers(found).values()) == ["true", "false"]


def test_the_order_of_mixed_choices_does_not_depend_on_which_is_right(tmp_path: Path) -> None:
    texts = ["ice", "fire", "air", "smoke"]
    orders = set()
    for right in texts:
        row = {"question": "Which?", "correct_answer": right, "distractors": [text for text in texts if text != right]}
        (question,) = read(lines(tmp_path / "q.jsonl", row)).questions
        orders.add(tuple(question.choices.values()))
    assert orders == {tuple(hash_order("Which?", texts))}


@pytest.mark.parametrize("name", LAYOUTS)
def test_converted_questions_are_read_as_the_same(tmp_path: Path, name: str) -> None:
    first = read(_written(name, tmp_path))
    write_records(tmp_path / "again.jsonl", flat_lines(first))
    again = read(tmp_path / "again.jsonl")
    assert (again.questions, again.golds) == (first.questions, first.golds)
    assert question_stats(again) == question_stats(first)


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "question", "choices", "answer", "type", "split", "A", "B", "wrong", "x", "image"]),
            HOSTILE,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_json_is_questions_or_an_error_of_ours(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    path = lines(tmp_path_factory.getbasetemp() / "any.jsonl", *rows)
    with suppress(EduRagError):
        assert read(path).questions


@given(HOSTILE)
def test_any_cell_of_choices_or_texts_is_read_or_refused(value: Any) -> None:
    readers: list[Callable[[Any], Any]] = [choices_of, texts_of]
    for reader in readers:
        with suppress(EduRagError):
            assert isinstance(reader(value), list)


@pytest.mark.parametrize(
    "cell",
    [
        "{'a': array([" + "array([" * 14_000,
        "[" + "-" * 99_000 + "1]",
        "[" * 99_000,
        "[" + "not " * 24_000 + "1]",
        "[" + "9" * 99_000 + "]",
        "{1:" * 33_000,
        "[" * 200_000,
        "['" + "\\'" * 49_000,
        "[" + "'a' " * 24_000,
    ],
    ids=["arrays", "signs", "brackets", "words", "digits", "maps", "too long", "escapes", "texts"],
)
def test_a_cell_made_to_exhaust_a_parser_is_refused(cell: str) -> None:
    with pytest.raises(EduRagError):
        choices_of(cell)


def test_no_option_is_no_map() -> None:
    assert parse_map([]) is None
    assert parse_map(["question=a, b"]) == ColumnMap(columns={"question": ("a", "b")})
