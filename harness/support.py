"""What the dataset offers for each question: pages and evidence; and how much of it a system cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.results import Passage, Prediction, Verdict


class Support(NamedTuple):
    """Ids of questions with pages; evidence spans by question id and page id; whether the split has pages at all.

    `leaked`: ids of questions that a page of the split holds; None where the builder did not look for them.
    """

    with_pages: frozenset[str]
    evidence: Mapping[str, Mapping[str, Sequence[tuple[int, int]]]]
    has_pages: bool
    leaked: frozenset[str] | None = None


def _columns(dataset: Dataset, config: str, split: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of some columns only: building records of a hundred thousand hits would cost seconds."""
    import pyarrow.parquet as pq

    rows: list[tuple[Any, ...]] = []
    for path in dataset.files(config, split):
        table = pq.read_table(path, columns=list(names))
        rows += zip(*(table.column(name).to_pylist() for name in names), strict=True)
    return rows


def read_support(dataset: Dataset, split: str) -> Support:
    """Read which questions have pages, which spans of them are evidence, and which questions the pages leak."""
    hits = _columns(dataset, "hits", split, ("question_id", "page_id"))
    evidence: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for question_id, page_id, start, end in _columns(
        dataset, "evidence", split, ("question_id", "page_id", "start", "end")
    ):
        evidence.setdefault(question_id, {}).setdefault(page_id, []).append((start, end))
    with_pages = frozenset(question_id for question_id, page_id in hits if page_id is not None)
    return Support(with_pages, evidence, bool(with_pages), _leaked(dataset, split))


def _leaked(dataset: Dataset, split: str) -> frozenset[str] | None:
    # An empty table is no file, so the manifest's counts say whether leaks were looked for at all.
    if "leaks" not in dataset.manifest.sources:
        return None
    return frozenset(question_id for (question_id,) in _columns(dataset, "leaks", split, ("question_id",)))


def holds_evidence(passages: Sequence[Passage], evidence: Mapping[str, Sequence[tuple[int, int]]]) -> bool:
    """Whether a cited passage and an evidence span of the same page share a character."""
    return any(
        start < other_end and other_start < end
        for page_id, start, end in passages
        for other_start, other_end in evidence.get(page_id, ())
    )


def retrieval_of(
    predictions: Mapping[str, Prediction], verdicts: Sequence[Verdict], support: Support
) -> dict[str, float | int]:
    """What a system cited: passages a citing prediction, and evidence among them for answered, supported questions.

    Empty for a system that cites nothing.
    """
    citing = [p for p in predictions.values() if p.passages]
    if not citing:
        return {}
    result: dict[str, float | int] = {
        "n_citing": len(citing),
        "n_passages_mean": sum(len(p.passages) for p in citing) / len(citing),
    }
    answered = [v for v in verdicts if v.outcome in ("correct", "incorrect") and v.question_id in support.evidence]
    if answered:
        held = [
            v for v in answered if holds_evidence(predictions[v.question_id].passages, support.evidence[v.question_id])
        ]
        result["n_answered_supported"] = len(answered)
        result["evidence_cited"] = len(held) / len(answered)
    return result
