"""`edu-rag import`: tables of other programs become predictions, or one clear line a fault."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from edu_rag.errors import ConfigError, RecordError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from harness.commands.import_command import import_
from harness.importing.detect_format import require_own_form
from harness.importing.find_question import QuestionFinder
from harness.importing.foreign_answer import wished_columns
from harness.importing.other_choices import in_our_labels, label_map
from harness.submission.folder import open_submission
from harness.submission.run_record import record_path
from tests.harness.import_calls import import_file, mini_questions, refused, written

pytestmark = pytest.mark.usefixtures("read_in_this_process")

CSV = "id,prediction,confidence,latency_ms\nq001,B,85 %,1500\nq002,I don't know,,20\nq003,,0.1,\n"


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "submissions"


def test_a_csv_becomes_the_predictions_of_a_new_submission(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    done = import_file(written(tmp_path, "a.csv", CSV), tiny, into)
    assert Path(done.path) == into / "my-answers" / "predictions" / "tiny-1.0.0" / "test.jsonl"
    assert done.answers() == {"q001": "B", "q002": "I don't know", "q003": None}
    assert done.predictions["q001"]["confidence"] == 0.85
    assert [row["latency_s"] for row in done.predictions.values()] == [1.5, 0.02, None]
    assert open_submission(into / "my-answers").settings.command == ()
    assert "read as csv: question_id = 'id', answer = 'prediction'" in done.said
    assert "3 of 40 questions: abstained 2, choice 1, no line 37" in done.said
    assert "37 questions have no row and count as failed: q000, q004, q005, q006, q007 and 32 more" in done.said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "qid\tanswer\nq001\tb\nq002\ta\n"),
        ("semicolons.csv", "Question ID;Predicted Answer;Answer\r\nq001;b;x\r\nq002;a;x\r\n"),
        ("utf16.csv", "id,answer\nq001,b\nq002,a\n".encode("utf-16")),
        ("bom.csv", "\ufeffid,answer\nq001,b\nq002,a\n"),
        ("lines.jsonl", '{"id": "q001", "answer": "b", "extra": [1]}\n{"id": "q002", "answer": "a", "extra": []}\n'),
        ("array.json", '[{"query_id": "q001", "response": "b"}, {"query_id": "q002", "response": "a"}]'),
        ("pairs.json", '{"q001": "b", "q002": "a"}'),
        ("nested.json", '{"model": "m", "results": [{"uid": "q001", "pred": "b"}, {"uid": "q002", "pred": "a"}]}'),
        (
            "ragas.csv",
            "user_input,retrieved_contexts,response,reference\nQuestion number 1?,[],b,x\nQuestion number 2?,[],a,x\n",
        ),
        ("deepeval.csv", "input,actual_output,expected_output\nQuestion number 1?,b,x\nQuestion number 2?,a,x\n"),
        ("columns.json", '{"id": ["q001", "q002"], "answer": ["b", "a"]}'),
        ("pandas.json", '{"id": {"0": "q001", "1": "q002"}, "answer": {"0": "b", "1": "a"}}'),
        ("objects.json", '{"q001": {"output": "b", "usage": {}}, "q002": {"output": "a", "usage": {}}}'),
        ("texts.csv", 'question,generated_answer\n"Question number 1?",b\n" question  NUMBER 2?",a\n'),
        ("pandas.csv", ",id,question,answer,prediction\n0,q001,x,c,b\n1,q002,x,c,a\n"),
        ("no_suffix", "id|answer\nq001|b\nq002|a\n"),
    ],
)
def test_a_table_is_read_without_a_flag(
    name: str, content: str | bytes, tiny: Dataset, tmp_path: Path, into: Path
) -> None:
    assert import_file(written(tmp_path, name, content), tiny, into).answers() == {"q001": "b", "q002": "a"}


def test_the_fields_of_a_prediction_come_in_under_the_names_that_programs_use(
    tiny: Dataset, tmp_path: Path, into: Path
) -> None:
    page = next(iter(tiny.pages("test")))
    row = {
        "question_id": "q001",
        "answer": "b",
        "raw_output": "The answer is b.",
        "duration": "2.5",
        "usage": {"prompt_tokens": 120, "completion_tokens": 7},
        "cost": 0.002,
        "passages": [[page, 0, 24]],
        "status": "ok",
    }
    done = import_file(written(tmp_path, "a.jsonl", json.dumps(row)), tiny, into)
    expected = {"response": "The answer is b.", "latency_s": 2.5, "input_tokens": 120, "output_tokens": 7}
    expected |= {"cost_usd": 0.002, "passages": [[page, 0, 24]], "status": "ok"}
    assert {name: done.predictions["q001"][name] for name in expected} == expected


def test_a_key_next_to_predictions_is_never_read_as_the_answer(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    done = import_file(written(tmp_path, "a.csv", "id,answer,gold,prediction\nq001,c,c,b\n"), tiny, into)
    assert done.answers() == {"q001": "b"}
    assert "not read: answer, gold" in done.said


def test_map_names_columns_that_are_not_known(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.jsonl", '{"nr": "q001", "out": {"final": "b"}, "confidence": "high"}\n')
    maps = ("--map", "question_id=nr", "--map", "answer=out.final", "--map", "confidence=")
    done = import_file(file, tiny, into, *maps)
    assert (done.answers(), done.predictions["q001"]["confidence"]) == ({"q001": "b"}, None)


def test_map_reaches_into_lists(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    """As in the output of a batch of chat completions."""
    body = {"choices": [{"message": {"role": "assistant", "content": "b"}}], "usage": {"completion_tokens": 3}}
    row = {"id": "batch_req_7", "custom_id": "q001", "response": {"status_code": 200, "body": body}, "error": None}
    file = written(tmp_path, "batch.jsonl", json.dumps(row))
    (line,) = refused(file, tiny, into)
    assert "answer: is an object, not a text: name the part that is the text: --map answer=COLUMN.NAME" in line
    done = import_file(file, tiny, into, "--map", "answer=response.body.choices.0.message.content")
    assert done.answers() == {"q001": "b"}
    assert (done.predictions["q001"]["response"], done.predictions["q001"]["output_tokens"]) == (None, 3)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (["answer"], "is not FIELD=COLUMN"),
        (["anwser=x"], "'anwser' is not a field"),
        (["answer="], "answer has no column"),
        (["answer=x", "answer=y"], "answer is given twice"),
    ],
)
def test_a_wrong_map_is_refused(said: list[str], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        wished_columns(said)


def test_a_wished_column_that_is_not_there_has_a_suggestion(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", CSV)
    (line,) = refused(file, tiny, into, "--map", "answer=predicton")
    assert line == "--map answer: the file has no column 'predicton': did you mean 'prediction'?"


def test_several_columns_that_could_be_the_answer_are_a_question_to_the_user(
    tiny: Dataset, tmp_path: Path, into: Path
) -> None:
    (line,) = refused(written(tmp_path, "a.csv", "id,prediction,model_answer\nq001,a,b\n"), tiny, into)
    assert "several columns could be the answer: prediction, model_answer: choose one" in line
    assert "--map answer=model_answer" in line


def test_an_answer_next_to_a_response_is_not_guessed_to_be_the_systems(
    tiny: Dataset, tmp_path: Path, into: Path
) -> None:
    """It may be the key, which would score 100 %."""
    file = written(tmp_path, "a.csv", "id,answer,response\nq001,c,b\n")
    (line,) = refused(file, tiny, into)
    assert line.endswith(
        "several columns could be the answer: answer, response: choose one, such as --map answer=response"
    )
    assert import_file(file, tiny, into, "--map", "answer=response").answers() == {"q001": "b"}
    ours = written(tmp_path, "b.csv", "question_id,answer,response,note\nq001,c,I think c,x\n")
    done = import_file(ours, tiny, into, "--force")
    assert (done.answers(), done.predictions["q001"]["response"]) == ({"q001": "c"}, "I think c")


def test_a_file_without_ids_or_answers_says_which_columns_it_has(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    (line,) = refused(written(tmp_path, "a.csv", "row,answer\n1,b\n"), tiny, into)
    assert line.endswith("no column is a question's id or text: it has row, answer: add --map question_id=COLUMN")
    (line,) = refused(written(tmp_path, "b.csv", "id,note\nq001,b\n"), tiny, into)
    assert "no column is an answer: it has" in line


def test_unknown_ids_have_the_closest_known_ones(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    ids = ["q001", "q01", "Q002", "q0003x", "4", *(f"other-{n}" for n in range(100, 104))]
    file = written(tmp_path, "a.csv", "id,answer\n" + "".join(f"{one},a\n" for one in ids))
    lines = refused(file, tiny, into)
    assert lines[0] == f"{file}:3: question_id: unknown question 'q01': did you mean 'q001'?"
    assert lines[1] == f"{file}:4: question_id: unknown question 'Q002': did you mean 'q002'?"
    assert lines[3] == f"{file}:6: question_id: unknown question '4': did you mean 'q004'?"
    assert lines[-1].startswith(f"{file}: 3 more unknown questions: ")
    assert len(lines) == 6
    done = import_file(file, tiny, into, "--skip-unknown")
    assert done.answers() == {"q001": "a"}
    assert "8 rows of unknown questions are left out" in done.said


def test_the_mini_benchmark_suggests_its_ids() -> None:
    finder = QuestionFinder({question.question_id: question for question, _ in mini_questions()}, {})
    for given in ("mini_0001", "MINI_1", "MINI-0001", "1", "MINI_00001"):
        assert finder.suggestion(given) == "MINI_0001", given
    assert finder.suggestion("something else") is None


def test_a_file_of_other_questions_is_one_line(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    rows = "".join(f"NDQ_{n:05},a\n" for n in range(2_000))
    (line,) = refused(written(tmp_path, "a.csv", f"id,answer\n{rows}"), tiny, into)
    assert "none of its 2,000 rows is a question of tiny@1.0.0 (split test)" in line
    assert "it has ids such as 'NDQ_00000', the dataset 'q000': check --dataset" in line


def test_a_repeated_question_is_refused_with_both_lines(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", "id,answer\nq001,a\nq002,b\nq001,a\n")
    (line,) = refused(file, tiny, into)
    assert line == f"{file}:4: question_id: 'q001' is repeated, first at a.csv:2: keep one row for each question"


def test_all_faults_are_listed_and_equal_ones_are_grouped(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    rows = [f"q{n:03},a,{value}" for n, value in enumerate(["high", "low", "0.5", "3", "nan", "-1"])]
    lines = refused(written(tmp_path, "a.csv", "\n".join(["id,answer,confidence", *rows])), tiny, into)
    assert len(lines) == 3
    assert "confidence: 'high' is not a number (and 2 more rows with this fault): write a number, or" in lines[0]
    assert "confidence: 3.0 is above 1" in lines[1]
    assert "confidence: -1.0 is not a finite number >= 0" in lines[2]


def test_a_number_of_a_choice_is_read_when_its_base_is_given(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", "id,answer\nq001,1\nq002,3\nq003,0\n")
    done = import_file(file, tiny, into)
    assert "WARNING: " in done.said
    assert "unparseable 3 of 3: most answers name no single choice: most are numbers" in done.said
    done = import_file(file, tiny, into, "--index-base", 0, "--force")
    assert done.answers() == {"q001": "b", "q002": "d", "q003": "a"}
    assert "WARNING" not in done.said
    (line,) = import_file(file, tiny, into, "--index-base", 1, "--force").said.splitlines()
    assert line.endswith("answer: choice number 0 of a question with 5 choices: check --index-base 1")


def test_answers_that_cannot_be_read_are_a_warning_with_examples(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    rows = "".join(f"q{n:03},either a or b\n" for n in range(14))
    done = import_file(written(tmp_path, "a.csv", f"id,answer\n{rows}"), tiny, into)
    assert "unparseable 14 of 14: most answers name no single choice: answer with the label alone" in done.said
    assert "q000: 'either a or b'" in done.said


def test_existing_predictions_are_replaced_with_force_only(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    first, second = written(tmp_path, "a.csv", "id,answer\nq001,a\n"), written(tmp_path, "b.csv", "id,answer\nq001,b\n")
    path = Path(import_file(first, tiny, into).path)
    settings = into / "my-answers" / "submission.toml"
    settings.write_text(settings.read_text().replace("My system", "Ours"))
    assert import_file(second, tiny, into).said == f"{path}: exists already: add --force to replace it"
    assert json.loads(path.read_text())["answer"] == "a"
    record_path(path).write_text("{}")
    done = import_file(second, tiny, into, "--force")
    assert done.answers() == {"q001": "b"}
    assert f"removed {record_path(path)}" in done.said
    assert not record_path(path).exists()
    assert "Ours" in settings.read_text()


@pytest.mark.parametrize("slug", ["template", "My System", "../outside", "blind-a", "ab"])
def test_a_slug_that_cannot_be_is_refused_before_the_file_is_read(
    slug: str, tiny: Dataset, tmp_path: Path, into: Path
) -> None:
    done = import_file(written(tmp_path, "a.csv", CSV), tiny, into, slug=slug)
    assert done.code == 1
    assert not into.exists()


def test_nothing_is_written_through_a_link(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", CSV)
    import_file(file, tiny, into)
    predictions = into / "my-answers" / "predictions"
    outside = tmp_path / "outside"
    predictions.rename(outside)
    predictions.symlink_to(outside)
    done = import_file(file, tiny, into, "--force")
    assert "is a link or inside a linked folder" in done.said


def test_a_sample_takes_its_own_questions_out_of_a_whole_file(
    tiny: Dataset, gold: dict[str, str], tmp_path: Path, into: Path
) -> None:
    rows = "".join(f"{question_id},{label}\n" for question_id, label in gold.items())
    done = import_file(written(tmp_path, "a.csv", f"id,answer\n{rows}"), tiny, into, "--sample", 12, "--seed", 3)
    assert Path(done.path).name == "test-stratified-12-seed-3.jsonl"
    assert len(done.predictions) == 12
    assert "28 rows are questions outside of this sample" in done.said
    assert "--sample 12 --seed 3" in done.said


def test_a_text_of_another_question_than_the_id_is_a_fault(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", "id,question,answer\nq001,Question number 2?,a\nq002,Question number 2?,b\n")
    (line,) = refused(file, tiny, into)
    assert "a.csv:2: question_id: 'q001' has the text of another question, 'q002'" in line


def test_an_error_in_place_of_an_answer_is_a_failed_question(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    lines = ['{"id": "q001", "answer": "b", "error": null}', '{"id": "q002", "answer": null, "error": "no memory"}']
    done = import_file(written(tmp_path, "a.jsonl", "\n".join(lines)), tiny, into)
    assert [row["status"] for row in done.predictions.values()] == ["ok", "crash"]
    assert done.predictions["q002"]["response"] == "no memory"


def test_the_order_of_rows_does_not_change_a_byte(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    rows = ["q003,a", "q001,b", "q002,c"]
    first = Path(import_file(written(tmp_path, "a.csv", "\n".join(["id,answer", *rows])), tiny, into).path).read_bytes()
    other = written(tmp_path, "b.csv", "\n".join(["id,answer", *reversed(rows)]))
    assert Path(import_file(other, tiny, into, "--force").path).read_bytes() == first


def test_predictions_in_our_form_stay_the_same_bytes(
    tiny: Dataset, write_lines: Callable[..., Path], into: Path
) -> None:
    page = next(iter(tiny.pages("test")))
    full = {
        "question_id": "q001",
        "answer": "b",
        "response": "It is b.",
        "confidence": 0.5,
        "passages": [[page, 0, 24]],
    }  # a row of a run has only the fields that say something
    full |= {"latency_s": 0.25, "input_tokens": 3, "output_tokens": 1, "cost_usd": 0.002, "energy_j": 1.5}
    failed = {"question_id": "q002", "answer": None, "response": "no memory", "status": "crash"}
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in (full, failed)]
    done = import_file(write_lines(lines), tiny, into)
    assert Path(done.path).read_text(encoding="utf-8") == "".join(lines)


def test_free_text_is_imported_as_it_is(build_dataset: Callable[..., Dataset], tmp_path: Path, into: Path) -> None:
    asked = [
        Question(question_id=f"f{n}", text=f"Why {n}?", choices={}, kind="free_text", split="test") for n in (1, 2)
    ]
    dataset = build_dataset(tmp_path / "free", asked, {}, name="free")
    done = import_file(written(tmp_path, "a.csv", "id,answer\nf1,heat\nf2,light\n"), dataset, into)
    assert done.answers() == {"f1": "heat", "f2": "light"}
    assert "2 of 2 questions: text 2" in done.said


def test_the_key_of_a_file_of_questions_is_not_imported_as_answers(
    tiny: Dataset, gold: dict[str, str], tmp_path: Path, into: Path
) -> None:
    rows = [{"id": one, "question": f"Question number {int(one[1:])}?", "answer": key} for one, key in gold.items()]
    file = written(tmp_path, "questions.json", json.dumps(rows))
    (line,) = refused(file, tiny, into)
    assert "all 40 answers are the gold, as in a file of questions" in line
    assert line.endswith("--map answer=COLUMN, or add --all-correct if they are your system's")
    assert len(import_file(file, tiny, into, "--all-correct").predictions) == 40
    one_left_out = [rows[0] | {"answer": None}, *rows[1:]]
    done = import_file(written(tmp_path, "a.json", json.dumps(one_left_out)), tiny, into, "--force")
    assert (done.code, "all 39 answers are the gold" in done.said) == (1, True)
    one_wrong = [rows[0] | {"answer": "IDK"}, *rows[1:]]  # 97.5 %
    done = import_file(written(tmp_path, "a.json", json.dumps(one_wrong)), tiny, into, "--force")
    assert (done.code, "are the gold" in done.said) == (0, False)


def test_a_key_of_which_one_in_a_hundred_is_changed_is_still_a_key(
    build_dataset: Callable[..., Dataset], tmp_path: Path, into: Path
) -> None:
    both = mini_questions()
    keys = {question.question_id: key for question, key in both}
    dataset = build_dataset(tmp_path / "dataset", [question for question, _ in both], keys)
    for n_other, said in ((1, "149 of 150 answers (99.3 %) are the gold"), (2, "")):
        changed = keys | dict.fromkeys(list(keys)[:n_other], "IDK")
        done = import_file(written(tmp_path, "a.json", json.dumps(changed)), dataset, into)
        assert (done.code, said in done.said, "--all-correct" in done.said) == (bool(said), True, bool(said))


def test_a_few_answers_that_are_all_right_are_imported_with_a_warning(
    tiny: Dataset, gold: dict[str, str], tmp_path: Path, into: Path
) -> None:
    texts = {question.question_id: question.choices for question in tiny.questions("test")}
    first = {one: texts[one][gold[one]].upper() for one in list(gold)[:5]}
    done = import_file(written(tmp_path, "a.json", json.dumps(first)), tiny, into)
    assert "WARNING: " in done.said
    assert "all 5 answers are the gold" in done.said


SHUFFLED = {"id": "q001", "prediction": "C"}  # osmosis, mitosis, meiosis: of the dataset, meiosis is a


@pytest.mark.parametrize(
    "row",
    [
        SHUFFLED | {"A": "osmosis", "B": "mitosis", "C": "meiosis"},
        SHUFFLED | {"option_a": "osmosis", "option_b": "mitosis", "option_c": "meiosis", "option_d": ""},
        SHUFFLED | {"C": "meiosis", "A": "osmosis", "B": "mitosis"},
        SHUFFLED | {"options": ["osmosis", "mitosis", "meiosis"]},
        SHUFFLED | {"choices": {"C": "meiosis", "A": "osmosis", "B": "mitosis"}},
        SHUFFLED | {"choices": '["osmosis", "mitosis", "meiosis"]'},
    ],
)
def test_letters_of_choices_that_a_table_lists_in_another_order_become_our_labels(
    tiny: Dataset, tmp_path: Path, into: Path, row: dict[str, object]
) -> None:
    file = written(tmp_path, "a.json", json.dumps([row]))
    assert import_file(file, tiny, into).answers() == {"q001": "a"}
    assert import_file(file, tiny, into, "--map", "choices=", "--force").answers() == {"q001": "C"}


@pytest.mark.parametrize(
    ("ours", "listed", "labels"),
    [
        (["AA", "Aa", "BB"], ["Aa", "AA", "BB"], {"a": "b", "b": "a", "c": "c"}),
        (["AA", "Aa", "BB"], ["bb", "Aa", "AA"], {"a": "c", "b": "b", "c": "a"}),
        (["AA", "Aa", "BB"], ["AA", " Aa", "BB"], None),
        (["AA", "Aa", "BB"], ["AA", "Aa", "bb"], {"a": "a", "b": "b", "c": "c"}),
        (["x", "y"], ["X", "Y"], None),
        (["x", "x", "y"], ["X", "X", "Y"], None),
        (["AA", "Aa", "BB"], ["aa", "aa", "BB"], "leave open which is which"),
        (["AA", "Aa", "BB"], ["AA", "aA", "BB"], "leave open which is which"),
        (["x", "x", "y"], ["y", "x", "x"], "leave open which is which"),
        (["x", "y"], ["x", "y", "y"], "are not those of question"),
        (["x", "x", "y"], ["x", "y", "y"], "are not those of question"),
    ],
)
def test_choices_are_matched_by_their_exact_text_first(
    ours: list[str], listed: list[str], labels: dict[str, str] | str | None
) -> None:
    choices = dict(zip("abc", ours, strict=False))
    question = Question(question_id="q", text="Which?", choices=choices, kind="multiple_choice", split="test")
    if isinstance(labels, str):
        with pytest.raises(RecordError, match=labels):
            label_map(listed, question)
    else:
        assert label_map(listed, question) == labels
        assert in_our_labels("A", listed, question) == (labels["a"] if labels else "A")


def test_columns_of_letters_that_hold_no_choices_are_not_read(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    scores = SHUFFLED | {"A": 0.1, "B": 0.2, "C": 0.7}
    done = import_file(written(tmp_path, "a.json", json.dumps([scores])), tiny, into)
    assert done.answers() == {"q001": "C"}
    assert "not read: A, B, C" in done.said
    (line,) = refused(written(tmp_path, "b.json", json.dumps([scores])), tiny, tmp_path / "b", "--map", "choices=A,B,C")
    assert "are not those of question 'q001'" in line


def test_options_without_an_effect_are_refused(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    file = written(tmp_path, "a.csv", CSV)
    assert refused(file, tiny, into, "--pick", "letter")[0].startswith("--pick: has no effect on csv")
    run = written(tmp_path, "a.run", "q001 Q0 p0 1 1 x\n")
    assert refused(run, tiny, into, "--map", "answer=x")[0].startswith("--map: has no effect on trec")


def test_a_parquet_file_is_refused_with_what_to_do(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    (line,) = refused(tiny.files("questions", "test")[0], tiny, into)
    assert line.endswith("is a Parquet file: save it as CSV or as JSON lines")


def test_only_files_that_import_or_a_run_reads_are_sent_there(tmp_path: Path) -> None:
    for name, content in (
        ("a.jsonl.gz", gzip.compress(b'{"question_id": "q001", "answer": "b"}\n')),
        ("nul.jsonl", b'\0{"question_id": "q001", "answer": "b"}\n'),
        ("comment.jsonl", b'# mine\n{"question_id": "q001", "answer": "b"}\n'),
        ("own.jsonl", b'{"question_id": "q001", "answer": "b"}\n'),
        ("long.jsonl", b'{"question_id": "q001", "answer": "%s"}\n' % (b"b" * 200_000)),
        ("blank.jsonl", b"\n" * 200_000 + b'{"question_id": "q001", "answer": "b"}\n'),
    ):
        (tmp_path / name).write_bytes(content)
        require_own_form(tmp_path / name)
    for name, content, remedy in (
        ("a table.csv", "id,answer\nq001,b\n".encode("utf-16"), "`edu-rag import FILE "),
        ("log.eval", b"PK\x03\x04\0\0", "`edu-rag import FILE "),
        ("long.json", b'\xef\xbb\xbf\n{"doc": "%s"}\n' % (b"b" * 200_000), "`edu-rag import FILE "),
        ("blank.csv", b"\n" * 200_000 + b"id,answer\nq001,b\n", "`edu-rag import FILE "),
        ("wide.csv", ("\n" * 60_000 + "id,answer\nq001,b\n").encode("utf-16"), "`edu-rag import FILE "),
        ("braces.trec", b"{q001} Q0 p1 1 0.5 x\n", "`edu-rag score --run "),
        ("a run; x.trec", b"q001 Q0 p1 1 0.5 x\n", f"`edu-rag score --run '{tmp_path / 'a run; x.trec'}'`"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SubmissionError) as caught:
            require_own_form(tmp_path / name)
        assert remedy in str(caught.value)


def test_it_works_without_forks(tiny: Dataset, tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems other than Linux, where the child is a fresh interpreter that gets the questions by pickle."""
    from edu_rag.processes import bounded_child

    monkeypatch.setattr(bounded_child, "_inside", False)
    monkeypatch.setattr(bounded_child, "can_fork", lambda: False)
    assert len(import_file(written(tmp_path, "a.csv", CSV), tiny, into).predictions) == 3


def test_help_has_an_example() -> None:
    text = CliRunner().invoke(import_, ["--help"]).output
    assert "Example:" in text
    assert "edu-rag import answers.csv --dataset demo/dataset" in text
