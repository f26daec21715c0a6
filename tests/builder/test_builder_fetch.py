from __future__ import annotations

import gzip
import time
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO

import pytest
from builder_store import fetches
from builder_web import HTML, Answer, Web, Writer, page, redirect, serving

from builder.fetch import Fetched, fetch_all
from builder.fetch.addresses import RefusedAddressError, check_url
from builder.fetch.settings import FetchConfig
from builder.store.crawl_store import CrawlStore
from edu_rag.network.public_addresses import is_public

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOST = "site.example"
UNREAD = "robots_unreachable"


def fetch_many(web: Web, paths: list[str], **settings: object) -> dict[str, Fetched]:
    got: dict[str, Fetched] = {}
    urls = [path if "://" in path else f"http://{HOST}{path}" for path in paths]
    config = FetchConfig(**settings)  # type: ignore[arg-type]
    fetch_all(urls, config, {HOST: web.address}, lambda: NOW, lambda item: got.update({item.url: item}))
    return {path: got[url] for path, url in zip(paths, urls, strict=True)}


def fetch_one(answers: dict[str, Answer | Writer | list[Answer]], path: str = "/", **settings: object) -> Fetched:
    with serving(answers) as web:
        return fetch_many(web, [path], **settings)[path]


def test_a_page_is_kept_with_its_bytes_headers_and_honest_user_agent() -> None:
    with serving({"/": page("hello")}) as web:
        got = fetch_many(web, ["/"])["/"]
    assert got.outcome == "kept"
    assert b"hello" in got.body
    assert (got.status, got.n_redirects, got.fetched_at) == (200, 0, NOW)
    assert got.headers["Content-Type"] == HTML["Content-Type"]
    assert all(headers["User-Agent"].startswith("edu-rag-bench/") for headers in web.headers)
    assert all(headers["Host"] == HOST and "Cookie" not in headers for headers in web.headers)


def test_a_redirect_to_an_address_that_no_page_can_have_is_refused() -> None:
    long = f"/{'a' * 3_000}"
    got = fetch_one({"/": redirect(long), long: page("x")})
    assert (got.outcome, got.detail) == (
        "refused_address",
        f"the URL has {len(long) + len(f'http://{HOST}'):,} characters",
    )


def test_a_redirect_may_spell_its_host_in_capitals() -> None:
    got = fetch_one({"/": redirect(f"HTTP://{HOST.upper()}/End"), "/End": page("x")})
    assert (got.outcome, got.final_url) == ("kept", f"http://{HOST}/End")


def test_redirects_are_followed_and_counted() -> None:
    answers = {"/": redirect("/b"), "/b": redirect(f"http://{HOST}/c#part", 301), "/c": page("end")}
    got = fetch_one(answers)
    assert (got.outcome, got.n_redirects, got.final_url) == ("kept", 2, f"http://{HOST}/c")


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:{port}/secret",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://localhost/",
        "http://10.0.0.1/",
        "http://168.63.129.16/",
        "file:///etc/passwd",
        "ftp://site.example/",
        "http://user:word@site.example/",
        "http://site.example:8080/",
        "gopher://site.example/",
    ],
)
def test_a_redirect_to_an_inside_address_or_odd_scheme_or_port_is_refused(target: str) -> None:
    with serving({"/secret": page("inside")}) as web:
        web.answers["/"] = redirect(target.format(port=web.port))
        got = fetch_many(web, ["/"])["/"]
        assert got.outcome == "refused_address"
        assert web.n_asked("/secret") == 0


def test_loopback_is_reached_only_by_the_host_names_that_the_engine_serves() -> None:
    with serving({"/": page("inside")}) as web:
        got = fetch_many(web, [f"http://127.0.0.1:{web.port}/", "http://127.0.0.1/", "http://localhost/"])
    assert {item.outcome for item in got.values()} == {"refused_address"}
    assert web.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("168.63.129.16", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
        ("2002:5db8:d822::", True),
        ("fe80::1", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("2001:0:1::1", False),
        ("fec0::1", False),
    ],
)
def test_only_public_addresses_are_public_also_inside_ipv6(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


def test_a_url_is_refused_by_its_form_alone() -> None:
    for url in ("http:///x", "http://h.example:99999/", "http://[::bad/", "javascript:alert(1)", "http://1.2.3.4.5/"):
        with pytest.raises(RefusedAddressError):
            check_url(url)
    check_url("https://h.example:443/x")


def test_a_redirect_loop_and_an_endless_chain_end() -> None:
    assert fetch_one({"/": redirect("/b"), "/b": redirect("/")}).outcome == "redirect_loop"
    chain = {f"/{i}": redirect(f"/{i + 1}") for i in range(20)}
    got = fetch_one(chain, "/0")
    assert (got.outcome, got.n_redirects) == ("redirect_loop", 5)


def test_a_page_over_the_cap_is_too_large_with_and_without_a_length() -> None:
    big = b"<html>" + b"x" * 300_000

    def endless(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>")
        out.writelines(b"x" * 10_000 for _ in range(1_000))

    answers = {"/big": (200, HTML, big), "/endless": endless}
    for path in answers:
        got = fetch_one(answers, path, max_bytes=100_000)
        assert (got.outcome, got.body) == ("too_large", b"")


def test_a_gzip_bomb_is_too_large_and_a_gzip_page_is_read() -> None:
    bomb = gzip.compress(b"<html>" + b"0" * 50_000_000)
    assert len(bomb) < 100_000
    zipped = {**HTML, "Content-Encoding": "gzip"}
    got = fetch_one({"/": (200, zipped, bomb)}, max_bytes=200_000)
    assert (got.outcome, got.body) == ("too_large", b"")
    assert fetch_one({"/": (200, zipped, gzip.compress(page("fine")[2]))}).body == page("fine")[2]


def test_a_cut_or_unknown_encoding_is_no_page() -> None:
    cut = gzip.compress(page("fine" * 100)[2])[:-20]
    assert fetch_one({"/": (200, {**HTML, "Content-Encoding": "gzip"}, cut)}).outcome == "connection"
    assert fetch_one({"/": (200, {**HTML, "Content-Encoding": "gzip, gzip"}, cut)}).outcome == "http_error"


def _drip(out: BinaryIO) -> None:
    out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>")
    with suppress(OSError):  # it ends only when the client leaves
        while True:
            out.write(b"x")
            out.flush()
            time.sleep(0.05)


def _slow_headers(out: BinaryIO) -> None:
    time.sleep(3)
    out.write(b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize("slow", [_drip, _slow_headers])
def test_the_deadline_is_for_the_whole_page_not_for_one_read(slow: Writer) -> None:
    with serving({"/": slow}) as web:
        got = fetch_many(web, ["/"], timeout_s=0.5)["/"]
        assert got.outcome == "timeout"


def test_the_deadline_spans_all_redirects() -> None:
    def later(target: str) -> Writer:
        def write(out: BinaryIO) -> None:
            time.sleep(0.3)
            out.write(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())

        return write

    answers = {f"/{i}": later(f"/{i + 1}") for i in range(4)}
    assert fetch_one(answers, "/0", timeout_s=0.7).outcome == "timeout"


@pytest.mark.parametrize(
    ("headers", "body", "outcome"),
    [
        ({"Content-Type": "application/pdf"}, b"%PDF-1.4", "not_html"),
        ({"Content-Type": "text/html"}, b"%PDF-1.4 really", "not_html"),
        ({"Content-Type": "text/html"}, b"<html>\0\0\0\1", "not_html"),
        ({}, b"just bytes", "not_html"),
        ({}, b"<html>no type</html>", "kept"),
        ({"Content-Type": "text/plain"}, b"plain words", "kept"),
        ({"Content-Type": "APPLICATION/XHTML+XML; charset=utf-8"}, b"<html/>", "kept"),
    ],
)
def test_what_is_no_text_is_recorded_as_not_html(headers: dict[str, str], body: bytes, outcome: str) -> None:
    assert fetch_one({"/": (200, headers, body)}).outcome == outcome


@pytest.mark.parametrize("status", [204, 403, 404, 410, 429, 500, 503])
def test_an_error_status_is_recorded_with_its_number(status: int) -> None:
    got = fetch_one({"/": (status, HTML, b"")})
    assert (got.outcome, got.status, got.detail) == ("http_error", status, f"status {status}")


def test_a_closed_port_is_a_connection_fault() -> None:
    with serving({}) as web:
        pass
    assert fetch_many(web, ["/"])["/"].outcome == "connection"


def test_broken_http_is_a_connection_fault() -> None:
    def broken(out: BinaryIO) -> None:
        out.write(b"\x00\x01 this is no HTTP\r\n\r\n")

    assert fetch_one({"/": broken}).outcome == "connection"


def test_robots_is_read_once_a_host_and_obeyed_on_every_hop() -> None:
    rules = b"User-agent: *\nDisallow: /private/\n"
    answers = {
        "/robots.txt": (200, {"Content-Type": "application/octet-stream"}, rules),
        "/a": page("a"),
        "/b": redirect("/private/x"),
        "/private/x": page("private"),
    }
    with serving(answers) as web:
        got = fetch_many(web, ["/a", "/b", "/private/x"])
        assert [got[path].outcome for path in ("/a", "/b", "/private/x")] == ["kept", "robots", "robots"]
        assert web.n_asked("/robots.txt") == 1
        assert web.n_asked("/private/x") == 0


@pytest.mark.parametrize(
    ("status", "outcome"), [(404, "kept"), (403, "kept"), (500, UNREAD), (503, UNREAD), (429, UNREAD)]
)
def test_a_robots_file_that_cannot_be_read_allows_all_on_4xx_and_nothing_on_5xx(status: int, outcome: str) -> None:
    assert fetch_one({"/robots.txt": (status, {}, b""), "/": page("x")}).outcome == outcome


def test_a_robots_file_that_does_not_come_closes_the_host() -> None:
    got = fetch_one({"/robots.txt": _slow_headers, "/": page("x")}, timeout_s=0.3)
    assert (got.outcome, got.detail.split(":")[0]) == (UNREAD, "robots.txt")


def test_a_rule_for_our_product_token_is_ours() -> None:
    rules = b"User-agent: edu-rag-bench\nDisallow: /\n\nUser-agent: *\nDisallow:\n"
    assert fetch_one({"/robots.txt": (200, {}, rules), "/": page("x")}).outcome == "robots"


def _takes_a_while(out: BinaryIO) -> None:
    time.sleep(0.05)
    out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\nConnection: close\r\n\r\n<p>x</p")


def test_a_host_gets_no_more_requests_at_once_than_allowed() -> None:
    paths = [f"/{i}" for i in range(12)]
    with serving(dict.fromkeys(paths, _takes_a_while)) as web:
        got = fetch_many(web, paths, workers=12, per_host=2)
        assert {item.outcome for item in got.values()} == {"kept"}
        assert web.most_at_once <= 2


def test_a_delay_between_requests_is_kept() -> None:
    paths = ["/0", "/1", "/2"]
    with serving(dict.fromkeys(paths, page("x"))) as web:
        started = time.monotonic()
        fetch_many(web, paths, delay_s=0.2)
        assert time.monotonic() - started >= 0.4


def test_bytes_that_are_no_utf8_in_headers_and_redirects_become_text_that_can_be_stored(tmp_path: Path) -> None:
    def odd_header(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Odd: \xff\xfe\r\n\r\n<html>")

    def odd_location(out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9 x?q=\xc3\xa9\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )

    def odd_host(out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 302 Found\r\nLocation: http://caf\xe9.example/\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )

    answers: dict[str, Answer | Writer | list[Answer]] = {
        "/": odd_header,
        "/b": odd_location,
        "/c": odd_host,
        "/caf%E9%20x": page("there"),
    }
    with serving(answers) as web:
        got = fetch_many(web, ["/", "/b", "/c"])
    assert [item.outcome for item in got.values()] == ["kept", "kept", "dns"], got
    assert got["/b"].final_url == f"http://{HOST}/caf%E9%20x?q=%C3%A9"
    with CrawlStore(tmp_path / "s", create=True) as store:
        for item in got.values():
            store.add_fetch(item)
        store.flush()
        assert len(fetches(store)) == 3


def test_a_served_host_that_is_an_address_is_not_dialled() -> None:
    got: list[Fetched] = []
    fetch_all(["http://127.0.0.1/"], FetchConfig(), {"127.0.0.1": ("127.0.0.1", 80)}, lambda: NOW, got.append)
    assert [item.outcome for item in got] == ["refused_address"]
