"""The sentences that pages quote: evidence, and what systems cite, cut from the dataset's pages in one pass.

Also the author and licence of a quoted page, and whether the licence lets the site show its text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.files.table_rows import reading_parquet
from edu_rag.look.texts import clip, plain, safe_link
from edu_rag.records import Evidence
from leaderboard.questions.system_answers import decoded
from leaderboard.questions.worker_pool import Place, WorkerInput

MAX_WORDS = 80
_ADDRESS = re.compile(
    r"https?://creativecommons\.org/(licenses|publicdomain)/([a-z-]{1,20})/(\d\.\d)(?:/|\Z)", re.IGNORECASE
)
_WORDS = re.compile(r"CC[ -]?(BY(?:[ -]NC)?(?:[ -](?:SA|ND))?|0)(?:[ -](\d\.\d))?\Z", re.IGNORECASE)
_OPEN = frozenset({"by", "by-sa", "by-nc", "by-nc-sa", "0", "zero", "mark"})
"""Texts under these may be shown with attribution. Not ND: what was extracted from a page is not the page unchanged."""
_PUBLIC = {"zero": "CC0", "mark": "Public Domain Mark", "0": "CC0"}
MAX_QUOTES = 24
"""Cited spans of one question that are quoted: those that most systems cite."""
MAX_EVIDENCE = 12
"""Evidence of one question that is quoted."""
MAX_TEXT = 300
"""Characters of a quote."""
MAX_TITLE = 160
_ROWS = 100
"""Rows of the pages' table held at a time: their texts are long."""


class PageCredit(NamedTuple):
    """The author and the licence in words; `address` leads to the licence, `is_open` where its text may be shown."""

    author: str
    licence: str
    address: str | None
    is_open: bool


def credit_of(author: str | None, licence: str | None) -> PageCredit:
    """The credit of a page, as its record names author and licence; nothing is open that names no open licence."""
    who, given = clip(author or "", MAX_WORDS), (licence or "").strip()
    address = safe_link(given)
    found = _ADDRESS.match(given)
    kind, version = (found[2].lower(), found[3]) if found else ("", "")
    words = _WORDS.match(given)
    if words:
        kind, version = words[1].lower().replace(" ", "-"), words[2] or ""
    shown = f"{_PUBLIC.get(kind) or f'CC {kind.upper()}'} {version}".strip() if kind else clip(given, MAX_WORDS)
    return PageCredit(who, shown, address, kind in _OPEN)


class Quote(NamedTuple):
    """A span of a page that a question's page quotes; `method` where it is evidence."""

    page_id: str
    start: int
    end: int
    method: str | None


class KnownQuote(NamedTuple):
    """A quote whose span its page holds, with the text."""

    place: Place
    method: str | None
    text: str


class PageFacts(NamedTuple):
    """The shown parts of a page: title, safe address or None, flags, texts of the quoted spans, and its credit."""

    title: str
    address: str | None
    flags: Sequence[str]
    texts: Mapping[tuple[int, int], str]
    credit: PageCredit = credit_of(None, None)


class QuoteJob(NamedTuple):
    """A lesson page and the encoded sheets of its answers."""

    at: int
    sheets: Sequence[bytes]


def most_cited(inputs: WorkerInput, quote_job: QuoteJob) -> list[list[Place]]:
    """The spans that most systems cite, most first, of each question of a lesson page."""
    sheets = decoded(quote_job.sheets)
    # Evidence is left out of them later, and there may be as much of it.
    most = MAX_QUOTES + MAX_EVIDENCE
    found = []
    for row in range(len(inputs.pages[quote_job.at].numbers)):
        counts = Counter(chain.from_iterable([sheet.cited[row] for sheet in sheets]))
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        found.append([inputs.place(packed) for packed, _ in ordered[:most]])
    return found


def quotes_of(evidence: Sequence[Evidence], cited: Sequence[Place]) -> list[Quote]:
    """The quotes of one question: evidence first, then what most systems cite."""
    methods = {(item.page_id, item.start, item.end): item.method for item in evidence[:MAX_EVIDENCE]}
    places = [*methods, *[place for place in cited if place not in methods][:MAX_QUOTES]]
    return [Quote(*place, methods.get(place)) for place in places]


def known_quotes(quotes: Sequence[Quote], facts: Mapping[str, PageFacts]) -> list[KnownQuote]:
    """Those whose span its page holds."""
    found = []
    for page_id, start, end, method in quotes:
        text = facts[page_id].texts.get((start, end)) if page_id in facts else None
        if text:
            found.append(KnownQuote((page_id, start, end), method, text))
    return found


def _rows(dataset: Dataset, split: str) -> Iterator[tuple[Any, ...]]:
    """page_id, url, title, flags, author, licence and the text, which is still Arrow's, of every page of a split."""
    import pyarrow.parquet as pq

    names = ["page_id", "url", "title", "flags", "author", "license", "text"]
    for path in dataset.files("pages", split):
        with reading_parquet(path):
            for batch in pq.ParquetFile(path).iter_batches(batch_size=_ROWS, columns=names, use_threads=False):
                columns = [batch.column(name) for name in names]
                yield from zip(*(column.to_pylist() for column in columns[:-1]), columns[-1], strict=True)


def page_ids(dataset: Dataset, split: str) -> list[str]:
    """Those of the pages of a split, sorted."""
    table = dataset.columns("pages", split, ("page_id",))
    return [] if table is None else sorted(table.column("page_id").to_pylist())


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """The texts of the spans inside the page; a team may cite a span that no page holds."""
    inside = [(start, end) for start, end in spans if 0 <= start < end <= len(text)]
    return {
        (start, end): str(plain(clip(text[start : min(end, start + 4 * MAX_TEXT)], MAX_TEXT))) for start, end in inside
    }


def page_facts(dataset: Dataset, split: str, quotes: Sequence[Sequence[Quote]]) -> dict[str, PageFacts]:
    """By page id, all pages of a split; their texts are read once and let go."""
    spans: dict[str, dict[tuple[int, int], None]] = defaultdict(dict)
    for some in quotes:
        for quote in some:
            spans[quote.page_id][quote.start, quote.end] = None
    facts: dict[str, PageFacts] = {}
    for page_id, url, title, flags, author, licence, text in _rows(dataset, split):
        wanted = spans.get(page_id)
        texts = _cut(str(text), list(wanted)) if wanted else {}
        address, credit = safe_link(url or ""), credit_of(author, licence)
        facts[page_id] = PageFacts(clip(title or "", MAX_TITLE), address, tuple(flags or ()), texts, credit)
    return facts
