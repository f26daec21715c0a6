"""Pages' bytes to clean text, in worker processes that may be killed: a page that hangs costs only itself."""

from __future__ import annotations

import contextlib
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder.page_text import EXTRACTORS as EXTRACTORS
from edu_rag.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from pebble import ProcessPool

CPU_LIMIT_S = 5.0
"""Processor time a page may take. Not wall time: which pages are kept must not depend on what else the machine does."""
WALL_LIMIT_S = 60.0
"""For a page that waits instead of working."""
MAX_BYTES = 5_000_000
MAX_TAGS = 100_000
MEMORY_BYTES = 3 << 30
WINDOW_PER_WORKER = 8
PAGES_PER_WORKER = 500
"""A worker is replaced after so many pages, so that what a parser leaks does not add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The clean text of a page, its title, the language of its text (ISO 639), and its licence's address."""

    title: str
    text: str
    language: str | None
    license: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionFailure:
    """Why a page gave no text: too_large, too_many_tags, empty, timeout, crash, or `error NAME`."""

    reason: str


Outcome = Extracted | ExtractionFailure


def prescan(body: bytes) -> str | None:
    """Why a page is not even tried, or None. Counting is cheap; parsing what is counted here would not be."""
    if len(body) > MAX_BYTES:
        return "too_large"
    return "too_many_tags" if body.count(b"<") > MAX_TAGS else None


def extract_page(body: bytes, charset: str | None, extractor: str) -> Outcome:
    """Extract one page in this process: what a worker does. Raises what the parsers raise."""
    from builder.decode import decode
    from builder.language import language_of
    from builder.page_text import clean_text, page_license, page_title, parse_html

    refused = prescan(body)
    if refused is not None:
        return ExtractionFailure(reason=refused)
    html = decode(body, charset)
    tree = parse_html(html)
    if tree is None:
        return ExtractionFailure(reason="empty")
    title, licence = page_title(tree), page_license(tree)
    text = clean_text(EXTRACTORS[extractor](html, tree))
    if not text:
        return ExtractionFailure(reason="empty")
    return Extracted(title=title, text=text, language=language_of(text), license=licence)


def _prepare_worker(extractor: str) -> None:
    """Load the libraries before the clock of the first page runs, and bound the worker's memory."""
    import logging
    import resource
    import warnings

    logging.disable(logging.CRITICAL)  # parsers complain of every odd page
    warnings.simplefilter("ignore")
    with contextlib.suppress(ValueError, OSError):  # not every system can bound it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    extract_page(b"<html><body><p>A page to load all libraries with.</p></body></html>", None, extractor)


def _work(body: bytes, charset: str | None, extractor: str) -> Outcome:
    # Python's own handler would wait for the parser's C code to return; the default action ends the process at once.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
    try:
        return extract_page(body, charset, extractor)
    except Exception as error:  # whatever a parser raises on a hostile page is that page's outcome
        return ExtractionFailure(reason=f"error {type(error).__name__}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _outcome(future: Any) -> Outcome:
    from pebble import ProcessExpired

    try:
        result: Outcome = future.result()
    except TimeoutError:
        return ExtractionFailure(reason="timeout")
    except ProcessExpired as error:
        return ExtractionFailure(reason="timeout" if error.exitcode == -signal.SIGPROF else "crash")
    return result


def _pool(extractor: str, workers: int) -> ProcessPool:
    import multiprocessing

    from pebble import ProcessPool

    # Not fork: the caller may hold threads and sockets that no parser of hostile pages should inherit.
    return ProcessPool(
        max_workers=workers, max_tasks=PAGES_PER_WORKER, initializer=_prepare_worker, initargs=(extractor,),
        context=multiprocessing.get_context("spawn"),
    )  # fmt: skip


def extract_pages(
    jobs: Iterable[tuple[str, bytes, str | None]], extractor: str, workers: int
) -> Iterator[tuple[str, Outcome]]:
    """Extract pages in `workers` processes; jobs are (key, body, charset of the HTTP header or None).

    Results come in the order of the jobs, whatever the number of workers. Memory holds a window of jobs only.
    Raises ConfigError for an unknown extractor, MissingExtraError where its library cannot be loaded.
    """
    if extractor not in EXTRACTORS:
        raise ConfigError("extractor", f"unknown extractor {extractor!r}", f"known are {', '.join(EXTRACTORS)}")
    pool = _pool(extractor, max(1, workers))
    waiting: deque[tuple[str, Any]] = deque()
    try:
        for key, body, charset in jobs:
            arguments = (body, charset, extractor)
            # A refused page is settled here: its bytes need not cross to a worker.
            refused = prescan(body)
            done = ExtractionFailure(reason=refused) if refused else None
            waiting.append((key, done or _schedule(pool, arguments)))
            if len(waiting) >= WINDOW_PER_WORKER * max(1, workers):
                yield _settle(*waiting.popleft())
        while waiting:
            yield _settle(*waiting.popleft())
    except BrokenProcessPool as error:
        what = f"its worker processes cannot start ({error})"
        raise MissingExtraError(f"extractor {extractor}", what, "pip install 'edu-rag-bench[build]'") from None
    finally:
        pool.stop()  # type: ignore[no-untyped-call]  # pebble leaves it unannotated
        pool.join()


def _schedule(pool: ProcessPool, arguments: tuple[bytes, str | None, str]) -> Any:
    try:
        return pool.schedule(_work, args=arguments, timeout=WALL_LIMIT_S)
    except RuntimeError as error:  # pebble's, where the workers end before they have a page
        raise BrokenProcessPool(str(error)) from None


def _settle(key: str, waiting: Any) -> tuple[str, Outcome]:
    return key, waiting if isinstance(waiting, ExtractionFailure) else _outcome(waiting)
