"""Outages that arrive as answers: a proxy that answers for hosts it cannot reach, a portal that knows no page."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from simulated_internet import page_of

from builder.fetch import Fetched, fetch_all
from builder.fetch.settings import FetchConfig
from edu_rag.errors import OutageError

pytestmark = pytest.mark.slow
NOW = datetime(2026, 1, 2, tzinfo=UTC)
Answer = tuple[int, bytes]
Down = Callable[[str, str], Answer | None]


class Gateway:
    """An HTTP proxy. While `down` is set, it answers itself; a page is up again after one sleep of the crawl."""

    def __init__(self, down: Down, pages_before: int) -> None:
        self._down, self._pages_before = down, pages_before
        self._turn = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.n_pages = self.n_sleeps = 0
        self.has_come_back = False
        self.port = 0

    def answer(self, method: str, url: str) -> Answer:
        parts = urlsplit(url)
        host, path = (url.partition(":")[0], "/") if method == "CONNECT" else (parts.hostname or "", parts.path)
        with self._turn:
            self.asked[f"{method} {url}"] += 1
            is_down = not self.has_come_back and self.n_pages >= self._pages_before
        instead = self._down(host, path) if is_down else None
        if instead is not None:
            return instead
        with self._turn:
            if path == "/robots.txt":
                return 404, f"no rules at {host}".encode()
            self.n_pages += 1
            return 200, page_of(host, path)

    async def come_back(self, _: float) -> None:
        self.n_sleeps += 1
        assert self.n_sleeps < 50, "the crawl does not see that the network is back"
        self.has_come_back = True


@contextmanager
def gateway(down: Down, pages_before: int = 0) -> Iterator[Gateway]:
    proxy = Gateway(down, pages_before)

    class Handler(BaseHTTPRequestHandler):
        def _send(self) -> None:
            status, body = proxy.answer(self.command, self.path)
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the crawl has gone
                self.wfile.write(body)

        do_GET = do_CONNECT = _send  # noqa: N815  # names of the standard library

        def log_message(self, *_: object) -> None:
            return None

    class Server(ThreadingHTTPServer):
        request_queue_size = 256  # all requests of the crawl at once: none waits for its SYN to be sent again
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        proxy.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield proxy
        finally:
            server.shutdown()


def urls_of(n_hosts: int, n_pages: int = 2, scheme: str = "http") -> list[str]:
    return [f"{scheme}://www.site{i}.com/page/{name}" for name in "ab"[:n_pages] for i in range(n_hosts)]


def crawled(proxy: Gateway, urls: list[str], **settings: object) -> dict[str, Fetched]:
    got: dict[str, Fetched] = {}
    config = FetchConfig(contact="a@b.example", proxy=f"http://127.0.0.1:{proxy.port}", **settings)  # type: ignore[arg-type]
    fetch_all(urls, config, {}, lambda: NOW, lambda one: got.update({one.url: one}), sleep=proxy.come_back)
    return got


def by_status(host: str, path: str) -> Answer:
    """What a proxy says of a host that it cannot reach, each time as it likes."""
    status = (502, 503, 504)[len(host + path) % 3]
    return status, f"{status} for {host}".encode()


@pytest.mark.parametrize("pages_before", [0, 20, 70])
def test_a_proxy_that_answers_for_hosts_it_cannot_reach_is_an_outage(pages_before: int) -> None:
    urls = urls_of(40)
    with gateway(by_status, pages_before) as proxy:
        got = crawled(proxy, urls)
    assert Counter(one.outcome for one in got.values()) == {"kept": len(urls)}
    assert proxy.has_come_back


@pytest.mark.parametrize("pages_before", [0, 30])
def test_a_proxy_that_stops_in_the_middle_of_a_crawl_and_comes_back_loses_nothing(pages_before: int) -> None:
    urls = urls_of(30)
    with gateway(lambda *_: (0, b""), pages_before) as proxy:
        got = crawled(proxy, urls)
    assert Counter(one.outcome for one in got.values()) == {"kept": len(urls)}
    assert proxy.has_come_back


def not_found(host: str, path: str) -> Answer:
    """A captive portal that knows no page, and says which one it does not know."""
    return 404, f"<h1>Not found</h1><p>There is no {path} here; ask {host}{path} after the login.</p>".encode()


@pytest.mark.parametrize("pages_before", [20, 70])
def test_a_captive_portal_that_answers_404_to_everything_is_an_outage_once_a_page_was_there(pages_before: int) -> None:
    urls = urls_of(40)
    with gateway(not_found, pages_before) as proxy:
        got = crawled(proxy, urls)
    assert Counter(one.outcome for one in got.values()) == {"kept": len(urls)}


def test_a_first_crawl_of_dead_links_on_servers_with_the_same_error_page_ends_without_a_pause() -> None:
    with gateway(lambda *_: (404, b"<h1>404 Not Found</h1><hr>nginx"), 0) as proxy:
        got = crawled(proxy, urls_of(40))
    assert Counter((one.outcome, one.status) for one in got.values()) == {("http_error", 404): 80}
    assert proxy.n_sleeps == 0


def portal_with_rules(_: str, path: str) -> Answer:
    """A login page for everything, and a robots.txt that is the portal's own."""
    return (200, b"User-agent: *\nDisallow: /page/b\n") if path == "/robots.txt" else (200, b"<p>Log in here.</p>")


@pytest.mark.parametrize(("workers", "pages_before"), [(1, 0), (1, 20), (64, 0), (64, 30)])
def test_a_robots_txt_that_came_from_a_portal_is_read_again_after_it(workers: int, pages_before: int) -> None:
    urls = urls_of(20)
    with gateway(portal_with_rules, pages_before) as proxy:
        got = crawled(proxy, urls, workers=workers)
    assert Counter(one.outcome for one in got.values()) == {"kept": len(urls)}
    assert not any(b"Log in" in one.body for one in got.values())


def test_a_robots_txt_of_a_portal_that_comes_late_closes_no_page() -> None:
    def late(host: str, path: str) -> Answer:
        number = int(host.removeprefix("www.site").removesuffix(".com"))
        if path != "/robots.txt":
            return 200, b"<p>Log in here.</p>"
        if number < 10:
            return 404, b""
        time.sleep(0.6 if number < 14 else 1.0)  # the pause begins after the first, and ends before the second
        return (404, b"") if number < 14 else portal_with_rules(host, path)

    urls = urls_of(20)
    with gateway(late) as proxy:
        got = crawled(proxy, urls)
    assert Counter(one.outcome for one in got.values()) == {"kept": len(urls)}


@pytest.mark.parametrize("answer", [by_status, not_found])
def test_hosts_that_answer_so_while_the_network_is_there_get_their_fate_without_a_pause(answer: Down) -> None:
    def some(host: str, path: str) -> Answer | None:
        return answer(host, path) if host < "www.site2" else None  # site0, site1 and site10 to site19

    with gateway(some) as proxy:
        got = crawled(proxy, urls_of(40))
    assert Counter(one.outcome == "kept" for one in got.values()) == {True: 56, False: 24}
    assert not proxy.has_come_back
    assert max(proxy.asked.values()) <= 6


@pytest.mark.parametrize("status", [502, 504])
def test_tunnels_that_a_proxy_refuses_for_many_hosts_are_an_outage_that_keeps_nothing(status: int) -> None:
    got: dict[str, Fetched] = {}
    with gateway(lambda *_: (status, b"")) as proxy, pytest.raises(OutageError, match=f"ProxyError: status {status}"):
        got = crawled(proxy, urls_of(12, scheme="https"), give_up_after_s=0)
    assert got == {}
