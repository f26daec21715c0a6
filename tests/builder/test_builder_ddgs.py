"""The `ddgs` engine: the real library and its real HTTP client, with its back ends on loopback."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from builder_web import Answer, Web, serving
from test_builder_search_api import wikipedia_hits
from test_builder_search_chain import WIKIPEDIA, hits_of, questions_in

from builder.build import build
from builder.config import to_config
from builder.search import open_engines
from builder.search.engines.ddgs_engine import DdgsEngine, read_ddgs
from builder.search.settings import DdgsConfig
from builder.search_results import RawResponse, SearchResult
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import ConfigError, EngineError, FaultsError, MissingExtraError

backends = pytest.importorskip("ddgs.engines", reason="ddgs is not installed: its engine is not tested").ENGINES["text"]
HTML = {"Content-Type": "text/html; charset=utf-8"}
INSIDE = [f"http://10.0.0.{i}/" for i in range(20)]
CONTROL = "water"


def duckduckgo(*urls: str) -> Answer:
    """html.duckduckgo.com's page, with an advertisement as it puts one first."""
    items = "".join(
        f'<div class="links_main result__body"><h2 class="result__title"><a href="{url}">Title</a></h2>'
        f'<a class="result__snippet" href="{url}">A snippet.</a></div>'
        for url in ("https://duckduckgo.com/y.js?ad_domain=x", *urls)
    )
    return 200, HTML, f"<html><body>{items}</body></html>".encode()


def mojeek(*urls: str) -> Answer:
    items = "".join(f'<li><h2><a href="{url}">Title</a></h2><p class="s">A snippet.</p></li>' for url in urls)
    return 200, HTML, f'<html><body><ul class="results-standard">{items}</ul></body></html>'.encode()


CHALLENGE: Answer = (202, HTML, b"<html><body><div class='anomaly-modal'>Unfortunately, bots</div></body></html>")
NOTHING: Answer = (200, HTML, b"<html><body><div class='no-results'>No results.</div></body></html>")


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with serving({"/ddg": duckduckgo(*INSIDE[:10]), "/mojeek": mojeek(*INSIDE[10:])}) as running:
        at = f"http://127.0.0.1:{running.port}"
        monkeypatch.setattr(backends["duckduckgo"], "search_url", f"{at}/ddg")
        monkeypatch.setattr(backends["mojeek"], "search_url", f"{at}/mojeek")
        yield running


def engine(*names: str, **more: Any) -> DdgsEngine:
    return DdgsEngine.open(DdgsConfig(backends=names or ("duckduckgo",), pause_s=0, **more), lambda _: None)


def ask(*names: str, **more: Any) -> SearchResult:
    return engine(*names, **more).search("Why is the\n sky blue?", 10)


@pytest.mark.slow
def test_without_a_proxy_in_the_settings_the_library_takes_none_from_the_environment(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({"/mojeek": mojeek("http://from.proxy/")}) as proxy:
        at = f"http://127.0.0.1:{proxy.port}"
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "DDGS_PROXY"):
            monkeypatch.setenv(name, at)
        config = DdgsConfig(backends=("mojeek",), pause_s=0)
        direct = DdgsEngine.open(config, lambda _: None, proxy="none").search("Why?", 10)
        assert (direct.urls[:1], proxy.asked) == ((INSIDE[10],), [])
        assert DdgsEngine.open(config, lambda _: None, proxy=at).search("Why?", 10).urls == ("http://from.proxy/",)
        assert set(proxy.asked) == {"/mojeek"}


def by_query(web: Web, answers: dict[str, Answer]) -> None:
    """Let /ddg answer by what the query contains."""
    served = duckduckgo(*INSIDE[:10])

    def answer(out: BinaryIO) -> None:
        asked = web.bodies[-1].decode()
        status, headers, body = next((a for text, a in answers.items() if text in asked), served)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        out.write(f"HTTP/1.1 {status} OK\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        out.write(body)

    web.answers["/ddg"] = answer


def test_its_results_come_without_advertisements(web: Web) -> None:
    result = ask()
    assert (result.state, result.urls) == ("hits", tuple(INSIDE[:10]))
    assert b"q=Why+is+the+sky+blue%3F" in web.bodies[0] or b"q=Why%20is%20the%20sky%20blue%3F" in web.bodies[0]
    assert read_ddgs(result.raw, 10).urls == result.urls


def test_the_next_back_end_is_asked_where_one_refuses(web: Web) -> None:
    web.answers["/ddg"] = CHALLENGE
    result = ask("duckduckgo", "mojeek")
    assert (result.state, result.urls) == ("hits", tuple(INSIDE[10:]))


@pytest.mark.parametrize("answer", [CHALLENGE, NOTHING, (403, HTML, b"no"), (429, HTML, b"")])
def test_an_empty_answer_is_limited_if_the_control_query_finds_nothing_either(answer: Answer, web: Web) -> None:
    web.answers["/ddg"] = answer
    result = ask()
    assert (result.state, "control query" in result.reason) == ("rate_limited", True)
    assert [b"water" in body for body in web.bodies] == [False, True]
    assert len(result.raw) == 2


def test_an_empty_answer_counts_only_after_a_control_query_with_results(web: Web) -> None:
    by_query(web, {"blue": NOTHING})
    result = ask()
    assert result.state == "none"
    assert [b"water" in body for body in web.bodies] == [False, True]
    assert read_ddgs(result.raw, 10).state == "none"
    assert read_ddgs(result.raw[:1], 10).state == "failed"  # its check is missing


def test_the_control_query_has_its_turn_in_the_pace(web: Web) -> None:
    web.answers["/ddg"] = NOTHING
    waits: list[float] = []
    DdgsEngine.open(DdgsConfig(backends=("duckduckgo",), pause_s=30), waits.append).search("q", 10)
    assert waits == pytest.approx([30], abs=5)


def test_a_further_page_is_asked_for_while_there_are_too_few(web: Web) -> None:
    web.answers["/ddg"] = [duckduckgo(*INSIDE[:6]), duckduckgo(*INSIDE[4:12])]
    assert ask().urls == tuple(INSIDE[:10])
    assert len(web.asked) == 2


@pytest.mark.slow
def test_a_refused_connection_and_silence_are_failures_with_their_cause(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends["mojeek"], "search_url", "http://127.0.0.1:9/")
    refused = ask("mojeek")
    assert (refused.state, "behind ddgs" in refused.reason) == ("failed", True), refused.reason

    def silent(out: BinaryIO) -> None:
        time.sleep(3)

    web.answers["/ddg"] = silent
    late = ask(timeout_s=1)
    assert (late.state, late.urls) == ("failed", ()), late


def test_a_chain_goes_on_where_ddgs_is_limited_and_the_hit_records_its_engine(web: Web, tmp_path: Path) -> None:
    by_query(web, {"2": CHALLENGE, CONTROL: CHALLENGE})
    web.answers[WIKIPEDIA] = wikipedia_hits(*INSIDE[10:])
    search = {
        "engine": "ddgs,wikipedia",
        "ddgs": {"backends": ["duckduckgo"], "pause_s": 0, "retries": 0},
        "wikipedia": {"base_url": f"http://127.0.0.1:{web.port}{WIKIPEDIA}", "pause_s": 0},
    }
    config = to_config({"clock": "2026-01-02T00:00:00Z", "search": search}, "test")
    manifest = build(questions_in(tmp_path), tmp_path / "ds", config, allow_partial=True)  # no page is there
    engines = {question: engine for question, _, engine, _ in hits_of(tmp_path / "ds")}
    assert engines == {"Q1": "ddgs", "Q2": "wikipedia", "Q3": "wikipedia"}
    assert manifest.sources["search"]["sources"]["ddgs"]["library"].startswith("ddgs ")
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        assert [search.state for search in store.iter_searches("ddgs")] == ["hits", "rate_limited"]


def test_ddgs_alone_stops_the_build_when_it_is_limited(web: Web, tmp_path: Path) -> None:
    web.answers["/ddg"] = CHALLENGE
    search = {"engine": "ddgs", "ddgs": {"backends": ["duckduckgo"], "pause_s": 0, "retries": 1}}
    waits: list[float] = []
    with pytest.raises(EngineError, match=r"rate_limited: .*control query.*3 of 3"):
        build(questions_in(tmp_path), tmp_path / "ds", to_config({"search": search}, "test"), sleep=waits.append)
    assert waits == [30.0]


def test_what_cannot_be_asked_is_an_error_before_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"no back end 'askjeeves'.*known are .*mojeek"):
        engine("askjeeves")
    with pytest.raises(FaultsError, match="backends"):
        to_config({"search": {"ddgs": {"backends": []}}}, "test")
    for name in DdgsConfig().backends:
        assert name in backends
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(MissingExtraError, match=r"edu-rag-bench\[ddgs\]"):
        open_engines(to_config({"search": {"engine": "ddgs"}}, "test").search, "t")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"results": [{"href": 3}]}', json.dumps({"results": 1}).encode()])
def test_no_stored_answer_breaks_its_reader(body: bytes) -> None:
    assert read_ddgs([RawResponse(url="ddgs:text", status=200, body=body)], 10).state == "failed"
    assert read_ddgs([], 10).state == "failed"
