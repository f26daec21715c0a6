"""Chunkers (HyPA-RAG, figure 3) and numbers of passages (Table 2, figure 7) compared by answers.

Runs of bench/papers/paper_runs.py. BM25 fills 2,500 characters with the best chunks of each chunker; the paper takes
the same number of chunks of each, whose lengths differ. With --numbers: hybrid retrieval with a fixed k, and PA.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from scored_runs import Run, difference, exam_of, rates, restricted, table

from edu_rag.statistics import holm, paired

SLUGS = {
    "sentence-level: 512 tokens, 200 repeated": "hypa-chunk-sentence-level",
    "semantic": "hypa-chunk-semantic",
    "pattern: blank lines and headings": "hypa-chunk-pattern",
    "ours: 128 tokens, none repeated": "hypa-chunk-windows",
    "ours: single sentences": "hypa-chunk-sentences",
}
NUMBERS = {
    "fixed k = 5": "hypa-k-5",
    "fixed k = 3": "hypa-k-3",
    "fixed k = 7": "hypa-k-7",
    "fixed k = 10": "hypa-k-10",
    "adaptive k and Q (PA), 3 classes": "hypa-k-pa",
}
ALONE = "edu-rag-vanilla-gemma3"


def _tokens(run: Run) -> str:
    return f"{fmean(one.input_tokens or 0 for one in run.predictions.values()):,.0f}"


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="holds dataset/ and submissions/")
    parser.add_argument("--split", default="test")
    parser.add_argument("--sample", default="stratified-300-seed-0")
    parser.add_argument("--numbers", action="store_true", help="numbers of passages instead of chunkers")
    given = parser.parse_args(arguments)
    slugs, first = (NUMBERS, "passages") if given.numbers else (SLUGS, "chunks")
    exam = exam_of(given.folder, given.sample, given.split)
    runs = {name: restricted(given.folder, exam, slug) for name, slug in {**slugs, "no pages": ALONE}.items()}
    reference = next(iter(runs.values()))
    rows, tests = [], []
    for name, run in runs.items():
        rated, cited = rates(run.outcomes), fmean(len(one.passages) for one in run.predictions.values())
        against = "-" if run is reference else difference(run.outcomes, reference.outcomes)
        rows.append(
            [
                name,
                f"{cited:.1f}",
                _tokens(run),
                *(rated[one] for one in ("accuracy", "hallucination", "score")),
                against,
            ]
        )
        if run is not reference:
            tests.append((name, paired(run.outcomes, reference.outcomes).p))
    print(f"Gemma 3 270M, the likeliest choice; {len(exam.questions)} questions of {given.split}; 95 % intervals.\n")
    print(
        table(
            [
                first,
                "read a question",
                "tokens",
                "accuracy %",
                "hallucination %",
                "score %",
                "score minus the first row",
            ],
            rows,
        )
    )
    adjusted = holm([p for _, p in tests])
    print("p after Holm: " + "; ".join(f"{name} {p:.2g}" for (name, _), p in zip(tests, adjusted, strict=True)) + ".")


if __name__ == "__main__":
    main()
