"""Fetching web pages over HTTP, politely and guarded: the one place with async code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from builder.clock import Clock
from builder.fetch.addresses import GuardedResolver, RefusedAddressError, check_url
from builder.fetch.body import CHUNK_BYTES, BodyError, check_length, check_start, check_type, read_body
from builder.fetch.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from builder.fetch.robots import Robots, robots_of

if TYPE_CHECKING:
    from builder.fetch.settings import FetchConfig
    from builder.search import HostMap

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_URL_MARKS = "%/?:@!$&'()*+,;=~[]|"
ACCEPT = "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came of one URL. `outcome` is one of records.HIT_OUTCOMES; `body` is inflated, and empty unless kept."""

    url: str
    final_url: str
    outcome: str
    fetched_at: datetime
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    n_redirects: int = 0
    detail: str = ""


class _Gate:
    """One host's share: at most so many requests at a time, and a pause between their starts."""

    def __init__(self, n_at_once: int) -> None:
        self.slots = asyncio.Semaphore(n_at_once)
        self._turn = asyncio.Lock()
        self._next_start = 0.0

    async def wait(self, delay_s: float) -> None:
        """Sleep until this request may start."""
        if delay_s <= 0:
            return
        async with self._turn:
            pause = self._next_start - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            self._next_start = time.monotonic() + delay_s


def _session(settings: FetchConfig, hosts: HostMap) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=GuardedResolver(hosts), limit=0, ttl_dns_cache=300),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # inflating is ours, bounded: see builder.fetch.body
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"User-Agent": settings.user_agent, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate"},
    )


class _Fetcher:
    def __init__(self, session: aiohttp.ClientSession, settings: FetchConfig, now: Clock) -> None:
        self._session = session
        self._settings = settings
        self._now = now
        self._gates: dict[str, _Gate] = {}
        self._robots: dict[str, asyncio.Task[Robots]] = {}

    def _gate(self, url: str) -> _Gate:
        host = urlsplit(url).netloc.lower()
        return self._gates.setdefault(host, _Gate(self._settings.per_host))

    async def _robots_for(self, url: str) -> Robots:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc.lower()}"
        if origin not in self._robots:
            self._robots[origin] = asyncio.create_task(self._read_robots(f"{origin}/robots.txt"))
        return await self._robots[origin]

    async def _read_robots(self, url: str) -> Robots:
        got = await self._follow(url, obey=False)
        return robots_of(got.status, got.body, got.outcome, got.detail)

    async def fetch(self, url: str) -> Fetched:
        """Fetch one URL with its redirects. Never raises for what the web does."""
        return await self._follow(url, obey=True)

    async def _follow(self, url: str, *, obey: bool) -> Fetched:
        """Go from hop to hop; waiting for a turn and for robots.txt does not count against the deadline."""
        got = Fetched(url=url, final_url=url, outcome="connection", fetched_at=self._now())
        seen: set[str] = set()
        left_s = self._settings.timeout_s
        while True:
            here = got.final_url
            seen.add(here)
            delay_s = self._settings.delay_s
            try:
                check_url(here)
            except RefusedAddressError as error:
                return replace(got, outcome="refused_address", detail=str(error))
            if obey:
                robots = await self._robots_for(here)
                if not robots.allows(here):
                    return replace(got, outcome=robots.outcome, detail=robots.closed or "disallowed by robots.txt")
                delay_s = max(delay_s, robots.crawl_delay_s)
            gate = self._gate(here)
            async with gate.slots:
                await gate.wait(delay_s)
                started = time.monotonic()
                got, target = await self._hop(got, left_s, page=obey)
                left_s -= time.monotonic() - started
            if target is None:
                return got
            if target in seen or got.n_redirects >= self._settings.max_redirects:
                detail = "comes back to itself" if target in seen else f"over {self._settings.max_redirects} redirects"
                return replace(got, outcome="redirect_loop", detail=detail)
            got = replace(got, final_url=target, n_redirects=got.n_redirects + 1)

    async def _hop(self, got: Fetched, left_s: float, *, page: bool) -> tuple[Fetched, str | None]:
        """One request: what it came to, and where it points if it is a redirect."""
        try:
            async with asyncio.timeout(max(left_s, 0.001)):
                return await self._request(got, page=page)
        except TimeoutError:
            return replace(got, outcome="timeout", detail=f"not done after {self._settings.timeout_s:g} s"), None
        except BodyError as error:
            return replace(got, status=200, outcome=error.outcome, detail=error.detail), None
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, RefusedAddressError)
            outcome = "refused_address" if refused else "connection"
            return replace(got, outcome=outcome, detail=_told(error.os_error)), None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return replace(got, outcome="connection", detail=_told(error)), None

    async def _request(self, got: Fetched, *, page: bool) -> tuple[Fetched, str | None]:
        async with self._session.get(URL(got.final_url, encoded=True), allow_redirects=False) as response:
            got = replace(got, status=response.status)
            location = response.headers.get("Location")
            if response.status in REDIRECTS and location:
                return got, _target(got.final_url, location)
            if response.status not in (200, 203):
                return replace(got, outcome="http_error", detail=f"status {response.status}"), None
            # Bytes that are no UTF-8 come as lone surrogates, which neither WARC nor SQLite can take.
            headers = {name: _well_formed(value) for name, value in response.headers.items()}
            max_bytes = self._settings.max_bytes if page else MAX_ROBOTS_BYTES
            if page:  # robots.txt comes under every media type
                check_type(headers)
            check_length(headers, max_bytes)
            body = await read_body(response.content.iter_chunked(CHUNK_BYTES), headers, max_bytes)
            if page:
                check_start(body, headers)
            return replace(got, outcome="kept", headers=headers, body=body), None


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _target(here: str, location: str) -> str:
    """Where a Location header points: absolute, without fragment, percent-encoded as browsers do it.

    Raises ValueError where no URL can be made of it.
    """
    parts = urlsplit(urljoin(here, location.strip()))
    path, query = (quote(part, safe=_URL_MARKS, errors="surrogateescape") for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, _well_formed(parts.netloc), path, query, ""))


def _told(error: BaseException) -> str:
    """An error in a few words, without addresses of objects or whole tracebacks."""
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def _work(urls: Iterator[str], fetcher: _Fetcher, sink: Callable[[Fetched], None], writer: Executor) -> None:
    loop = asyncio.get_running_loop()
    for url in urls:
        got = await fetcher.fetch(url)
        # Writing and its fsync wait in a thread of their own, so that no other page's clock runs out meanwhile.
        await loop.run_in_executor(writer, sink, got)


async def _fetch_all(
    urls: Iterable[str], settings: FetchConfig, hosts: HostMap, now: Clock, sink: Callable[[Fetched], None]
) -> None:
    shared = iter(urls)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="crawl-writer") as writer:
        async with _session(settings, hosts) as session, asyncio.TaskGroup() as group:
            fetcher = _Fetcher(session, settings, now)
            for _ in range(settings.workers):
                group.create_task(_work(shared, fetcher, sink, writer))


def fetch_all(
    urls: Iterable[str], settings: FetchConfig, hosts: HostMap, now: Clock, sink: Callable[[Fetched], None]
) -> None:
    """Fetch every URL once and hand each result to `sink`, one at a time, in the order of their coming in.

    `hosts` maps host names to (address, port) on loopback; every other address must be public. What a page does
    (time-outs, refusals, bombs) is an outcome; only what `sink` raises ends the fetching.
    """
    try:
        asyncio.run(_fetch_all(urls, settings, hosts, now, sink))
    except BaseExceptionGroup as group:
        # The callers know our error tree, not task groups.
        raise group.exceptions[0] from None
