"""`edu-rag dataset export --to inspect | lm-eval | beir | trec`, without the packages: tests/frameworks runs these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from builder_dataset import FISH, ICE, LAVA, ask, page, tables, write
from click.testing import CliRunner, Result

from builder.exports.retrieval_folders import judgements
from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, Question
from harness.judging.grade_row import grade_row

END_OF_DOCUMENT = "</TEXT>\n</DOC>\n<DOC>\n<DOCNO>p0</DOCNO>\n& more"


def dataset(folder: Path) -> Path:
    """The small dataset, with free text, a home page, and a page that would end its document."""
    made = tables()
    made["questions"]["val"].append(
        Question(question_id="q3", text="How many legs has a fly?", choices={}, kind="free_text", split="val")
    )
    made["gold"]["val"].append(Gold(question_id="q3", texts=("6", "six")))
    made["pages"]["val"].append(page(FISH, END_OF_DOCUMENT))
    home = Evidence(question_id="q2", page_id=page(ICE).page_id, start=0, end=5, method=HOME_PAGE)
    made["evidence"]["val"].append(home)
    return write(folder, made)


def invoked(ds: Path, target: str, out: Path, *words: str, split: str = "val") -> Result:
    return CliRunner().invoke(
        root, ["dataset", "export", str(ds), "--split", split, "--to", target, "--out", str(out), *words]
    )


def exported(ds: Path, target: str, *words: str, split: str = "val") -> Path:
    out = ds.parent / target
    done = invoked(ds, target, out, *words, split=split)
    if done.exception is not None:
        raise done.exception
    return out


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def ds(tmp_path: Path) -> Path:
    return dataset(tmp_path / "ds")


def test_every_question_is_in_a_task_with_its_gold_and_its_clean_pages(ds: Path) -> None:
    by_id = {row["id"]: row for row in rows(exported(ds, "lm-eval") / "questions.jsonl")}
    assert by_id.keys() == {"q1", "q2", "q3"}
    assert (by_id["q1"]["target"], by_id["q1"]["choices"]) == ("A", ["lava", "ice", "milk"])
    assert "Lava flows down the volcano." in by_id["q1"]["pages"]
    assert "Ice is frozen water" not in by_id["q2"]["pages"]  # that page leaks a question
    assert by_id["q3"]["accepted"] == ["6", "six"]
    assert by_id["q3"]["pages"] == ""


def test_a_task_is_graded_as_edu_rag_score_grades(ds: Path) -> None:
    folder = exported(ds, "inspect")
    (choices, _), (free_text,) = rows(folder / "choices.jsonl"), rows(folder / "free_text.jsonl")
    said = ("The answer is a.", "ANSWER: B", "I don't know.", "A or B", "")
    outcomes = [grade_row(choices, answer).outcome for answer in said]
    assert outcomes == ["correct", "incorrect", "abstained", "unparseable", "abstained"]
    assert grade_row(choices, "ANSWER: B").rates == {
        "accuracy": 0.0,
        "hallucination": 1.0,
        "missing": 0.0,
        "score": -1.0,
        "unjudged": 0.0,
    }
    assert grade_row(choices, "ANSWER: B").label == "b"
    assert grade_row(free_text, "six").outcome == "correct"
    open_ = grade_row(free_text, "It depends on what one calls a leg of a fly.")
    assert (open_.outcome, open_.rates["unjudged"], sum(open_.rates.values())) == ("unjudged", 1.0, 1.0)
    with pytest.raises(DataError, match="export the task again"):
        grade_row({"id": "q1"}, "a")


def test_eval_yaml_names_fields_solvers_and_scorers_of_each_kind_of_question(ds: Path) -> None:
    folder = exported(ds, "inspect")
    values = yaml.safe_load((folder / "eval.yaml").read_text(encoding="utf-8"))
    assert [task["id"] for task in values["tasks"]] == [
        "choices_with_pages",
        "choices_without_pages",
        "free_text_with_pages",
        "free_text_without_pages",
    ]
    asked = values["tasks"][0]
    assert asked["field_spec"] | {"choices": "choices", "input": "question", "target": "target"} == asked["field_spec"]
    assert [solver["name"] for solver in asked["solvers"]] == ["prompt_template", "multiple_choice"]
    header = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert [config["config_name"] for config in header["configs"]] == ["choices", "free_text"]


def test_both_tasks_of_generated_answers_and_the_one_of_likelihood_have_names_of_their_dataset(ds: Path) -> None:
    folder = exported(ds, "lm-eval")
    names = ["edu_rag_small_val", "edu_rag_small_val_likelihood", "edu_rag_small_val_without_pages"]
    assert sorted(path.stem for path in folder.glob("*.yaml")) == names


def test_a_beir_folder_holds_all_pages_and_questions_and_both_kinds_of_relevance(ds: Path) -> None:
    folder = exported(ds, "beir")
    assert {row["_id"] for row in rows(folder / "corpus.jsonl")} == {page(url).page_id for url in (LAVA, ICE, FISH)}
    assert [row["_id"] for row in rows(folder / "queries.jsonl")] == ["q1", "q2", "q3"]
    qrels = {path.stem: path.read_text().splitlines()[1:] for path in (folder / "qrels").iterdir()}
    lava, ice = (page(url).page_id for url in (LAVA, ICE))
    assert qrels == {
        "val": [f"q1\t{lava}\t1", f"q2\t{ice}\t1"],
        "val-evidence": [f"q1\t{lava}\t1"],
        "val-home": [f"q2\t{ice}\t1"],
    }


def test_no_page_ends_its_trec_document_or_begins_another(ds: Path) -> None:
    folder = exported(ds, "trec")
    lines = (folder / "documents.trec").read_text(encoding="utf-8").splitlines()
    assert lines.count("<DOC>") == lines.count("</DOC>") == lines.count("</TEXT>") == 3
    assert "&lt;DOCNO&gt;p0&lt;/DOCNO&gt;" in lines
    assert (folder / "qrels.txt").read_text().splitlines()[0] == f"q1 0 {page(LAVA).page_id} 1"
    assert (folder / "topics.tsv").read_text().splitlines()[0] == "q1\tWhat flows down a volcano?"


def test_an_export_is_the_same_bytes_again(ds: Path) -> None:
    for target in ("inspect", "lm-eval", "beir", "trec"):
        first = {path.name: path.read_bytes() for path in exported(ds, target).rglob("*") if path.is_file()}
        again = ds.parent / "again" / target
        again.parent.mkdir(exist_ok=True)
        assert invoked(ds, target, again).exit_code == 0
        assert {path.name: path.read_bytes() for path in again.rglob("*") if path.is_file()} == first


def test_a_folder_with_files_is_never_overwritten(ds: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    error = invoked(ds, "beir", tmp_path / "kept").exception
    assert isinstance(error, ConfigError)
    assert "is not an empty folder" in str(error)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]


def test_an_option_without_effect_is_wrong_usage(ds: Path, tmp_path: Path) -> None:
    done = invoked(ds, "beir", tmp_path / "out", "--max-characters", "900")
    assert done.exit_code == 2
    assert "--max-characters has no effect with --to beir" in done.output
    assert invoked(ds, "inspect", tmp_path / "out", "--kind", "qa").exit_code == 2


def test_a_split_without_what_a_format_needs_leaves_nothing_behind(tmp_path: Path) -> None:
    made = tables()
    for config in ("gold", "evidence"):
        del made[config]["val"]
    hidden = write(tmp_path / "ds", made)
    for target, what in (
        ("inspect", "the gold of split 'val' is not here"),
        ("trec", "no page is known to be relevant"),
    ):
        error = invoked(hidden, target, tmp_path / "out").exception
        assert isinstance(error, DataError)
        assert what in str(error)
        assert not (tmp_path / "out").exists()
        assert not list(tmp_path.glob(".*"))


def test_a_dataset_without_pages_names_the_formats_that_need_none(tmp_path: Path) -> None:
    made = tables()
    for config in ("pages", "hits", "evidence"):
        made[config]["val"] = []
    error = invoked(write(tmp_path / "ds", made), "trec", tmp_path / "out").exception
    assert str(error).endswith(
        "split 'val' has no pages, and these formats are for retrieval: build the dataset with an engine, or export it "
        "to inspect or lm-eval"
    )


def test_a_question_id_with_a_blank_is_refused_where_a_blank_ends_a_column(tmp_path: Path) -> None:
    made = tables()
    made["questions"]["val"].append(ask("q 9", "What flows?", "lava", "ice"))
    made["gold"]["val"].append(Gold(question_id="q 9", answer="a"))
    error = invoked(write(tmp_path / "ds", made), "trec", tmp_path / "out").exception
    assert isinstance(error, DataError)
    assert "'q 9' has a blank" in str(error)


def test_the_judgements_are_those_that_retrieval_is_scored_by(ds: Path) -> None:
    found = judgements(Dataset(ds), "val")
    assert found.evidence == {"q1": {page(LAVA).page_id}}
    assert found.home == {"q2": {page(ICE).page_id}}
