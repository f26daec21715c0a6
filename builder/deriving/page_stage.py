"""Turn one stored response into a page of the dataset, or into the reason for dropping it: the workers' stage.

The same function serves the killable workers of one machine and the pipelines of builder.deriving.scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from builder.clock import LOCAL_INSTANT
from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving.duplicates import signature
from builder.deriving.killable_workers import WorkFailure, map_killable
from builder.deriving.page_filters import why_dropped
from builder.extract.extract import (
    SAMPLE,
    Extracted,
    ExtractionFailure,
    Outcome,
    check_tools,
    extract_page,
    packed,
    skip_after,
    unpacked,
)
from builder.labels.unfit import is_unfit
from builder.labels.unfit import terms as unfit_terms
from edu_rag.errors import DataError
from edu_rag.gold import Gold
from edu_rag.records import PAGE_FLAGS, Leak, Question, WebPage, page_id_of

if TYPE_CHECKING:
    from builder.labels.leaks import FoundLeak
    from builder.store.index import Fetch
    from builder.store.reader import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """The input of the page stage: the settings' sections, and the questions whose leaks it looks for."""

    extract: ExtractConfig
    filter: FilterConfig
    label: LabelConfig
    questions: Sequence[Question] = ()
    golds: Sequence[Gold] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageJob:
    """One stored response: its body, the charset of its HTTP header, and the tools that have failed on it.

    `extraction` is its packed extraction if that is known already; with `is_packed` the result has it.
    """

    url: str
    body: bytes
    charset: str | None
    fetched_at: datetime
    html_sha256: str
    skip: tuple[str, ...] = ()
    extraction: bytes = b""
    is_packed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The result for a response: a page with its signature and leaks, or the outcome that dropped it, and why.

    `raised` are the extraction tools that raised on it. `is_lasting`: the same programs will come to the same result;
    not so where a tool raised or a worker failed, whose limits are the machine's. `extraction` is the packed
    extraction, if the job asked for it and had none.
    """

    outcome: str
    page: WebPage | None = None
    signature: bytes = b""
    leaks: tuple[Leak, ...] = ()
    detail: str = ""
    raised: tuple[str, ...] = ()
    is_lasting: bool = True
    extraction: bytes = b""


_SAMPLE_JOB = PageJob(
    url="http://sample.example/", body=SAMPLE.encode(), charset=None, fetched_at=LOCAL_INSTANT, html_sha256="0" * 64
)


class PageStage:
    """The stage with its tools loaded: libraries, and the index of the questions."""

    def __init__(self, settings: PageSettings) -> None:
        from builder.labels.leaks import LeakIndex  # loads numpy, which the other commands on a store do not need

        self._settings = settings
        self._leaks = LeakIndex(settings.questions, settings.golds) if settings.label.leaks else None

    def warm_up(self) -> None:
        """Load all libraries, and see that they work, before the clock of the first page runs.

        Raises MissingExtraError if a tool of extraction is missing or broken; what else a library raises.
        """
        check_tools(self._settings.extract.extractor)
        unfit_terms()
        found = extract_page(_SAMPLE_JOB.body, None, self._settings.extract.extractor)
        if isinstance(found, Extracted):
            self._kept(_SAMPLE_JOB, _masked(found)[0], masked=False)

    def __call__(self, job: PageJob) -> PageResult:
        """Extract, mask, filter, cut and label one page. Raises what the parsers raise."""
        if job.extraction:
            return self._result(job, unpacked(job.extraction))
        found = extract_page(job.body, job.charset, self._settings.extract.extractor, job.skip)
        result = self._result(job, found)
        is_lasting = not job.skip and not result.raised
        return replace(result, is_lasting=is_lasting, extraction=packed(found) if job.is_packed and is_lasting else b"")

    def _result(self, job: PageJob, found: Outcome) -> PageResult:
        if isinstance(found, ExtractionFailure):
            return PageResult(outcome="extraction_failed", detail=found.reason)
        n_masked = 0
        if self._settings.label.mask_pii:
            found, n_masked = _masked(found)
        outcome = why_dropped(found.title, found.text, found.language, self._settings.filter)
        if outcome is not None:
            return PageResult(outcome=outcome, raised=found.raised)
        return self._kept(job, found, masked=n_masked > 0)

    def _kept(self, job: PageJob, found: Extracted, *, masked: bool) -> PageResult:
        from builder.labels.leaks import without_leaks

        in_text = self._leaks.find(found.text) if self._leaks is not None else []
        leaks = _rows(in_text, page_id_of(job.url))
        if leaks and self._settings.filter.leaks == "drop":
            return PageResult(outcome="leak", raised=found.raised)
        if leaks and self._settings.filter.leaks == "mask":
            found = replace(found, text=without_leaks(found.text, in_text))
            if len(" ".join(found.text.split()).encode("utf-8", "replace")) < self._settings.filter.min_bytes:
                return PageResult(outcome="short", raised=found.raised)
        page = self._page(job, found, leaks, masked=masked)
        return PageResult(outcome="kept", page=page, signature=signature(found.text), leaks=leaks, raised=found.raised)

    def _page(self, job: PageJob, found: Extracted, leaks: Sequence[Leak], *, masked: bool) -> WebPage:
        from builder.extract.sentence_splitter import split_sentences

        extractor = self._settings.extract.extractor
        # With `drop`, the filters have looked already.
        unfit = self._settings.filter.unfit == "keep" and is_unfit(f"{found.title}\n{found.text}")
        return WebPage(
            page_id=page_id_of(job.url),
            url=job.url,
            title=found.title,
            text=found.text,
            sentences=split_sentences(found.text),
            fetched_at=job.fetched_at,
            html_sha256=job.html_sha256,
            extractor=f"{extractor}:{found.tool}" if found.tool else extractor,
            language=found.language,
            license=found.license,
            author=found.author,
            flags=_flags(found, leaks, masked=masked, unfit=unfit),
        )


def _rows(found: Iterable[FoundLeak], page_id: str) -> tuple[Leak, ...]:
    """The leaks of a page as rows of the dataset, in the table's order."""
    rows = {
        Leak(question_id=leak.question_id, page_id=page_id, start=leak.start, end=leak.end, kind=leak.kind)
        for leak in found
    }
    return tuple(sorted(rows, key=lambda leak: (leak.question_id, leak.start, leak.end, leak.kind)))


def _masked(found: Extracted) -> tuple[Extracted, int]:
    """The extracted text without personal data, and how many items were masked in it."""
    from builder.labels.pii import mask

    (text, in_text), (title, in_title), (author, in_author) = (
        mask(said) for said in (found.text, found.title, found.author or "")
    )
    masked = replace(found, text=text, title=title, author=author or None, hidden=mask(found.hidden)[0])
    return masked, in_text + in_title + in_author


def _flags(found: Extracted, leaks: Sequence[Leak], *, masked: bool, unfit: bool) -> tuple[str, ...]:
    """The page's flags, in the order of PAGE_FLAGS."""
    from builder.labels.hidden_text import is_hidden_text
    from builder.labels.injection import holds_injection
    from builder.labels.language import page_flags

    flags = {leak.kind for leak in leaks} | set(page_flags(found.text, found.language))
    if is_hidden_text(found.hidden, found.text):
        flags.add("hidden_text")
    if holds_injection(f"{found.text}\n{found.hidden}"):
        flags.add("injection")
    if masked:
        flags.add("pii_masked")
    if unfit:
        flags.add("unfit")
    return tuple(flag for flag in PAGE_FLAGS if flag in flags)


_STAGE: PageStage | None = None


def prepare(settings: PageSettings) -> None:
    """Load the stage once in a worker process."""
    global _STAGE  # noqa: PLW0603  # a worker's jobs share what its initializer loaded
    _STAGE = PageStage(settings)
    _STAGE.warm_up()


def work(job: PageJob) -> PageResult:
    """Run the loaded stage on one job, in a worker process."""
    if _STAGE is None:
        raise RuntimeError("the page stage was not prepared in this process")
    return _STAGE(job)


def failed(failure: WorkFailure) -> PageResult:
    """The result of a page that its worker did not survive."""
    return PageResult(outcome="extraction_failed", detail=failure.reason, is_lasting=False)


def retry(extractor: str, job: PageJob, failure: WorkFailure) -> PageJob | None:
    """The job without the tools that crashed its worker, or None if a retry cannot help."""
    skip = skip_after(extractor, job.skip, failure.reason)
    return None if skip is None else replace(job, skip=skip, extraction=b"")


def job_of(page_url: str, fetch: Fetch, store: StoreReader) -> PageJob:
    """The job of a page, read from the store. Raises DataError if its response is not there, or damaged."""
    if fetch.digest is None:
        raise DataError(store.folder, f"{fetch.url} was kept without a response", "build again with --fresh")
    body, charset = store.response(fetch)
    return PageJob(url=page_url, body=body, charset=charset, fetched_at=fetch.fetched_at, html_sha256=fetch.digest)


def jobs(pages: Iterable[tuple[str, str]], store: StoreReader) -> Iterator[tuple[str, PageJob]]:
    """The jobs of (page URL, the fetched URL that stands for it), read from the store one by one."""
    for page_url, fetch_url in pages:
        fetch = store.fetch(fetch_url)
        if fetch is None:
            raise DataError(store.folder, f"{fetch_url} is not there any more", "build again with --fresh")
        yield page_url, job_of(page_url, fetch, store)


def page_results(
    todo: Iterable[tuple[str, PageJob]], settings: PageSettings, workers: int
) -> Iterator[tuple[str, PageResult]]:
    """The results of the stage in the order of the jobs, made in killable worker processes."""
    results = map_killable(
        todo, work, partial(prepare, settings), workers=workers, retry=partial(retry, settings.extract.extractor)
    )
    for page_url, got in results:
        yield page_url, failed(got) if isinstance(got, WorkFailure) else got
