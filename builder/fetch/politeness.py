"""Manners towards one host: its share of our requests, pauses, Retry-After, and when to stop asking it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from builder.urls import host_of


@lru_cache(maxsize=1)
def _suffixes() -> Callable[[str], object]:
    import tldextract

    # The list that comes with the package: no download, and no cache file either.
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@lru_cache(maxsize=10_000)
def registered_host(host: str) -> str:
    """The registered domain (`bbc.co.uk` of `www.bbc.co.uk`); the host itself if none is known."""
    found = getattr(_suffixes()(host), "top_domain_under_public_suffix", "")
    return found or host


def politeness_key(url: str) -> str:
    """The key of a politeness budget, which all hosts under one registered domain share."""
    return registered_host(host_of(url))


class _Gate:
    """One host's share: at most so many requests at a time, and a pause between their starts."""

    __slots__ = ("n_users", "next_start", "slots", "turn")

    def __init__(self, n_at_once: int) -> None:
        self.slots = asyncio.Semaphore(n_at_once)
        self.turn = asyncio.Lock()
        self.next_start = 0.0
        self.n_users = 0

    async def wait(self, delay_s: float) -> None:
        """Sleep until this request may start."""
        if delay_s <= 0 and not self.next_start:
            return
        async with self.turn:
            while (pause := self.next_start - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            self.next_start = time.monotonic() + delay_s if delay_s > 0 else 0.0

    def is_idle(self) -> bool:
        return self.n_users == 0 and self.next_start <= time.monotonic()


class Gates:
    """The gates of all hosts, by politeness key. Unused gates are dropped: crawls have many hosts."""

    def __init__(self, n_at_once: int) -> None:
        self._n_at_once = n_at_once
        self._gates: dict[str, _Gate] = {}
        self._n_swept = 1_024

    @contextmanager
    def needed(self, key: str) -> Iterator[None]:
        """While entered, the host counts as wanted by one more."""
        gate = self._gates.setdefault(key, _Gate(self._n_at_once))
        gate.n_users += 1
        try:
            yield
        finally:
            gate.n_users -= 1
            if gate.is_idle():
                del self._gates[key]
            elif len(self._gates) > self._n_swept:
                self._sweep()

    def _sweep(self) -> None:
        for key in [key for key, gate in self._gates.items() if gate.is_idle()]:
            del self._gates[key]
        self._n_swept = max(1_024, 2 * len(self._gates))

    @asynccontextmanager
    async def turn(self, key: str, delay_s: float) -> AsyncIterator[None]:
        """Wait for a slot at the host and for its pause to end; hold the slot while entered."""
        gate = self._gates[key]
        async with gate.slots:
            await gate.wait(delay_s)
            yield

    def pause(self, key: str, pause_s: float) -> None:
        """Let no request to the host start for some seconds: it asked for that."""
        gate = self._gates[key]
        gate.next_start = max(gate.next_start, time.monotonic() + pause_s)

    def n_users(self, key: str) -> int:
        """How many want the host now."""
        return self._gates[key].n_users


class Breakers:
    """Counts failures in a row by host name; a host that failed too often is not asked again in this run."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._failures: dict[str, int] = {}

    def is_open(self, host: str) -> bool:
        """Whether the host is out."""
        return self._limit > 0 and self._failures.get(host, 0) >= self._limit

    def note(self, host: str, *, answered: bool) -> None:
        """Note that the host answered (with any status), or that it did not."""
        if self.is_open(host):
            return  # requests that were under way when it opened do not close it again
        if answered:
            self._failures.pop(host, None)
        else:
            self._failures[host] = self._failures.get(host, 0) + 1

    def forget(self, concerns: Callable[[str], bool]) -> None:
        """Ask hosts again: the failures may not have been theirs."""
        for host in list(filter(concerns, self._failures)):
            del self._failures[host]


MAX_WAIT_S = 31 * 86_400.0


def retry_after_s(value: str | None, now: datetime, date: str | None = None) -> float | None:
    """The seconds that a Retry-After header asks for, from either of its forms (RFC 9110, 10.2.3); None for others.

    A time counts from the answer's own `Date` header: our clock may be wrong, or fixed for the build.
    """
    text = (value or "").strip()
    if not text or len(text) > 100:
        return None
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return min(float(text), MAX_WAIT_S)
    when = _http_date(text)
    if when is None:
        return None
    return min(max((when - (_http_date(date or "") or now)).total_seconds(), 0.0), MAX_WAIT_S)


def _http_date(text: str) -> datetime | None:
    if not text or len(text) > 100:
        return None
    try:
        when = parsedate_to_datetime(text)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
