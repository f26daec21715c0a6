"""A crawl: every URL is walked hop by hop, each hop in its turn, under robots.txt, the guards and the bounds.

Results go to the crawl's sink in batches, in a separate thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from builder.clock import Clock
from builder.fetch.addresses import (
    Lookup,
    RefusedAddressError,
    check_url,
)
from builder.fetch.answer_sign import SENT_TO, is_elsewhere, sign_of
from builder.fetch.body import (
    SMALL_BYTES,
    Share,
    Shares,
)
from builder.fetch.connections import Connections
from builder.fetch.fetched import BREAKER, ROBOTS_UNREAD, Fetched, Validators, is_gateways, is_unanswered
from builder.fetch.guarded_resolver import GuardedResolver
from builder.fetch.hop import Hopper, HopResponse, dialled, no_address
from builder.fetch.open_files import visits_at_once
from builder.fetch.outage import History, Monotonic, OutageWatch, Pause
from builder.fetch.politeness import Breakers, Gates, politeness_key, registered_host, retry_after_s
from builder.fetch.proxies import is_unusable, named, proxy_doors, proxy_for
from builder.fetch.robots import Robots, robots_of
from builder.fetch.sighting import Sighting, certificate_fault, is_local_fault, was_there
from builder.urls import host_of

if TYPE_CHECKING:
    from builder.fetch.settings import FetchConfig
    from builder.sites.site_folders import HostMap


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


_WINDOW = 1_024
"""URLs that wait for a name, their host or a lane: far more than lanes, so that slow hosts do not fill them."""
_LONG_FILE = 16_384
_RETRIED_STATUSES = (429, 503)


class _Walk:
    """One URL in progress: its current address, its redirects so far, and its remaining time.

    `probe`: it waits for no network; `again`: no kept connection may serve it.
    """

    def __init__(self, got: Fetched, left_s: float, share: Share, *, page: bool, probe: bool, again: bool) -> None:
        self.got = got
        self.asked_at: float | None = None  # the first request: the later ones go where its answer sent them
        self.probe, self.again = probe, again
        self.left_s = left_s
        self.took_s = 0.0
        self.share = share
        self.page = page
        self.seen = {got.url}
        self.delay_s = 0.0
        self.signals: set[str] = set()
        self.was_retried = False
        self.sent_away_at: float | None = None


class Crawl:
    """Fetches URLs in one session; each result goes to the writer once the watch takes it for genuine."""

    def __init__(
        self,
        connections: Connections,
        settings: FetchConfig,
        now: Clock,
        writer: Writer,
        validators: Mapping[str, Validators],
        hosts: HostMap,
        names: GuardedResolver,
    ) -> None:
        self._settings, self._now, self._writer = settings, now, writer
        self._validators, self._hosts, self._names = validators, hosts, names
        self._connections, self._hopper = connections, Hopper(connections, settings, hosts)
        self._shares = Shares(settings.workers)
        self._gates = Gates(settings.per_host)
        self._breakers = Breakers(settings.breaker_failures)
        self._robots: dict[str, Robots] = {}
        self._reading: dict[str, asyncio.Task[Robots]] = {}
        self.watch: OutageWatch

    def _key(self, url: str) -> str:
        """The politeness key: a registered name or, for hosts that the engine serves, the name and the address."""
        served = self._hosts.get(host_of(url))
        key = politeness_key(url)
        return key if served is None else f"{key} at {served[0]}"

    async def visit(self, url: str) -> None:
        """Fetch one URL with its redirects, again where the network was away, and see the result written."""
        share = Share(self._shares)
        try:
            history: History = []
            while True:
                await self.watch.fair_weather(url, politeness_key(url))
                got, seen = await self._attempt(url, share, probe=False, again=bool(history))
                if seen is None or not await self._is_again(seen, got, share, history):
                    break
            await self._writer.write(got)
        finally:
            share.give_back()
            self.watch.end()

    async def _is_again(self, seen: Sighting, got: Fetched, share: Share, history: History) -> bool:
        """Whether a result is the network's fault, so that the URL is fetched again."""
        if len(got.body) > SMALL_BYTES:
            # No login page is that large, and large bodies do not wait: few may be in memory.
            self.watch.answered(seen)
            return False
        share.give_back()
        return await self.watch.verdict(seen, history) != "genuine"

    async def _attempt(self, url: str, share: Share, *, probe: bool, again: bool) -> tuple[Fetched, Sighting | None]:
        """One fetch of a URL, and what it shows of the network; None if it shows nothing."""
        started = self.watch.monotonic()
        walk = self._walk(url, share, page=True, probe=probe, again=again)
        got = replace(await self._follow(walk), took_s=walk.took_s)
        if host_of(url) in self._hosts:
            return got, None
        sign = self._sign(got, started)
        if sign is None:
            return got, None
        seen = Sighting(
            url=url,
            host=politeness_key(url),
            started=started if walk.asked_at is None else walk.asked_at,
            begun=started,
            ended=self.watch.monotonic(),
            sign=sign,
            detail=got.detail,
            is_page=got.outcome == "kept",
            is_rules=got.outcome == "robots",
            was_there=was_there(got),
            certificate=certificate_fault(got),
            sent_away_at=walk.sent_away_at if sign.startswith(SENT_TO) else None,
            is_local=is_local_fault(got.detail),
            is_proxys=is_unusable(got.detail),
            proxy=proxy_for(got.final_url, self._settings.proxy) or "",
        )
        return got, seen

    def _sign(self, got: Fetched, started: float) -> str | None:
        """What an answer looked like, empty for none; None for a result that needed no network."""
        if is_unanswered(got):
            return ""
        if got.outcome == "robots" or got.detail.startswith(ROBOTS_UNREAD):
            robots = self._robots.get(_origin(got.final_url))
            if robots is None:
                return ""  # it came while the network was away, so it shows nothing: neither does what follows from it
            if robots.read_at < started:
                return None
            if got.outcome == "robots":
                return f"{got.detail} {hashlib.sha256(robots.packed).hexdigest()}"
        return "" if self._is_proxys(got) else sign_of(got)

    def _is_proxys(self, got: Fetched) -> bool:
        """Whether the proxy answered for a host that it could not reach, as far as its answer shows that."""
        return is_gateways(got) and proxy_for(got.final_url, self._settings.proxy) is not None

    async def probe(self, url: str) -> Sighting:
        """Fetch a URL to see whether the network is there; the result is not written."""
        share = Share(self._shares)
        try:
            _, seen = await self._attempt(url, share, probe=True, again=True)
        finally:
            share.give_back()
        return seen or Sighting(url=url, host=politeness_key(url), started=0, ended=0)

    def recover(self, began: float, registered: frozenset[str] | None = None) -> None:
        """Forget the failures of hosts since then, of these registered ones or of all: the network may be the cause.

        If it was away from all of them, their connections are not used any more either.
        """
        if registered is None:
            self._connections.renew()

        def concerns(host: str) -> bool:
            return registered is None or registered_host(host) in registered

        self._names.forget(concerns)
        self._breakers.forget(concerns)
        # A file that could not be read is asked for again in any case: every later page of its host has met it.
        for origin in [origin for origin, robots in self._robots.items() if robots.closed or robots.read_at >= began]:
            if concerns(host_of(origin)):
                del self._robots[origin]

    def _walk(self, url: str, share: Share, *, page: bool, probe: bool, again: bool) -> _Walk:
        got = Fetched(url=url, final_url=url, outcome="connection", fetched_at=self._now())
        return _Walk(got, self._settings.timeout_s, share, page=page, probe=probe, again=again)

    async def _follow(self, walk: _Walk) -> Fetched:
        """Go from hop to hop; waiting for a turn does not count against the deadline."""
        while True:
            barred = await self._barred(walk)
            if barred is not None:
                return barred
            answer = await self._turn(walk)
            if answer.target is None:
                return _with_signals(answer.got, walk.signals)
            detail = self._loop_fault(walk, answer.target)
            if detail:
                return replace(answer.got, outcome="redirect_loop", detail=detail)
            walk.seen.add(answer.target)
            if walk.sent_away_at is None and is_elsewhere(walk.got.url, answer.target):
                walk.sent_away_at = self.watch.monotonic()
            walk.got = replace(walk.got, final_url=answer.target, n_redirects=walk.got.n_redirects + 1)

    def _loop_fault(self, walk: _Walk, target: str) -> str:
        if target in walk.seen:
            return "comes back to itself"
        limit = self._settings.max_redirects
        return f"over {limit} redirects" if walk.got.n_redirects >= limit else ""

    async def _barred(self, walk: _Walk) -> Fetched | None:
        """The reason not to request the walk's next hop, or None."""
        here = walk.got.final_url
        try:
            check_url(here)
        except RefusedAddressError as error:
            return replace(walk.got, outcome="refused_address", detail=str(error))
        if walk.page:
            robots = await self._robots_for(walk)
            if not robots.allows(here):
                detail = robots.closed or "disallowed by robots.txt"
                return replace(walk.got, outcome=robots.outcome, detail=detail)
            walk.delay_s = max(self._settings.delay_s, robots.crawl_delay_s)
            walk.signals = robots.signals(here)
        return None

    async def _robots_for(self, walk: _Walk) -> Robots:
        origin = _origin(walk.got.final_url)
        if origin in self._robots:
            return self._robots[origin]
        started = time.monotonic()
        with self._gates.needed(self._key(origin)):
            if origin not in self._reading:
                self._reading[origin] = asyncio.create_task(self._read_robots(origin, again=walk.again))
            robots = await asyncio.shield(self._reading[origin])
        waited_s = min(robots.took_s, time.monotonic() - started)
        walk.took_s += waited_s
        if walk.got.n_redirects:
            walk.left_s -= waited_s  # a chain over hosts whose robots.txt comes slowly must end too
        return robots

    async def _read_robots(self, origin: str, *, again: bool) -> Robots:
        share = Share(self._shares)
        # As a probe: none may wait for a file that waits for the network.
        walk = self._walk(f"{origin}/robots.txt", share, page=False, probe=True, again=again)
        started = self.watch.monotonic()
        try:
            got = await self._follow(walk)
            share.give_back()
            if len(got.body) > _LONG_FILE:  # half a second to parse, at the worst: not in the loop
                robots = await asyncio.to_thread(robots_of, got.status, got.body, got.outcome, got.detail)
            else:
                robots = robots_of(got.status, got.body, got.outcome, got.detail)
            robots = replace(robots, took_s=walk.took_s, read_at=self.watch.monotonic())
            if not self.watch.is_tainted(started):
                self._robots[origin] = robots
            return robots
        finally:
            share.give_back()
            del self._reading[origin]

    async def _turn(self, walk: _Walk) -> HopResponse:
        """One request in its turn, and a second one where the host asks us to come again soon."""
        key = self._key(walk.got.final_url)
        with self._gates.needed(key):
            answer = await self._request(walk, key)
            wait_s = self._wait_s(answer)
            if wait_s is None or walk.was_retried:
                return answer
            walk.was_retried = True
            walk.took_s += wait_s
            self._gates.pause(key, wait_s)
            return await self._request(walk, key)

    def _wait_s(self, answer: HopResponse) -> float | None:
        if answer.got.status not in _RETRIED_STATUSES or not answer.retry_after:
            return None
        wait_s = retry_after_s(answer.retry_after, self._now(), answer.date)
        return wait_s if wait_s is not None and wait_s <= self._settings.max_retry_wait_s else None

    async def _request(self, walk: _Walk, key: str) -> HopResponse:
        while True:
            if not walk.probe:
                await self.watch.fair_weather(walk.got.url, politeness_key(walk.got.url))
            failure = await self._find_name(walk)
            if failure is not None:
                return failure
            async with self._gates.turn(key, walk.delay_s):
                if walk.probe or not self.watch.is_paused:  # none that waits for the network may hold a host's turn
                    return await self._request_now(walk, key)

    async def _find_name(self, walk: _Walk) -> HopResponse | None:
        """Wait for the host's address, outside of the page's time and of all limits; the failure, if there is none."""
        host = dialled(walk.got.final_url).raw_host or ""
        if host in self._hosts or proxy_for(walk.got.final_url, self._settings.proxy) is not None:
            return None
        started = self.watch.monotonic()
        try:
            await self._names.addresses(host)
        except OSError as error:
            walk.asked_at = started if walk.asked_at is None else walk.asked_at
            outcome, detail = no_address(error)
            return HopResponse(replace(walk.got, outcome=outcome, detail=detail), answered=True)
        return None

    async def _request_now(self, walk: _Walk, key: str) -> HopResponse:
        got, host = walk.got, host_of(walk.got.final_url)
        if self._breakers.is_open(host):
            detail = f"{BREAKER}{self._settings.breaker_failures} failures in a row at {host}"
            return HopResponse(replace(got, detail=detail))
        await walk.share.take_lane()
        asked_at, started = self.watch.monotonic(), time.monotonic()
        walk.asked_at = asked_at if walk.asked_at is None else walk.asked_at
        headers = self._headers(walk, key)
        answer = await self._hopper.hop(got, walk.left_s, headers, walk.share.grow, page=walk.page, again=walk.again)
        spent_s = time.monotonic() - started
        walk.left_s -= spent_s
        walk.took_s += spent_s
        if answer.got.outcome != "kept":
            walk.share.give_back()
        is_silent = is_unanswered(answer.got) or self._is_proxys(answer.got)
        if not (is_silent and (self.watch.is_tainted(asked_at) or is_local_fault(answer.got.detail))):
            self._breakers.note(host, answered=answer.answered)
        return answer

    def _headers(self, walk: _Walk, key: str) -> dict[str, str]:
        headers: dict[str, str] = {}
        known = self._validators.get(walk.got.url)
        if known is not None and walk.page:
            headers = known.headers_for(walk.got.url, walk.got.final_url)
        if walk.page and self._gates.n_users(key) == 1:
            headers["Connection"] = "close"  # no URL waits for this host: an idle connection keeps a file open
        return headers


def _with_signals(got: Fetched, signals: set[str]) -> Fetched:
    if got.outcome != "kept" or not signals:
        return got
    return replace(got, signals=tuple(sorted(signals.union(got.signals))))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _release(window: asyncio.Semaphore, n: int) -> None:
    for _ in range(n):
        window.release()


async def crawl(
    urls: Iterable[str],
    settings: FetchConfig,
    hosts: HostMap,
    now: Clock,
    sink: Sink,
    validators: Mapping[str, Validators],
    lookup: Lookup,
    *,
    landmarks: Iterable[str] = (),
    monotonic: Monotonic = time.monotonic,
    sleep: Pause = asyncio.sleep,
) -> None:
    """Fetch all the URLs. Raises an exception group of the sink's errors, or of the watch's."""
    room = min(max(settings.workers, min(_WINDOW, 8 * settings.workers)), visits_at_once())
    window = asyncio.Semaphore(room)
    proxies = proxy_doors(settings.proxy)
    through = named(proxies)
    names = GuardedResolver(hosts, lookup, proxies)
    async with (
        Connections(settings, hosts, names, proxies) as connections,
        Writer(sink) as writer,
        asyncio.TaskGroup() as group,
    ):
        visits = Crawl(connections, settings, now, writer, validators, hosts, names)
        visits.watch = watch = OutageWatch(
            give_up_after_s=settings.give_up_after_s,
            room=room,
            probe=visits.probe,
            recover=visits.recover,
            spawn=group.create_task,
            landmarks=[(politeness_key(url), url) for url in landmarks if host_of(url) not in hosts],
            widen=lambda n: _release(window, n),
            proxies=through,
            monotonic=monotonic,
            sleep=sleep,
        )
        for url in urls:
            await window.acquire()
            watch.begin()
            group.create_task(visits.visit(url)).add_done_callback(lambda _: window.release())
        watch.all_begun()
