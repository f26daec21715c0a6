"""Passages from a TREC run (`QUESTION Q0 PAGE RANK SCORE TAG`): what a retrieval system found, without answers."""

from __future__ import annotations

import io
import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError, FaultsError
from edu_rag.files.foreign_table import decoded, grouped, read_bytes
from harness.importing.foreign_answer import AnswerOrFault, ForeignAnswer
from harness.running.replies import MAX_PASSAGES

_N_FIELDS = 6
_FORM = "a line is: QUESTION Q0 PAGE RANK SCORE TAG"
MEMORY_BYTES = 1_500_000_000
"""Memory that reading a run may add: a line takes ten times its bytes."""
MAX_FAULTS = 1_000
"""Faulty lines after which a run is not worth reading on."""


class RankedPage(NamedTuple):
    """One line of a run."""

    where: str
    question_id: str
    page_id: str
    rank: int
    score: float


def run_line(where: str, line: str) -> RankedPage | DataError:
    """A line of a run, or its fault."""
    parts = line.split()
    if len(parts) != _N_FIELDS:
        return DataError(where, f"has {len(parts)} parts, not {_N_FIELDS}", _FORM)
    question_id, _, page_id, rank, score, _ = parts
    try:
        found = RankedPage(where, question_id, page_id, int(rank[:20]), float(score))
    except ValueError:
        return DataError(where, f"rank {rank[:40]!r} or score {score[:40]!r} is not a number", _FORM)
    return found if math.isfinite(found.score) else DataError(where, f"the score is {score[:40]}", "give a number")


def ranked_pages(path: Path, pages: Container[str]) -> Iterator[DataError | list[RankedPage]]:
    """The pages of each question, best first: by score, equal ones by rank, each page once; and the faults of lines.

    A page that is not in `pages` is a fault. Raises DataError if the file cannot be read.
    """
    by_question: dict[str, list[RankedPage]] = {}
    for number, line in enumerate(io.StringIO(decoded(read_bytes(path), path)), 1):
        if not line.strip():
            continue
        found = run_line(f"{path}:{number}", line)
        if isinstance(found, DataError):
            yield found
        elif found.page_id not in pages:
            what = f"page: {found.page_id[:80]!r} is not a page of this split"
            yield DataError(found.where, what, "give the page ids of the dataset as document ids")
        else:
            by_question.setdefault(found.question_id, []).append(found)
    for listed in by_question.values():
        first: dict[str, RankedPage] = {}
        for page in sorted(listed, key=lambda page: (-page.score, page.rank)):
            first.setdefault(page.page_id, page)
        yield list(first.values())


def read_ranked(path: Path, known: Container[str], pages: Container[str]) -> dict[str, list[str]]:
    """The page ids of a run by question id, best first. Raises FaultsError with the faults of all lines, grouped.

    A question that is not in `known` is a fault.
    """
    ranked: dict[str, list[str]] = {}
    faults: list[DataError] = []
    for found in ranked_pages(path, pages):
        if isinstance(found, DataError):
            faults.append(found)
        elif found[0].question_id not in known:
            what = f"unknown question {found[0].question_id[:80]!r}"
            faults.append(DataError(found[0].where, what, "give the question ids of this split"))
        else:
            ranked[found[0].question_id] = [page.page_id for page in found]
        if len(faults) >= MAX_FAULTS:
            faults.append(DataError(path, f"has {MAX_FAULTS:,} faulty lines: the rest was not read"))
            break
    if faults:
        raise FaultsError(grouped(faults))
    if not ranked:
        raise DataError(path, "ranks no page", f"rank some: {_FORM}")
    return ranked


def n_ranked(path: Path, known: Container[str], pages: Container[str]) -> int:
    """The number of questions that a run ranks pages for. Raises as `read_ranked`."""
    return len(read_ranked(path, known, pages))


class TrecRun:
    """A run that is read once, by `answers`; `notes` are complete after that. `lengths` has the characters of a page's
    text by page id: the passage of a page is the whole page.
    """

    def __init__(self, path: Path, lengths: Mapping[str, int]) -> None:
        self._path, self._lengths = path, lengths
        self.notes = ["a TREC run has no answers: every question is an abstention, and only retrieval is measured"]

    def answers(self) -> Iterator[AnswerOrFault]:
        """An abstention a question, with its pages as passages."""
        lengths = self._lengths
        n_cut = 0
        for pages in ranked_pages(self._path, {page_id for page_id, length in lengths.items() if length > 0}):
            if isinstance(pages, DataError):
                yield pages
                continue
            n_cut += len(pages) > MAX_PASSAGES
            passages = [[page.page_id, 0, lengths[page.page_id]] for page in pages[:MAX_PASSAGES]]
            first, question_id = pages[0].where, pages[0].question_id
            yield ForeignAnswer(first, {"question_id": question_id, "answer": None, "passages": passages})
        if n_cut:
            self.notes.append(f"{n_cut:,} questions have more than {MAX_PASSAGES} pages: the first ones are kept")
