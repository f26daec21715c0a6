from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import googlesearch
import pytest
from builder_web import Answer, Web, Writer, serving
from hypothesis import given
from hypothesis import strategies as st

from builder.build import build
from builder.config import BuildConfig, to_config
from builder.search import open_engines, reader_of
from builder.search.engines.google import MAX_BARREN, GoogleEngine, read_google, real_result
from builder.search.settings import GoogleConfig
from builder.search_results import RawResponse
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import EngineError, MissingExtraError
from edu_rag.files.dataset import Dataset

HTML = {"Content-Type": "text/html; charset=UTF-8"}


def _result(url: str, title: str) -> str:
    return (
        f'<div class="ezO2md"><div><a class="fuLhoc ZWRArf" href="/url?q={url}&amp;sa=U&amp;ved=2ahUKE&amp;usg=AOv">'
        f'<span class="CVA68e qXLe6d fuLhoc ZWRArf">{title}</span><span class="qXLe6d dXDvrc">'
        f'<span class="fYyStc">host</span></span></a></div><div class="Dks9wf"><span class="qXLe6d FrIlee">'
        f'<span class="fYyStc">A snippet.</span></span></div></div>'
    )


def results(*urls: str) -> Answer:
    body = "".join(_result(url, f"Title {i}") for i, url in enumerate(urls))
    head = "<!DOCTYPE html><html><head><title>q - Google Search</title></head><body>"
    return 200, HTML, f'{head}<div id="main">{body}</div></body></html>'.encode()


NOTHING: Answer = (
    200,
    HTML,
    b"<html><body><div>Your search - <b>qqq</b> - did not match any documents.</div></body></html>",
)
UNUSUAL = (
    b"<html><body>About this page<br><br>Our systems have detected unusual traffic from your computer network. This"
    b' page checks if it\'s really you sending the requests.<form id="captcha-form"></form></body></html>'
)
SCRIPT: Answer = (
    200,
    HTML,
    b'<html><head><noscript><meta content="0;url=/httpservice/retry/enablejs?sei=x" http-equiv="refresh">'
    b"</noscript></head><body>Please click here if you are not redirected within a few seconds.</body></html>",
)
CHANGED: Answer = (
    200,
    HTML,
    b'<html><body><div class="brandnew"><a href="https://x.example/">x</a></div></body></html>',
)
TEN = [f"https://h{i}.example/page" for i in range(10)]


def ask(answers: Answer | Writer | Sequence[Answer], n: int = 10, **settings: object) -> tuple[object, Web]:
    answer = list(answers) if isinstance(answers, list) else answers
    with serving({"/search": answer}) as web:  # type: ignore[dict-item]
        config = GoogleConfig(base_url=f"http://127.0.0.1:{web.port}", pause_s=0, **settings)  # type: ignore[arg-type]
        return GoogleEngine(config).search("Why is the\n sky blue?", n), web


def test_hits_come_in_rank_order_with_their_raw_page() -> None:
    result, web = ask(results(*TEN))
    assert (result.state, result.urls) == ("hits", tuple(TEN))  # type: ignore[attr-defined]
    assert result.raw[0].body == results(*TEN)[2]  # type: ignore[attr-defined]
    assert web.asked == ["/search"]


def test_escaped_addresses_are_unescaped_and_junk_links_left_out() -> None:
    urls = ["https://a.example/x%3Fid%3D1%26b%3D2", "/search?q=more", "https://a.example/y", "https://a.example/y"]
    result, _ = ask([results(*urls), NOTHING])
    assert result.urls == ("https://a.example/x?id=1&b=2", "https://a.example/y")  # type: ignore[attr-defined]


def test_no_results_is_none_and_nothing_else_is() -> None:
    assert ask(NOTHING)[0].state == "none"  # type: ignore[attr-defined]


def test_429_is_rate_limited_with_the_wait_it_asks_for() -> None:
    result, _ = ask((429, {"Retry-After": "17", **HTML}, b"Too many"))
    assert (result.state, result.retry_after_s, result.urls) == ("rate_limited", 17.0, ())  # type: ignore[attr-defined]
    assert result.raw[0].status == 429  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", [200, 429, 503])
def test_the_unusual_traffic_page_is_blocked_whatever_its_status(status: int) -> None:
    assert ask((status, HTML, UNUSUAL))[0].state == "blocked"  # type: ignore[attr-defined]


def test_a_redirect_to_the_sorry_page_is_blocked() -> None:
    answers = {"/search": (302, {"Location": "/sorry/index?continue=x"}, b""), "/sorry/index": (429, HTML, b"...")}
    with serving(answers) as web:  # type: ignore[arg-type]
        result = GoogleEngine(GoogleConfig(base_url=f"http://127.0.0.1:{web.port}", pause_s=0)).search("q", 10)
    assert result.state == "blocked"


def test_a_redirect_to_the_consent_page_is_blocked() -> None:
    result, _ = ask((302, {"Location": "https://consent.google.com/ml?continue=x"}, b""))
    assert (result.state, "consent.google.com" in result.reason) == ("blocked", True)  # type: ignore[attr-defined]


def test_the_page_that_demands_javascript_is_blocked() -> None:
    result, _ = ask(SCRIPT)
    assert (result.state, "JavaScript" in result.reason) == ("blocked", True)  # type: ignore[attr-defined]


def test_changed_markup_is_failed_not_an_empty_result() -> None:
    result, _ = ask(CHANGED)
    assert (result.state, "markup" in result.reason) == ("failed", True)  # type: ignore[attr-defined]


def test_a_time_out_and_a_server_error_are_failed() -> None:
    def slow(out: BinaryIO) -> None:
        time.sleep(1)

    assert ask(slow, timeout_s=0.2)[0].state == "failed"  # type: ignore[attr-defined]
    assert ask((500, HTML, b""))[0].state == "failed"  # type: ignore[attr-defined]


def test_a_refusal_on_the_second_page_is_not_taken_for_a_short_list() -> None:
    result, web = ask([results(*TEN[:4]), (429, HTML, b"")])
    assert (result.state, result.urls, len(web.asked)) == ("rate_limited", (), 2)  # type: ignore[attr-defined]


# ---- the pages that Google sends today

OLD_BROWSER = (
    b"<!doctype html><html><head><title>Google Search</title></head><body><h1>Update your browser</h1>"
    b"<p>Your browser %s supported %s. To continue your search, upgrade to a recent version."
    b' <a href="https://support.google.com/websearch/answer/16515119">Learn more</a></p></body></html>'
)
CONSENT = (
    b"<!doctype html><html><head><title>Before you continue to Google Search</title></head><body>"
    b'<form action="https://consent.google.com/save" method="POST"><button>Accept all</button></form></body></html>'
)
TODAY = {
    "supported": (OLD_BROWSER % (b"isn't", b"anymore"), 200),
    "supported anymore": (OLD_BROWSER % (b"isn&#39;t", b"any more"), 200),
    "isn't supported": (OLD_BROWSER % (b"isn\xe2\x80\x99t", b"anymore"), 403),
    "consent": (CONSENT, 200),
    "unusual traffic": (UNUSUAL, 429),
    "JavaScript": (SCRIPT[2], 200),
}


@pytest.mark.parametrize("name", list(TODAY))
def test_every_page_that_google_sends_instead_of_results_is_blocked_and_names_the_way_out(name: str) -> None:
    body, status = TODAY[name]
    for answers in ((status, HTML, body), [results(*TEN[:4]), (status, HTML, body)]):
        result, _ = ask(answers)  # type: ignore[arg-type]
        assert (result.state, result.urls) == ("blocked", ())  # type: ignore[attr-defined]
        assert "--engine serper" in result.reason  # type: ignore[attr-defined]
        assert name.split()[0] in result.reason  # type: ignore[attr-defined]


def test_a_redirect_to_the_consent_page_names_the_way_out_too() -> None:
    result, _ = ask((302, {"Location": "https://consent.google.com/ml?continue=x"}, b""))
    assert "--engine serper" in result.reason  # type: ignore[attr-defined]


def test_a_result_page_whose_snippets_speak_of_such_pages_is_a_result_page() -> None:
    words = b"Before you continue to Google: our systems have detected unusual traffic from your computer network."
    status, headers, body = results(*TEN)
    result, _ = ask((status, headers, body.replace(b"A snippet.", words)))
    assert (result.state, result.urls) == ("hits", tuple(TEN))  # type: ignore[attr-defined]


# ---- ten unique, real results

JUNK = [
    "/search?q=more",
    "#anchor",
    "https://www.google.com/search?q=related",
    "https://maps.google.com/maps?q=x",
    "https://www.googleadservices.com/pagead/aclk?sa=L",
    "https://accounts.google.co.uk/ServiceLogin",
    "https://support.google.com/websearch",
    "https://ad.doubleclick.net/clk",
    "/aclk?sa=l&ai=x",
    "/imgres?imgurl=https://a.example/x.png",
    "javascript:void(0)",
    "mailto:me@a.example",
    "https://policies.google.com/privacy",
    "https:///no-host",
    "",
]
MORE = [f"https://more{i}.example/page" for i in range(12)]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_never_counts(junk: str) -> None:
    assert real_result(junk) is None
    result, _ = ask([results(junk, *TEN[:5], junk, *TEN[5:])])
    assert result.urls == tuple(TEN)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "url",
    [
        "https://books.google.com/books?id=x",
        "https://sites.google.com/view/lesson",
        "https://developers.google.com/earth-engine",
        "https://notgoogle.com/",
        "https://google.example.org/",
        "http://www.googles-history.example/",
    ],
)
def test_other_peoples_pages_on_googles_hosts_and_names_like_googles_are_real(url: str) -> None:
    assert real_result(url) == url


def test_an_absolute_redirect_of_googles_own_is_the_address_behind_it() -> None:
    assert real_result("https://www.google.com" + TEN[0]) == TEN[0]


def test_a_page_with_four_junk_entries_is_filled_up_to_ten() -> None:
    first = results(JUNK[0], *TEN[:3], JUNK[2], JUNK[4], *TEN[3:6], JUNK[1])
    result, web = ask([first, results(*TEN[4:], *MORE)])
    assert result.urls == tuple(TEN)  # type: ignore[attr-defined]
    assert len(web.asked) == 2


def test_a_page_of_fourteen_blocks_with_five_distinct_pages_is_filled_up_to_ten() -> None:
    repeats = [TEN[0], f"{TEN[0]}#section", TEN[1], TEN[1], f"{TEN[1]}?utm_source=x", TEN[2], TEN[2], TEN[3]]
    blocks = [*repeats, TEN[3], TEN[4], TEN[0], TEN[4], TEN[2], TEN[1]]
    assert len(blocks) == 14
    result, web = ask([results(*blocks), results(*TEN[:5]), results(TEN[0], *TEN[5:], *MORE)])
    assert result.urls == tuple(TEN)  # type: ignore[attr-defined]
    assert len(web.asked) == 3


def test_result_pages_start_ten_apart_and_ask_for_ten_each() -> None:
    _, web = ask([results(*TEN[:6]), results(*TEN[4:9]), results(*MORE)])
    asked = [dict(part.split("=", 1) for part in query.split("&")) for query in web.queries]
    assert [(one["start"], one["num"]) for one in asked] == [("0", "12"), ("10", "12"), ("20", "12")]


def test_asking_ends_where_google_has_no_more() -> None:
    result, web = ask([results(*TEN[:4]), NOTHING])
    assert (result.urls, len(web.asked)) == (tuple(TEN[:4]), 2)  # type: ignore[attr-defined]
    result, web = ask(results(*TEN[:4], JUNK[0]))  # the same page again and again
    assert (result.urls, len(web.asked)) == (tuple(TEN[:4]), 1 + MAX_BARREN)  # type: ignore[attr-defined]


def test_more_than_ten_are_asked_for_page_by_page() -> None:
    pages = [results(*(f"https://h{page}-{i}.example/" for i in range(9)), JUNK[0]) for page in range(6)]
    result, web = ask(pages, n=50)  # type: ignore[arg-type]
    assert (len(set(result.urls)), len(web.asked)) == (50, 6)  # type: ignore[attr-defined]


def test_stored_pages_are_read_as_they_were_when_they_came() -> None:
    result, _ = ask([results(JUNK[0], *TEN[:6]), results(*TEN[6:], JUNK[2])])
    again = read_google(result.raw, 10)  # type: ignore[attr-defined]
    assert again.urls == result.urls == tuple(TEN)  # type: ignore[attr-defined]
    assert read_google(again.raw[:1], 10).urls == tuple(TEN[:6])


@given(st.lists(st.lists(st.sampled_from([*JUNK, *TEN, *MORE, f"{TEN[0]}#x"]), max_size=14), min_size=1, max_size=5))
def test_whatever_pages_come_the_results_are_distinct_and_real_and_in_their_order(pages: list[list[str]]) -> None:
    raw = [RawResponse(url="https://www.google.com/search", status=200, body=results(*page)[2]) for page in pages]
    urls = read_google(raw, 10).urls
    assert len({url.partition("#")[0] for url in urls}) == len(urls) <= 10
    assert not set(urls) & set(JUNK)
    first = [url for url in pages[0] if url not in JUNK]
    assert [url.partition("#")[0] for url in urls[:1]] == [url.partition("#")[0] for url in first[:1]] or not first


def test_without_the_library_google_is_one_clear_error_and_other_engines_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "googlesearch", None)
    for name in [name for name in sys.modules if name.startswith("builder.search.engines")]:
        monkeypatch.delitem(sys.modules, name)
    assert reader_of("wikipedia") is not None
    with pytest.raises(MissingExtraError, match=r"engine google: needs googlesearch-python: pip install"):
        open_engines(to_config({"search": {"engine": "google"}}, "test").search, "test")


def test_the_library_is_left_as_it_was() -> None:
    before = googlesearch.get
    ask(NOTHING)
    assert googlesearch.get is before


QUESTIONS = [
    '{"id": "Q1", "split": "val", "type": "True or False", "question": "The sun is a star.",'
    ' "choices": {"a": "true", "b": "false"}, "answer": "a"}',
    '{"id": "Q2", "split": "val", "type": "True or False", "question": "The moon is a star.",'
    ' "choices": {"a": "true", "b": "false"}, "answer": "b"}',
    '{"id": "Q3", "split": "val", "type": "True or False", "question": "Mars is a planet.",'
    ' "choices": {"a": "true", "b": "false"}, "answer": "a"}',
]


def _config(web: Web, **google: object) -> BuildConfig:
    base = {"base_url": f"http://127.0.0.1:{web.port}", "pause_s": 0, "retries": 2, "max_wait_s": 100}
    # Hits lie at addresses that are refused, so that no test ever dials out.
    return to_config({"clock": "2026-01-02T00:00:00Z", "search": {"engine": "google", "google": base | google}}, "test")


def _questions(folder: Path) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(QUESTIONS) + "\n")
    return path


INSIDE = results(*[f"http://10.0.0.{i}/" for i in range(10)])


def test_a_limited_engine_is_waited_for_as_long_as_it_asks_and_then_the_build_goes_on(tmp_path: Path) -> None:
    limited: Answer = (429, {"Retry-After": "7"}, b"")
    waits: list[float] = []
    with serving({"/search": [limited, limited, INSIDE]}) as web:
        manifest = build([_questions(tmp_path)], tmp_path / "ds", _config(web), sleep=waits.append, allow_partial=True)
    assert waits == [7.0, 7.0]
    assert manifest.sources["searches"] == {"hits": 3}
    assert manifest.sources["hits_by_outcome"] == {"refused_address": 30}


def test_an_engine_that_stays_limited_stops_the_build_and_the_next_one_resumes(tmp_path: Path) -> None:
    limited: Answer = (429, {}, b"")
    waits: list[float] = []
    with serving({"/search": [INSIDE, limited]}) as web:
        config, questions = _config(web), _questions(tmp_path)
        with pytest.raises(EngineError, match=r"2 of 3 questions are unsearched.*resume"):
            build([questions], tmp_path / "ds", config, sleep=waits.append)
        assert waits == [30.0, 60.0]
        assert not (tmp_path / "ds").exists()
        with CrawlStore(store_folder(tmp_path / "ds")) as store:
            states = [search.state for search in store.iter_searches("google")]
            assert store.raw_responses("Q2", "google")[0].status == 429
        assert states == ["hits", "rate_limited"]
        web.answers["/search"] = INSIDE
        n_before = len(web.asked)
        manifest = build([questions], tmp_path / "ds", config, sleep=waits.append, allow_partial=True)
        assert len(web.asked) - n_before == 2
    assert manifest.sources["searches"] == {"hits": 3}


def test_a_wait_that_is_too_long_is_not_made(tmp_path: Path) -> None:
    waits: list[float] = []
    with (
        serving({"/search": (429, {"Retry-After": "86400"}, b"")}) as web,
        pytest.raises(EngineError, match="3 of 3"),
    ):
        build([_questions(tmp_path)], tmp_path / "ds", _config(web), sleep=waits.append)
    assert waits == []


def test_allow_partial_writes_the_dataset_and_says_how_many_are_missing(tmp_path: Path) -> None:
    with serving({"/search": [INSIDE, (200, HTML, UNUSUAL)]}) as web:
        manifest = build(
            [_questions(tmp_path)], tmp_path / "ds", _config(web), allow_partial=True, sleep=lambda _: None
        )
    assert manifest.sources["unsearched"] == 2
    assert manifest.sources["searches"] == {"blocked": 1, "hits": 1, "unsearched": 1}
    assert len(Dataset(tmp_path / "ds").questions("val")) == 3


def test_failures_in_a_row_stop_the_search(tmp_path: Path) -> None:
    with serving({"/search": CHANGED}) as web, pytest.raises(EngineError, match=r"failed: .*markup.*3 of 3"):
        build([_questions(tmp_path)], tmp_path / "ds", _config(web), sleep=lambda _: None)
