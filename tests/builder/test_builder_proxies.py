"""Searching and crawling through a proxy: which requests it gets, and what the guard of addresses still promises."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from threading import Thread

import pytest
from builder_web import Web, page, serving

from builder.config import to_config
from builder.fetch import Fetched, fetch_all
from builder.fetch.proxies import proxy_for
from builder.fetch.settings import FetchConfig
from builder.search import open_engines
from builder.search.web.failure_causes import NO_WAY
from builder.search.web.http_question import Asker, AskingError, SearchRequest
from edu_rag.errors import ConfigError, EduRagError, OutageError

PAGE = page("water " * 50)


@pytest.fixture(autouse=True)
def _no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def proxy() -> Iterator[Web]:
    """A server that answers every request as a proxy does: by the path of the absolute URL that it is sent."""
    with serving({"/page": PAGE, "/find": (200, {}, b"found")}) as web:
        yield web


def address_of(web: Web) -> str:
    return f"http://127.0.0.1:{web.port}"


def crawled(*urls: str, **settings: object) -> tuple[dict[str, Fetched], list[str]]:
    """What became of the URLs, and the names that were looked up."""
    got: dict[str, Fetched] = {}
    names: list[str] = []

    async def lookup(host: str) -> list[str]:
        names.append(host)
        if host.startswith("no-"):
            raise OSError("no such name")
        return ["127.0.0.1"]

    config = FetchConfig(contact="a@b.example", **settings)  # type: ignore[arg-type]
    now = datetime(2026, 1, 2, tzinfo=UTC)
    fetch_all(urls, config, {}, lambda: now, lambda item: got.update({item.url: item}), lookup=lookup)
    return got, names


def test_a_crawl_goes_through_the_proxy_of_the_settings_which_looks_up_the_names(proxy: Web) -> None:
    got, names = crawled("http://water.com/page", proxy=address_of(proxy))
    assert {url: item.outcome for url, item in got.items()} == {"http://water.com/page": "kept"}
    assert proxy.asked == ["/robots.txt", "/page"]
    assert {headers["Host"] for headers in proxy.headers} == {"water.com"}
    assert names == []


def test_a_proxy_may_have_a_name(proxy: Web) -> None:
    got, names = crawled("http://water.com/page", proxy=f"http://proxy.corp:{proxy.port}")
    assert (got["http://water.com/page"].outcome, set(names)) == ("kept", {"proxy.corp"})


def test_the_proxy_is_never_asked_for_what_names_an_inside_address_or_an_odd_port(proxy: Web) -> None:
    inside = [
        "http://127.0.0.1/page",
        "http://10.1.2.3/page",
        "http://[::1]/page",
        "http://2130706433/page",
        "http://localhost/page",
        f"http://127.0.0.1:{proxy.port}/page",
        "http://water.com:8080/page",
    ]
    got, _ = crawled(*inside, proxy=address_of(proxy))
    assert {item.outcome for item in got.values()} == {"refused_address"}
    assert proxy.asked == []


def test_a_redirect_to_the_inside_is_refused_behind_a_proxy_too(proxy: Web) -> None:
    proxy.answers["/page"] = (302, {"Location": "http://127.0.0.1/secret"}, b"")
    got, _ = crawled("http://water.com/page", proxy=address_of(proxy))
    assert got["http://water.com/page"].outcome == "refused_address"
    assert proxy.asked == ["/robots.txt", "/page"]


def test_without_a_setting_the_environments_proxy_is_used_and_its_exceptions_hold(
    proxy: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", address_of(proxy))
    monkeypatch.setenv("no_proxy", "near.com")
    got, names = crawled("http://water.com/page", "http://near.com/page")
    assert {url: item.outcome for url, item in got.items()} == {
        "http://water.com/page": "kept",
        "http://near.com/page": "refused_address",  # dialled by ourselves: its name leads inside
    }
    assert names == ["near.com"]
    got, _ = crawled("http://water.com/page", proxy="none")
    assert got["http://water.com/page"].outcome == "refused_address"


def test_https_goes_through_a_tunnel_to_the_name_and_a_password_stays_with_us(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def refuse() -> None:
            for _ in range(2):  # robots.txt and the page
                client, _ = door.accept()
                with client:
                    heard.append(client.recv(4_096))
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        Thread(target=refuse, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:S3CRET@127.0.0.1:{door.getsockname()[1]}")
        got, names = crawled("https://water.com/page")
    assert not any(b"S3CRET" in head for head in heard)
    assert "S3CRET" not in repr(got)
    assert {head.split(b"\r\n")[0] for head in heard} == {b"CONNECT water.com:443 HTTP/1.1"}
    assert got["https://water.com/page"].outcome in ("connection", "robots_unreachable")
    assert names == []


WITH_PASSWORD = "http://me:S3CRET@127.0.0.1:{port}"


@pytest.mark.parametrize("url", ["http://water.com/page", "https://water.com/page"])
@pytest.mark.parametrize(
    ("proxy_url", "why"),
    [
        ("http://127.0.0.1:9", "Connect"),
        ("http://no-proxy.corp:3128", "its name has no address"),
        (WITH_PASSWORD, "status 407"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_an_outage_however_few_pages_are_wanted(
    proxy: Web, monkeypatch: pytest.MonkeyPatch, url: str, proxy_url: str, why: str
) -> None:
    proxy.answers = dict.fromkeys(("/robots.txt", "/page", "443"), (407, {}, b"Who are you?"))
    where = proxy_url.format(port=proxy.port)
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, where)
    with pytest.raises(OutageError) as caught:
        crawled(url, give_up_after_s=0.0)
    host = where.rpartition("@")[2].removeprefix("http://")
    assert why in str(caught.value)
    assert str(caught.value).endswith(
        f": check the proxy {host} and this machine's network, then run the same command to resume"
    )
    assert "S3CRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("proxy_url", "why"),
    [
        ("http://127.0.0.1:9", "refuses connections"),
        ("http://no-proxy.invalid:3128", "its name does not resolve"),
        (WITH_PASSWORD, "407"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_search_that_fails_at_its_proxy_names_the_proxy(
    proxy: Web, monkeypatch: pytest.MonkeyPatch, scheme: str, proxy_url: str, why: str
) -> None:
    proxy.answers = dict.fromkeys(("/find", "443"), (407, {}, b"Who are you?"))
    where = proxy_url.format(port=proxy.port)
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", where)
    with pytest.raises(AskingError) as caught:
        Asker(timeout_s=5, user_agent="t").ask(SearchRequest(url=f"{scheme}://engine.example/find"))
    host = where.rpartition("@")[2].removeprefix("http://")
    assert str(caught.value).startswith(f"engine.example: {NO_WAY} {host}: ")
    assert why in str(caught.value)
    assert "S3CRET" not in str(caught.value)


def test_a_search_goes_through_the_proxy_but_not_to_an_engine_of_ones_own(
    proxy: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asker in (
        Asker(timeout_s=5, user_agent="t", proxy=address_of(proxy), guarded=True),
        _by_environment(monkeypatch, proxy),
    ):
        assert asker.ask(SearchRequest(url="http://engine.example/find", params={"q": "why"})).body == b"found"
    assert proxy.asked == ["/find", "/find"]
    with serving({"/find": (200, {}, b"mine")}) as own:
        found = Asker(timeout_s=5, user_agent="t").ask(SearchRequest(url=f"http://127.0.0.1:{own.port}/find"))
    assert found.body == b"mine"


def _by_environment(monkeypatch: pytest.MonkeyPatch, proxy: Web) -> Asker:
    monkeypatch.setenv("HTTP_PROXY", address_of(proxy))
    return Asker(timeout_s=5, user_agent="t")


def test_the_engines_of_a_chain_and_ddgs_get_the_proxy_of_the_settings() -> None:
    search = to_config({"search": {"engine": "ddgs,wikipedia,google"}}, "test").search
    ddgs, wikipedia, google = open_engines(search, "t", proxy="http://proxy.corp:3128")
    assert ddgs._library()._proxy == "http://proxy.corp:3128"  # type: ignore[attr-defined]
    assert wikipedia._asker._proxy == google._proxy == "http://proxy.corp:3128"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("proxy", "what"),
    [
        ("http://me:secret@proxy.corp:3128", "must not hold a password"),
        ("socks5://proxy.corp:1080", "only http and https proxies"),
        ("http://proxy.corp", "needs a host and a port"),
        ("proxy.corp:3128", "only http and https proxies"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_a_fault_of_the_settings(proxy: str, what: str) -> None:
    with pytest.raises(EduRagError, match=what):
        to_config({"fetch": {"proxy": proxy}}, "build.toml")


def test_a_proxy_of_the_environment_that_cannot_be_used_ends_the_crawl_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.corp:1080")
    with pytest.raises(ConfigError, match=r"proxy of the environment .*only http and https proxies.*\[fetch\] proxy"):
        crawled("http://water.com/page")
    assert proxy_for("http://water.com/", "none") is None
