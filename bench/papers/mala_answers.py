"""The answers of the paper's three systems, scored on the questions that were asked, next to the paper's Table 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from board_runs import table

from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import Counts, ScoreCard
from harness.comparing.compare import Choice, ComparisonTable, compare_many

SAMPLE = "stratified-500-seed-0"
SLUGS = {"sparse": "mala-sparse", "dense": "mala-dense", "hybrid": "mala-hybrid"}
CONTROL = "edu-rag-vanilla-gemma3"
"""The same language model without any passage."""
METRICS = ("MAP@3", "NDCG@3")
PAPER: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "HaluEval": {"sparse": (56, 22, 22, 71.79), "dense": (64, 22, 14, 74.42), "hybrid": (92, 6, 2, 93.88)},
    "DROP": {
        "sparse": (30.61, 48.98, 20.41, 38.46),
        "dense": (48.98, 38.78, 12.24, 55.81),
        "hybrid": (77.55, 14.29, 8.16, 84.44),
    },
    "RAGTruth": {"sparse": (68, 12, 20, 85), "dense": (76, 10, 14, 88.37), "hybrid": (88, 4, 8, 95.65)},
    "PubMedQA": {"sparse": (60, 16, 24, 78.95), "dense": (66, 20, 14, 76.74), "hybrid": (92, 4, 4, 95.83)},
    "CovidQA": {
        "sparse": (30, 20, 50, 60),
        "dense": (14, 58.02, 28.10, 19.44),
        "hybrid": (70.02, 22, 8, 76.09),
    },
    "FinanceBench": {
        "sparse": (8, 8.02, 84, 50),
        "dense": (26, 24.30, 50, 52),
        "hybrid": (62.90, 6, 32, 91.18),
    },
}
"""Table 2, per cent: accuracy, hallucination, rejection, adjusted accuracy; 50 questions each."""


def _paper_rows() -> Iterator[tuple[str, ...]]:
    for name in SLUGS:
        means = [sum(rows[name][at] for rows in PAPER.values()) / len(PAPER) / 100 for at in range(3)]
        yield name, *(f"{mean:.3f}" for mean in means), f"{means[0] / (means[0] + means[1]):.3f}", f"{sum(means):.3f}"


def paper_table() -> str:
    """The means of Table 2 over its six sources; each source has 50 questions."""
    head = ("system (paper, 6 x 50 questions)", "accuracy", "hallucination", "rejection", "adjusted accuracy", "sum")
    return table(head, _paper_rows())


def _adjusted(counts: Counts) -> str:
    attempted = counts.correct + counts.incorrect
    return f"{counts.correct / attempted:.3f}" if attempted else "–"


def _row(name: str, card: ScoreCard) -> tuple[str, ...]:
    counts = card.counts
    rates = (counts.correct / counts.n, counts.incorrect / counts.n, 1 - (counts.correct + counts.incorrect) / counts.n)
    metrics = card.retrieval.get("metrics", {}) if card.retrieval else {}
    told = [f"{metrics[name]:.3f}" if name in metrics else "–" for name in METRICS]
    return f"`{name}`", *(f"{rate:.3f}" for rate in rates), _adjusted(counts), f"{counts.score:+.3f}", *told


def _pairs(found: ComparisonTable, slugs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    names = [f"`{slug}`" for slug in slugs]
    for pair in found.pairs:
        d = pair.difference
        yield (
            f"{names[pair.first]} − {names[pair.second]}",
            f"{d.difference:+.3f}",
            f"{d.low:+.3f} … {d.high:+.3f}",
            f"{d.p:.2g}",
            f"{pair.p_holm:.2g}",
            f"{pair.correctness.n_first_only} / {pair.correctness.n_second_only}",
        )


def report(dataset: Path, submissions: Path) -> str:
    """The paper's means, ours, and all pairs tested."""
    data = Dataset(dataset)
    made_for = data.manifest.release.folder
    asked = (*SLUGS.values(), CONTROL)
    there = [
        slug for slug in asked if (submissions / slug / "predictions" / made_for / f"val-{SAMPLE}.jsonl").is_file()
    ]
    found = compare_many([submissions / slug for slug in there], Choice(data, "val", SAMPLE))
    n = found.cards[0].counts.n
    head = (
        "system",
        "accuracy",
        "hallucination",
        "missing",
        "adjusted accuracy",
        "score",
        *(f"{name} of what was cited" for name in METRICS),
    )
    tested = ("difference of", "score", "95 % interval", "sign-flip p", "p after Holm", "only the first / second right")
    least = "–" if found.detectable is None else f"{found.detectable:.3f}"
    return "\n\n".join(
        (
            paper_table(),
            f"Ours, {n:,} questions of the TQA validation build, Gemma 3 270M by likelihood:",
            table(head, (_row(slug, card) for slug, card in zip(there, found.cards, strict=True))),
            table(tested, _pairs(found, there)),
            f"The smallest difference of scores that one such test finds with 80 % power: {least}.",
        )
    )
