"""Rounds of a crawl: what is asked again, what stays, what is replaced, and which version the dataset gets."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from builder_store import fetches, n_searches
from builder_web import HTML, Answer, Web, serving

from builder.config import BuildConfig, to_config
from builder.crawl import Round, fetch_missing, newer, next_minor, next_round, plan_fetches, round_of
from builder.fetch import Fetched
from builder.search_results import SearchResult
from builder.store.crawl_store import INDEX_FILE, CrawlStore, StoreReader
from builder.store.index import VERSION, Fetch
from builder.store.takedowns import TakeDown, TakeDowns, add_takedown, host_is_listed, read_takedowns
from edu_rag.errors import DataError, RecordError
from edu_rag.records import Question

HOST = "s.example"
FIRST, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
PATHS = ("/same", "/tagged", "/changed", "/gone", "/flaky", "/forbidden")
QUESTION = Question(question_id="q1", text="Why?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val")


def body(text: str) -> bytes:
    return f"<html><body><p>{text}</p></body></html>".encode()


def answers(**changes: Answer) -> dict[str, Answer]:
    first: dict[str, Answer] = {path: (200, HTML, body(path)) for path in PATHS}
    first["/tagged"] = (200, {**HTML, "ETag": '"v1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, body("tag"))
    return first | {f"/{name.rstrip('_')}": answer for name, answer in changes.items()}


def searched(store: CrawlStore, *paths: str) -> None:
    urls = tuple(f"http://{HOST}{path}" for path in paths or PATHS)
    store.add_search("q1", "folder", "Why?", SearchResult(state="hits", urls=urls), FIRST)


def config(**filters: object) -> BuildConfig:
    return to_config({"fetch": {"timeout_s": 5.0}, "filter": filters}, "test")


def crawl(store: CrawlStore, web: Web, at: datetime, **filters: object) -> Mapping[str, Fetch]:
    fetch_missing([QUESTION], store, config(**filters), {HOST: web.address}, lambda: at)
    return {url.removeprefix(f"http://{HOST}"): row for url, row in fetches(store).items()}


def test_a_refresh_keeps_what_is_unchanged_and_replaces_what_changed_or_is_gone(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store:
        searched(store)
        with serving(answers()) as web:
            before = crawl(store, web, FIRST)
            n_asked = len(web.asked)
            assert crawl(store, web, FIRST) == before
            assert len(web.asked) == n_asked
        store.round = 1
        later = answers(
            changed=(200, HTML, body("new")), gone=(410, {}, b""), flaky=(503, {}, b""), tagged=(304, {}, b"")
        )
        later["/robots.txt"] = (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /forbidden\n")
        with serving(later) as web:
            after = crawl(store, web, LATER)
            conditional = [headers for path, headers in zip(web.asked, web.headers, strict=True) if path == "/tagged"]
        assert [h["If-None-Match"] for h in conditional] == ['"v1"']
        assert {path: row.outcome for path, row in after.items()} == {
            "/same": "kept",
            "/tagged": "kept",
            "/changed": "kept",
            "/gone": "http_error",
            "/flaky": "kept",
            "/forbidden": "robots",
        }
        assert {row.round for row in after.values()} == {1}
        for path in ("/same", "/tagged", "/flaky"):
            assert (after[path].fetched_at, after[path].offset) == (FIRST, before[path].offset)
            assert store.response(after[path])[0] == body("tag" if path == "/tagged" else path)
        assert [after[path].checked_at for path in ("/same", "/tagged", "/flaky")] == [LATER, LATER, FIRST]
        assert after["/tagged"].etag == '"v1"'
        assert (after["/changed"].fetched_at, store.response(after["/changed"])[0]) == (LATER, body("new"))


def test_a_refresh_that_was_killed_asks_only_for_the_rest(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store, serving(answers()) as web:
        searched(store, "/same", "/changed")
        crawl(store, web, FIRST)
        searched(store)
        store.round = 1
        row = store.fetch(f"http://{HOST}/same")
        assert row is not None
        plan = plan_fetches([QUESTION], store, config())
        assert len(plan) == len(PATHS)
        fetch_missing([QUESTION], store, config(), {HOST: web.address}, lambda: LATER)
        assert len(plan_fetches([QUESTION], store, config())) == 0


def test_what_fails_for_the_moment_is_tried_on_three_runs_and_what_is_definite_once(tmp_path: Path) -> None:
    def hang_up(out: BinaryIO) -> None:
        out.close()

    web_answers = {"/flaky": hang_up, "/gone": (404, {}, b""), "/robots.txt": (404, {}, b"")}
    with CrawlStore(tmp_path / "s", create=True) as store, serving(web_answers) as web:
        searched(store, "/flaky", "/gone")
        attempts = [crawl(store, web, FIRST)["/flaky"].attempts for _ in range(5)]
        assert attempts == [1, 2, 3, 3, 3]
        assert web.n_asked("/gone") == 1


def test_a_host_that_is_never_there_is_tried_on_three_runs_too(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store, serving({"/robots.txt": (503, {}, b"")}) as web:
        searched(store, "/same", "/gone")
        attempts = [crawl(store, web, FIRST)["/same"].attempts for _ in range(5)]
        assert attempts == [1, 2, 3, 3, 3]
        assert web.asked == ["/robots.txt"] * 3


def test_blocked_hosts_and_take_downs_are_not_asked_for(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store, serving(answers()) as web:
        searched(store, "/same", "/gone")
        entry = TakeDown(kind="url", value=f"http://{HOST}/gone", reason="asked by the owner", at=FIRST)
        assert add_takedown(store.folder, entry)
        assert not add_takedown(store.folder, entry)
        assert set(crawl(store, web, FIRST)) == {"/same"}
        searched(store)
        assert set(crawl(store, web, FIRST, blocked_hosts=["example"])) == {"/same"}
        assert "/gone" not in web.asked


def test_a_take_down_of_a_host_holds_for_its_subdomains_and_a_hash_holds_everywhere(tmp_path: Path) -> None:
    entries = (
        TakeDown(kind="host", value="bad.example", reason="r", at=FIRST),
        TakeDown(kind="sha256", value="a" * 64, reason="r", at=FIRST),
    )
    for entry in entries:
        add_takedown(tmp_path, entry)
    found = read_takedowns(tmp_path)
    assert found.entries == entries
    assert found.matches("http://www.bad.example/x", "www.bad.example", None)
    assert not found.matches("http://notbad.example/x", "notbad.example", "b" * 64)
    assert found.matches("http://other.example/", "other.example", "a" * 64)
    assert not TakeDowns().matches("http://x.example/", "x.example", None)
    assert host_is_listed("A.Bad.Example.", {"bad.example"})


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("url", "HTTP://E.example/#x", "is not canonical: write 'http://e.example/'"),
        ("url", "ftp://e/", "not http"),
        ("host", "http://e.example", "not a host name"),
        ("sha256", "A" * 64, "64 hexadecimal digits"),
    ],
)
def test_a_take_down_that_would_never_match_is_refused(kind: str, value: str, told: str) -> None:
    with pytest.raises(RecordError, match=told):
        TakeDown(kind=kind, value=value, reason="r", at=FIRST)  # type: ignore[arg-type]


def test_a_broken_take_down_list_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "takedowns.jsonl").write_text('{"kind": "host", "value": "E", "reason": "r", "at": "2026-01-01"}\n')
    with pytest.raises(DataError, match=r"takedowns.jsonl:1: "):
        read_takedowns(tmp_path)


def test_a_store_of_the_first_schema_is_brought_up_to_date_and_one_of_the_future_is_refused(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store, serving(answers()) as web:
        searched(store)
        before = crawl(store, web, FIRST)
    new = ("etag", "last_modified", "signals", "attempts", "round", "checked_at", "batch", "row_digest")
    with sqlite3.connect(tmp_path / "s" / INDEX_FILE) as base:
        for column in new:
            base.execute(f"ALTER TABLE fetches DROP COLUMN {column}")
        for column in ("round", "batch", "row_digest"):
            base.execute(f"ALTER TABLE searches DROP COLUMN {column}")
        base.execute("DROP TABLE warc")
        base.execute("DROP TABLE orphans")
        base.execute("PRAGMA user_version = 0")
    base.close()
    with CrawlStore(tmp_path / "s") as store:
        row = store.fetch(f"http://{HOST}/same")
        assert row == before["/same"]
        assert store.response(before["/same"])[0] == body("/same")
        assert n_searches(store, "folder") == {"hits": 1}
    with sqlite3.connect(tmp_path / "s" / INDEX_FILE) as base:
        base.execute(f"PRAGMA user_version = {VERSION + 1}")
    base.close()
    told = rf"version {VERSION + 1}, and this edu-rag reads version {VERSION}.*rebuild-index"
    for opened in (CrawlStore, StoreReader):
        with pytest.raises(DataError, match=told):
            opened(tmp_path / "s")


def test_the_next_version_is_the_next_minor_unless_named_and_a_cut_off_refresh_goes_on(tmp_path: Path) -> None:
    assert (next_minor("1.9.3"), newer("1.10.0", "1.9.0")) == ("1.10.0", "1.10.0")
    done = Round(number=0, version="1.2.3", is_finished=True)

    def turn(stored: Round | None, version: str = "1.0.0", forced: str | None = None, **more: bool) -> Round:
        options = {"refresh": False, "allow_partial": False} | more
        return next_round(stored, version, tmp_path / "ds", forced_version=forced, **options)  # type: ignore[arg-type]

    assert turn(None) == Round(version="1.0.0")
    assert turn(done, "1.2.3") == Round(version="1.2.3")
    begun = turn(done, refresh=True)
    assert begun == Round(number=1, version="1.3.0")
    assert turn(begun, refresh=True) == turn(begun) == begun
    assert turn(done, forced="7.0.0", refresh=True) == Round(number=1, version="7.0.0")
    assert turn(Round(number=1, version="1.3.0", is_finished=True), refresh=True).number == 2
    with pytest.raises(DataError, match=r"not finished.*--resume"):
        turn(Round(version="1.0.0"), refresh=True)
    assert round_of({"config": {"version": "1.0.0"}}).is_finished
    with pytest.raises(ValueError, match="wrong type"):
        round_of({"config": {}, "round": "one"})


def test_a_refusal_in_a_refresh_does_not_replace_an_answer(tmp_path: Path) -> None:
    with CrawlStore(tmp_path / "s", create=True) as store:
        searched(store, "/same")
        store.flush()
        store.round = 1
        store.add_search("q1", "folder", "Why?", SearchResult(state="rate_limited"), LATER)
        kept = store.search("q1", "folder")
        assert kept is not None
        assert (kept.state, kept.round) == ("hits", 0)
        store.add_search("q1", "folder", "Why?", SearchResult(state="none"), LATER + timedelta(days=1))
        now = store.search("q1", "folder")
        assert now is not None
        assert (now.state, now.round) == ("none", 1)


def test_an_answer_or_a_failure_that_a_refresh_finds_again_keeps_its_first_time(tmp_path: Path) -> None:
    def asked(store: CrawlStore, at: datetime, *urls: str) -> datetime:
        store.add_search("q1", "folder", "Why?", SearchResult(state="hits", urls=urls), at)
        found = store.search("q1", "folder")
        assert found is not None
        return found.searched_at

    def failed(store: CrawlStore, at: datetime, status: int) -> Fetch:
        got = Fetched(url="http://s.example/x", final_url="", outcome="http_error", fetched_at=at, status=status)
        store.add_fetch(got)
        found = store.fetch("http://s.example/x")
        assert found is not None
        return found

    with CrawlStore(tmp_path / "s", create=True) as store:
        assert asked(store, FIRST, "http://a/", "http://b/") == FIRST
        assert failed(store, FIRST, 404).fetched_at == FIRST
        store.round = 1
        assert asked(store, LATER, "http://a/", "http://b/") == FIRST
        again = failed(store, LATER, 404)
        assert (again.fetched_at, again.checked_at, again.round) == (FIRST, LATER, 1)
        store.round = 2
        assert asked(store, LATER, "http://b/", "http://a/") == LATER
        assert failed(store, LATER, 410).fetched_at == LATER
