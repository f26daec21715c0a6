"""The parts of a scorecard beyond its outcomes, as plain tables under names that a reader understands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from edu_rag.scorecard.card import ScoreCard
from leaderboard.systems.scorecard_tables import probes_of, retrieved_of

MAX_ROWS = 200
TITLES: Mapping[str, str] = {
    "retrieval": "What it cites",
    "probes": "Probes, in detail",
    "confidence": "How well it knows what it knows",
    "cost": "Cost",
    "judges": "Judges of free text",
    "caps": "What the sandbox enforced",
    "rerun": "A maintainers' run, to compare",
}
WORDS: Mapping[str, str] = {
    "n_citing": "answers that cite",
    "n_passages_mean": "passages a citing answer",
    "n_characters_mean": "characters a citing answer",
    "n_supported": "questions with evidence",
    "n_answered_supported": "of these answered",
    "n_grounded": "correct with evidence among the cited (grounded)",
    "n_lucky": "correct without (lucky)",
    "evidence_cited": "answered with evidence among the cited",
    "n_evidence_mean": "places of evidence a question",
    "metrics": "",
    "intervals": "95 % interval",
    "n": "questions",
    "n_attempted": "attempted",
    "brier": "Brier score",
    "ece": "calibration error (ECE)",
    "aurc": "area under the risk-coverage curve",
    "e_aurc": "of which above the best order",
    "best": "best by abstaining",
    "threshold": "that threshold (tuned on these questions)",
    "n_kept": "answers kept by it",
    "latency_s": "seconds a question",
    "p95": "95th percentile",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cost_usd": "US dollars",
    "energy_j": "joules",
    "total": "in all",
    "sandbox": "by",
    "user": "as user",
    "gaps": "left open",
    "memory": "memory is capped by",
    "processes": "processes are capped by",
    "cpu": "CPU time is capped by",
    "memory_bytes": "memory, bytes",
    "n_processes": "processes",
    "file_bytes": "largest file, bytes",
    "n_files": "open files",
    "tmp_bytes": "temporary files, bytes",
    "shm_bytes": "shared memory, bytes",
    "cpu_s": "CPU seconds a question",
    "n_same": "same answers",
    "made_at": "when",
    "own": "these are its answers",
    "mean": "mean",
    "source": "source",
    "success": "Success",
    "P": "Precision",
    "R": "Recall",
}
UNKNOWN: Mapping[str, str] = {
    "attribution": "where its points go",
    "retrieval": "how well it finds evidence",
    "probes": "how it fares under other conditions (probes)",
    "confidence": "how well it knows what it knows",
    "cost": "what it costs",
    "rerun": "whether it gives the same answers again",
}
"""Fields of a scorecard that may be empty, and what is not known then."""
_AT = re.compile(r"(P|R|success|MAP|NDCG)@(\d{1,4})\Z")


class Detail(NamedTuple):
    """One table: its heading, and rows of a name and a value."""

    title: str
    rows: tuple[tuple[str, str], ...]


def _word(key: str) -> str:
    match = _AT.match(key)
    return f"{WORDS.get(match[1], match[1])} at {match[2]}" if match else WORDS.get(key, key)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " … ".join(_shown(part) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "none" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _rows(values: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _rows(value, (*names, _word(str(key))))
    # Lists of records, such as the points of a curve, are for the scorecard's readers.
    elif not (isinstance(values, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in values)):
        yield " · ".join(name for name in names if name), _shown(values)


def details_of(card: ScoreCard) -> list[Detail]:
    """A table for each field that says more than the page's own tables; at most MAX_ROWS rows each."""
    fields: dict[str, Any] = {name: getattr(card, name) for name in TITLES}
    fields["retrieval"] = retrieved_of(card.retrieval).rest
    fields["probes"] = probes_of(card.probes).rest
    tables = ((title, tuple(islice(_rows(fields[name]), MAX_ROWS))) for name, title in TITLES.items())
    return [Detail(title, rows) for title, rows in tables if rows]


def unknown_of(card: ScoreCard) -> list[str]:
    """The missing parts of this scorecard, in words."""
    return [words for name, words in UNKNOWN.items() if not getattr(card, name)]
