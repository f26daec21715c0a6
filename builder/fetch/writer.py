"""Passes results to the crawl's sink in batches, in a separate thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from builder.fetch.fetched import Fetched

Sink = Callable[[Fetched], None]


class Writer:
    """Calls the sink in one thread, so that writing and its fsync hold up no other page's clock.

    Results that arrive while the thread is busy are written together: a thread switch costs more than most pages.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="crawl-writer")
        self._waiting: list[tuple[Fetched, asyncio.Future[None]]] = []
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Writer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running is not None:
            await self._running
        self._thread.shutdown()

    async def write(self, got: Fetched) -> None:
        """Return when the sink has taken the result. Raises the sink's errors."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((got, done))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await done

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            error = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._write, [got for got, done in batch if not done.cancelled()]
            )
            for _, done in batch:
                if not done.done():
                    done.set_result(None) if error is None else done.set_exception(error)
        self._running = None

    def _write(self, batch: list[Fetched]) -> BaseException | None:
        try:
            for got in batch:
                self._sink(got)
        except BaseException as error:  # handed to every URL of the batch: the first one ends the crawl
            return error
        return None
