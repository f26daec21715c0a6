"""Scorecards in the schema of Every Eval Ever, a shared store of evaluation results (evaleval.github.io).

Source: eval.schema.json 0.3.0 of github.com/evaleval/every_eval_ever. A record is one scorecard. Its `model_info` is
the system that was evaluated, not the language model in it: the same model with another retriever has other results.
The models that a system names are among its details.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from edu_rag.files.jsonl import write_json
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import read_card
from publishing.eval_results import Known, made_by, said
from publishing.result_entries import ResultEntry
from publishing.results_tables import WrittenResults, make_empty

SCHEMA = "0.3.0"
BENCHMARK = "edu-rag"
METRICS: Mapping[str, tuple[str, str, bool, float]] = {
    "score": ("edu-rag.score", "accuracy - hallucination", False, -1.0),
    "accuracy": ("accuracy", "share of questions with a correct answer", False, 0.0),
    "hallucination": ("edu-rag.hallucination", "share of questions with a wrong answer", True, 0.0),
    "missing": ("edu-rag.missing", "share of questions without an answer that can be graded", True, 0.0),
}
"""By name of a rate: the metric's id, what it measures, whether lower is better, and the least value; the most is 1."""


def write_every_eval_ever(folder: Path, made: WrittenResults, known: Known, baselines_team: str) -> str:
    """Write a record for each scorecard that is not withdrawn into a new or empty folder; return what was written.

    The files are named as the store wants them: `data/edu-rag/edu-rag/SLUG/UUID.json`. Same results, same bytes.
    Raises ConfigError.
    """
    make_empty(folder, "--every-eval-ever")
    n = 0
    for entry in made.entries:
        card = read_card(entry.path)
        if card.system.withdrawn:
            continue
        values = record_of(card, entry, made.repo, known, baselines_team)
        write_json(folder / "data" / BENCHMARK / BENCHMARK / entry.slug / f"{_uuid_of(values)}.json", values)
        n += 1
    return f"{n:,} records of Every Eval Ever"


def record_of(card: ScoreCard, entry: ResultEntry, repo: str, known: Known, baselines_team: str) -> dict[str, Any]:
    """A scorecard as a record. Its two times are that of scoring, so that a record can be made again."""
    when = _seconds(card.scored_at)
    model = f"{BENCHMARK}/{entry.slug}"
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{BENCHMARK}.{entry.dataset_id.release.folder}.{card.asked.table}/{model}/{when}",
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "EDU-RAG",
            "source_type": "evaluation_run",
            "source_organization_name": repo.partition("/")[0],
            "source_organization_url": f"https://huggingface.co/datasets/{repo}",
            "evaluator_relationship": _relationship(card, baselines_team),
            "additional_details": {"predictions": made_by(card)},
        },
        "eval_library": {
            "name": card.harness.partition(" ")[0] or "edu-rag-bench",
            "version": card.harness.partition(" ")[2] or "unknown",
            "additional_details": {"answers_rule": card.answers_rule, "interval_method": card.interval_method},
        },
        "model_info": {
            "name": said(card.system.name),
            "id": model,
            "developer": said(card.system.team),
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "models": ", ".join(map(said, card.system.models)),
                "licence": said(card.system.licence),
            },
        },
        "evaluation_results": list(_results(card, entry, known)),
    }


def _results(card: ScoreCard, entry: ResultEntry, known: Known) -> Iterator[dict[str, Any]]:
    rates = card.counts.rates()
    name = f"EDU-RAG {entry.dataset_id.name}" + (f" ({card.sample})" if card.sample else "")
    for metric, (metric_id, what, lower_is_better, least) in METRICS.items():
        yield {
            "evaluation_result_id": f"{entry.dataset_id.release.folder}/{card.asked.table}/{entry.slug}/{metric}",
            "evaluation_name": name,
            "source_data": _source_data(card, entry, known),
            "metric_config": {
                "evaluation_description": what,
                "metric_id": metric_id,
                "metric_name": metric.capitalize(),
                "metric_kind": metric,
                "metric_unit": "proportion",
                "lower_is_better": lower_is_better,
                "score_type": "continuous",
                "min_score": least,
                "max_score": 1.0,
            },
            "score_details": {
                "score": round(rates[metric] or 0.0, 6),
                "details": {outcome: str(n) for outcome, n in _counts(card).items()},
                "uncertainty": _uncertainty(card, metric),
            },
        }


def _counts(card: ScoreCard) -> dict[str, int]:
    counts = card.counts
    return {
        "correct": counts.correct,
        "incorrect": counts.incorrect,
        "abstained": counts.abstained,
        "unparseable": counts.unparseable,
        "failed": counts.failed,
    }


def _uncertainty(card: ScoreCard, metric: str) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": card.counts.n}
    if metric in card.intervals:
        low, high = card.intervals[metric]
        interval = {"lower": low, "upper": high, "confidence_level": 0.95, "method": card.interval_method}
        found["confidence_interval"] = interval
    return found


def _source_data(card: ScoreCard, entry: ResultEntry, known: Known) -> dict[str, Any]:
    details = {"dataset": card.dataset, "split": card.split, "sample": card.sample or "all questions"}
    common = {"dataset_name": entry.dataset_id.name, "additional_details": details}
    benchmark = known.get(entry.dataset_id.release)
    if benchmark is None:
        return {"source_type": "other"} | common
    on_hub = {"hf_repo": benchmark.repo, "hf_split": card.split, "samples_number": card.counts.n}
    return {"source_type": "hf_dataset"} | common | on_hub


def _relationship(card: ScoreCard, baselines_team: str) -> str:
    """The relation of evaluator and developer: the same party, two parties, or both together."""
    if card.system.team == baselines_team:
        return "first_party"
    return "third_party" if card.caps or card.rerun.get("own") is True else "collaborative"


def _seconds(scored_at: str) -> str:
    return str(int(datetime.fromisoformat(scored_at).timestamp())) if scored_at else "0"


def _uuid_of(values: Mapping[str, Any]) -> uuid.UUID:
    """An id in the form of a random UUID, which is a function of the record's id."""
    return uuid.UUID(bytes=hashlib.sha256(values["evaluation_id"].encode()).digest()[:16], version=4)
