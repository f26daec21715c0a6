"""The passages that questions are made from: drawn from a dataset's pages by a seed, the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builder.evidence.page_index import index_of
from builder.generating.question_types import QuestionType
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Span, WebPage

UNSUITABLE = frozenset({"hidden_text", "injection", "short", "not_english", "unfit"})
"""Flags of pages that no question is made from."""
MIN_CHARACTERS = 500
MAX_CHARACTERS = 1_500
MIN_STATEMENTS = 4
"""Sentences of a passage that state something; headings and exercises do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingTask:
    """One question to be written: its id, type, page, and passages of it. `distraction` is another page's title."""

    task_id: str
    type: QuestionType
    page: WebPage
    passages: tuple[Span, ...]
    distraction: str

    def texts(self) -> list[str]:
        """The passages, cut from the page."""
        return [self.page.text[start:end] for start, end in self.passages]


def _rank(seed: int, *parts: object) -> str:
    """A place in an order that only the seed and the parts decide."""
    return hashlib.sha256(":".join(map(str, (seed, *parts))).encode("utf-8", "surrogatepass")).hexdigest()


def passages_of(page: WebPage) -> list[Span]:
    """Windows of neighbouring sentences, up to MAX_CHARACTERS long, in the page's order; none overlaps another."""
    states = index_of(page).states
    found: list[Span] = []
    first = 0
    while first < len(page.sentences):
        last = first
        start = page.sentences[first].start
        while last + 1 < len(page.sentences) and page.sentences[last + 1].end - start <= MAX_CHARACTERS:
            last += 1
        span = Span(start, page.sentences[last].end)
        is_long = MIN_CHARACTERS <= span.end - span.start <= MAX_CHARACTERS
        if is_long and sum(states[first : last + 1]) >= MIN_STATEMENTS:
            found.append(span)
        first = last + 1
    return found


def suitable_pages(dataset: Dataset, n: int, seed: int) -> list[WebPage]:
    """Up to n pages without unsuitable flags, from all splits, in the seed's order."""
    split_of: dict[str, str] = {}
    for split in dataset.splits():
        table = dataset.columns("pages", split, ("page_id", "flags"))
        for row in table.to_pylist() if table is not None else ():
            if not UNSUITABLE.intersection(row["flags"] or ()):
                split_of.setdefault(row["page_id"], split)
    chosen = sorted(split_of, key=lambda page_id: _rank(seed, page_id))[:n]
    pages: dict[str, WebPage] = {}
    for split in dataset.splits():
        pages |= dataset.pages(split, {page_id for page_id in chosen if split_of[page_id] == split})
    return [pages[page_id] for page_id in chosen]


def known_texts(dataset: Dataset) -> list[str]:
    """The texts of all questions of the dataset."""
    tables = [dataset.columns("questions", split, ("text",)) for split in dataset.splits()]
    return [text for table in tables if table is not None for text in table.column("text").to_pylist()]


def draw_tasks(dataset: Dataset, types: Sequence[QuestionType], n: int, seed: int) -> list[WritingTask]:
    """Tasks for n questions with the types in turn, spread over the dataset's pages.

    The ids name the dataset's content and the seed, so that questions of several runs can be put together. Raises
    ConfigError if the pages have too few passages.
    """
    pages = suitable_pages(dataset, 4 * n + 20, seed)
    tasks = list(_tasks(pages, types, n, seed, f"gen-{dataset.id.rpartition('#')[2]}"))
    if len(tasks) < n:
        what = f"the pages have passages for {len(tasks):,} questions only"
        raise ConfigError("--n", what, f"give at most {len(tasks)}" if tasks else "give a dataset with longer pages")
    return tasks


def _shuffled(page: WebPage, seed: int) -> list[Span]:
    return sorted(passages_of(page), key=lambda span: _rank(seed, page.page_id, span.start))


def _tasks(
    pages: Sequence[WebPage], types: Sequence[QuestionType], n: int, seed: int, prefix: str
) -> Iterator[WritingTask]:
    windows = {page.page_id: _shuffled(page, seed) for page in pages}
    queue = list(pages)
    for number in range(n):
        kind = types[number % len(types)]
        place = next((i for i, page in enumerate(queue) if len(windows[page.page_id]) >= kind.passages), None)
        if place is None:
            return
        page = queue.pop(place)
        queue.append(page)  # its other passages come after those of all other pages
        own = windows[page.page_id]
        taken = tuple(sorted(own.pop(0) for _ in range(kind.passages)))
        yield WritingTask(
            task_id=f"{prefix}-{seed}-{number:05d}",
            type=kind,
            page=page,
            passages=taken,
            distraction=queue[0].title[:80].strip() or "the weather",
        )
