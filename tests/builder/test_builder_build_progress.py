"""What a person sees while a build runs, and what its log says of refusals and hosts that were given up."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builder_store import n_fetches

from builder.clock import LOCAL_INSTANT
from builder.config import to_config
from builder.crawl import fetch_missing
from builder.fetch import Fetched
from builder.search_results import SearchResult
from builder.store.crawl_store import CrawlStore, row_after
from edu_rag.errors import DataError
from edu_rag.progress import BuildLog, Stage, logging_to, note
from edu_rag.records import Question

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_with_rate_estimated_end_and_errors_by_kind() -> None:
    stream = Terminal()
    with Stage("fetch", total=4, stream=stream) as stage:
        stage.add("kept", 2)
        stage.add("timeout")
        stage._bar.refresh()
    shown = stream.getvalue()
    assert "fetch:  75%" in shown
    assert "3/4 [" in shown
    assert "it/s], kept 2, dropped 1: timeout 1" in shown
    assert shown.endswith("fetch: 3 of 4: kept 2, dropped 1: timeout 1\n")


def test_the_log_holds_rate_and_seconds_and_events_of_before_it_was_opened(tmp_path: Path) -> None:
    times = iter([10.0, 12.0, 14.0])
    with logging_to(BuildLog(now=lambda: AT)) as log:
        note("hello", n=1)
        log.open(tmp_path / "build.log.jsonl")
        with Stage("fetch", total=8, stream=io.StringIO(), monotonic=lambda: next(times)) as stage:
            stage.add("kept", 8)
    note("nobody listens")
    assert [json.loads(line) for line in (tmp_path / "build.log.jsonl").read_text().splitlines()] == [
        {"at": AT.isoformat(), "event": "hello", "n": 1},
        {"at": AT.isoformat(), "event": "start", "stage": "fetch", "total": 8},
        {
            "at": AT.isoformat(),
            "event": "end",
            "stage": "fetch",
            "total": 8,
            "counts": {"kept": 8},
            "seconds": 4.0,
            "rate": 2.0,
        },
    ]


def test_a_log_that_cannot_be_written_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"{tmp_path}: cannot be written: Is a directory"):
        BuildLog().open(tmp_path)


def test_refusals_and_hosts_given_up_are_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question(question_id="q", text="Why?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val")
    urls = tuple(f"http://dead.example/{i}" for i in range(3))

    def fetch_all(planned: object, _settings: object, _hosts: object, now: object, sink: object, **_: object) -> None:
        for url in list(planned):  # type: ignore[call-overload]
            sink(  # type: ignore[operator]
                Fetched(
                    url=url, final_url=url, outcome="connection", fetched_at=AT, detail="circuit breaker: 5 failures"
                )
            )

    monkeypatch.setattr("builder.crawl.fetch_all", fetch_all)
    with logging_to(BuildLog()) as log, CrawlStore(tmp_path / "s", create=True) as store:
        log.open(tmp_path / "log")
        store.add_search("q", "brave", "Why?", SearchResult(state="rate_limited", reason="429"), AT)
        store.add_search("q", "folder", "Why?", SearchResult(state="hits", urls=urls), AT)
        fetch_missing([question], store, to_config({}, "test"), {}, lambda: LOCAL_INSTANT)
        assert n_fetches(store) == {"connection": 3}
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["engine"], line["state"]) for line in lines if line["event"] == "refused"] == [
        ("brave", "rate_limited")
    ]
    assert [line["host"] for line in lines if line["event"] == "host_given_up"] == ["dead.example"]


def test_rights_that_are_reserved_later_are_kept_with_an_unchanged_page() -> None:
    def got(*signals: str, not_modified: bool = False) -> Fetched:
        return Fetched(
            url="http://e.example/",
            final_url="http://e.example/",
            outcome="kept",
            fetched_at=AT,
            status=200,
            body=b"" if not_modified else b"x",
            signals=signals,
            not_modified=not_modified,
        )

    first, _ = row_after(None, got("noai"), "d", 0)
    assert row_after(first, got("tdm-reservation", not_modified=True), None, 1)[0].signals == (
        "noai",
        "tdm-reservation",
    )
    assert row_after(first, got(), "d", 1)[0].signals == ()
