from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from builder.fetch import Fetched, fetch_all, hop
from builder.fetch.answer_sign import SENT_TO, is_common_fault, look_of, sign_of
from builder.fetch.client import Crawl, Writer
from builder.fetch.connections import Connections
from builder.fetch.guarded_resolver import GuardedResolver
from builder.fetch.outage import FEW_HOSTS, MANY_HOSTS, MAX_AGAIN, History, OutageWatch, Verdict
from builder.fetch.robots import Robots
from builder.fetch.settings import FetchConfig, Server
from builder.fetch.sighting import Sighting, is_local_fault
from edu_rag.errors import OutageError

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Net:
    """A network of hosts on a clock of its own: each fetch takes a second, and a sleep passes at once."""

    def __init__(self, sign: Callable[[str, float], str], *, hosts_are_there: bool = False) -> None:
        self.sign = sign
        self.hosts_are_there = hosts_are_there
        self.time = 0.0
        self.n_asked: Counter[str] = Counter()
        self.slept: list[float] = []
        self.kept: dict[str, str] = {}
        self.verdicts: Counter[Verdict] = Counter()
        self.is_all_by_proxy = False
        self.shut: Callable[[str, float], bool] = lambda *_: False  # whether the proxy in front of a URL is away
        self.failed: set[str] = set()  # remembered, as the crawl remembers names and robots.txt files

    async def fetch(self, url: str) -> Sighting:
        started = self.time
        self.n_asked[url] += 1
        await asyncio.sleep(0)
        sent_at = self.time
        is_shut = self.shut(url, self.time)
        sign = "" if is_shut or url in self.failed else self.sign(url, self.time)
        if not sign:
            self.failed.add(url)
        self.time += 1 / 16
        return Sighting(
            url=url,
            host=url.partition("/")[0],
            started=started,
            ended=self.time,
            sign=sign,
            is_page=bool(sign) and not is_common_fault(sign),
            is_local=is_shut,
            is_proxys=is_shut,
            proxy="proxy" if is_shut or self.is_all_by_proxy else "",
            was_there=not sign and self.hosts_are_there,
            sent_away_at=sent_at if sign.startswith(SENT_TO) else None,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def recover(self, _: float, hosts: frozenset[str] | None) -> None:
        self.failed = {url for url in self.failed if hosts is not None and url.partition("/")[0] not in hosts}

    async def visit(self, watch: OutageWatch, url: str, room: asyncio.Semaphore) -> None:
        try:
            history: History = []
            for _ in range(100):
                await watch.fair_weather(url, url.partition("/")[0])
                seen = await self.fetch(url)
                verdict = await watch.verdict(seen, history)
                self.verdicts[verdict] += 1
                if verdict == "genuine":
                    self.kept[url] = seen.sign
                    break
        finally:
            watch.end()
            room.release()

    async def crawl(self, urls: Sequence[str], give_up_after_s: float, landmarks: Sequence[str]) -> None:
        room = asyncio.Semaphore(20)

        def widen(n: int) -> None:
            for _ in range(n):
                room.release()

        async with asyncio.TaskGroup() as group:
            watch = OutageWatch(
                give_up_after_s=give_up_after_s,
                room=20,
                probe=self.fetch,
                recover=self.recover,
                spawn=group.create_task,
                landmarks=[(url.partition("/")[0], url) for url in landmarks],
                widen=widen,
                monotonic=lambda: self.time,
                sleep=self.sleep,
            )
            for url in urls:
                await room.acquire()
                watch.begin()
                group.create_task(self.visit(watch, url, room))
            watch.all_begun()


def crawled(
    sign: Callable[[str, float], str], urls: Sequence[str], give_up_after_s: float = 600, landmarks: Sequence[str] = ()
) -> Net:
    net = Net(sign)
    asyncio.run(net.crawl(urls, give_up_after_s, landmarks))
    return net


URLS = [f"h{i}.com/page" for i in range(200)]
KNOWN = "known.com/page"
PAGES = {url: f"page of {url}" for url in URLS}


def _during(begin: float, end: float, sign: str) -> Callable[[str, float], str]:
    return lambda url, now: sign if begin <= now < end else PAGES.get(url, f"page of {url}")


@pytest.mark.parametrize("sign", ["", "the login page"])
@pytest.mark.parametrize("seconds", [2.0, 60.0])
def test_what_fails_or_shows_one_page_for_all_while_the_network_is_away_is_fetched_again(
    sign: str, seconds: float
) -> None:
    net = crawled(_during(5.0, 5.0 + seconds, sign), URLS)
    assert net.kept == PAGES
    assert net.verdicts["again"] + net.verdicts["once_more"] > MANY_HOSTS


@pytest.mark.parametrize("sign", ["", "the login page"])
def test_an_outage_at_the_very_start_ends_when_the_network_comes_although_no_page_was_ever_kept(sign: str) -> None:
    net = crawled(_during(0.0, 40.0, sign), URLS)
    assert net.kept == PAGES
    assert net.time < 120


def test_a_proxy_that_is_away_costs_no_page_although_hosts_that_need_none_answer() -> None:
    net = Net(lambda url, _: PAGES[url])
    net.shut = lambda url, now: url in URLS[::20] and now < 60
    asyncio.run(net.crawl(URLS, 600, ()))
    assert net.kept == PAGES
    net.shut = lambda url, _: url == URLS[7]
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(net.crawl(URLS, 100.0, ()))
    assert isinstance(caught.value.exceptions[0], OutageError)


def test_a_proxy_that_refuses_few_hosts_alone_ends_no_crawl() -> None:
    net = Net(lambda url, _: PAGES[url])
    net.shut, net.is_all_by_proxy = lambda url, _: url in URLS[::50], True
    asyncio.run(net.crawl(URLS, 100.0, ()))
    assert net.kept == PAGES | dict.fromkeys(URLS[::50], "")


def test_an_outage_with_expired_certificates_points_to_the_clock() -> None:
    async def given_up() -> str:
        async with asyncio.TaskGroup() as group:
            crawl = Ordered(group)
            held = await crawl.judged(
                "h.com", "", (0.0, 1.0), detail="certificate verify failed: certificate has expired"
            )
            error = str(crawl.watch._given_up())
            held.cancel()
        return error

    assert "check this machine's clock and network, then" in asyncio.run(given_up())


def test_the_crawl_says_when_the_network_goes_and_comes_back_and_asks_little_meanwhile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    net = crawled(_during(5.0, 305.0, ""), URLS)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" (")[0].partition(" after")[0] for line in lines] == [
        "fetch: the network is away",
        "fetch: the network is back",
    ]
    assert net.slept == sorted(net.slept)
    assert max(net.slept) <= 30
    assert net.n_asked.total() < len(URLS) + 150


@pytest.mark.parametrize("sign", ["", "the login page"])
def test_a_network_that_stays_away_ends_the_crawl_and_costs_nothing(sign: str) -> None:
    net = Net(_during(0.0, 1e9, sign))
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(net.crawl(URLS, 100.0, ()))
    (error,) = caught.value.exceptions
    assert isinstance(error, OutageError)
    assert "run the same command to resume" in str(error)
    assert net.kept == {}
    assert 100 <= net.time < 120


@pytest.mark.parametrize("sign", ["", "the login page"])
def test_an_outage_that_only_few_hosts_meet_costs_them_nothing(sign: str) -> None:
    net = crawled(_during(5.0, 5.3, sign), URLS)
    assert net.kept == PAGES
    assert FEW_HOSTS <= net.verdicts["once_more"] + net.verdicts["again"] < MANY_HOSTS


@pytest.mark.parametrize("n_hosts", [1, 2])
def test_a_connection_that_is_lost_to_a_host_that_was_there_is_made_once_more_however_few_hosts_it_meets(
    n_hosts: int,
) -> None:
    urls = [f"h{i}.com/page{n}" for n in range(3) for i in range(60)]
    hit = [f"h{30 + i}.com/page1" for i in range(n_hosts)] + [f"h{30 + i}.com/page2" for i in range(n_hosts)]
    net = Net(lambda url, _: "" if url in hit and net.n_asked[url] < 2 else f"page of {url}", hosts_are_there=True)
    asyncio.run(net.crawl(urls, 600, ()))
    assert all(net.kept.values())
    assert len(hit) <= net.verdicts["once_more"] <= 2 * len(hit)
    gone = [f"h{i}.com/page{n}" for i in (30, 31) for n in range(3)]
    net = Net(lambda url, _: "" if url in gone else f"page of {url}", hosts_are_there=True)
    asyncio.run(net.crawl(urls, 600, ()))
    assert [url for url in urls if not net.kept[url]] == [url for url in urls if url in gone]
    assert sum(net.n_asked[url] for url in gone) <= 2 * len(gone)


LOGIN = f"{SENT_TO}login.com"


@pytest.mark.parametrize("lasts_on", [False, True])
@pytest.mark.parametrize(("n_urls", "met"), [(200, 199), (200, 100), (30, 29)])
def test_no_page_of_a_portal_is_kept_although_one_host_alone_is_sent_to_it(
    n_urls: int, met: int, lasts_on: bool
) -> None:
    """The portal comes when that host is asked, and goes with its answer, or lasts on."""
    urls, begun = URLS[:n_urls], list[float]()

    def sign(url: str, now: float) -> str:
        if url == urls[met] and not begun:
            begun.append(now)
            net.time += 3.0
            return LOGIN
        return LOGIN if lasts_on and begun and now < begun[0] + 20 else PAGES[url]

    net = Net(sign)
    asyncio.run(net.crawl(urls, 600, ()))
    assert net.kept == {url: PAGES[url] for url in urls}


class Ordered:
    """A watch whose crawl reports what a test says, in the order of the test. Its probes wait for `is_back`."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.time, self.is_back, self._group = 0.0, asyncio.Event(), group
        self.watch = OutageWatch(
            give_up_after_s=600,
            room=20,
            probe=self._probe,
            recover=lambda *_: None,
            spawn=group.create_task,
            landmarks=[("known.com", KNOWN)],
            widen=lambda _: None,
            monotonic=lambda: self.time,
            sleep=lambda _: asyncio.sleep(0),
        )

    async def _probe(self, url: str) -> Sighting:
        await self.is_back.wait()
        return Sighting(url=url, host=url.partition("/")[0], started=9, ended=9, sign=f"page of {url}", is_page=True)

    async def judged(self, host: str, sign: str, times: tuple[float, float], **more: Any) -> asyncio.Task[Verdict]:
        """The verdict on a result, which may come later."""
        self.watch.begin()
        self.time = times[1]
        seen = Sighting(url=f"{host}/", host=host, started=times[0], ended=times[1], sign=sign, **more)
        task = self._group.create_task(self.watch.verdict(seen, []))
        await asyncio.sleep(0)
        return task


SENT_AWAY = f"{SENT_TO}login.net"


def test_a_page_on_its_way_that_a_portal_sends_elsewhere_during_a_pause_is_fetched_once_more() -> None:
    async def ordered() -> Verdict:
        async with asyncio.TaskGroup() as group:
            crawl = Ordered(group)
            for number in range(MANY_HOSTS + 1):
                await crawl.judged(f"h{number}.com", "", (0.0, number / 8))
            assert crawl.watch.is_paused
            away = await crawl.judged("late.com", SENT_AWAY, (0.5, 4.0), is_page=True, sent_away_at=3.9)
            crawl.is_back.set()
            return await away

    assert asyncio.run(ordered()) == "once_more"


@pytest.mark.parametrize(
    ("sent_away_at", "verdict"),
    [(10.2, "genuine"), (13.3, "once_more")],
)
def test_a_redirect_that_is_seen_late_is_not_vouched_for_by_pages_that_came_meanwhile(
    sent_away_at: float, verdict: Verdict
) -> None:
    async def ordered() -> Verdict:
        async with asyncio.TaskGroup() as group:
            crawl = Ordered(group)
            pages = [await crawl.judged("before.com", "a page", (9.9, 10.0), is_page=True)]
            ended = sent_away_at + 0.1
            away = await crawl.judged("h.com", SENT_AWAY, (10.1, ended), is_page=True, sent_away_at=sent_away_at)
            # While the redirect waits to be read, a page comes that began after it was sent.
            pages += [await crawl.judged("during.com", "page d", (sent_away_at - 0.05, sent_away_at), is_page=True)]
            pages += [await crawl.judged("after.com", "page a", (ended, ended + 0.1), is_page=True)]
            found = await away
            for page in pages:
                page.cancel()
            return found

    assert asyncio.run(ordered()) == verdict


@pytest.mark.parametrize("landmarks", [[], ["h199.com/page"]])
def test_pages_that_their_hosts_send_elsewhere_are_kept_for_one_more_request_at_most(landmarks: list[str]) -> None:
    moved = {url: f"{SENT_TO}new{url}" for url in URLS[5:190:10]} | {URLS[149]: f"{SENT_TO}new.com"}
    for urls in (URLS[:150], URLS[5:6]):
        net = crawled(lambda url, _: moved.get(url, PAGES[url]), urls, landmarks=landmarks)
        assert net.kept == {url: moved.get(url, PAGES[url]) for url in urls}
        assert all(net.n_asked[url] <= 2 for url in moved)
        assert net.n_asked.total() <= len(urls) + len(moved) + 8
        assert net.verdicts["again"] == 0
        assert net.slept == []


def test_what_failed_is_forgotten_for_an_outage_however_long_ago_it_was_learned() -> None:
    async def nothing(_: str) -> list[str]:
        return []

    async def remembered() -> set[str]:
        names = GuardedResolver({}, nothing, set())
        async with Connections(FetchConfig(), {}, names, set()) as connections, Writer(lambda _: None) as writer:
            visits = Crawl(connections, FetchConfig(), lambda: NOW, writer, {}, {}, names)
            # The first page of h0.com met the failure; the second one began when it was known already.
            visits._robots["http://h0.com"] = Robots(closed="robots.txt: Network is unreachable", read_at=1.0)
            visits._robots["http://h1.com"] = Robots(read_at=1.0)
            visits._robots["http://h2.com"] = Robots(read_at=3.0)
            visits._robots["http://h3.com"] = Robots(closed="robots.txt: status 500", read_at=1.0)
            visits.recover(2.0, frozenset({"h0.com", "h1.com", "h2.com"}))
            return set(visits._robots)

    assert asyncio.run(remembered()) == {"http://h1.com", "http://h3.com"}


@pytest.mark.parametrize(("stands_still", "is_local"), [(0.15, True), (0.0, False)])
def test_an_answer_that_is_late_because_this_machine_stood_still_is_not_the_hosts_fault(
    monkeypatch: pytest.MonkeyPatch, stands_still: float, is_local: bool
) -> None:
    monkeypatch.setattr(hop, "_LATE_S", 0.1)

    class Session:
        @asynccontextmanager
        async def get(self, *_: object, **__: object) -> AsyncIterator[None]:
            time.sleep(stands_still)  # the loop does not run
            await asyncio.sleep(60)
            yield

    class Sessions(Connections):
        def __init__(self) -> None:
            pass

        def session(self, *, is_new: bool) -> Any:
            return Session()

    async def ended() -> Fetched:
        async def grow(_: object) -> None:
            return None

        hopper = hop.Hopper(Sessions(), FetchConfig(proxy="none"), {})
        asked = Fetched(url="http://h.com/", final_url="http://h.com/", outcome="connection", fetched_at=NOW)
        return (await hopper.hop(asked, 0.01, {}, grow, page=True, again=False)).got

    got = asyncio.run(ended())
    assert got.outcome == "timeout"
    assert is_local_fault(got.detail) == is_local


def test_after_an_outage_and_for_what_is_fetched_again_no_kept_connection_is_used() -> None:
    async def nothing(_: str) -> list[str]:
        return []

    async def port_of(session: aiohttp.ClientSession) -> bytes:
        async with session.get("http://h.com/") as response:
            return await response.read()

    async def ports(server: Server) -> list[bytes]:
        hosts = {"h.com": server}
        async with Connections(FetchConfig(), hosts, GuardedResolver(hosts, nothing, set()), set()) as connections:
            kept = [await port_of(connections.session(is_new=False)) for _ in range(2)]
            new = [await port_of(connections.session(is_new=True)) for _ in range(2)]
            connections.renew()
            return [*kept, *new, await port_of(connections.session(is_new=False))]

    async def run() -> list[bytes]:
        async def answer(reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
            body = str(writes.get_extra_info("peername")[1]).encode()
            with suppress(asyncio.IncompleteReadError):
                while await reads.readuntil(b"\r\n\r\n"):
                    writes.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            writes.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            return await ports(server.sockets[0].getsockname())

    first, second, *others = asyncio.run(run())
    assert first == second
    assert len({first, *others}) == 4


def test_a_portal_that_breaks_all_https_is_no_network_although_it_answers_for_the_other_hosts() -> None:
    def sign(url: str, now: float) -> str:
        if not 5.0 <= now < 45.0:
            return PAGES[url]
        return "the login page" if int(url[1:].partition(".")[0]) % 10 == 0 else ""

    net = crawled(sign, URLS)
    assert net.kept == PAGES


def test_login_pages_that_differ_in_tokens_and_addresses_look_the_same() -> None:
    signs = set()
    for n in range(20):
        url = f"http://www.h{n}.com/page?{n}"
        link = f'<a href="/login?next={n:x}&t={n * 7919:x}">Log in</a>'
        text = f"{link} to the hotel, 10:{n:02}, token a{n}b for www.h{n}.com"
        got = Fetched(
            url=url, final_url=url, outcome="kept", fetched_at=datetime(2026, 1, 2, tzinfo=UTC), body=text.encode()
        )
        signs.add(sign_of(got))
    assert len(signs) == 1


@pytest.mark.parametrize(
    ("outcome", "detail", "n_signs"),
    [
        ("redirect_loop", "comes back to itself", 1),
        ("not_html", "application/captive+json", 1),
        ("not_html", "application/pdf", 9),
        ("too_large", "Content-Length 9000000", 9),
    ],
)
def test_a_portal_may_answer_with_data_or_an_endless_redirect_but_documents_of_many_hosts_are_no_portal(
    outcome: str, detail: str, n_signs: int
) -> None:
    urls = (f"http://www.h{n}.com/page" for n in range(9))
    got = [Fetched(url=url, final_url=url, outcome=outcome, detail=detail, fetched_at=NOW) for url in urls]
    assert len({sign_of(one) for one in got}) == n_signs


def test_one_outage_after_the_other_and_portals_of_two_kinds_leave_nothing_behind() -> None:
    def sign(url: str, now: float) -> str:
        phase = int(now / 4)
        return ["", "login", "another login"][phase // 2 % 3] if phase % 2 and phase < 16 else PAGES[url]

    assert crawled(sign, URLS).kept == PAGES


def test_hosts_that_are_dead_get_their_fate_although_they_come_last_and_nothing_succeeds_after_them() -> None:
    dead = [f"dead{i}.com/page" for i in range(40)]
    net = crawled(lambda url, _: "" if url in dead else PAGES[url], URLS + dead)
    assert net.kept == PAGES | dict.fromkeys(dead, "")
    assert all(net.n_asked[url] <= 6 for url in dead)
    assert net.slept == []


def test_a_first_window_of_dead_hosts_ends_no_crawl_since_the_hosts_after_it_are_asked_too() -> None:
    dead = [f"dead{i}.com/page" for i in range(30)]
    net = crawled(lambda url, _: "" if url in dead else PAGES[url], dead + URLS)
    assert net.kept == PAGES | dict.fromkeys(dead, "")
    assert net.time < 120


def test_dead_hosts_alone_are_told_from_an_outage_by_a_page_that_was_there_before() -> None:
    dead = [f"dead{i}.com/page" for i in range(40)]
    net = crawled(lambda url, _: "" if url in dead else PAGES[url], dead, landmarks=URLS[:1])
    assert net.kept == dict.fromkeys(dead, "")
    with pytest.raises(ExceptionGroup):
        crawled(lambda *_: "", dead, landmarks=URLS[:1])


def test_so_few_dead_hosts_that_they_say_nothing_end_no_crawl() -> None:
    dead = [f"dead{i}.com/page" for i in range(FEW_HOSTS - 1)]
    assert crawled(lambda *_: "", dead).kept == dict.fromkeys(dead, "")


def not_found(url: str, body: bytes | None) -> str:
    """The sign of a 404 with this page, or with one that could not be read."""
    look = "" if body is None else look_of(body, url)
    got = Fetched(url=url, final_url=url, outcome="http_error", status=404, fetched_at=NOW, error_look=look)
    return sign_of(got) or ""


EMPTY_404 = not_found(f"http://{URLS[0]}", b"")


@pytest.mark.parametrize("n_dead", [FEW_HOSTS, 6, 40, 200])
@pytest.mark.parametrize("n_without_answer", [0, FEW_HOSTS, MANY_HOSTS])
@pytest.mark.parametrize("n_parked", [0, 2])
def test_a_first_crawl_of_pages_that_are_not_found_ends_although_all_say_it_in_the_same_words(
    n_dead: int, n_without_answer: int, n_parked: int
) -> None:
    fates = dict.fromkeys(URLS[:n_dead], EMPTY_404)
    fates |= {f"parked{i}.com/page": "for sale" for i in range(n_parked)}
    fates |= {f"dead{i}.com/page": "" for i in range(n_without_answer)}
    net = crawled(lambda url, _: fates[url], list(fates))
    assert net.kept == fates
    assert net.slept == []


def test_a_portal_that_finds_no_page_is_an_outage_where_a_page_was_there_before() -> None:
    urls = URLS[:40]
    net = crawled(_during(0.0, 40.0, EMPTY_404), urls, landmarks=["h99.com/page"])
    assert net.kept == {url: PAGES[url] for url in urls}
    assert crawled(_during(2.0, 60.0, EMPTY_404), URLS).kept == PAGES


def test_a_page_that_is_not_found_and_cannot_be_read_is_like_no_other_one() -> None:
    urls = [f"http://{url}" for url in URLS[:10]]
    assert len({not_found(url, b"") for url in urls}) == 1
    assert len({not_found(url, None) for url in urls}) == len(urls)
    assert all(is_common_fault(not_found(url, body)) for url in urls for body in (b"", None))


def test_pages_that_are_alike_on_many_hosts_are_kept_where_the_network_is_up() -> None:
    parked = [f"parked{i}.com/page" for i in range(40)]
    net = crawled(lambda url, _: "for sale" if url in parked else PAGES[url], URLS + parked)
    assert net.kept == PAGES | dict.fromkeys(parked, "for sale")


def test_pages_that_are_alike_on_many_hosts_are_no_portal_for_the_rest_of_a_crawl_that_met_an_outage() -> None:
    parked = URLS[::10]
    net = crawled(lambda url, now: "" if 2 <= now < 40 else "for sale" if url in parked else PAGES[url], URLS)
    assert net.kept == PAGES | dict.fromkeys(parked, "for sale")
    assert sum(net.n_asked[url] for url in parked) < 3 * len(parked)


def test_a_network_that_comes_and_goes_keeps_no_crawl_for_ever() -> None:
    net = crawled(lambda url, now: "" if url in URLS[50:90] or int(now / 20) % 2 else PAGES[url], URLS)
    assert [url for url in URLS if not net.kept[url]] == URLS[50:90]


class PoorLine(Net):
    """A line that takes 30 requests, then none before the crawl has slept; at first only a known page comes through."""

    def __init__(self, answers: dict[str, str]) -> None:
        super().__init__(self._next)
        self._answers, self.left = answers, 30

    def _next(self, url: str, _: float) -> str:
        self.left -= 1
        is_through = self.left > 0 if url == KNOWN else 0 < self.left < 22
        return self._answers[url] if is_through else ""

    async def sleep(self, seconds: float) -> None:
        self.left = 30
        await super().sleep(seconds)


def test_answers_that_are_no_pages_show_that_a_poor_line_works() -> None:
    gone = {url: f"status 404 nothing at {url}" for url in URLS}
    net = PoorLine(gone | {KNOWN: KNOWN})
    asyncio.run(net.crawl(URLS, 600, [KNOWN]))
    assert net.kept == gone
    assert len(net.slept) > MAX_AGAIN


def test_without_a_network_no_result_is_handed_over_and_the_error_says_how_to_go_on() -> None:
    clock, got = [0.0], list[Fetched]()

    async def nothing(_: str) -> list[str]:
        raise OSError("the name server cannot be reached: Network is unreachable")

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    urls = [f"http://h{i}.com/" for i in range(5)]
    settings = FetchConfig(contact="a@b.example", give_up_after_s=50)
    for wanted in (urls, urls[:1]):
        with pytest.raises(OutageError, match=r"fetch: the network was away for 50 s .* resume"):
            fetch_all(
                wanted,
                settings,
                {},
                lambda: datetime(2026, 1, 1, tzinfo=UTC),
                got.append,
                lookup=nothing,
                monotonic=lambda: clock[0],
                sleep=sleep,
            )
    assert got == []
