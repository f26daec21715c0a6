"""Answers by source (Mala et al., Table 2, figures 6, 7): five books of open-textbooks instead of six collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from mala_failed import MODELS, answer_row, right_of
from scored_runs import exam_of, p_text, percent, run_of, share, table

from edu_rag.statistics import holm, paired
from harness.exam import Exam

SAMPLE = "stratified-500-seed-0"
HYBRID = "nautiyal-hybrid"
"""Plain reciprocal rank fusion; the paper's hybrid has not run there."""
AGAINST = ("edu-rag-vanilla-gemma3", "nautiyal-bm25", "nautiyal-dense")
"""No pages, and the two lists that the hybrid fuses."""


def places_of(exam: Exam) -> dict[str, np.ndarray]:
    """The places of each book's questions, the largest first; a lesson is `BOOK: CHAPTER`."""
    books = [(question.lesson or "").partition(":")[0] for question in exam.questions]
    sizes = {book: books.count(book) for book in books}
    names = sorted(sizes, key=lambda book: (-sizes[book], book))
    return {name: np.array([place for place, book in enumerate(books) if book == name]) for name in names}


def _rows(found: Mapping[str, str], books: Mapping[str, np.ndarray]) -> Iterator[tuple[str, ...]]:
    for book, places in books.items():
        for name, outcomes in found.items():
            yield answer_row(f"{book} ({len(places)})", name, "".join(outcomes[place] for place in places))


def _tests(found: Mapping[str, str], books: Mapping[str, np.ndarray]) -> Iterator[tuple[str, ...]]:
    """Right answers of the hybrid minus those of AGAINST, by book; p after Holm over the table."""
    right = {name: right_of(outcomes) for name, outcomes in found.items()}
    tests = [[paired(right[HYBRID][places], right[name][places]) for name in AGAINST] for places in books.values()]
    adjusted = iter(holm([test.p for row in tests for test in row]))
    for (book, places), row in zip(books.items(), tests, strict=True):
        gains = [percent(one.difference, (one.low, one.high), sign=True) for one in row]
        yield f"{book} ({len(places)})", *(f"{gain}, p {p_text(next(adjusted))}" for gain in gains)


def _failed(found: Mapping[str, str], books: Mapping[str, np.ndarray], alone: str) -> Iterator[tuple[str, ...]]:
    """Figure 7: right answers on the questions that the model alone fails."""
    failed = 1 - right_of(found[alone])
    for book, places in books.items():
        kept = places[failed[places] == 1]
        cells = [share(int(right_of(found[name])[kept].sum()), len(kept)) for name in found if name != alone]
        yield f"{book} ({len(kept)})", *cells


def report(folder: Path, split: str) -> str:
    """Mala et al.'s four rates by book and system, and the hybrid against each."""
    exam = exam_of(folder, SAMPLE, split)
    alone, systems = MODELS["Gemma 3 270M"]
    runs = {slug: run_of(folder, exam, slug) for slug in (alone, *systems)}
    found = {slug: run.outcomes for slug, run in runs.items() if run is not None}
    books = places_of(exam)
    head = ("source (n)", "system", "accuracy %", "hallucination %", "rejection %", "adjusted accuracy %")
    tested = (f"accuracy of `{HYBRID}`, p after Holm", *(f"minus `{name}`" for name in AGAINST))
    failed = ("the model alone wrong (n)", *(f"`{name}` right %" for name in found if name != alone))
    shown = ((head, _rows(found, books)), (tested, _tests(found, books)), (failed, _failed(found, books, alone)))
    return "\n\n".join(table(titles, list(rows)) for titles, rows in shown)
