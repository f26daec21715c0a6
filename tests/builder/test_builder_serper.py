"""The `serper` engine against a loopback server that answers as the service does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builder_web import Answer, Web, serving
from hypothesis import given
from hypothesis import strategies as st
from test_builder_search_chain import hits_of, questions_in

from builder.build import build
from builder.config import BuildConfig, to_config
from builder.search import open_engines
from builder.search.engines.serper import read_serper
from builder.search_results import RawResponse, SearchResult
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import ConfigError, EngineError, FaultsError

KEY = "serper-secret-0123456789abcdef"
INSIDE = [f"http://10.0.0.{i}/" for i in range(30)]


def found(*urls: str, **more: Any) -> Answer:
    organic = [{"title": "t", "link": url, "snippet": "s", "position": i + 1} for i, url in enumerate(urls)]
    value = {
        "searchParameters": {
            "q": "q",
            "gl": "us",
            "hl": "en",
            "num": 10,
            "page": 1,
            "type": "search",
            "engine": "google",
        },
        "ads": [{"title": "buy", "link": "https://ads.example/"}],
        "knowledgeGraph": {"title": "t", "website": "https://box.example/"},
        "answerBox": {"snippet": "s", "link": "https://answer.example/"},
        "organic": organic,
        "peopleAlsoAsk": [{"question": "q?", "link": "https://asked.example/"}],
        "relatedSearches": [{"query": "more"}],
        "credits": 1,
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(value | more).encode()


def refused(status: int, message: str) -> Answer:
    return status, {}, json.dumps({"message": message, "statusCode": status}).encode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", KEY)


@pytest.fixture
def web() -> Iterator[Web]:
    with serving({"/search": found(*INSIDE[:10])}) as running:
        yield running


def config_at(web: Web, **more: Any) -> BuildConfig:
    serper = {"base_url": f"http://127.0.0.1:{web.port}", "pause_s": 0, "retries": 1, **more}
    return to_config({"clock": "2026-01-02T00:00:00Z", "search": {"engine": "serper", "serper": serper}}, "test")


def ask(web: Web, n: int = 10) -> SearchResult:
    (engine,) = open_engines(config_at(web).search, "test-agent", lambda _: None)
    return engine.search("Why is the\n sky blue?", n)


def test_organic_results_come_in_rank_order_and_nothing_else_counts(web: Web) -> None:
    result = ask(web)
    assert (result.state, result.urls) == ("hits", tuple(INSIDE[:10]))
    assert json.loads(web.bodies[0]) == {
        "q": "Why is the sky blue?",
        "num": 10,
        "page": 1,
        "gl": "us",
        "hl": "en",
        "autocorrect": False,
    }
    assert web.headers[0]["X-API-KEY"] == KEY
    assert web.queries == [""]


def test_further_pages_are_asked_for_until_there_are_enough_or_no_more(web: Web) -> None:
    web.answers["/search"] = [found(*INSIDE[:9], INSIDE[0]), found(*INSIDE[8:18]), found(*INSIDE[18:])]
    assert ask(web).urls == tuple(INSIDE[:10])
    assert [json.loads(body)["page"] for body in web.bodies] == [1, 2]
    web.answers["/search"] = [found(*INSIDE[:7]), found()]
    assert ask(web).urls == tuple(INSIDE[:7])


def test_no_organic_result_is_none_and_another_answer_is_not(web: Web) -> None:
    web.answers["/search"] = found()
    assert ask(web).state == "none"
    for body in (
        b"{}",
        b'{"organic": []}',
        b"<html>login</html>",
        b'{"searchParameters": {"type": "images"}, "organic": []}',
    ):
        web.answers["/search"] = (200, {}, body)
        assert ask(web).state == "failed", body


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (refused(403, "Unauthorized."), "blocked", "SERPER_API_KEY"),
        (refused(400, "Not enough credits"), "blocked", "no credits left"),
        (refused(429, "Not enough credits"), "blocked", "no credits left"),
        (refused(429, "Too many requests"), "rate_limited", "429"),
        (refused(400, "Missing query parameter"), "failed", "Missing query parameter"),
        (refused(500, "oops"), "failed", "500: oops"),
        ((503, {"Retry-After": "9"}, b""), "rate_limited", "503"),
        ((307, {"Location": "/search"}, b""), "failed", "redirects to 127.0.0.1"),
    ],
)
def test_each_of_its_refusals_has_its_state(answer: Answer, state: str, reason: str, web: Web) -> None:
    web.answers["/search"] = answer
    result = ask(web)
    assert (result.state, reason in result.reason) == (state, True), result.reason


def test_without_a_key_or_without_https_it_is_not_opened(monkeypatch: pytest.MonkeyPatch, web: Web) -> None:
    with pytest.raises(FaultsError, match="https:// only"):
        to_config({"search": {"serper": {"base_url": "http://proxy.example"}}}, "test")
    for value in ("", "two words", "caf\u00e9-0123456"):
        monkeypatch.setenv("SERPER_API_KEY", value)
        with pytest.raises(ConfigError, match=r"SERPER_API_KEY") as caught:
            ask(web)
        assert not value or value not in str(caught.value)


def test_the_key_is_nowhere_in_what_a_build_writes_or_prints(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web.answers["/search"] = [found(INSIDE[0], echo=KEY), found(), refused(403, f"bad key {KEY}")]
    with pytest.raises(EngineError) as caught:
        build(questions_in(tmp_path), tmp_path / "ds", config_at(web, at_once=1))
    web.answers["/search"] = found(INSIDE[0], echo=KEY)
    build(questions_in(tmp_path), tmp_path / "ds", config_at(web), allow_partial=True)
    assert {engine for _, _, engine, _ in hits_of(tmp_path / "ds")} == {"serper"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        raw = store.raw_responses("Q1", "serper")
    assert b"[key]" in raw[0].body
    assert KEY not in repr(raw) + str(caught.value) + "".join(capsys.readouterr())


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["organic", "link", "searchParameters", "type", "message"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(
    st.sampled_from([200, 200, 400, 403, 429, 500]),
    st.binary(max_size=100) | _json.map(lambda v: json.dumps(v).encode()),
)
def test_no_answer_breaks_its_reader(status: int, body: bytes) -> None:
    page = read_serper(RawResponse(url="https://google.serper.dev/search", status=status, body=body))
    assert (page.state == "hits") == bool(page.urls)
    assert page.state in ("hits", "none") or page.reason
