"""The margin below which `sbert-overlap-silent` abstains: its score on a split, by margin.

    python bench/overlap_margin.py RUNS/open-textbooks [--split dev]

Choose the margin on a split that the board does not use. A dataset with sentence vectors saves the encoding.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from baselines.embed import Encoder
from baselines.overlap import dense_system
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import VECTORS
from edu_rag.files.sentence_vectors import VARIABLE
from edu_rag.serve import SystemPage, SystemQuestion
from harness.exam import Exam, open_exam
from harness.probing.probe_questions import source_of

MARGINS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08, 0.1)


def asked(dataset: Dataset, exam: Exam) -> Iterator[SystemQuestion]:
    """The questions of a split, as a system gets them."""
    pages = source_of(dataset, exam.split).pages
    for question in exam.questions:
        shown = (
            SystemPage(page_id=one.page_id, url=one.url, title=one.title, text=one.text, sentences=tuple(one.sentences))
            for one in pages[question.question_id]
        )
        yield SystemQuestion(
            id=question.question_id,
            text=question.text,
            choices=question.choices,
            kind=question.kind,
            pages=tuple(shown),
        )


def row(margin: float, said: Sequence[str | None], right: Sequence[str | None]) -> str:
    """A row of the table."""
    n_answered = sum(one is not None for one in said)
    n_right = sum(one is not None and one == other for one, other in zip(said, right, strict=True))
    score = (2 * n_right - n_answered) / len(said)
    return f"| {margin:.3f} | {score:+.3f} | {n_answered / len(said):.3f} | {n_right / max(1, n_answered):.3f} |"


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--split", default="dev")
    given = parser.parse_args()
    if (given.dataset / VECTORS).is_dir():
        os.environ[VARIABLE] = str(given.dataset / VECTORS)
    dataset = Dataset(given.dataset)
    exam = open_exam(dataset, given.split, None)
    questions = list(asked(dataset, exam))
    right = [exam.gold[question.id].answer for question in questions]
    encoder = Encoder.default()
    print(f"{dataset.manifest.id}, {given.split}: {len(questions):,} questions.\n")
    print("| margin | score | answered | right of those answered |\n| --: | --: | --: | --: |")
    for margin in MARGINS:
        system = dense_system(encoder, abstain_margin=margin)
        print(row(margin, [system(question).answer for question in questions], right), flush=True)


if __name__ == "__main__":
    main()
