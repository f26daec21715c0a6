"""Engines that other packages bring: found by their entry point, asked by our own client under our own rules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builder_added_engine import install_engine
from builder_web import Answer, Web, serving
from test_builder_build import tree
from test_builder_search_chain import hits_of, questions_in

from builder.build import build, replay
from builder.config import BuildConfig, config_sha256, to_config
from builder.search import open_engines, reader_of
from builder.search.combine import open_chain
from builder.search.web.guarded_connection import names_inside_address
from builder.search_results import RawResponse, SearchResult
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import ConfigError, EngineError, FaultsError

# Hits lie at addresses that are refused, so that no test ever dials out.
INSIDE = [f"http://10.0.0.{i}/" for i in range(10)]


def answered(*urls: str, **more: Any) -> Answer:
    return 200, {}, json.dumps({"urls": list(urls), **more}).encode()


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install_engine(tmp_path / "packages"))
    monkeypatch.delitem(sys.modules, "shelf_engine", raising=False)


@pytest.fixture
def web() -> Iterator[Web]:
    with serving({"/find": answered(*INSIDE)}) as running:
        yield running


def config_for(base_url: str, engine: str = "shelf", **more: Any) -> BuildConfig:
    shelf = {"base_url": base_url, "pause_s": 0, "retries": 1, **more}
    search = {"engine": engine, "adapters": {"shelf": shelf}}
    return to_config({"clock": "2026-01-02T00:00:00Z", "search": search}, "test")


def at(web: Web, **more: Any) -> BuildConfig:
    return config_for(f"http://127.0.0.1:{web.port}", **more)


def ask(config: BuildConfig, query: str = "Why?") -> SearchResult:
    (engine,) = open_engines(config.search, "test-agent", lambda _: None)
    return engine.search(query, 10)


@pytest.mark.slow
def test_an_installed_engine_builds_a_dataset_and_its_replay_does_not_need_the_package(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(questions_in(tmp_path), tmp_path / "ds", at(web, room="biology"), allow_partial=True)
    assert {(engine, url) for _, rank, engine, url in hits_of(tmp_path / "ds") if rank == 1} == {("shelf", INSIDE[0])}
    assert all("room=biology" in query for query in web.queries)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "shelf-engine" not in place])
    with pytest.raises(ConfigError, match=r"unknown engine 'shelf'"):
        open_chain(at(web).search)
    replay(store_folder(tmp_path / "ds"), tmp_path / "again", allow_partial=True)
    assert tree(tmp_path / "again") == tree(tmp_path / "ds")


@pytest.mark.slow
def test_it_is_part_of_a_chain_and_its_recording_is_read_again(web: Web, tmp_path: Path) -> None:
    build(questions_in(tmp_path), tmp_path / "ds", at(web), allow_partial=True)
    n_asked = len(web.asked)
    recorded = {"engine": "recorded", "recorded": {"store": str(store_folder(tmp_path / "ds")), "engine": "shelf"}}
    build(questions_in(tmp_path), tmp_path / "two", to_config({"search": recorded}, "test"), allow_partial=True)
    assert len(web.asked) == n_asked
    assert [hit[3] for hit in hits_of(tmp_path / "two")] == [hit[3] for hit in hits_of(tmp_path / "ds")]
    assert [engine.name for engine in open_engines(at(web, engine="shelf,wikipedia").search, "t")] == [
        "shelf",
        "wikipedia",
    ]


def test_its_limits_are_waited_for_as_those_of_our_own_engines(web: Web, tmp_path: Path) -> None:
    web.answers["/find"] = [answered(*INSIDE), (429, {"Retry-After": "7"}, b""), answered(*INSIDE)]
    waits: list[float] = []
    build(questions_in(tmp_path), tmp_path / "ds", at(web, pause_s=2), sleep=waits.append, allow_partial=True)
    assert waits == pytest.approx([2, 7, 2, 2], abs=0.5)
    web.answers["/find"] = (403, {}, b"")
    with pytest.raises(EngineError, match="blocked: HTTP status 403"):
        build(questions_in(tmp_path), tmp_path / "two", at(web), sleep=waits.append)


def test_its_settings_are_typed_and_decide_over_the_hash_as_far_as_they_change_results() -> None:
    base = config_for("https://shelf.example")
    assert base.search.of_results() == {"base_url": "https://shelf.example", "elsewhere": "", "room": "science"}
    for same in ({"pause_s": 9}, {"timeout_s": 3}, {"key_variable": "OTHER"}, {"usd_per_1000": 3.0}):
        assert config_sha256(config_for("https://shelf.example", **same)) == config_sha256(base)
    assert config_sha256(config_for("https://shelf.example", room="art")) != config_sha256(base)
    assert to_config({"search": {"engine": "shelf"}}, "test").search.of_results() == base.search.of_results()
    for fault in ({"rooms": "x"}, {"pause_s": "long"}, {"at_once": 99}):
        with pytest.raises(FaultsError, match=rf"search\.adapters\.shelf\.{next(iter(fault))}"):
            config_for("https://shelf.example", **fault)
    with pytest.raises(ConfigError, match="user name"):
        config_for("https://me:secret@shelf.example")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:127.0.0.1"])
def test_a_name_that_leads_inside_is_not_dialled(address: str, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.search.web.guarded_connection.system_lookup", lambda _: ["93.184.215.14", address])
    result = ask(config_for(f"http://shelf.example:{web.port}"))
    assert (result.state, web.asked) == ("failed", [])
    assert "shelf.example" in result.reason
    assert "not a public address" in result.reason


def test_the_address_that_was_checked_is_the_one_that_is_dialled(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    # A second look-up would lead elsewhere: the name does not exist.
    monkeypatch.setattr("builder.search.web.guarded_connection.system_lookup", lambda _: ["127.0.0.1"])
    monkeypatch.setattr("builder.search.web.guarded_connection.is_public", lambda _: True)
    result = ask(config_for(f"http://no-such-host.invalid:{web.port}"))
    assert result.urls == tuple(INSIDE)
    assert web.headers[0]["Host"] == f"no-such-host.invalid:{web.port}"


def test_an_inside_address_is_asked_if_the_settings_name_it() -> None:
    for inside in ("http://127.0.0.1:8080", "http://localhost", "http://[::1]:1", "https://192.168.1.7"):
        assert names_inside_address(inside)
    for outside in ("https://shelf.example", "http://8.8.8.8", "https://[2606:4700::1111]"):
        assert not names_inside_address(outside)


def test_it_reaches_no_other_place_than_its_base_url_and_sends_no_key_in_the_clear(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not in its base_url" in ask(at(web, elsewhere="http://169.254.169.254")).reason
    web.answers["/find"] = (302, {"Location": "http://169.254.169.254/"}, b"")
    assert "redirects to 169.254.169.254" in ask(at(web)).reason
    monkeypatch.setenv("SHELF_KEY", "secret-0123456789")
    assert "without https" in ask(config_for("http://shelf.example")).reason
    web.answers["/find"] = (200, {}, b'{"urls": [], "echo": "secret-0123456789"}')
    result = ask(at(web))
    assert web.headers[-1]["X-Key"] == "secret-0123456789"
    assert "secret" not in repr(result)


def test_an_adapter_with_a_bug_gives_a_failed_answer(web: Web) -> None:
    assert "cannot make a request: ZeroDivisionError" in ask(at(web), "break").reason
    assert "makes no SearchRequest but NoneType" in ask(at(web), "nothing").reason
    for body, why in (
        (b"break", "KeyError"),
        (b"lie", "makes no sense"),
        (b"numbers", "something else than addresses"),
        (b"no pages", "makes no sense"),
        (b"odd state", "makes no sense"),
    ):
        web.answers["/find"] = (200, {}, body)
        result = ask(at(web))
        assert (result.state, why in result.reason) == ("failed", True)
        read = reader_of("shelf")
        assert read is not None
        assert read([RawResponse(url="x", status=200, body=body)], 10).state == "failed"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("google = shelf_engine:ENGINE", "an engine of edu-rag has this name"),
        ("Shelf_2 = shelf_engine:ENGINE", "a-z, 0-9 and hyphens"),
        ("shelf = other:ENGINE", "another package brings an engine of this name"),
    ],
)
def test_a_package_with_a_name_that_is_not_free_is_reported(
    line: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install_engine(tmp_path, line, package="second-engine"))
    with pytest.raises(ConfigError, match=what):
        to_config({"search": {"engine": "shelf"}}, "test")


@pytest.mark.parametrize(
    ("value", "what"),
    [("shelf_engine:NOT_ONE", "is not an EngineAdapter but object"), ("no_such_module:X", "cannot be imported")],
)
def test_an_entry_point_that_names_no_adapter_is_reported(
    value: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install_engine(tmp_path, f"odd = {value}", package="odd-engine"))
    with pytest.raises(ConfigError, match=what):
        to_config({"search": {"engine": "odd"}}, "test")


def test_settings_of_an_engine_that_nobody_brings_are_a_slip_that_is_reported(tmp_path: Path) -> None:
    config = to_config({"search": {"engine": "folder", "adapters": {"shelv": {"room": "x"}}}}, "test")
    with pytest.raises(ConfigError, match=r"search\.adapters\.shelv"):
        open_chain(config.search)
    with pytest.raises(ConfigError, match=r"unknown engine 'bing'.*shelf"):
        open_chain(to_config({"search": {"engine": "bing"}}, "test").search)


def test_a_stored_answer_keeps_the_engines_name(web: Web, tmp_path: Path) -> None:
    build(questions_in(tmp_path), tmp_path / "ds", at(web), allow_partial=True)
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        assert store.engines() == ["shelf"]
        assert store.raw_responses("Q1", "shelf")[0].body == answered(*INSIDE)[2]
