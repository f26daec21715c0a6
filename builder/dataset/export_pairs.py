"""Exporting fine-tuning pairs of one split of a dataset as JSON lines in chat form."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from types import TracebackType

import msgspec

from builder.dataset.chat_pairs import (
    ABSTENTION,
    MAX_PAGES,
    ChatPair,
    ReadPage,
    answer_text,
    foreign_pages,
    read_page,
    shuffled_ids,
    to_pair,
)
from builder.question_sets.question_flags import unordered_identity
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import to_line
from edu_rag.gold import Gold, match_gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, WebPage

CACHED_PAGES = 256


class PageShelf:
    """A scratch table of pages; it goes when it is closed."""

    def __init__(self, pages: Iterable[WebPage]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="edu-rag-pages-")
        self._base = sqlite3.connect(Path(self._folder.name) / "pages.sqlite3", isolation_level=None)
        self._base.execute("PRAGMA journal_mode=OFF")  # nothing here must survive a crash
        self._base.execute("PRAGMA synchronous=OFF")
        self._base.execute("CREATE TABLE pages (page_id TEXT PRIMARY KEY, page BLOB) WITHOUT ROWID")
        encoded = ((page.page_id, msgspec.msgpack.encode(page)) for page in pages)
        self._base.execute("BEGIN")
        self._base.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?)", encoded)
        self._base.execute("COMMIT")
        self.ids: list[str] = [row[0] for row in self._base.execute("SELECT page_id FROM pages ORDER BY page_id")]
        self._known = frozenset(self.ids)
        self.page = lru_cache(maxsize=CACHED_PAGES)(self._read)

    def _read(self, page_id: str) -> ReadPage:
        row = self._base.execute("SELECT page FROM pages WHERE page_id = ?", (page_id,)).fetchone()
        if row is None:
            raise KeyError(page_id)
        return read_page(msgspec.msgpack.decode(row[0], type=WebPage))

    def __contains__(self, page_id: str) -> bool:
        return page_id in self._known

    def __enter__(self) -> PageShelf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()
        self._folder.cleanup()


KINDS = ("qa", "qa-pages", "negatives")
POISON = frozenset({"injection", "hidden_text", "leak_question", "leak_key"})
"""Pages with these flags could teach a model their authors' planted text, or a question of the benchmark."""
TRIES = 60
"""Pages looked at for one negative before it is given up."""
LICENCE = (
    "licence: questions and golds from TQA are CC BY-NC 3.0 (not for commercial use), others under their source's"
    " terms; page text belongs to its owners, see column `license`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The settings of an export: kinds of pairs, the split, the seed of the negatives, room for pages."""

    kinds: tuple[str, ...]
    split: str
    seed: int
    max_characters: int


def chosen_split(dataset: Dataset, asked: str | None) -> str:
    """The split to train on: the one asked for, or the only one. Raises ConfigError for a test split not asked for."""
    split = dataset.only_split(asked)
    hidden = dataset.manifest.sources.get("hidden_splits", ())
    if asked is None and (split.startswith("test") or split in hidden):
        what = f"the only split is {split!r}, which systems are measured on"
        raise ConfigError(dataset.folder, what, f"say --split {split} if you mean it")
    return split


def _repeated(dataset: Dataset, split: str) -> set[tuple[str, ...]]:
    """The questions of all other splits, by text and choices: training on one reveals its twin."""
    others = (dataset.records("questions", other, Question) for other in dataset.splits() if other != split)
    return {unordered_identity(question) for questions in others for question in questions}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """The data that a split's pairs are made from; pages are in a file on disk."""

    shelf: PageShelf
    own: Mapping[str, Sequence[str]]
    leaking: frozenset[tuple[str, str]]
    evidence: Mapping[str, Sequence[Evidence]]


def _own_pages(dataset: Dataset, split: str) -> dict[str, list[str]]:
    """By question, the pages of its kept hits in rank order, each once."""
    hits = dataset.records("hits", split, SearchHit)
    own = {}
    for question_id, group in groupby(hits, key=lambda hit: hit.question_id):
        own[question_id] = list(dict.fromkeys(hit.page_id for hit in group if hit.page_id is not None))
    return own


def _material(dataset: Dataset, split: str, shelf: PageShelf) -> _Material:
    leaks = dataset.records("leaks", split, Leak)
    return _Material(
        shelf=shelf,
        own=_own_pages(dataset, split),
        leaking=frozenset((leak.question_id, leak.page_id) for leak in leaks),
        evidence=dataset.evidence(split),
    )


def _clean_pages(dataset: Dataset, split: str) -> Iterator[WebPage]:
    return (page for page in dataset.records("pages", split, WebPage) if not POISON.intersection(page.flags))


def _with_pages(question: Question, gold: Gold, material: _Material, settings: Export) -> ChatPair | None:
    ids = [
        page_id
        for page_id in material.own.get(question.question_id, ())
        if page_id in material.shelf and (question.question_id, page_id) not in material.leaking
    ][:MAX_PAGES]
    if not ids:
        return None
    pages = [material.shelf.page(page_id) for page_id in ids]
    evidence = material.evidence.get(question.question_id, ())
    return to_pair("qa-pages", question, answer_text(gold), pages, settings.max_characters, evidence)


def _negative(question: Question, gold: Gold, material: _Material, settings: Export) -> ChatPair | None:
    ids = shuffled_ids(material.shelf.ids, question, settings.seed)
    leaking = {page_id for question_id, page_id in material.leaking if question_id == question.question_id}
    own = {*material.own.get(question.question_id, ()), *leaking}
    pages = foreign_pages((material.shelf.page(page_id) for page_id in ids), question, gold, own, TRIES)
    if not pages:
        return None
    return to_pair("negatives", question, ABSTENTION, pages, settings.max_characters)


def _pairs_of(
    question: Question, gold: Gold, material: _Material, settings: Export
) -> Iterator[tuple[str, ChatPair | None]]:
    if "qa" in settings.kinds:
        yield "qa", to_pair("qa", question, answer_text(gold), (), 0)
    if "qa-pages" in settings.kinds:
        yield "qa-pages", _with_pages(question, gold, material, settings)
    if "negatives" in settings.kinds:
        yield "negatives", _negative(question, gold, material, settings)


def pairs(dataset: Dataset, settings: Export, counts: Counter[str]) -> Iterator[ChatPair]:
    """The pairs of one split, ordered by question and kind; `counts` gets the numbers of pairs made and left out.

    Raises DataError if the split's gold is not in the folder.
    """
    split = settings.split
    if not dataset.files("gold", split):
        raise DataError(dataset.folder, f"the gold of split {split!r} is not here", "choose a split that has gold")
    questions = dataset.questions(split)
    gold = match_gold(questions, dataset.records("gold", split, Gold), dataset.folder)
    repeated = _repeated(dataset, split)
    needs_pages = settings.kinds != ("qa",)
    with ExitStack() as stack:
        shelf = stack.enter_context(PageShelf(_clean_pages(dataset, split) if needs_pages else ()))
        material = _material(dataset, split, shelf)
        for question in questions:
            if unordered_identity(question) in repeated:
                counts["left out: also in another split"] += 1
                continue
            for kind, pair in _pairs_of(question, gold[question.question_id], material, settings):
                counts[kind if pair is not None else f"{kind} left out: no fitting page"] += 1
                if pair is not None:
                    yield pair


def export(dataset: Dataset, settings: Export, out: Path) -> Counter[str]:
    """Write the pairs to a JSON lines file, whole or not at all; returns the counts of pairs made and left out."""
    counts: Counter[str] = Counter()
    temporary = out.with_name(f".{out.name}.tmp")
    try:
        with temporary.open("wb") as stream:
            for pair in pairs(dataset, settings, counts):
                stream.write(to_line(pair))
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    return counts
