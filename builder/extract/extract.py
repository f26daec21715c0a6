"""A page's bytes to its clean text and the facts that its markup states: what a killable worker does for one page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from builder.extract import tools as extract_tools
from builder.extract.cascade import FAST, FULL, MAIN, cascade_v1
from builder.extract.page_shape import PageShape, page_shape, refused
from builder.extract.page_text import clean_text, page_title, parse_html
from builder.labels.hidden_text import hidden_text_of
from builder.workers import WorkFailure, map_killable
from edu_rag.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The clean text of a page, and what the page states: title, language of its text (ISO 639), licence, author.

    `tool` is which tool of the extractor answered; `hidden` the text that the markup hides from readers.
    """

    title: str
    text: str
    language: str | None
    license: str | None
    author: str | None = None
    tool: str = ""
    hidden: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionFailure:
    """Why a page gave no text.

    too_large, too_many_tags, too_many_attributes, empty, timeout, memory, crash, or `error NAME` (the exception's).
    """

    reason: str


Outcome = Extracted | ExtractionFailure


class Extractor(Protocol):
    """From a page to its clean text and the tool that answered; `tree` is None where no parser may see the page."""

    def __call__(self, html: str, tree: Any, shape: PageShape, skip: tuple[str, ...]) -> tuple[str, str]:
        """Extract. The tree may be changed; `skip` are tools that have failed on this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageJob:
    """One stored response to extract; `skip` are tools that have failed on it."""

    body: bytes
    charset: str | None
    extractor: str
    skip: tuple[str, ...] = ()


def _single(tool: str, text_of: Callable[[str, Any], str]) -> Extractor:
    """An extractor of one tool, which needs a tree."""

    def extract(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...]) -> tuple[str, str]:
        return ("", tool) if tree is None else (clean_text(text_of(html, tree)), tool)

    return extract


def _trafilatura_v1(html: str, tree: Any) -> str:
    from builder.extract.prepass import apply_prepass

    apply_prepass(tree)
    return extract_tools.trafilatura_full(tree)


def _resiliparse_v1(html: str, tree: Any) -> str:
    from builder.extract.prepass import apply_prepass

    apply_prepass(tree)
    return extract_tools.resiliparse_main(extract_tools.html_of(tree))


EXTRACTORS: Mapping[str, Extractor] = {
    "cascade-v1": cascade_v1,
    "trafilatura-v1": _single("trafilatura", _trafilatura_v1),
    "resiliparse-v1": _single("resiliparse", _resiliparse_v1),
    "newspaper3k-v1": _single("newspaper3k", lambda html, tree: extract_tools.newspaper3k_text(html)),
    "bs4-v1": _single("bs4", lambda html, tree: extract_tools.bs4_text(html)),
}
"""The named, versioned extractors of build.toml."""


def extract_page(body: bytes, charset: str | None, extractor: str, skip: tuple[str, ...] = ()) -> Outcome:
    """Extract one page in this process: what a worker does. Raises what the parsers raise.

    `skip` names tools that have failed on this page before; see `skip_after`.
    """
    from builder.extract.decode import decode
    from builder.extract.page_facts import page_facts
    from builder.labels.language import language_of

    reason = refused(body)
    if reason is not None:
        return ExtractionFailure(reason=reason)
    html = decode(body, charset)
    shape = page_shape(html)
    tree = parse_html(html) if shape.may_parse and "tree" not in skip else None
    # The facts first: extractors change the tree.
    title, licence, author, hidden = "", None, None, ""
    if tree is not None:
        title, hidden = page_title(tree), hidden_text_of(tree)
        licence, author = page_facts(tree)
    text, tool = EXTRACTORS[extractor](html, tree, shape, skip)
    if not text:
        return ExtractionFailure(reason="empty" if shape.may_parse else "too_many_attributes")
    return Extracted(
        title=title, text=text, language=language_of(text), license=licence, author=author, tool=tool, hidden=hidden
    )


def skip_after(extractor: str, skip: tuple[str, ...], reason: str) -> tuple[str, ...] | None:
    """The tools to leave out when a page is tried again after a worker's failure, or None where that is no use.

    `reason` is a WorkFailure's. Only the cascade has other tools to try.
    """
    if extractor != "cascade-v1" or reason.startswith("error"):
        return None
    if not skip:
        return (FAST, FULL)
    return (*skip, MAIN, "tree") if MAIN not in skip else None


def prepare(extractor: str) -> None:
    """Load all libraries of an extractor; for `map_killable`."""
    extract_page(b"<html><body><p>A page to load all libraries with.</p></body></html>", None, extractor)


def _extract(job: PageJob) -> Outcome:
    return extract_page(job.body, job.charset, job.extractor, job.skip)


def retry_page(job: PageJob, failure: WorkFailure) -> PageJob | None:
    """The job again without the tools that failed; for `map_killable`."""
    skip = skip_after(job.extractor, job.skip, failure.reason)
    return None if skip is None else replace(job, skip=skip)


def known_extractor(extractor: str) -> str:
    """The name, if there is such an extractor. Raises ConfigError."""
    if extractor not in EXTRACTORS:
        raise ConfigError("extractor", f"unknown extractor {extractor!r}", f"known are {', '.join(EXTRACTORS)}")
    return extractor


def extract_pages(
    jobs: Iterable[tuple[str, bytes, str | None]], extractor: str, workers: int
) -> Iterator[tuple[str, Outcome]]:
    """Extract pages in `workers` processes; jobs are (key, body, charset of the HTTP header or None).

    Results come in the order of the jobs, whatever the number of workers. Memory holds a window of jobs only.
    Raises ConfigError for an unknown extractor, MissingExtraError where its library cannot be loaded.
    """
    known_extractor(extractor)
    pages = ((key, PageJob(body=body, charset=charset, extractor=extractor)) for key, body, charset in jobs)
    for key, got in map_killable(pages, _extract, partial(prepare, extractor), workers=workers, retry=retry_page):
        yield key, ExtractionFailure(reason=got.reason) if isinstance(got, WorkFailure) else got
