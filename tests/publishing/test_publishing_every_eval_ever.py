"""Scorecards as records of Every Eval Ever: valid by its schema, and true to the scorecards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator
from publishing_results import card, facts, full, put

from edu_rag.errors import ConfigError
from publishing.commands import publish
from publishing.eval_results import benchmarks_of
from publishing.every_eval_ever import write_every_eval_ever
from publishing.results_tables import PublishRequest, write_results

SCHEMA = json.loads((Path(__file__).parent / "every_eval_ever" / "eval.schema.json").read_text(encoding="utf-8"))
ROOT = Path(__file__).resolve().parents[2]
KNOWN = benchmarks_of(["tiny@1.2.0=school/tiny"], None, is_asked=True)
PLACE = re.compile(
    r"data/edu-rag/edu-rag/[a-z0-9-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
)


def assert_valid(record: object) -> None:
    faults = [
        f"{'/'.join(map(str, error.path))}: {error.message}" for error in Draft7Validator(SCHEMA).iter_errors(record)
    ]
    assert faults == []


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    put(folder, card(facts("one-model", models=("tiny-lab/tiny-1b",), name="Ours\x1b[31m\n{x}", team="Us")), full())
    put(folder, card(facts("one-model"), sample="stratified-8-seed-0", caps={"sandbox": "bubblewrap"}), full())
    put(folder, card(facts("taken-back", withdrawn="a fault")), full())
    put(folder, card(facts("elsewhere"), dataset="huge@1.0.0#0123abcd", scored_at=""), full())
    return folder


def records(results: Path, tmp_path: Path) -> dict[str, dict[str, Any]]:
    (tmp_path / "out").mkdir()
    made = write_results(tmp_path / "out", PublishRequest(results=results, repo="school/results"))
    write_every_eval_ever(tmp_path / "eee", made, KNOWN, "Us")
    paths = sorted((tmp_path / "eee").rglob("*.json"))
    assert all(PLACE.fullmatch(path.relative_to(tmp_path / "eee").as_posix()) for path in paths)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return {record["evaluation_id"].partition("/")[0] + " " + record["model_info"]["id"]: record for record in found}


def test_every_record_is_valid_by_the_schema(results: Path, tmp_path: Path) -> None:
    found = records(results, tmp_path)
    assert sorted(found) == [
        "edu-rag.huge-1.0.0.val edu-rag/elsewhere",
        "edu-rag.tiny-1.2.0.val edu-rag/one-model",
        "edu-rag.tiny-1.2.0.val-stratified-8-seed-0 edu-rag/one-model",
    ]
    for record in found.values():
        assert_valid(record)


def test_a_record_has_the_rates_and_intervals_of_its_scorecard(results: Path, tmp_path: Path) -> None:
    record = records(results, tmp_path)["edu-rag.tiny-1.2.0.val edu-rag/one-model"]
    by_name = {one["metric_config"]["metric_kind"]: one for one in record["evaluation_results"]}
    scores = {name: one["score_details"]["score"] for name, one in by_name.items()}
    assert scores == {"score": 0.125, "accuracy": 0.375, "hallucination": 0.25, "missing": 0.375}
    assert by_name["score"]["score_details"]["uncertainty"]["confidence_interval"]["lower"] == -0.5
    assert by_name["hallucination"]["metric_config"]["lower_is_better"] is True
    assert by_name["score"]["source_data"]["hf_repo"] == "school/tiny"
    assert by_name["score"]["score_details"]["details"]["failed"] == "1"
    assert record["model_info"]["name"] == "Ours [31m {x}"
    assert record["retrieved_timestamp"] == "1795334400"


def test_a_record_says_who_evaluated_whose_system(results: Path, tmp_path: Path) -> None:
    found = records(results, tmp_path)
    relations = {name: record["source_metadata"]["evaluator_relationship"] for name, record in found.items()}
    assert relations == {
        "edu-rag.huge-1.0.0.val edu-rag/elsewhere": "collaborative",
        "edu-rag.tiny-1.2.0.val edu-rag/one-model": "first_party",
        "edu-rag.tiny-1.2.0.val-stratified-8-seed-0 edu-rag/one-model": "third_party",
    }


def test_the_command_writes_the_records_without_publishing(results: Path, tmp_path: Path) -> None:
    words = [str(results), "--repo", "school/results", "--dry-run", "--every-eval-ever", str(tmp_path / "eee")]
    done = CliRunner().invoke(publish, words)
    assert done.exit_code == 0
    assert "3 records of Every Eval Ever" in done.stderr
    with pytest.raises(ConfigError, match="is not empty"):
        CliRunner().invoke(publish, words, catch_exceptions=False)


def test_the_committed_results_are_valid_records(tmp_path: Path) -> None:
    committed = ROOT / "leaderboard" / "results" / "edu-rag-mini-2.0.0"
    for record in records(committed, tmp_path).values():
        assert_valid(record)
