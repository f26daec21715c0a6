"""Labels of a scorecard's figures on a page, and their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

RETRIEVAL: Mapping[str, str] = {
    "n_citing": "answers that cite something",
    "n_passages_mean": "passages a citing answer",
    "n_characters_mean": "characters a citing answer",
    "n_supported": "questions with evidence (supported)",
    "n_grounded": "of them right, with evidence cited (grounded)",
    "n_lucky": "of them right, without (lucky)",
    "evidence_cited": "evidence cited where answered and supported",
    "metrics MRR": "MRR",
    "metrics P@1": "P@1",
    "metrics success@10": "success@10",
    "metrics R@10": "R@10",
    "metrics MAP@10": "MAP@10",
    "metrics NDCG@10": "NDCG@10",
}
OVERLAP: Mapping[str, str] = {
    "n_both_cite": "questions for which both cite something",
    "positions_changed": "share of ranks that differ",
    "top_1_changed": "share of questions whose first passage differs",
    "overlap @1": "overlap of the first passages",
    "overlap @10": "overlap of the first ten",
    "n_supported_both": "supported questions with evidence cited by both",
    "n_supported_first_only": "… by A alone",
    "n_supported_second_only": "… by B alone",
    "n_supported_neither": "… by neither",
}
CONFIDENCE: Mapping[str, str] = {
    "n": "answers with a confidence",
    "n_attempted": "of so many attempted",
    "ece": "calibration error (ECE)",
    "brier": "Brier score",
    "aurc": "area under the risk-coverage curve (AURC)",
    "e_aurc": "above an oracle's (E-AURC)",
    "best score": "best score by abstaining below a threshold",
    "best threshold": "that threshold (tuned on these questions)",
}
COST: Mapping[str, str] = {
    "latency_s median": "latency, median, s",
    "latency_s p95": "latency, 95th percentile, s",
    "input_tokens mean": "input tokens an answer",
    "output_tokens mean": "output tokens an answer",
    "cost_usd total": "US dollars in all",
    "latency_s source": "latency is",
}

_OF_A_PROBE: Mapping[str, str] = {
    "n": "questions",
    "score": "score",
    "difference": "change from the main run",
    "rejection": "share abstained",
    "consistency": "share with the same choice",
    "identical": "share alike in every run",
}


def probe_labels(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, str]:
    """Labels for the probes that either scorecard has."""
    return {f"{name} {key}": f"{name}: {word}" for name in {**first, **second} for key, word in _OF_A_PROBE.items()}


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The single values of nested mappings with their names joined by a blank; lists (curves, intervals) left out."""
    for key, value in values.items():
        name = f"{prefix} {key}".strip()
        if isinstance(value, Mapping):
            yield from flat(value, name)
        elif isinstance(value, bool | int | float | str):
            yield name, value


def side_by_side(
    first: Mapping[str, Any], second: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> list[tuple[str, Any, Any]]:
    """Rows of (label, value of the first, value of the second), None if one has none; at most 60.

    With `labels` only the values that they name, in their order; without, all of them under their own names.
    """
    a, b = dict(flat(first)), dict(flat(second))
    named = labels if labels is not None else {name: name.replace("_", " ") for name in a | b}
    return [(label, a.get(name), b.get(name)) for name, label in named.items() if name in a or name in b][:60]
