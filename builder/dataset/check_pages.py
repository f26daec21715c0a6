"""Checking pages, one at a time: references from hits, labelled spans, sentences cut again, mail addresses, length."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from builder.dataset.check_files import REBUILD, Tables
from builder.dataset.check_tables import PageSpan, Seen
from builder.extract.sentence_splitter import SPLITTER, split_sentences
from edu_rag.records import WebPage

RECUT_PAGES = 500
"""Pages of a split that are cut into sentences again: page ids are hashes, so the first ones are a fair sample."""
SHORT_BYTES = 512
"""The paper's 0.5 KB (EDU-RAG section 3.2)."""
WHOLE_SENTENCES = frozenset({"answer-string-v1", "answer-string-v2", "true-false-v1", "embedding-v1"})
"""Evidence methods whose spans are whole sentences."""
_MAIL = re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}\b")


def _span_fault(span: PageSpan, page: WebPage, starts: set[int], ends: set[int]) -> str | None:
    if span.end > len(page.text):
        return f"leaves the page's text of {len(page.text):,} characters"
    if not page.text[span.start : span.end].strip():
        return "holds nothing but white space"
    if span.method in WHOLE_SENTENCES and (span.start not in starts or span.end not in ends):
        return f"is not cut at sentence borders, as {span.method} does"
    return None


def _check_spans(tables: Tables, page: WebPage, spans: list[PageSpan]) -> None:
    starts = {start for start, _ in page.sentences}
    ends = {end for _, end in page.sentences}
    for span in spans:
        fault = _span_fault(span, page, starts, ends)
        if fault is not None:
            tables.faults.add("span", f"{tables.folder}: {span.what}", fault, REBUILD)


def _uncovered(page: WebPage) -> bool:
    """Whether a character other than white space is outside all sentences."""
    last = 0
    for start, end in page.sentences:
        if page.text[last:start].strip():
            return True
        last = end
    return bool(page.text[last:].strip())


def _check_sentences(tables: Tables, page: WebPage, number: int) -> None:
    where = f"{tables.folder}: page {page.page_id}"
    if any(text != text.strip() for text in page.sentence_texts()):
        tables.faults.add("sentences", where, "a sentence begins or ends in white space", REBUILD)
    if _uncovered(page):
        tables.faults.add("sentences", where, "some of its text is in no sentence", REBUILD)
    same_splitter = tables.manifest.sources.get("sentence_splitter") == SPLITTER
    if same_splitter and number <= RECUT_PAGES and split_sentences(page.text) != page.sentences:
        tables.faults.add("other sentences", where, f"its sentences are not those of {SPLITTER}", REBUILD)


def _masks(tables: Tables) -> bool:
    """Whether the build masked personal data, as the manifest's counts of page flags tell."""
    flags = tables.manifest.sources.get("page_flags")
    return isinstance(flags, dict) and "pii_masked" in flags


def _check_text(tables: Tables, page: WebPage) -> None:
    where = f"{tables.folder}: page {page.page_id} ({page.url})"
    n = len(page.text.encode("utf-8", "replace"))
    if n < SHORT_BYTES:
        tables.warnings.add("short page", where, f"has only {n} bytes of text")
    mail = _MAIL.search(page.text) if _masks(tables) else None
    if mail is not None:
        tables.warnings.add("mail address", where, f"holds a mail address at {mail.start()}, though pages are masked")


def _digest(page: WebPage) -> bytes:
    text = f"{page.html_sha256} {page.title}\0{page.text}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _check_key_flag(tables: Tables, page: WebPage, keys: Collection[str] | None) -> None:
    if keys is not None and "leak_key" in page.flags and page.page_id not in keys:
        where = f"{tables.folder}: page {page.page_id}"
        what = "flag leak_key says that the answer on it is the gold of a hidden question"
        tables.faults.add("hidden gold in flags", where, what, "publish with `edu-rag dataset push --hidden`")


def check_pages(
    tables: Tables, split: str, seen: Seen, known: dict[str, bytes], keys: Collection[str] | None = None
) -> None:
    """Check the pages of a split against what points at them; `known` are the pages of the splits before.

    `keys`, where a split is hidden: the pages that may have the flag `leak_key`.
    """
    found: set[str] = set()
    page: WebPage
    for number, page in enumerate(tables.records("pages", split), 1):
        found.add(page.page_id)
        _check_spans(tables, page, seen.spans.get(page.page_id, []))
        _check_sentences(tables, page, number)
        _check_text(tables, page)
        _check_key_flag(tables, page, keys)
        if known.setdefault(page.page_id, _digest(page)) != _digest(page):
            where = f"{tables.folder}: page {page.page_id}"
            tables.faults.add("page of two texts", where, "has another text in another split", REBUILD)
    if tables.is_whole("pages", split) and tables.is_whole("hits", split):
        _check_references(tables, seen, found)


def _check_references(tables: Tables, seen: Seen, found: set[str]) -> None:
    for fault, ids in (
        ("a hit leads to no page", seen.page_ids - found),
        ("no hit leads to page", found - seen.page_ids),
    ):
        for page_id in sorted(ids):
            tables.faults.add(fault, tables.folder, f"{fault}: {page_id}", REBUILD)
