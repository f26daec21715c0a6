"""Chunkers compared (HyPA-RAG, figure 3), in retrieval by BM25 alone: no language model and no encoder.

The paper compares answers at a fixed number of chunks, whose lengths differ. Here every context has the same number of
characters, so that a chunker does not gain by longer chunks. Its semantic chunker needs an encoder (--semantic), which
reads every sentence of every page: --book keeps to the questions of one book.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypa_retrieval import asked
from scored_runs import SPLIT, difference, percent, table

from baselines.chunk.pattern import pattern
from baselines.chunk.sentences import sentences, windows
from baselines.edu_rag_paper import join
from baselines.parts import Chunk
from baselines.retrieve.bm25 import bm25
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.support import read_support
from harness.exam import open_exam
from harness.running.task import question_line, task_of
from harness.scoring.retrieval import match, mean_with_interval

SIZES = (2_500, 7_500)
"""Characters of a context: about that of our systems with three windows, and the EDU-RAG paper's."""
MOST = 100
REFERENCE = "sentence-level: 512 tokens, 200 repeated"
PATTERN, SEMANTIC = "pattern: blank lines and headings", "semantic"


class Held(NamedTuple):
    """Of a question and a chunker: chunks, their characters, and for each size whether evidence is in the context."""

    n_chunks: int
    n_characters: int
    holds: tuple[int, ...]


Measured = dict[str, list[Held]]
"""By chunker, one for each question."""


def chunkers(semantic: bool) -> Mapping[str, Chunk]:
    """The paper's, and two of ours."""
    found: dict[str, Chunk] = {
        REFERENCE: windows(512, 200),
        PATTERN: pattern(),
        "ours: 128 tokens, none repeated": windows(128, 0),
        "ours: single sentences": sentences(),
    }
    if semantic:
        from baselines.chunk.semantic import semantic as by_meaning

        found[SEMANTIC] = by_meaning()
    return found


def chosen_of(dataset: Dataset, split: str, sample: str | None, book: str) -> set[str]:
    """The questions of a sample whose lesson (`BOOK: CHAPTER`) begins with a book's name."""
    questions = open_exam(dataset, split, sample).questions
    return {question.question_id for question in questions if (question.lesson or "").startswith(book)}


def measure(folder: Path, split: str, sample: str | None, named: Mapping[str, Chunk], book: str = "") -> Measured:
    """The context of each chunker, for each question with evidence."""
    dataset = Dataset(folder / "dataset")
    task, support = task_of(dataset, split, None), read_support(dataset, split)
    rank, chosen = bm25(), chosen_of(dataset, split, sample, book)
    found: Measured = {name: [] for name in named}
    for question in task.questions:
        evidence = support.evidence.get(question.question_id)
        if not evidence or question.question_id not in chosen:
            continue
        pages = list(task.pages[question.question_id])
        query = asked(question, question_line(question, pages, "q"))
        for name, chunk in named.items():
            passages = chunk(query)
            ranked = [passages[one.place] for one in rank(query.text, [one.text for one in passages], MOST)]
            held = [bool(match(join(ranked, size).passages, evidence).ranks) for size in SIZES]
            lengths = sum(len(one.text) for one in passages)
            found[name].append(Held(len(passages), lengths, tuple(map(int, held))))
    return found


def _column(found: Sequence[Held], place: int) -> np.ndarray:
    return np.array([one.holds[place] for one in found], dtype=np.int64)


def _rows(found: Mapping[str, list[Held]]) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, results in found.items():
        n_chunks = sum(one.n_chunks for one in results)
        shown = []
        for place, _ in enumerate(SIZES):
            value, low, high = mean_with_interval([float(one.holds[place]) for one in results])
            shown.append(percent(value, (low, high)))
            against = difference(_column(results, place), _column(found[REFERENCE], place))
            shown.append("-" if name == REFERENCE else against)
        mean = sum(one.n_characters for one in results) / max(1, n_chunks)
        rows.append([name, f"{n_chunks / len(results):,.0f}", f"{mean:,.0f}", *shown])
    return rows


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="holds dataset/")
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--sample")
    parser.add_argument("--semantic", action="store_true", help="the semantic chunker too")
    parser.add_argument("--book", default="", help="only the questions of this book")
    given = parser.parse_args(arguments)
    found = measure(given.folder, given.split, given.sample, chunkers(given.semantic), given.book)
    sized = [cell for size in SIZES for cell in (f"evidence in {size:,} characters, %", "minus the first row")]
    whose = f"{given.split}, {given.book}," if given.book else given.split
    print(f"{len(found[REFERENCE]):,} questions of {whose} with evidence; chunks ranked by BM25; 95 % intervals.\n")
    print(table(["chunks", "a question", "characters", *sized], _rows(found)))
    if SEMANTIC in found:
        both = [difference(_column(found[SEMANTIC], at), _column(found[PATTERN], at)) for at in range(len(SIZES))]
        print(table(["points", *(f"in {size:,} characters" for size in SIZES)], [["semantic - pattern", *both]]))


if __name__ == "__main__":
    main()
