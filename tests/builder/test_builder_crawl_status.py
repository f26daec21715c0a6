"""`edu-rag crawl status`: what is done, what failed and what waits, by host and cause."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_builder_search_chain import questions_in

from builder.build import build
from builder.commands import crawl
from builder.config import to_config
from builder.crawl_status import BARRED, DONE, FAILED, LOST, WAITING, crawl_status, state_of
from builder.fetch import Fetched
from builder.search_results import SearchResult
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import DataError

AT = datetime(2026, 1, 2, tzinfo=UTC)
HITS = {
    "Q1": ["https://good.example/1", "https://good.example/2", "https://slow.example/1", "https://gone.example/1"],
    "Q2": ["https://good.example/1", "https://slow.example/2", "https://closed.example/", "https://barred.example/"],
    "Q3": ["https://later.example/", "https://gone.example/1#part", "not an address"],
}
FETCHED = {
    "https://good.example/1": ("kept", 200),
    "https://good.example/2": ("kept", 200),
    "https://slow.example/1": ("timeout", None),
    "https://slow.example/2": ("timeout", None),
    "https://gone.example/1": ("http_error", 404),
    "https://closed.example/": ("robots", None),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder with a crawl store in mid-crawl: made by a build that found nothing, then filled by hand."""
    tmp_path = tmp_path_factory.mktemp("status")
    questions = questions_in(tmp_path, 4)
    (tmp_path / "r.jsonl").write_text(
        "".join(json.dumps({"query": f"What is number {i}?", "urls": []}) + "\n" for i in range(1, 4))
    )
    search = {"engine": "recorded", "recorded": {"file": str(tmp_path / "r.jsonl")}}
    config = to_config({"search": search, "filter": {"blocked_hosts": ["barred.example"]}}, "test")
    build(questions, tmp_path / "ds", config, allow_partial=True)
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        for question, urls in HITS.items():
            result = SearchResult(state="hits", urls=tuple(urls))
            store.add_search(question, "recorded", f"What is number {question[1]}?", result, AT)
        for url, (outcome, status) in FETCHED.items():
            store.add_fetch(Fetched(url=url, final_url=url, outcome=outcome, status=status, fetched_at=AT, body=b"x"))
        for _ in range(2):  # its third try
            url = "https://slow.example/2"
            store.add_fetch(Fetched(url=url, final_url=url, outcome="timeout", fetched_at=AT))
    return tmp_path


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """The dataset folder, to change; its store is next to it."""
    shutil.copytree(store_folder(made / "ds"), store_folder(tmp_path / "ds"))
    return Path(shutil.copytree(made / "ds", tmp_path / "ds"))


def test_every_url_is_counted_once_with_its_state_and_cause(place: Path) -> None:
    found = crawl_status(store_folder(place))
    assert (found.round, found.is_finished, found.questions) == (0, False, 4)
    assert found.searches == {"hits": 3, "failed": 1}
    assert found.engines == {"recorded": {"hits": 3, "failed": 1}}
    assert found.refusals == {"recorded": "failed: the recording holds no answer to this query"}
    assert found.urls == {DONE: 2, FAILED: 2, WAITING: 2, BARRED: 1, LOST: 1}
    assert found.causes == {
        BARRED: {"blocked_host": 1},
        FAILED: {"http_error 404": 1, "robots": 1},
        LOST: {"timeout": 1},
        WAITING: {"not asked yet": 1, "timeout": 1},
    }


def test_the_hosts_with_most_trouble_come_first_and_hosts_without_any_are_left_out(place: Path) -> None:
    hosts = crawl_status(store_folder(place)).hosts
    assert list(hosts.items()) == [
        ("slow.example", {"lost: timeout": 1, "waiting: timeout": 1}),
        ("closed.example", {"failed: robots": 1}),
        ("gone.example", {"failed: http_error 404": 1}),
        ("later.example", {"waiting: not asked yet": 1}),
    ]


def test_the_command_takes_the_store_or_its_dataset_and_changes_nothing(place: Path) -> None:
    def content() -> Mapping[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(store_folder(place).rglob("*")) if path.is_file()}

    before = content()
    printed = [CliRunner().invoke(crawl, ["status", str(one)]).stdout for one in (place, store_folder(place))]
    assert printed[0] == printed[1]
    assert "last refusal: failed: the recording holds no answer to this query" in printed[0]
    assert "  slow.example" in printed[0]
    short = CliRunner().invoke(crawl, ["status", str(place), "--hosts", "1"]).stdout
    assert "... and 3 more" in short
    plain = json.loads(CliRunner().invoke(crawl, ["status", str(place), "--json"]).stdout)
    assert plain["urls"] == {"failed": 2, "done": 2, "waiting": 2, "barred": 1, "lost": 1}
    assert content() == before


def test_a_running_build_does_not_hinder_it(place: Path) -> None:
    with CrawlStore(store_folder(place)) as store:
        url = "https://later.example/"
        store.add_fetch(Fetched(url=url, final_url=url, outcome="kept", status=200, fetched_at=AT, body=b"x"))
        store.flush()
        assert crawl_status(store_folder(place)).urls[DONE] == 3


def test_a_refresh_makes_every_url_wait_again(place: Path) -> None:
    with CrawlStore(store_folder(place)) as store:
        row = store.fetch("https://good.example/1")
    assert state_of(row, 0) == (DONE, "")
    assert state_of(row, 1) == state_of(None, 0) == (WAITING, "not asked yet")


def test_another_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a crawl store"):
        crawl_status(tmp_path)
