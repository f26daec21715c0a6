"""Small results folders, written through the real records, for the tests of publishing them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edu_rag.files.jsonl import write_records
from edu_rag.files.manifest import file_sha256
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, Prediction, ScoreCard, SystemFacts
from edu_rag.scorecard.results_folder import write_scorecard
from publishing.result_rows import ids_sha256

DATASET = "tiny@1.2.0#0123abcd"
IDS = tuple(f"q{number:03}" for number in range(8))
LETTERS = "ciaufcci"


def facts(slug: str, **more: Any) -> SystemFacts:
    return SystemFacts(**{"slug": slug, "name": slug.title(), "team": f"Team {slug}", "contact": "me@home.test"} | more)


def card(system: SystemFacts, outcomes: str = LETTERS, ids: Sequence[str] = IDS, **more: Any) -> ScoreCard:
    found = Counter(outcomes)
    values: dict[str, Any] = {
        "system": system,
        "dataset": DATASET,
        "split": "val",
        "sample": None,
        "harness": "edu-rag-bench 0.1.0",
        "answers_rule": "answers-v3",
        "outcomes": outcomes,
        "counts": Counts(**{str(name): found[letter] for name, letter in OUTCOME_LETTERS.items()}),
        "intervals": {"score": (-0.5, 0.5), "accuracy": (0.1, 0.9)},
        "scored_at": "2026-11-22T08:00:00Z",
        "exam": {"ids": ids_sha256(ids), **dict.fromkeys(("questions", "gold", "support"), "f" * 64)},
    }
    return ScoreCard(**values | more)


def prediction(question_id: str, **more: Any) -> Prediction:
    return Prediction(**{"question_id": question_id, "answer": "a", "response": "A page says so."} | more)


def put(
    results: Path, made: ScoreCard, predictions: Sequence[Prediction] | None, *, beside: Path | None = None
) -> Path:
    """Write a scorecard, and the predictions beside it or as another file; returns the scorecard's folder."""
    split = f"{made.split}-{made.sample}" if made.sample else made.split
    folder = results / made.dataset.partition("#")[0].replace("@", "-") / split / made.system.slug
    folder.mkdir(parents=True)
    sha256 = hashlib.sha256(made.system.slug.encode()).hexdigest()
    if predictions is not None:
        path = beside or folder / "predictions.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_records(path, predictions)
        sha256 = file_sha256(path)
    write_scorecard(folder / "scorecard.json", replace(made, predictions_sha256=sha256))
    return folder


def full(ids: Sequence[str] = IDS, **more: Any) -> list[Prediction]:
    """A prediction for each question."""
    return [prediction(question_id, **more) for question_id in ids]


def rows(folder: Path, config: str, split: str = "val") -> list[Mapping[str, Any]]:
    """The rows of a written table."""
    import pyarrow.parquet as pq

    paths = sorted((folder / config).glob(f"{split}-*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
