"""Metadata for the pages of models: written and read back with the Hub library's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from publishing_results import card, facts, full, put

from edu_rag.errors import ConfigError
from publishing.commands import publish
from publishing.eval_results import benchmarks_of, model_of, write_eval_results
from publishing.results_tables import PublishRequest, WrittenResults, write_results

SHA = "5503434ddd753f426f4b38109466949a1217c2bb"
KNOWN = benchmarks_of([f"tiny@1.2.0=school/tiny@{SHA}"], None, is_asked=True)
MODEL = "tiny-lab/tiny-1b"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    put(folder, card(facts("one-model", models=(MODEL, "a private encoder"), name="Ours\x1b[31m\n: - {x}")), full())
    put(folder, card(facts("one-model", models=(MODEL,)), sample="stratified-8-seed-0"), full())
    put(folder, card(facts("two-models", models=(MODEL, "tiny-lab/other"))), full())
    put(folder, card(facts("no-model", models=("GPT something",))), full())
    put(folder, card(facts("taken-back", models=(MODEL,), withdrawn="a fault")), full())
    put(folder, card(facts("elsewhere", models=(MODEL,)), dataset="huge@1.0.0#0123abcd"), full())
    return folder


def made(results: Path, tmp_path: Path) -> WrittenResults:
    (tmp_path / "out").mkdir(exist_ok=True)
    return write_results(tmp_path / "out", PublishRequest(results=results, repo="school/results"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_only_systems_with_one_model_of_the_hub_on_a_known_whole_split_get_metadata(
    results: Path, tmp_path: Path
) -> None:
    assert write_eval_results(tmp_path / "meta", made(results, tmp_path), KNOWN) == "metadata of 1 models"
    written = sorted(str(path.relative_to(tmp_path / "meta")) for path in (tmp_path / "meta").rglob("*.yaml"))
    assert written == [
        "benchmarks/tiny-1.2.0/eval.yaml",
        "models/one-model/.eval_results/edu-rag.yaml",
        "models/one-model/model-index.yaml",
    ]


def test_entries_read_back_through_the_library_of_the_hub(results: Path, tmp_path: Path) -> None:
    from huggingface_hub import EvalResultEntry, parse_eval_result_entries

    write_eval_results(tmp_path / "meta", made(results, tmp_path), KNOWN)
    values = read(tmp_path / "meta/models/one-model/.eval_results/edu-rag.yaml")
    score, accuracy = parse_eval_result_entries(values)
    assert isinstance(score, EvalResultEntry)
    assert (score.task_id, score.value, accuracy.task_id, accuracy.value) == ("val_score", 0.125, "val_accuracy", 0.375)
    assert (score.dataset_id, score.dataset_revision, score.date) == ("school/tiny", SHA, "2026-11-22T08:00:00Z")
    assert score.source_url == "https://huggingface.co/datasets/school/results"
    assert score.source_org == "school"
    assert "n = 8: score +0.125 (95 % interval -0.500 to +0.500)" in str(score.notes)
    assert "Ours [31m : - {x}" in str(score.notes)
    assert str(score.notes).isprintable()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "Predictions handed in;"),
        ({"caps": {"sandbox": "bubblewrap"}}, "by the benchmark's harness in its sandbox;"),
        ({"caps": {"sandbox": "none"}}, "by the benchmark's harness without a sandbox;"),
        ({"rerun": {"own": True}}, "by the benchmark's harness without a sandbox;"),
        ({"rerun": {"own": False, "n": 20, "n_same": 20}}, "Predictions handed in;"),
    ],
)
def test_a_page_of_a_model_says_who_made_the_predictions_and_no_more(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    put(tmp_path / "results", card(facts("one-model", models=(MODEL,)), **more), full())
    write_eval_results(tmp_path / "meta", made(tmp_path / "results", tmp_path), KNOWN)
    assert all(said in entry["notes"] for entry in read(tmp_path / "meta/models/one-model/.eval_results/edu-rag.yaml"))


def test_each_task_of_an_entry_stands_in_the_eval_yaml_of_the_benchmark(results: Path, tmp_path: Path) -> None:
    write_eval_results(tmp_path / "meta", made(results, tmp_path), KNOWN)
    values = read(tmp_path / "meta/benchmarks/tiny-1.2.0/eval.yaml")
    entries = read(tmp_path / "meta/models/one-model/.eval_results/edu-rag.yaml")
    assert {entry["dataset"]["task_id"] for entry in entries} == {task["id"] for task in values["tasks"]}
    assert {(task["config"], task["split"]) for task in values["tasks"]} == {("questions", "val")}
    assert set(values) == {"name", "description", "evaluation_framework", "tasks"}


def test_the_model_index_reads_back_through_the_library_of_the_hub(results: Path, tmp_path: Path) -> None:
    from huggingface_hub.repocard_data import model_index_to_eval_results

    write_eval_results(tmp_path / "meta", made(results, tmp_path), KNOWN)
    header = read(tmp_path / "meta/models/one-model/model-index.yaml")
    name, found = model_index_to_eval_results(header["model-index"])
    assert name == "tiny-1b"
    assert [(one.metric_type, one.metric_value, one.dataset_type) for one in found] == [
        ("score", 0.125, "school/tiny"),
        ("accuracy", 0.375, "school/tiny"),
    ]
    assert {(one.dataset_split, one.dataset_revision) for one in found} == {("val", SHA)}


@pytest.mark.parametrize(
    ("models", "model"),
    [
        ((MODEL,), MODEL),
        ((MODEL, MODEL), MODEL),
        (("all-MiniLM-L6-v2", MODEL), MODEL),
        ((MODEL, "a/b"), None),
        (("Gemma 3 270M Q4_K_M",), None),
        (("https://evil.example/a/b",), None),
        (("../up",), None),
        (("a/b\n- dataset:",), None),
        ((), None),
    ],
)
def test_a_system_has_a_model_page_only_if_it_names_exactly_one_id_of_the_hub(
    models: tuple[str, ...], model: str | None
) -> None:
    assert model_of(card(facts("any-system", models=models))) == model


@pytest.mark.parametrize("text", ["tiny=school/tiny", "tiny@1.2=a/b", "tiny@1.2.0=tiny", "tiny@1.2.0=a/b@main", "x"])
def test_a_benchmark_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--benchmark"):
        benchmarks_of([text], None, is_asked=True)


def test_the_command_writes_them_beside_a_dry_run_and_needs_to_know_the_benchmark(
    results: Path, tmp_path: Path
) -> None:
    options = [str(results), "--repo", "school/results", "--dry-run", "--eval-results", str(tmp_path / "meta")]
    refused = CliRunner().invoke(publish, options)
    assert "where the dataset is on the Hub" in str(refused.exception)
    done = CliRunner().invoke(publish, [*options, "--benchmark", "tiny@1.2.0=school/tiny"])
    assert done.exit_code == 0
    entry = read(tmp_path / "meta/models/one-model/.eval_results/edu-rag.yaml")[0]
    assert entry["dataset"] == {"id": "school/tiny", "task_id": "val_score"}
    again = CliRunner().invoke(publish, [*options, "--benchmark", "tiny@1.2.0=school/tiny"])
    assert "is not empty" in str(again.exception)


def test_the_board_says_where_its_datasets_are(results: Path, tmp_path: Path) -> None:
    board = tmp_path / "board.toml"
    board.write_text(
        'baselines_team = "us"\n[[datasets]]\nname = "tiny"\nversion = "1.2.0"\nsplit = "val"\nsamples = ["whole"]\n'
        f'content_sha256 = "{"0" * 64}"\nhub = "school/tiny"\nrevision = "{SHA}"\nmanifest_sha256 = "{"1" * 64}"\n'
    )
    options = [str(results), "--repo", "school/results", "--dry-run", "--eval-results", str(tmp_path / "meta")]
    done = CliRunner().invoke(publish, [*options, "--board", str(board)])
    assert done.exit_code == 0
    entry = read(tmp_path / "meta/models/one-model/.eval_results/edu-rag.yaml")[0]
    assert entry["dataset"] == {"id": "school/tiny", "task_id": "val_score", "revision": SHA}
