from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import BinaryIO

import pytest
from builder_web import HTML, Answer, Web, Writer, page, redirect, serving
from hypothesis import given
from hypothesis import strategies as st

from builder.fetch import Fetched, Validators, fetch_all, is_transient, validators_of
from builder.fetch.fetched import was_asked
from builder.fetch.politeness import politeness_key
from builder.fetch.robots import robots_of
from builder.fetch.settings import FetchConfig
from edu_rag.errors import RecordError

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SITE = "http://site.example"


def fetch_urls(
    web: Web, urls: list[str], validators: Mapping[str, Validators] | None = None, **settings: object
) -> dict[str, Fetched]:
    """Fetch from one server that answers for every host of the URLs."""
    got: dict[str, Fetched] = {}
    hosts = {url.split("/")[2]: web.address for url in urls}
    config = FetchConfig(**settings)  # type: ignore[arg-type]
    fetch_all(urls, config, hosts, lambda: NOW, lambda item: got.update({item.url: item}), validators=validators)
    return got


def takes_a_while(out: BinaryIO) -> None:
    time.sleep(0.05)
    out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\nConnection: close\r\n\r\n<p>x</p")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.bbc.co.uk/x", "bbc.co.uk"),
        ("http://a.b.example.com/", "example.com"),
        ("http://user.github.io/", "github.io"),
        ("http://x.bench.test/", "x.bench.test"),
        ("http://h/", "h"),
        ("http://93.184.216.34/", "93.184.216.34"),
        ("http://[2606::1]/", "2606::1"),
        ("http://com/", "com"),
    ],
)
def test_hosts_under_one_registered_name_share_one_politeness(url: str, key: str) -> None:
    assert politeness_key(url) == key


def test_all_hosts_of_a_registered_name_together_get_no_more_requests_at_once_than_allowed() -> None:
    urls = [f"http://h{i % 6}.school.com/{i}" for i in range(12)]
    with serving({f"/{i}": takes_a_while for i in range(12)}) as web:
        got = fetch_urls(web, urls, per_host=2)
        assert [got[url].outcome for url in urls] == ["kept"] * 12
        assert web.most_at_once <= 2


def test_one_slow_host_does_not_hold_up_the_others() -> None:
    done: list[str] = []
    slow = [f"http://slow.example/{i}" for i in range(3)]
    quick = [f"http://quick{i}.example/page" for i in range(8)]
    answers: dict[str, Answer | Writer | list[Answer]] = {f"/{i}": page("x") for i in range(8)}
    with serving({**answers, "/page": page("x")}) as web:
        hosts = {url.split("/")[2]: web.address for url in slow + quick}
        with serving({**answers, "/robots.txt": (200, {}, b"User-agent: *\nCrawl-delay: 1\n")}) as slow_web:
            hosts["slow.example"] = slow_web.address
            config = FetchConfig(workers=4)
            fetch_all(slow + quick, config, hosts, lambda: NOW, lambda item: done.append(item.url))
    assert set(done[:9]) >= set(quick)
    assert sorted(done) == sorted(slow + quick)


def test_a_crawl_delay_is_kept_between_the_starts_of_requests() -> None:
    urls = [f"{SITE}/{i}" for i in range(3)]
    answers = {f"/{i}": page("x") for i in range(3)}
    with serving({**answers, "/robots.txt": (200, {}, b"User-agent: *\nCrawl-delay: 0.3\n")}) as web:
        started = time.monotonic()
        fetch_urls(web, urls)
        assert time.monotonic() - started >= 0.6


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_us_to_come_again_soon_is_asked_once_more(status: int) -> None:
    limited: Answer = (status, {"Retry-After": "1"}, b"")
    with serving({"/": [limited, page("there")], "/never": limited}) as web:
        started = time.monotonic()
        got = fetch_urls(web, [f"{SITE}/"])[f"{SITE}/"]
        assert (got.outcome, web.n_asked("/")) == ("kept", 2)
        assert time.monotonic() - started >= 1
        again = fetch_urls(web, [f"{SITE}/never"])[f"{SITE}/never"]
        assert (again.outcome, again.status, web.n_asked("/never")) == ("http_error", status, 2)
        assert again.took_s >= 1


@pytest.mark.parametrize("wait", ["3600", "", "soon", "-1", "Fri, 02 Jan 2099 00:00:00 GMT"])
def test_a_host_that_asks_for_a_long_wait_or_for_none_is_left_for_the_next_run(wait: str) -> None:
    with serving({"/": (429, {"Retry-After": wait} if wait else {}, b"")}) as web:
        got = fetch_urls(web, [f"{SITE}/"])[f"{SITE}/"]
        assert web.n_asked("/") == 1
    assert is_transient(got.outcome, got.status, got.detail)


def test_a_host_that_fails_in_a_row_is_not_asked_any_more_in_this_run() -> None:
    urls = [f"{SITE}/{i}" for i in range(12)]

    def hangs_up(out: BinaryIO) -> None:
        out.close()

    with serving({f"/{i}": hangs_up if i % 2 else (502, {}, b"") for i in range(12)}) as web:
        got = fetch_urls(web, urls, breaker_failures=3, per_host=1)
        asked = [path for path in dict.fromkeys(web.asked) if path != "/robots.txt"]
    assert len(asked) == 3
    broken = [item for item in got.values() if item.detail.startswith("circuit breaker: 3 failures in a row at site.")]
    assert len(broken) == 9
    assert all(is_transient(item.outcome, item.status, item.detail) and not was_asked(item) for item in broken)


def test_a_host_that_answers_now_and_then_is_asked_to_the_end() -> None:
    urls = [f"{SITE}/{i}" for i in range(12)]
    with serving({f"/{i}": (500, {}, b"") if i % 3 else (404, {}, b"") for i in range(12)}) as web:
        fetch_urls(web, urls, breaker_failures=3, per_host=1)
        assert all(web.n_asked(f"/{i}") == 1 for i in range(12))


def test_a_body_that_is_bad_is_no_failure_of_its_host() -> None:
    urls = [f"{SITE}/{i}" for i in range(6)]

    def cut(out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\nConnection: close\r\n\r\n<html>"
        )
        out.close()

    with serving({f"/{i}": cut for i in range(6)}) as web:
        fetch_urls(web, urls, breaker_failures=2, per_host=1)
        assert all(web.n_asked(f"/{i}") == 1 for i in range(6))


def test_a_page_that_is_as_it_was_is_kept_without_its_body() -> None:
    known = {f"{SITE}/": Validators(etag='"v1"', last_modified="Thu, 01 Jan 2026 00:00:00 GMT")}
    with serving({"/": (304, {"ETag": '"v1"'}, b"")}) as web:
        got = fetch_urls(web, [f"{SITE}/"], known)[f"{SITE}/"]
        sent = web.headers[-1]
    assert (got.outcome, got.status, got.not_modified, got.body) == ("kept", 304, True, b"")
    assert (sent["If-None-Match"], sent["If-Modified-Since"]) == ('"v1"', "Thu, 01 Jan 2026 00:00:00 GMT")


def test_a_304_that_was_not_asked_for_is_an_error() -> None:
    with serving({"/": (304, {}, b"")}) as web:
        got = fetch_urls(web, [f"{SITE}/"])[f"{SITE}/"]
    assert (got.outcome, got.not_modified) == ("http_error", False)


def test_conditions_go_to_the_page_that_they_came_from_alone() -> None:
    known = {f"{SITE}/": Validators(etag='"v1"', final_url=f"{SITE}/end")}
    with serving({"/": redirect("/end"), "/end": page("new")}) as web:
        got = fetch_urls(web, [f"{SITE}/"], known)[f"{SITE}/"]
        sent = ["If-None-Match" in headers for headers in web.headers]
    assert (got.outcome, got.not_modified, sent) == ("kept", False, [False, False, True])


def test_validators_are_read_from_headers_in_any_case_and_hostile_ones_are_not_sent() -> None:
    found = validators_of({"etag": 'W/"a"', "LAST-MODIFIED": "x"}, "http://a/")
    assert found == Validators(etag='W/"a"', last_modified="x", final_url="http://a/")
    hostile = Validators(etag="a\r\nX-Evil: 1", last_modified="é", final_url="http://a/")
    assert hostile.headers_for("http://a/", "http://a/") == {}


def test_the_contact_stands_in_the_user_agent_and_must_be_one() -> None:
    with serving({"/": page("x")}) as web:
        fetch_urls(web, [f"{SITE}/"], contact="crawl@school.example")
        assert {headers["User-Agent"].endswith(" (contact: crawl@school.example)") for headers in web.headers} == {True}
    FetchConfig(contact="https://school.example/crawl")
    for bad in ("me", "a@b", "http://", "a@b.c\r\nX: y", "ftp://x.example", "a@b.example)"):
        with pytest.raises(RecordError):
            FetchConfig(contact=bad)


def test_going_out_without_a_contact_is_warned_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    urls = ["http://one.example/", "http://two.example/"]

    async def nothing(_: str) -> list[str]:
        raise OSError("no network in tests")

    fetch_all(urls, FetchConfig(), {}, lambda: NOW, lambda _: None, lookup=nothing)
    assert capsys.readouterr().err.count("contact") == 2  # one line names it twice: what is missing, what to set
    fetch_all(urls, FetchConfig(contact="a@b.example"), {}, lambda: NOW, lambda _: None, lookup=nothing)
    with serving({"/": page("x")}) as web:
        fetch_urls(web, urls)
    assert capsys.readouterr().err == ""


def test_a_name_server_that_hangs_holds_up_nobody_else() -> None:
    free = threading.Event()
    done: list[Fetched] = []

    async def hangs(_: str) -> list[str]:
        while not free.is_set():
            await asyncio.sleep(0.01)
        raise OSError("gave up")

    def keep(item: Fetched) -> None:
        done.append(item)
        if item.url == f"{SITE}/":
            free.set()

    with serving({"/": page("x")}) as web:
        urls = [*(f"http://lost{i}.school.com/" for i in range(300)), f"{SITE}/"]
        config = FetchConfig(contact="a@b.example")
        fetch_all(urls, config, {"site.example": web.address}, lambda: NOW, keep, lookup=hangs)
    assert (done[0].url, done[0].outcome) == (f"{SITE}/", "kept")
    assert [item.outcome for item in done[1:]] == ["dns"] * 300


@pytest.mark.parametrize(
    ("outcome", "status", "detail", "passing"),
    [
        ("timeout", None, "", True),
        ("connection", None, "", True),
        ("connection", 200, "cut", True),
        ("connection", None, "circuit breaker: 8 failures in a row at h", True),
        ("http_error", 429, "", True),
        ("http_error", 503, "", True),
        ("http_error", 502, "", True),
        ("http_error", 504, "", True),
        ("http_error", 500, "", False),
        ("http_error", 404, "", False),
        ("http_error", None, "", False),
        ("dns", None, "no such name", True),
        ("robots_unreachable", None, "robots.txt: status 503", True),
        ("robots", None, "robots.txt: status 503", True),
        ("robots", None, "disallowed by robots.txt", False),
        ("kept", 200, "", False),
        ("too_large", 200, "", False),
        ("refused_address", None, "", False),
        ("not_html", 200, "", False),
        ("redirect_loop", 302, "", False),
    ],
)
def test_which_fates_pass(outcome: str, status: int | None, detail: str, passing: bool) -> None:
    assert is_transient(outcome, status, detail) is passing


def test_what_the_sink_raises_ends_the_crawl() -> None:
    def full(_: Fetched) -> None:
        raise OSError("disk full")

    with serving({f"/{i}": page("x") for i in range(50)}) as web:
        urls = [f"{SITE}/{i}" for i in range(50)]
        with pytest.raises(OSError, match="disk full"):
            fetch_all(urls, FetchConfig(), {"site.example": web.address}, lambda: NOW, full)
        assert len(web.asked) < 50


def test_results_are_handed_over_one_at_a_time_with_their_headers_in_one_spelling() -> None:
    inside, most = 0, 0

    def keep(item: Fetched) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        assert item.headers["Content-Type"] == HTML["Content-Type"]
        assert item.headers["X-Odd"] == "1"
        inside -= 1

    answer: Answer = (200, {"content-type": HTML["Content-Type"], "x-oDD": "1"}, b"<html>")
    with serving({f"/{i}": answer for i in range(10)}) as web:
        urls = [f"http://h{i}.example/{i}" for i in range(10)]
        fetch_all(urls, FetchConfig(), {f"h{i}.example": web.address for i in range(10)}, lambda: NOW, keep)
    assert most == 1


ROBOTS_LINES = st.sampled_from(
    [
        "User-agent: *",
        "User-agent: edu-rag-bench",
        "Disallow: /",
        "Allow: /a*$",
        "Crawl-delay: 1e400",
        "Crawl-delay: nan",
        "Crawl-delay: -3",
        "Request-rate: 1/0",
        "Disallow: /%zz",
        "Disallow: //[x",
        "Sitemap: http://[",
        ":",
        "\0",
    ]
)


@given(st.lists(ROBOTS_LINES | st.text(max_size=20), max_size=12), st.sampled_from(["/", "/a?b", "/%zz", "//[x"]))
def test_a_robots_file_of_any_lines_is_a_verdict_and_a_bounded_delay(lines: list[str], path: str) -> None:
    robots = robots_of(200, "\n".join(lines).encode("utf-8", "surrogatepass"), "kept", "")
    assert robots.allows(f"{SITE}{path}") in (True, False)
    assert 0 <= robots.crawl_delay_s <= 10
