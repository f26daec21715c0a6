"""Extract pages while the crawl waits for hosts: the results go into the store's cache, where deriving finds them.

Deriving alone decides what a page becomes. A page that fails here (a time-out, memory, a crash) is not kept, and pages
that come too fast are skipped: deriving extracts them. So the dataset is the same without this module, and after a kill
at any moment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any, Literal

from builder.deriving import page_stage
from builder.deriving.derive import Fates, Inputs, page_settings
from builder.deriving.killable_workers import (
    CPU_LIMIT_S,
    SHARES,
    WorkersOnCall,
    WorkFailure,
    deaf_to_interrupts,
    load_libraries,
)
from builder.deriving.known_pages import KnownPages
from builder.deriving.page_stage import PageJob, PageResult, PageSettings, work
from builder.store.page_cache import PageCache
from builder.store.reader import StoreReader
from builder.store.takedowns import read_takedowns
from edu_rag.errors import DataError
from edu_rag.progress import note

MIN_PAGES = 20
"""Workers start after so many pages: they cost as much as one or two pages, which is not worth it for a few."""
MOST_WAITING = 10_000
"""Pages that wait for a worker, about 2 MB; further ones are left to deriving."""
PAGES_PER_WORKER = 2
"""Pages in memory: one that a worker is at, and the next one."""
FINISH_S = 1.0
"""Time for the last pages when the crawl is over. Deriving extracts the others."""
CPU_S = CPU_LIMIT_S * SHARES[0] / 2
"""Half of what a first attempt has in deriving: a page that comes near that limit must be judged there."""
LOWEST_PRIORITY = 19
"""Not SCHED_IDLE: on a busy machine such a worker would not even get the time to end."""

Order = Literal["go on", "finish", "stop"]


def _prepare(settings: PageSettings) -> None:
    """Load the page stage in a worker that gives way to everything else."""
    os.nice(LOWEST_PRIORITY)
    page_stage.prepare(settings)


class EarlyExtraction:
    """A thread that gives pages to workers, and their results to the cache. The crawl never waits for it.

    `n_kept` counts the pages whose result is in the cache. After an error it ends and notes that in the build's log:
    deriving does the same work, and reports what is wrong.
    """

    def __init__(
        self,
        store: StoreReader,
        inputs: Inputs,
        workers: int,
    ) -> None:
        self._store, self._workers = store, max(1, workers)
        self._settings, self._fates = page_settings(inputs), Fates(inputs.config, read_takedowns(store.folder))
        self._n_offered = self.n_kept = 0
        self._changed = threading.Condition()
        self._order: Order = "go on"
        self._urls, self._ended = deque[str](), deque[tuple[str, Any]]()
        self._running = set[str]()
        self._thread: threading.Thread | None = None

    def offer(self, url: str) -> None:
        """Take the URL of a page that the store has kept. Return at once."""
        if not self._n_offered:
            load_libraries()  # while other pages come
        with self._changed:
            self._n_offered += 1
            if len(self._urls) < MOST_WAITING and self._order == "go on":
                self._urls.append(url)
            self._changed.notify()
        if self._thread is None and self._n_offered >= MIN_PAGES:
            self._thread = threading.Thread(target=self._run, name="early-extraction")
            self._thread.start()

    def finish(self) -> None:
        """Give the last pages a moment, then end as `stop` does."""
        self._give("finish")
        try:
            if self._thread is not None:
                self._thread.join(FINISH_S)
        finally:  # also after Ctrl-C
            self.stop()

    def stop(self) -> None:
        """End the workers at once. Results that are there already are kept."""
        self._give("stop")
        if self._thread is not None:
            with deaf_to_interrupts():
                self._thread.join()

    def _give(self, order: Order) -> None:
        with self._changed:
            self._order = order
            self._changed.notify()

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is the crawl's: it calls `stop`
        try:
            prepare = partial(_prepare, self._settings)
            with (
                PageCache(self._store.folder, writable=True, quiet=True) as kept,
                closing(WorkersOnCall(work, prepare, workers=self._workers, cpu_limit_s=CPU_S)) as workers,
            ):
                known = KnownPages(kept, self._settings)
                while kept.is_open and self._turn(known, workers):
                    pass
        except Exception as error:  # any kind: deriving does the same work, and raises it again if it is lasting
            _note("early_extraction_failed", error=f"{type(error).__name__}: {error}")
        finally:
            self._give("stop")
            _note("extracted_early", pages=self.n_kept)

    def _turn(self, known: KnownPages, workers: WorkersOnCall[PageJob, PageResult]) -> bool:
        """Wait for a page or for results, then start or keep them; False if this was the last turn."""
        with self._changed:
            self._changed.wait_for(self._has_work)
            ended, self._ended = self._ended, deque()
            url = self._urls.popleft() if self._has_room() and self._order != "stop" else None
            is_last = self._order == "stop" or (url is None and self._is_done())
        for page_url, future in ended:
            self._keep(page_url, workers.result(future), known)
        if url is not None:
            self._begin(url, known, workers)
        return not is_last

    def _has_work(self) -> bool:
        return bool(self._ended) or self._has_room() or self._order == "stop" or self._is_done()

    def _has_room(self) -> bool:
        return bool(self._urls) and len(self._running) < PAGES_PER_WORKER * self._workers

    def _is_done(self) -> bool:
        return self._order == "finish" and not self._urls and not self._running

    def _begin(self, url: str, known: KnownPages, workers: WorkersOnCall[PageJob, PageResult]) -> None:
        fetch = self._store.fetch(url)
        page_url = self._fates.page_url(fetch) if fetch is not None else None
        if fetch is None or page_url is None or page_url in self._running:
            return
        job = known.ask(page_url, page_stage.job_of(page_url, fetch, self._store))
        if isinstance(job, PageJob):
            self._running.add(page_url)
            workers.start(job, partial(self._has_ended, page_url))

    def _has_ended(self, page_url: str, future: Any) -> None:
        with self._changed:
            self._ended.append((page_url, future))
            self._changed.notify()

    def _keep(self, page_url: str, found: PageResult | WorkFailure, known: KnownPages) -> None:
        self._running.remove(page_url)
        result = page_stage.failed(found) if isinstance(found, WorkFailure) else found
        self.n_kept += known.keep(page_url, result)


def _note(event: str, **fields: Any) -> None:
    with suppress(DataError):  # a log that cannot be written stops the crawl, which says so
        note(event, **fields)


@contextmanager
def early_extraction(store: StoreReader, inputs: Inputs, workers: int) -> Iterator[Callable[[str], None] | None]:
    """While entered, extract the pages whose URLs are given to what it yields: None where there is no cache for them.

    Workers end with the block: at once if it raises, else within FINISH_S.
    """
    if inputs.config.scale.executor != "none":  # its tasks keep their results themselves
        yield None
        return
    early = EarlyExtraction(store, inputs, workers)
    try:
        yield early.offer
    except BaseException:
        early.stop()
        raise
    early.finish()
