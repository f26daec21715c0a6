"""Each URL's share of the crawl's resources: a lane, and permission to be large. Together they bound the memory."""

from __future__ import annotations

import asyncio

SMALL_BYTES = 262_144
"""Bodies up to this size need no leave."""
N_LARGE = 12


class Shares:
    """The crawl's lanes (requests under way, and pages that wait to be written) and leaves for large bodies."""

    def __init__(self, n_lanes: int) -> None:
        self.lanes = asyncio.Semaphore(n_lanes)
        self.large = asyncio.Semaphore(N_LARGE)


class Share:
    """The resources that one URL holds at this moment."""

    __slots__ = ("_held", "_shares")

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._held: list[asyncio.Semaphore] = []

    async def take_lane(self) -> None:
        """Wait for a lane."""
        await self._shares.lanes.acquire()
        self._held.append(self._shares.lanes)

    async def grow(self, clock: asyncio.Timeout) -> None:
        """Wait for leave to hold a large body, with the page's clock stopped: the queue is not its fault."""
        if self._shares.large.locked():
            loop = asyncio.get_running_loop()
            deadline, started = clock.when(), loop.time()
            clock.reschedule(None)
            await self._shares.large.acquire()
            clock.reschedule(None if deadline is None else deadline + loop.time() - started)
        else:
            await self._shares.large.acquire()
        self._held.append(self._shares.large)

    def give_back(self) -> None:
        """Let go of everything."""
        while self._held:
            self._held.pop().release()
