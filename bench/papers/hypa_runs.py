"""The runs of HyPA-RAG's systems: score, accuracy, hallucination, cost in tokens, and paired differences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from scored_runs import SPLIT, Run, difference, exam_of, rates, run_of, table

SAMPLE = "stratified-500-seed-0"
SLUGS = ("edu-rag-vanilla-gemma3", "hypa-fixed-k", "hypa-pa", "hypa-full")
PAIRS = (
    ("hypa-fixed-k", "edu-rag-vanilla-gemma3"),
    ("hypa-pa", "hypa-fixed-k"),
    ("hypa-full", "hypa-fixed-k"),
    ("hypa-full", "hypa-pa"),
)


def _tokens(run: Run) -> str:
    read = [p.input_tokens for p in run.predictions.values() if p.input_tokens is not None]
    return f"{fmean(read):,.0f}" if read else "-"


def _cited(run: Run) -> str:
    return f"{fmean(len(p.passages) for p in run.predictions.values()):.1f}" if run.predictions else "-"


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables of the runs that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="holds dataset/ and submissions/")
    parser.add_argument("--split", default=SPLIT)
    given = parser.parse_args(arguments)
    exam = exam_of(given.folder, SAMPLE, given.split)
    found = {slug: run_of(given.folder, exam, slug) for slug in SLUGS}
    runs = {slug: run for slug, run in found.items() if run is not None}
    head = ["system", "score", "accuracy", "hallucination", "missing", "passages cited", "tokens read a question"]
    rows = [[f"`{slug}`", *rates(run.outcomes).values(), _cited(run), _tokens(run)] for slug, run in runs.items()]
    print(f"{len(exam.questions)} questions ({SAMPLE}); percent, with 95 % intervals.\n")
    print(table(head, rows))
    for slug in SLUGS:
        if slug not in runs:
            print(f"`{slug}` has no run in this folder.\n")
    pairs = [
        [f"`{second}` - `{first}`", difference(runs[second].outcomes, runs[first].outcomes)]
        for second, first in PAIRS
        if first in runs and second in runs
    ]
    if pairs:
        print(table(["difference in score, points of percent", "95 % interval, p (sign flips, paired)"], pairs))


if __name__ == "__main__":
    main()
