"""Searching side by side: each engine at its own pace, every question answered once, failures with their cause."""

from __future__ import annotations

import errno
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from builder_web import serving
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.clock import LOCAL_INSTANT
from builder.config import to_config
from builder.fetch.addresses import RefusedAddressError
from builder.search.combine import Chain
from builder.search.engines.searxng import Searxng
from builder.search.pace import Pace
from builder.search.searching import Left, answer_to, search_all
from builder.search.settings import SearchConfig, SearxngConfig
from builder.search.web.failure_causes import ONLINE, failure_cause
from builder.search.web.http_question import Asker, AskingError, SearchRequest
from builder.search_results import SearchResult, State
from builder.sites.site_folders import HostMap
from builder.store.crawl_store import CrawlStore
from edu_rag.errors import ConfigError
from edu_rag.records import Question

NOBODY_WAITS_FOR_EVER_S = 60


def asked(number: int, text: str = "") -> Question:
    choices = {"a": "this", "b": "that"}
    text = text or f"What is number {number}?"
    return Question(question_id=f"Q{number:04}", text=text, choices=choices, kind="multiple_choice", split="val")


class Scripted:
    """An engine whose answers are a function of the query; it counts what it is asked, and how much at once."""

    def __init__(self, name: str, answers: Mapping[str, Sequence[State]], together: int = 0) -> None:
        self.name = name
        self._answers = {query: list(states) for query, states in answers.items()}
        self._turn = threading.Lock()
        self._together = threading.Barrier(together) if together else None
        self.asked: list[str] = []
        self.threads: set[int] = set()
        self.at_once = self.most_at_once = 0

    def search(self, query: str, n: int) -> SearchResult:
        with self._turn:
            self.asked.append(query)
            self.threads.add(threading.get_ident())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            left = self._answers.get(query, ["hits"])
            state = left.pop(0) if len(left) > 1 else left[0]
        if self._together is not None:
            self._together.wait(NOBODY_WAITS_FOR_EVER_S)
        with self._turn:
            self.at_once -= 1
        urls = (f"https://{self.name}.example/{len(query)}",) if state == "hits" else ()
        return SearchResult(state=state, urls=urls, reason="" if urls else "so it is")

    def serving(self) -> AbstractContextManager[HostMap]:
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        return {}


def config(names: Sequence[str], combine: str = "fallback", **at_once: int) -> SearchConfig:
    sections = {name: {"at_once": n, "retries": 1} for name, n in at_once.items()}
    return to_config({"search": {"engines": list(names), "combine": combine, **sections}}, "test").search


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CrawlStore]:
    with CrawlStore(tmp_path / "s.crawl", create=True) as opened:
        yield opened


def search(questions: Sequence[Question], store: CrawlStore, engines: Sequence[Scripted], config: SearchConfig) -> Left:
    return search_all(questions, store, Chain(engines), config, lambda: LOCAL_INSTANT, lambda _: None)


def test_an_engine_gets_as_many_questions_at_once_as_its_settings_allow_and_no_more(store: CrawlStore) -> None:
    engine = Scripted("serper", {}, together=4)  # nothing is answered before four are under way
    left = search([asked(i) for i in range(12)], store, [engine], config(["serper"], serper=4))
    assert (left.n, engine.most_at_once, len(engine.asked)) == (0, 4, 12)


class Away(Scripted):
    """It is there for a question, and then the network is away for some requests."""

    def __init__(self, n_before: int, n_away: int) -> None:
        super().__init__("wikipedia", {})
        self.away = range(n_before, n_before + n_away)

    def search(self, query: str, n: int) -> SearchResult:
        result = super().search(query, n)
        reason = f"wikipedia.example: no route: {ONLINE}"
        return SearchResult(state="failed", reason=reason) if len(self.asked) - 1 in self.away else result


@pytest.mark.parametrize(
    ("n_before", "n_away", "n_left", "waits"),
    [(1, 6, 0, [1, 1, 2, 4, 8, 16]), (0, 10, 5, []), (1, 99, 4, [1, 1, 2, 4, 8, 16, 30, 30, 8])],
)
def test_an_engine_that_was_there_is_waited_for_while_the_network_is_away(
    store: CrawlStore, n_before: int, n_away: int, n_left: int, waits: Sequence[float]
) -> None:
    slept: list[float] = []
    settings = config(["wikipedia"])
    settings = replace(settings, wikipedia=replace(settings.wikipedia, max_wait_s=100.0))
    chain = Chain([Away(n_before, n_away)])
    left = search_all([asked(i) for i in range(5)], store, chain, settings, lambda: LOCAL_INSTANT, slept.append)
    assert (left.n, slept) == (n_left, waits)


def test_engines_work_side_by_side_on_different_questions(store: CrawlStore) -> None:
    both = threading.Barrier(2)

    class Meeting(Scripted):
        def search(self, query: str, n: int) -> SearchResult:
            result = super().search(query, n)
            if len(self.asked) == 2 or self.name == "wikipedia":  # the second question here, the first one there
                both.wait(NOBODY_WAITS_FOR_EVER_S)
            return result

    first = Meeting("brave", {"What is number 0?": ["none"]})
    second = Meeting("wikipedia", {})
    left = search([asked(i) for i in range(2)], store, [first, second], config(["brave", "wikipedia"]))
    assert (left.n, len(first.asked), len(second.asked)) == (0, 2, 1)


def test_an_engine_with_one_request_at_a_time_is_asked_in_the_order_of_the_questions(store: CrawlStore) -> None:
    engines = [Scripted("brave", {}), Scripted("wikipedia", {})]
    search([asked(i) for i in range(20)], store, engines, config(["brave", "wikipedia"], "fuse"))
    for engine in engines:
        assert engine.asked == [f"What is number {i}?" for i in range(20)]
        assert engine.most_at_once == 1


def test_an_engine_that_reads_files_is_asked_in_the_calling_thread(store: CrawlStore) -> None:
    engine = Scripted("folder", {})
    search([asked(i) for i in range(3)], store, [engine], config(["folder"]))
    assert engine.threads == {threading.get_ident()}


def test_no_thread_is_left_after_a_search(store: CrawlStore) -> None:
    search([asked(1)], store, [Scripted("serper", {})], config(["serper"]))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("search-serper")]


def test_questions_of_the_same_words_wait_for_the_one_that_is_asked(store: CrawlStore) -> None:
    engine = Scripted("serper", {})
    questions = [asked(i, "The same?") for i in range(8)]
    left = search(questions, store, [engine], config(["serper"], serper=4))
    assert (left.n, engine.asked) == (0, ["The same?"])
    assert {answer_to(question, store, config(["serper"])).state for question in questions} == {"hits"}


def test_a_wait_for_a_limit_is_made_once_for_all_that_were_refused_together(store: CrawlStore) -> None:
    limited: dict[str, Sequence[State]] = {f"What is number {i}?": ["rate_limited", "hits"] for i in range(4)}
    engine = Scripted("serper", limited, together=4)
    waits: list[float] = []
    questions, settings = [asked(i) for i in range(4)], config(["serper"], serper=4)
    left = search_all(questions, store, Chain([engine]), settings, lambda: LOCAL_INSTANT, waits.append)
    assert (left.n, waits) == (0, [30.0])


def test_an_engine_that_is_out_passes_its_waiting_questions_on(store: CrawlStore) -> None:
    first = Scripted("brave", {"What is number 1?": ["blocked"]})
    second = Scripted("wikipedia", {"What is number 3?": ["none"]})
    left = search([asked(i) for i in range(5)], store, [first, second], config(["brave", "wikipedia"]))
    assert first.asked == ["What is number 0?", "What is number 1?"]
    assert second.asked == [f"What is number {i}?" for i in range(1, 5)]
    assert left == Left(n=1, first=asked(3), refusals=(("brave", "blocked: so it is"),))


def test_an_error_in_an_engines_thread_ends_the_search_and_keeps_what_came(store: CrawlStore) -> None:
    class Broken(Scripted):
        def search(self, query: str, n: int) -> SearchResult:
            if "2" in query:
                raise MemoryError("no more")
            return super().search(query, n)

    questions = [asked(i) for i in range(5)]
    with pytest.raises(MemoryError, match="no more"):
        search(questions, store, [Broken("brave", {})], config(["brave"]))
    states = [answer_to(question, store, config(["brave"])).state for question in questions[:3]]
    assert states == ["hits", "hits", "unsearched"]


STATES: list[State] = ["hits", "none", "rate_limited", "blocked", "failed"]
NAMES = ("serper", "brave", "wikipedia")


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_run_settles_every_question_and_the_next_one_asks_only_what_is_left(data: st.DataObject) -> None:
    import tempfile

    texts = [f"What is {i}?" for i in range(data.draw(st.integers(1, 6)))]
    questions = [asked(i, data.draw(st.sampled_from(texts))) for i in range(data.draw(st.integers(1, 10)))]
    names = NAMES[: data.draw(st.integers(1, 3))]
    chosen = config(names, data.draw(st.sampled_from(["fallback", "fuse"])), serper=data.draw(st.integers(1, 4)))
    plan = {name: {text: [data.draw(st.sampled_from(STATES))] for text in texts} for name in names}
    with tempfile.TemporaryDirectory() as folder, CrawlStore(Path(folder) / "s.crawl", create=True) as store:
        engines = [Scripted(name, plan[name]) for name in names]
        left = search(questions, store, engines, chosen)
        states = [answer_to(question, store, chosen).state for question in questions]
        assert left.n == sum(state not in ("hits", "none") for state in states)
        for engine in engines:
            given_answers = [query for query in engine.asked if plan[engine.name][query][0] in ("hits", "none")]
            assert len(given_answers) == len(set(given_answers))  # what it has answered is not asked again
        again = [Scripted(name, {}) for name in names]  # the next run: all of them answer
        assert search(questions, store, again, chosen).n == 0
        if not left.n:
            assert not any(engine.asked for engine in again)


# ---- pace


def test_a_pace_lets_one_request_start_in_each_pause_whoever_asks() -> None:
    now, waits = [100.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    pace = Pace(2.0, sleep, lambda: now[0])
    pace.turn()
    now[0] += 0.5
    pace.turn()
    now[0] += 5
    pace.turn()
    threads = [threading.Thread(target=pace.turn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert waits == [1.5, 2.0, 2.0, 2.0]


# ---- causes


def _raised(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (requests.ConnectionError(OSError(errno.ENETUNREACH, "x")), "s.example: no route: is this machine online?"),
        (_raised(requests.ConnectionError(), OSError(errno.EHOSTUNREACH, "x")), "no route: is this machine online?"),
        (requests.ConnectionError(ConnectionResetError()), "closed the connection"),
        (requests.exceptions.SSLError(ssl.SSLCertVerificationError()), "no trusted TLS connection"),
        (requests.ConnectionError(RefusedAddressError("10.0.0.1 is not a public address")), "not dialled: 10.0.0.1"),
        (ValueError("key=secret"), "s.example: no answer: ValueError"),
    ],
)
def test_a_failure_names_the_host_and_the_likely_cause(error: BaseException, cause: str) -> None:
    found = failure_cause(error, "https://s.example/search?q=secret")
    assert cause in found
    assert "secret" not in found


@pytest.mark.parametrize("guarded", [False, True])
def test_a_name_that_does_not_resolve_and_a_closed_port_are_named(guarded: bool) -> None:
    asker = Asker(timeout_s=20, user_agent="t", guarded=guarded)
    with pytest.raises(AskingError, match=r"no-such-host\.invalid: its name does not resolve: is this machine online"):
        asker.ask(SearchRequest(url="http://no-such-host.invalid/"))
    with pytest.raises(AskingError, match=r"127\.0\.0\.1:9: (refuses connections|not dialled)"):
        asker.ask(SearchRequest(url="http://127.0.0.1:9/"))


def test_a_certificate_of_another_is_named_as_a_login_page_would_show_it() -> None:
    with serving({}) as web, pytest.raises(AskingError, match=r"TLS connection|closed the connection"):
        Asker(timeout_s=20, user_agent="t").ask(SearchRequest(url=f"https://127.0.0.1:{web.port}/"))


def test_searxng_without_an_address_is_an_error_that_names_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"search\.searxng\.base_url: is not set.*base_url = "):
        Searxng(SearxngConfig())
