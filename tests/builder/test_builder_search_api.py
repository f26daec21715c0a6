from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, BinaryIO
from urllib.parse import parse_qs

import pytest
from builder_web import Answer, Web, Writer, serving
from hypothesis import given
from hypothesis import strategies as st

from builder.fetch.politeness import MAX_WAIT_S, retry_after_s
from builder.search import SearchEngine
from builder.search.engines.brave import Brave, read_brave
from builder.search.engines.google import GoogleEngine, read_google
from builder.search.engines.searxng import Searxng, read_searxng
from builder.search.engines.wikipedia import Wikipedia, read_wikipedia
from builder.search.settings import BraveConfig, GoogleConfig, SearxngConfig, WikipediaConfig
from builder.search.web.api import ApiEngine, reading
from builder.search.web.http_question import Asker, AskingError, SearchRequest
from builder.search_results import RawResponse, SearchResult
from edu_rag.errors import ConfigError

KEY = "BSA-secret-key-0123456789"
JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html"}
TEN = [f"https://h{i}.example/page" for i in range(10)]
PATHS = {"brave": "/res/v1/web/search", "searxng": "/search", "wikipedia": "/w/api.php", "google": "/search"}
APIS = ["brave", "searxng", "wikipedia"]


def ok(value: object) -> Answer:
    return 200, JSON, json.dumps(value).encode()


def brave_hits(*urls: str, more: bool = False) -> Answer:
    results = [{"type": "search_result", "title": "t", "url": url, "description": "d"} for url in urls]
    query = {"original": "q", "more_results_available": more}
    return ok({"type": "search", "query": query, "web": {"type": "search", "results": results}})


def searxng_hits(*urls: str, unresponsive: list[list[str]] | None = None) -> Answer:
    results = [{"url": url, "title": "t", "content": "c", "engine": "x", "score": 1.0} for url in urls]
    return ok(
        {
            "query": "q",
            "number_of_results": 0,
            "results": results,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": unresponsive or [],
        }
    )


def wikipedia_hits(*urls: str) -> Answer:
    pages = [
        {"pageid": i, "ns": 0, "title": "t", "index": i + 1, "fullurl": url, "canonicalurl": url, "editurl": url}
        for i, url in enumerate(urls)
    ]
    # MediaWiki sorts the pages of a generator by id, not by rank.
    return ok({"batchcomplete": True, "continue": {"gsroffset": 10}, "query": {"pages": pages[::-1]}})


HITS: Mapping[str, Callable[..., Answer]] = {
    "brave": brave_hits,
    "searxng": searxng_hits,
    "wikipedia": wikipedia_hits,
}
NOTHING = {
    "brave": ok({"type": "search", "query": {"original": "q", "more_results_available": False}}),
    "searxng": searxng_hits(),
    "wikipedia": ok({"batchcomplete": True}),
}


def engine_at(name: str, port: int, **settings: Any) -> SearchEngine:
    base = f"http://127.0.0.1:{port}"
    settings = {"pause_s": 0, **settings}
    if name == "google":
        return GoogleEngine(GoogleConfig(base_url=base, **settings))
    if name == "brave":
        brave = BraveConfig(base_url=base, **settings)
        return ApiEngine(Brave.with_key_from({"BRAVE_API_KEY": KEY}, brave), brave, "test-agent")
    if name == "searxng":
        searxng = SearxngConfig(base_url=base, **settings)
        return ApiEngine(Searxng(searxng), searxng, "test-agent")
    wikipedia = WikipediaConfig(base_url=f"{base}/w/api.php", **settings)
    return ApiEngine(Wikipedia(wikipedia), wikipedia, "test-agent")


def ask(name: str, answer: Answer | Writer | list[Answer], n: int = 10, **settings: Any) -> tuple[SearchResult, Web]:
    with serving({PATHS[name]: answer}) as web:
        return engine_at(name, web.port, **settings).search("Why is the\n sky blue?", n), web


@pytest.mark.parametrize("name", APIS)
def test_hits_come_in_rank_order_with_their_raw_response(name: str) -> None:
    answer = HITS[name](*TEN)
    result, web = ask(name, answer)
    assert (result.state, result.urls) == ("hits", tuple(TEN))
    assert [raw.body for raw in result.raw] == [answer[2]]
    assert web.headers[0]["User-Agent"] == "test-agent"


@pytest.mark.parametrize("name", APIS)
def test_no_more_than_n_hits_come_and_no_address_twice_and_only_web_addresses(name: str) -> None:
    urls = ["https://a.example/", "javascript:alert(1)", "https://a.example/", "ftp://b.example/", "http://c.example/"]
    assert ask(name, [HITS[name](*urls), NOTHING[name]])[0].urls == ("https://a.example/", "http://c.example/")
    assert len(ask(name, HITS[name](*TEN), n=3)[0].urls) == 3


@pytest.mark.parametrize("name", APIS)
def test_an_empty_answer_is_none(name: str) -> None:
    assert ask(name, NOTHING[name])[0].state == "none"


@pytest.mark.parametrize("name", [*APIS, "google"])
def test_429_is_rate_limited_and_waits_as_it_asks(name: str) -> None:
    result, _ = ask(name, (429, {"Retry-After": "17"}, b"{}"))
    assert (result.state, result.retry_after_s, result.raw[0].status) == ("rate_limited", 17.0, 429)
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3000), usegmt=True)
    waited = ask(name, (429, {"Retry-After": later}, b"{}"))[0].retry_after_s
    assert waited is not None
    assert 2800 < waited <= 3000


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("status", [401, 403])
def test_a_bad_key_or_a_closed_door_is_blocked(name: str, status: int) -> None:
    assert ask(name, (status, JSON, b"{}"))[0].state == "blocked"


@pytest.mark.parametrize("name", [*APIS, "google"])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, JSON, b"{}"), "500"),
        ((302, {"Location": "https://login.example/"}, b""), "login.example"),
        ((200, JSON, b"x" * 4_100_000), "bytes"),
    ],
)
def test_an_error_a_way_out_and_a_flood_are_failed(name: str, answer: Answer, reason: str) -> None:
    result, _ = ask(name, answer)
    assert (result.state, result.urls, reason in result.reason) == ("failed", (), True), result.reason


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"  <!DOCTYPE html><html>a login page</html>", "HTML instead of JSON"),
        (b"\xff\xfe{}", "no JSON"),
        (b"", "no JSON"),
        (b'{"results": [', "no JSON"),
        (b"[]", "changed"),
        (b"[" * 100_000, "no JSON"),
        (b'{"results": {"a": 1}, "query": 3, "web": 4, "type": 5}', "changed"),
    ],
)
def test_what_is_not_its_json_is_failed_and_named(name: str, body: bytes, reason: str) -> None:
    result, _ = ask(name, (200, JSON, body))
    assert (result.state, result.urls) == ("failed", ())
    assert reason in result.reason or "changed" in result.reason
    assert result.raw[0].body == body


@pytest.mark.parametrize("name", [*APIS, "google"])
def test_a_server_that_drips_its_headers_is_left_at_the_deadline(name: str) -> None:
    def drip(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\n")
        with suppress(OSError):  # it ends only when the client leaves
            while True:
                out.write(b"X-A: b\r\n")
                out.flush()
                time.sleep(0.05)

    result, _ = ask(name, drip, timeout_s=0.2)
    assert (result.state, "within 0.2 s" in result.reason) == ("failed", True)


def test_a_refused_connection_is_failed() -> None:
    assert engine_at("brave", 9).search("q", 3).state == "failed"


@pytest.mark.parametrize("name", ["brave", "searxng"])
def test_more_pages_are_asked_for_until_there_are_enough(name: str) -> None:
    more = {"more": True} if name == "brave" else {}
    result, web = ask(name, [HITS[name](*TEN[:4], **more), HITS[name](*TEN[2:8], **more), HITS[name](*TEN)])
    assert (result.urls, len(web.asked), len(result.raw)) == (tuple(TEN), 3, 3)


@pytest.mark.parametrize("name", ["brave", "searxng"])
def test_a_refusal_on_a_later_page_is_not_taken_for_a_short_list(name: str) -> None:
    more = {"more": True} if name == "brave" else {}
    result, _ = ask(name, [HITS[name](*TEN[:4], **more), (429, {}, b"")])
    assert (result.state, result.urls, len(result.raw)) == ("rate_limited", (), 2)


@pytest.mark.parametrize("name", ["brave", "searxng"])
def test_pages_that_bring_nothing_new_end_the_asking(name: str) -> None:
    more = {"more": True} if name == "brave" else {}
    result, web = ask(name, HITS[name](*TEN[:4], **more))
    assert (result.urls, len(web.asked)) == (tuple(TEN[:4]), 2)


def test_a_redirect_within_the_origin_is_followed_and_a_ring_is_not() -> None:
    with serving({"/search": (308, {"Location": "/s"}, b""), "/s": searxng_hits(*TEN)}) as web:
        assert engine_at("searxng", web.port).search("q", 10).urls == tuple(TEN)
        web.answers["/s"] = (302, {"Location": "/search"}, b"")
        assert "redirects" in engine_at("searxng", web.port).search("q", 10).reason


# ---- what each interface says in its own way


def test_brave_is_asked_with_the_key_in_a_header_alone() -> None:
    result, web = ask("brave", (200, JSON, json.dumps({"error": f"no {KEY}"}).encode()))
    assert web.headers[0]["X-Subscription-Token"] == KEY
    assert KEY not in repr(result)
    assert KEY.encode() not in b"".join(raw.body for raw in result.raw)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        ({"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}, "blocked"),
        ({"code": "VALIDATION", "meta": {"errors": [{"loc": ["header", "x-subscription-token"]}]}}, "blocked"),
        ({"code": "VALIDATION", "meta": {"errors": [{"loc": ["query", "q"]}]}}, "failed"),
        ({"code": "QUOTA_LIMITED"}, "rate_limited"),
        ({}, "failed"),
    ],
)
def test_brave_says_what_is_wrong_in_a_422(error: object, state: str) -> None:
    result, _ = ask("brave", (422, JSON, json.dumps({"type": "ErrorResponse", "error": error}).encode()))
    assert result.state == state
    assert (state == "blocked") == ("BRAVE_API_KEY" in result.reason)


def test_brave_tells_the_seconds_to_the_next_quota() -> None:
    headers = {"X-RateLimit-Limit": "1, 2000", "X-RateLimit-Remaining": "0, 1900", "X-RateLimit-Reset": "2, 1419704"}
    assert ask("brave", (429, headers, b"{}"))[0].retry_after_s == 2.0
    spent = headers | {"X-RateLimit-Remaining": "1, 0"}
    assert ask("brave", (429, spent, b"{}"))[0].retry_after_s == 1419704.0


@pytest.mark.parametrize("key", ["", "   ", "two words", "caf\u00e9-key-0123", "a\nb-0123456"])
def test_a_missing_or_broken_key_is_an_error_that_names_the_variable_and_not_the_key(key: str) -> None:
    with pytest.raises(ConfigError, match="MY_KEY") as caught:
        Brave.with_key_from({"MY_KEY": key}, BraveConfig(key_variable="MY_KEY"))
    assert not key.strip() or key not in str(caught.value)


def test_queries_are_cut_to_what_an_interface_takes() -> None:
    long = "photosynthesis " * 200
    brave = Brave(BraveConfig(), KEY).request(long, 10, 0).params["q"]
    assert (len(brave) <= 400, len(brave.split()) <= 50) == (True, True)
    words = " ".join(f"word{i}" for i in range(200))
    for match in ("any", "all"):
        terms = Wikipedia(WikipediaConfig(match=match)).request(words, 10, 0).params["gsrsearch"]  # type: ignore[arg-type]
        assert 200 < len(terms) <= 300
    assert len(Wikipedia(WikipediaConfig()).request("x" * 999, 10, 0).params["gsrsearch"]) <= 300


def test_wikipedia_is_asked_for_any_of_the_telling_words_or_for_all() -> None:
    query = "Which gas do plants absorb - from: the air?"
    assert Wikipedia(WikipediaConfig()).request(query, 10, 0).params["gsrsearch"] == "gas OR plants OR absorb OR air"
    assert Wikipedia(WikipediaConfig(match="all")).request(query, 10, 0).params["gsrsearch"] == query


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("ratelimited", "rate_limited"),
        ("maxlag", "rate_limited"),
        ("blocked", "blocked"),
        ("internal_api_error_DBQueryError", "failed"),
    ],
)
def test_wikipedias_errors_come_with_status_200(code: str, state: str) -> None:
    result, _ = ask("wikipedia", (200, {"Retry-After": "5"}, ok({"error": {"code": code, "info": "x"}})[2]))
    assert (result.state, result.retry_after_s) == (state, 5.0)


def test_wikipedias_changed_schema_is_no_empty_answer() -> None:
    assert ask("wikipedia", ok({"query": {"search": []}}))[0].state == "failed"
    assert ask("wikipedia", ok({}))[0].state == "failed"
    assert ask("wikipedia", ok({"query": {"pages": [{"index": 1, "title": "no address"}]}}))[0].state == "failed"


@pytest.mark.parametrize(
    ("unresponsive", "state"),
    [
        ([["google", "Suspended: too many requests"]], "rate_limited"),
        ([["google", "CAPTCHA"]], "blocked"),
        ([["bing", "timeout"], ["qwant", "access denied"]], "blocked"),
        ([["bing", "timeout"]], "failed"),
    ],
)
def test_an_empty_list_of_a_searxng_whose_backends_are_down_is_no_answer(
    unresponsive: list[list[str]], state: str
) -> None:
    result, _ = ask("searxng", searxng_hits(unresponsive=unresponsive))
    assert (result.state, unresponsive[0][0] in result.reason) == (state, True)
    assert ask("searxng", [searxng_hits(*TEN, unresponsive=unresponsive)])[0].state == "hits"


def test_a_searxng_without_json_says_how_to_mend_it() -> None:
    assert "settings.yml" in ask("searxng", (403, HTML, b"<html>Forbidden</html>"))[0].reason


def test_searxng_is_asked_with_its_settings() -> None:
    request = Searxng(
        SearxngConfig(base_url="http://127.0.0.1:1", backends=("wikipedia", "bing"), language="de")
    ).request("q", 10, 1)
    wanted = {"format": "json", "pageno": "2", "language": "de", "engines": "wikipedia,bing", "categories": "general"}
    assert wanted.items() <= request.params.items()


# ---- properties

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_keys = st.sampled_from(
    [
        "type",
        "query",
        "web",
        "results",
        "url",
        "error",
        "code",
        "meta",
        "pages",
        "index",
        "fullurl",
        "missing",
        "batchcomplete",
        "unresponsive_engines",
        "more_results_available",
    ]
)
_json = st.recursive(
    _scalars | st.sampled_from(["search", "https://a.example/"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=25,
)
_bodies = st.binary(max_size=200) | _json.map(lambda value: json.dumps(value).encode()) | st.just(b"<html>")
READERS = [reading(read_brave), reading(read_searxng), reading(read_wikipedia), read_google]


@given(st.lists(st.tuples(st.sampled_from([200, 200, 200, 301, 403, 422, 429, 500, 503]), _bodies), max_size=3))
def test_no_reader_raises_and_only_hits_have_urls(answers: list[tuple[int, bytes]]) -> None:
    raw = [RawResponse(url="https://e.example/s", status=status, body=body) for status, body in answers]
    for read in READERS:
        result = read(raw, 10)
        assert (result.state == "hits") == bool(result.urls)
        assert result.state in ("hits", "none") or result.reason
        if any(status != 200 for status, _ in answers):
            assert result.state != "none"


_marks = st.sampled_from(
    [
        '<div class="ezO2md">',
        "</div>",
        "<a>",
        '<a href="/url?q=https://a.example/&amp;x">',
        "</a>",
        "<a href>",
        '<span class="CVA68e">t</span>',
        '<span class="FrIlee">d</span>',
        "<div",
        "&amp;",
        "text",
        "\x00",
        "<![CDATA[",
    ]
)


@given(st.lists(_marks, max_size=30).map("".join))
def test_no_markup_breaks_googles_reader(markup: str) -> None:
    result = read_google([RawResponse(url="https://g.example/search", status=200, body=markup.encode())], 10)
    assert result.state in ("hits", "failed")


NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 12 ", 12.0),
        ("1.5", 1.5),
        ("Sun, 22 Nov 2026 12:01:00 GMT", 60.0),
        ("Sunday, 22-Nov-26 12:01:00 GMT", 60.0),
        ("Sun, 22 Nov 2026 12:01:00", 60.0),
        ("Sun, 22 Nov 2020 12:01:00 GMT", 0.0),
        ("99999999999", MAX_WAIT_S),
        ("", None),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("1.5.5", None),
        ("²", None),
        ("\u0661\u0662", None),
        ("1" * 200, None),
    ],
)
def test_retry_after_is_read_in_both_of_its_forms(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, NOW) == seconds


@pytest.mark.parametrize("off_s", [86_400, -3_600])
def test_a_time_in_retry_after_counts_from_the_time_of_the_answer_not_from_our_clock(off_s: int) -> None:
    date, after = (format_datetime(NOW + timedelta(seconds=off_s + s), usegmt=True) for s in (0, 30))
    assert retry_after_s(after, NOW, date) == 30
    assert retry_after_s(after, NOW, "no date") == max(off_s + 30, 0)


@given(st.text(max_size=60))
def test_no_retry_after_breaks_its_reader(value: str) -> None:
    seconds = retry_after_s(value, NOW, value)
    assert seconds is None or 0 <= seconds <= MAX_WAIT_S


def test_the_environments_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving({"/x": (200, {}, b"there")}) as web:
        raw = Asker(timeout_s=5, user_agent="t").ask(
            SearchRequest(url=f"http://127.0.0.1:{web.port}/x", params={"a": "b c"})
        )
    assert (raw.body, parse_qs(raw.url.split("?")[1])) == (b"there", {"a": ["b c"]})


def test_an_answer_that_never_ends_is_cut() -> None:
    def endless(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        out.writelines(b"x" * 10_000 for _ in range(100))

    with serving({"/x": endless}) as web, pytest.raises(AskingError, match="over 50,000 bytes") as caught:
        Asker(timeout_s=5, user_agent="t", max_bytes=50_000).ask(SearchRequest(url=f"http://127.0.0.1:{web.port}/x"))
    assert caught.value.raw is not None
    assert len(caught.value.raw.body) == 50_000


def test_a_key_is_cut_out_before_the_answer_is_and_an_empty_key_changes_nothing() -> None:
    body = b"x" * 95 + b"S3CRET-0123"
    with serving({"/x": (200, {}, body)}) as web:
        url = f"http://127.0.0.1:{web.port}/x"
        with pytest.raises(AskingError) as caught:
            Asker(timeout_s=5, user_agent="t", max_bytes=100).ask(SearchRequest(url=url, secrets=("S3CRET-0123",)))
        whole = Asker(timeout_s=5, user_agent="t").ask(SearchRequest(url=url, secrets=("",)))
    assert caught.value.raw is not None
    assert b"S3" not in caught.value.raw.body
    assert whole.body == body
