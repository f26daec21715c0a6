"""The passages and facts that questions are made from: drawn from a dataset's pages by a seed, everywhere the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.evidence.page_index import index_of
from builder.evidence.telling_words import content_stems, generic_stems
from builder.generating.fact_answers import Fact, facts_of
from builder.generating.fact_sentences import GlossaryLine, glossary_line
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
SUBJECTS = 50
"""Pages of which one's title is the other subject: the next ones, so that a longer run draws the same at first."""
_NO_SUBJECT = re.compile(r"introduction|connection|summary|review|key |glossary|\W", re.IGNORECASE)


class Drawn(NamedTuple):
    """The passages of one question, and the sentences of them that it is made from, one for each of its parts."""

    passages: tuple[Span, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingTask:
    """One question to be written: its id, type, page, passages, and facts. `distraction` is another page's title.

    `place` is its number among the questions of a run; the tasks of all tries for it have the same.
    """

    task_id: str
    type: QuestionType
    page: WebPage
    passages: tuple[Span, ...]
    facts: tuple[Fact, ...]
    distraction: str
    place: int = 0

    def texts(self) -> list[str]:
        """The passages, cut from the page."""
        return [self.page.text[start:end] for start, end in self.passages]

    def fact_texts(self) -> list[str]:
        """The facts, cut from the page."""
        return [self.page.text[fact.span.start : fact.span.end] for fact in self.facts]

    def answers(self) -> list[str]:
        """The answer in each fact."""
        return [self.page.text[fact.answer.start : fact.answer.end] for fact in self.facts]


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


def draw_tasks(
    dataset: Dataset, types: Sequence[QuestionType], n: int, seed: int, *, tries: int = 1
) -> list[list[WritingTask]]:
    """Tasks for n questions with the types in turn, spread over the dataset's pages: for each try a list of n.

    A later try makes the same questions from other passages; it has none where no passage is left. The ids name the
    dataset's content and the seed, so that questions of several runs can be put together. Raises ConfigError if the
    pages have too few passages for the first try.
    """
    pages = suitable_pages(dataset, 4 * n * tries + 20, seed)
    pool = _Pool(pages, seed)
    prefix = f"gen-{dataset.id.rpartition('#')[2]}-{seed}"
    first = list(_tasks(pool, types, n, f"{prefix}-1"))
    if len(first) < n:
        raise _too_few(first, types)
    return [first, *(list(_tasks(pool, types, n, f"{prefix}-{number}")) for number in range(2, tries + 1))]


def _too_few(tasks: Sequence[WritingTask], types: Sequence[QuestionType]) -> ConfigError:
    """The error that names the first type without a passage."""
    n = next((place for place, task in enumerate(tasks) if task.place != place), len(tasks))
    name = types[n % len(types)].name
    what = f"the pages have passages for {n:,} questions only; no more for the type {name!r}"
    remedy = f"give at most {n}" if n else "give a dataset with longer pages"
    return ConfigError("--n", what, f"{remedy}, or --types without {name}" if len(types) > 1 else remedy)


def _tasks(pool: _Pool, types: Sequence[QuestionType], n: int, prefix: str) -> Iterator[WritingTask]:
    for number in range(n):
        kind = types[number % len(types)]
        found = pool.draw(kind)
        if found is None:
            continue
        page, drawn = found
        task_id = f"{prefix}-{number:05d}"
        yield WritingTask(
            task_id=task_id,
            type=kind,
            page=page,
            passages=drawn.passages,
            facts=drawn.facts,
            distraction=pool.other_subject(task_id),
            place=number,
        )


class _Pool:
    """The pages in turn, each with the passages that are left and the facts of each."""

    def __init__(self, pages: Sequence[WebPage], seed: int) -> None:
        self._seed = seed
        self._queue = list(pages)
        self._left: dict[str, dict[Span, list[Fact]]] = {}
        self._used_up: set[str] = set()

    def draw(self, kind: QuestionType) -> tuple[WebPage, Drawn] | None:
        """The next page with passages for a type; its other passages come after those of all other pages."""
        for place, page in enumerate(self._queue if kind.name not in self._used_up else ()):
            drawn = self._drawn(page, kind)
            if drawn is not None:
                for passage in drawn.passages:
                    del self._left[page.page_id][passage]
                self._queue.append(self._queue.pop(place))
                return page, drawn
        self._used_up.add(kind.name)
        return None

    def other_subject(self, task_id: str) -> str:
        """The title of another page that names a subject, drawn by the task."""
        first = int(_rank(self._seed, task_id), 16) % min(SUBJECTS, len(self._queue))
        titles = (" ".join(page.title.split()) for page in self._queue[first:-1])
        return next((title for title in titles if 4 < len(title) <= 60 and not _NO_SUBJECT.match(title)), "the weather")

    def _passages(self, page: WebPage) -> dict[Span, list[Fact]]:
        if page.page_id not in self._left:
            shuffled = sorted(passages_of(page), key=lambda span: _rank(self._seed, page.page_id, span.start))
            self._left[page.page_id] = {passage: facts_of(page, passage) for passage in shuffled}
        return self._left[page.page_id]

    def _drawn(self, page: WebPage, kind: QuestionType) -> Drawn | None:
        """The first passage with a sentence of its own for each part."""
        for passage, facts in self._passages(page).items():
            ordered = sorted(facts, key=lambda fact: _rank(self._seed, page.page_id, *fact))
            chosen: list[Fact] = []
            for part in kind.part_types():
                used = [one.span for one in chosen]
                free = [fact for fact in ordered if fact.kind in part.answers and fact.span not in used]
                if kind.join == "differ":
                    free = [fact for fact in free if all(_can_be_compared(page, fact, one) for one in chosen)]
                chosen += sorted(free, key=lambda fact: part.answers.index(fact.kind))[:1]
            if len(chosen) == len(kind.part_types()):
                return Drawn((passage,), tuple(chosen))
        return None


def _can_be_compared(page: WebPage, *facts: Fact) -> bool:
    """Whether two lines of a glossary are about things of a kind: they share a telling word, and are not the same."""
    lines = [glossary_line(page.text[fact.span.start : fact.span.end].casefold()) for fact in facts]
    one, other = (line or GlossaryLine("", "") for line in lines)
    shared = content_stems(" ".join(one)) & content_stems(" ".join(other)) - generic_stems()
    return bool(shared) and one.term != other.term and one.meaning != other.meaning
