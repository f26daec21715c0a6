"""The pages and evidence that a dataset has for each question, and how much of them a system cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.records import HOME_PAGE
from edu_rag.scorecard.card import Passage


class Support(NamedTuple):
    """Ids of questions with pages; evidence spans by question id and page id; whether the split has pages at all.

    `leaked`: ids of questions that a page of the split holds; None if the builder did not look for them. `home_pages`:
    the page that a question was taken from, by question id, where it is one of the question's pages.
    """

    with_pages: frozenset[str]
    evidence: Mapping[str, Mapping[str, Sequence[tuple[int, int]]]]
    has_pages: bool
    leaked: frozenset[str] | None = None
    home_pages: Mapping[str, str] = {}


def _columns(
    dataset: Dataset, config: str, split: str, names: Sequence[str], question_id: str | None = None
) -> list[tuple[Any, ...]]:
    """Rows of some columns only, or those of one question: building records of all hits would cost seconds."""
    table = dataset.columns(config, split, tuple(dict.fromkeys(("question_id", *names))))
    if table is None:
        return []
    if question_id is not None:
        import pyarrow.compute as pc

        table = table.filter(pc.equal(table.column("question_id"), question_id))
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def read_support(dataset: Dataset, split: str) -> Support:
    """Read which questions have pages, which spans of them are evidence, and which questions the pages leak."""
    evidence: dict[str, dict[str, list[tuple[int, int]]]] = {}
    home_pages: dict[str, str] = {}
    for question_id, page_id, start, end, method in _columns(
        dataset, "evidence", split, ("question_id", "page_id", "start", "end", "method")
    ):
        if method == HOME_PAGE:
            home_pages[question_id] = page_id
            continue
        evidence.setdefault(question_id, {}).setdefault(page_id, []).append((start, end))
    with_pages = _with_pages(dataset, split)
    return Support(with_pages, evidence, bool(with_pages), _leaked(dataset, split), home_pages)


def _with_pages(dataset: Dataset, split: str) -> frozenset[str]:
    """The ids of questions with a kept hit: of a table of ten hits a question, each id is made a text but once."""
    table = dataset.columns("hits", split, ("question_id", "page_id"), encoded=("question_id",))
    found: set[str] = set()
    for batch in table.to_batches() if table is not None else ():
        found.update(_ids_with_value(*batch.columns))
    return frozenset(found)


def _ids_with_value(ids: Any, values: Any) -> Iterable[str]:
    """The texts of a dictionary array at whose places another array has a value."""
    import numpy as np

    # Not by pyarrow.compute, whose import alone costs what this does.
    numbers = np.from_dlpack(ids.indices)
    if values.null_count:
        bits = np.frombuffer(values.buffers()[0], dtype=np.uint8)
        numbers = numbers[np.unpackbits(bits, bitorder="little")[values.offset :][: len(values)] == 1]
    there = np.bincount(numbers, minlength=len(ids.dictionary)).tolist()
    return (text for text, n in zip(ids.dictionary.to_pylist(), there, strict=True) if n)


def _leaked(dataset: Dataset, split: str) -> frozenset[str] | None:
    # A table may be empty either way: the manifest's counts show whether leaks were looked for at all.
    if "leaks" not in dataset.manifest.sources:
        return None
    return frozenset(question_id for (question_id,) in _columns(dataset, "leaks", split, ("question_id",)))


def offered_pages(dataset: Dataset, split: str, question_id: str) -> list[str]:
    """The ids of the pages that a system gets with a question, in the order in which it gets them."""
    rows = _columns(dataset, "hits", split, ("rank", "page_id"), question_id)
    return list(dict.fromkeys(page_id for _, page_id in sorted(rows, key=lambda row: row[0]) if page_id is not None))


def holds_evidence(passages: Sequence[Passage], evidence: Mapping[str, Sequence[tuple[int, int]]]) -> bool:
    """Whether a cited passage and an evidence span of the same page share a character."""
    return any(
        start < other_end and other_start < end
        for page_id, start, end in passages
        for other_start, other_end in evidence.get(page_id, ())
    )
