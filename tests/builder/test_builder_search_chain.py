from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builder_web import Answer, Web, serving
from builder_zim import write_zim
from hypothesis import given
from hypothesis import strategies as st
from test_builder_build import SENTENCES, html, question, tree
from test_builder_google import results as google_hits
from test_builder_search_api import KEY, brave_hits, ok, searxng_hits, wikipedia_hits

from builder.build import build, replay
from builder.clock import LOCAL_INSTANT
from builder.config import BuildConfig, config_sha256, crawl_settings, to_config
from builder.search import ENGINES
from builder.search.combine import Combined, combined, fused, open_chain
from builder.search.settings import SearchConfig, engines_of, is_offline
from builder.search_results import State
from builder.store.crawl_store import CrawlStore, Search
from builder.store.store_folder import store_folder
from edu_rag.errors import ConfigError, DataError, EngineError, FaultsError
from edu_rag.files.dataset import Dataset

AT = datetime(2026, 1, 2, tzinfo=UTC)
# Hits lie at addresses that are refused, so that no test ever dials out.
INSIDE = [f"http://10.0.0.{i}/" for i in range(10)]
OTHERS = [f"http://10.0.1.{i}/" for i in range(10)]
LIMITED: Answer = (429, {}, b"")
BRAVE, SEARXNG, WIKIPEDIA = "/res/v1/web/search", "/search", "/w/api.php"
NO_BRAVE = ok({"type": "search", "query": {}})
STATES: list[State] = ["hits", "none", "rate_limited", "blocked", "failed"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", KEY)


@pytest.fixture
def web() -> Iterator[Web]:
    answers = {BRAVE: brave_hits(*INSIDE), SEARXNG: searxng_hits(*OTHERS), WIKIPEDIA: wikipedia_hits(*OTHERS)}
    with serving(answers) as running:
        yield running


def said(engine: str, state: State, *urls: str) -> Search:
    return Search(question_id="Q", query="q", state=state, reason=f"{engine} says", urls=urls, searched_at=AT)


def settings(engines: Sequence[str], combine: str = "fallback", **more: Any) -> SearchConfig:
    return to_config({"search": {"engines": list(engines), "combine": combine, **more}}, "test").search


def config_at(web: Web, engines: Sequence[str], combine: str = "fallback", **changes: Any) -> BuildConfig:
    base = {"pause_s": 0, "retries": 1, "max_wait_s": 100}
    at = f"http://127.0.0.1:{web.port}"
    search = {
        "engines": list(engines),
        "combine": combine,
        "brave": {"base_url": at, **base},
        "searxng": {"base_url": at, **base},
        "google": {"base_url": at, **base},
        "wikipedia": {"base_url": at + WIKIPEDIA, **base},
        **changes,
    }
    return to_config({"clock": "2026-01-02T00:00:00Z", "search": search}, "test")


def questions_in(folder: Path, n: int = 3) -> list[Path]:
    path = folder / "questions.jsonl"
    path.write_text("".join(question(i, f"What is number {i}?", "this", "that") for i in range(1, n + 1)))
    return [path]


def hits_of(folder: Path) -> list[tuple[str, int, str, str]]:
    found = Dataset(folder).hits("val")
    return [(hit.question_id, hit.rank, hit.engine, hit.url) for hits in found.values() for hit in hits]


# ---- the rule


@pytest.mark.parametrize("state", STATES)
def test_one_engine_answers_for_itself(state: State) -> None:
    got = combined({"brave": said("brave", state, *(INSIDE if state == "hits" else ()))}, settings(["brave"], top=3))
    assert got.state == state
    assert got.hits == (tuple((url, "brave") for url in INSIDE[:3]) if state == "hits" else ())
    assert (got.query, got.searched_at) == ("q", AT)


@pytest.mark.parametrize("first", [None, *STATES[1:]])
def test_fallback_takes_the_first_engine_with_hits_whatever_became_of_those_before(first: State | None) -> None:
    rows = {"brave": said("brave", first) if first else None, "searxng": said("searxng", "hits", *INSIDE)}
    assert combined(rows, settings(["brave", "searxng"])).hits[0] == (INSIDE[0], "searxng")


def test_fallback_says_none_only_where_every_engine_says_so() -> None:
    chain = settings(["brave", "searxng"])
    none = said("brave", "none")
    assert combined({"brave": none, "searxng": said("searxng", "none")}, chain).state == "none"
    assert combined({"brave": none, "searxng": None}, chain).state == "unsearched"
    limited = combined({"brave": said("brave", "rate_limited"), "searxng": said("searxng", "none")}, chain)
    assert (limited.state, limited.reason) == ("rate_limited", "brave: brave says")


def test_fuse_needs_every_engines_answer() -> None:
    chain = settings(["brave", "searxng"], "fuse")
    hits = said("brave", "hits", *INSIDE)
    assert combined({"brave": hits, "searxng": said("searxng", "none")}, chain).state == "hits"
    for state in STATES[2:]:
        assert combined({"brave": hits, "searxng": said("searxng", state)}, chain).state == state
    assert combined({"brave": hits}, chain) == Combined(state="unsearched")


@given(st.lists(st.sampled_from([None, *STATES]), min_size=1, max_size=4), st.sampled_from(["fallback", "fuse"]))
def test_no_refusal_and_no_silence_ever_becomes_no_results(states: list[State | None], combine: str) -> None:
    names = ["brave", "searxng", "wikipedia", "google"][: len(states)]
    rows = {
        name: said(name, state, *(INSIDE if state == "hits" else ())) if state else None
        for name, state in zip(names, states, strict=True)
    }
    got = combined(rows, settings(names, combine))
    assert (got.state == "none") == (set(states) == {"none"})
    assert (got.state == "hits") == bool(got.hits)
    if "hits" in states and combine == "fallback":
        assert got.state == "hits"


def test_fusion_is_reciprocal_rank_with_k_60_and_its_ties_are_settled() -> None:
    lists = [("a", ["http://x/", "http://y/", "http://z/"]), ("b", ["http://y/", "http://w/"])]
    # y: 1/62 + 1/61; x: 1/61; w: 1/62 (rank 2); z: 1/63
    assert fused(lists) == [("http://y/", "b"), ("http://x/", "a"), ("http://w/", "b"), ("http://z/", "a")]
    tie = [("a", ["http://p/", "http://q/"]), ("b", ["http://r/", "http://s/"])]
    assert [url for url, _ in fused(tie)] == ["http://p/", "http://r/", "http://q/", "http://s/"]


def test_fusion_knows_one_page_under_two_spellings_and_keeps_what_is_no_page() -> None:
    lists = [
        ("a", ["http://X.example:80/?utm_source=1", "http://x.example/"]),
        ("b", ["http://x.example/#top", "junk:"]),
    ]
    assert fused(lists) == [("http://X.example:80/?utm_source=1", "a"), ("junk:", "b")]


_lists = st.lists(st.lists(st.sampled_from([f"http://h{i}/" for i in range(8)]), max_size=8, unique=True), max_size=3)


@given(_lists)
def test_fusion_loses_nothing_and_its_order_of_pages_is_that_of_their_scores(lists: list[list[str]]) -> None:
    got = [url for url, _ in fused((f"e{i}", urls) for i, urls in enumerate(lists))]
    assert sorted(got) == sorted(set(itertools.chain.from_iterable(lists)))
    scores = {url: sum(1 / (61 + urls.index(url)) for urls in lists if url in urls) for url in got}
    assert all(scores[a] >= scores[b] - 1e-12 for a, b in itertools.pairwise(got))


# ---- builds


def test_with_fallback_the_next_engine_is_asked_only_where_the_one_before_has_nothing(web: Web, tmp_path: Path) -> None:
    web.answers[BRAVE] = [brave_hits(*INSIDE), NO_BRAVE, brave_hits(*INSIDE)]
    manifest = build(questions_in(tmp_path), tmp_path / "ds", config_at(web, ["brave", "searxng"]), allow_partial=True)
    assert (web.n_asked(BRAVE), web.n_asked(SEARXNG)) == (3, 1)
    assert {(q, engine) for q, _, engine, _ in hits_of(tmp_path / "ds")} == {
        ("Q1", "brave"),
        ("Q2", "searxng"),
        ("Q3", "brave"),
    }
    assert manifest.sources["engine"] == "brave,searxng"
    assert manifest.sources["searches"] == {"hits": 3}
    replay(store_folder(tmp_path / "ds"), tmp_path / "again", allow_partial=True)
    assert tree(tmp_path / "again") == tree(tmp_path / "ds")


def test_a_limited_engine_of_a_chain_is_waited_for_then_left_out_of_the_run(web: Web, tmp_path: Path) -> None:
    web.answers[BRAVE] = [brave_hits(*INSIDE), LIMITED]
    waits: list[float] = []
    build(
        questions_in(tmp_path),
        tmp_path / "ds",
        config_at(web, ["brave", "searxng"]),
        sleep=waits.append,
        allow_partial=True,
    )
    assert (web.n_asked(BRAVE), web.n_asked(SEARXNG), waits) == (3, 2, [30.0])
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        assert [search.state for search in store.iter_searches("brave")] == ["hits", "rate_limited"]
    web.answers[BRAVE] = brave_hits(*INSIDE)
    build(
        questions_in(tmp_path),
        tmp_path / "ds",
        config_at(web, ["brave", "searxng"]),
        sleep=waits.append,
        allow_partial=True,
    )
    assert web.n_asked(BRAVE) == 3  # what the second engine has answered is answered


def test_a_chain_that_is_left_without_an_engine_stops_and_resumes(web: Web, tmp_path: Path) -> None:
    web.answers[BRAVE], web.answers[SEARXNG] = (401, {}, b""), [searxng_hits(*OTHERS), LIMITED]
    config, questions = config_at(web, ["brave", "searxng"]), questions_in(tmp_path)
    with pytest.raises(EngineError, match=r"brave blocked: .*BRAVE_API_KEY.*searxng rate_limited.*2 of 3") as caught:
        build(questions, tmp_path / "ds", config, sleep=lambda _: None)
    assert KEY not in str(caught.value)
    web.answers[BRAVE] = brave_hits(*INSIDE)
    n_before = web.n_asked(SEARXNG)
    build(questions, tmp_path / "ds", config, sleep=lambda _: None, allow_partial=True)
    assert web.n_asked(SEARXNG) == n_before
    assert {(q, engine) for q, _, engine, _ in hits_of(tmp_path / "ds")} == {
        ("Q1", "searxng"),
        ("Q2", "brave"),
        ("Q3", "brave"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("allow_partial", [False, True])
@pytest.mark.parametrize("engines", [["brave"], ["brave", "searxng"]])
def test_the_reason_of_a_refusal_is_printed_once_and_a_missing_contact_before_the_first_question(
    engines: list[str], allow_partial: bool, web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web.answers[BRAVE], web.answers[SEARXNG] = (401, {}, b""), LIMITED
    printed = ""
    try:
        build(
            questions_in(tmp_path),
            tmp_path / "ds",
            config_at(web, engines),
            sleep=lambda _: None,
            allow_partial=allow_partial,
        )
    except EngineError as error:
        printed = str(error)
    assert bool(printed) != allow_partial
    printed = capsys.readouterr().err + printed
    assert printed.count("the key is not accepted") == 1
    assert printed.count("fetch: no contact is given") == 1
    assert printed.startswith("fetch: no contact is given")
    assert "index: 1 of 1" not in printed


@pytest.mark.slow
def test_a_given_contact_and_a_run_that_asks_nothing_cause_no_warning(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions, config = questions_in(tmp_path), config_at(web, ["brave"])
    web.answers[BRAVE] = brave_hits(*INSIDE)
    named = replace(config, fetch=replace(config.fetch, contact="me@school.example"))
    build(questions, tmp_path / "ds", named, allow_partial=True)
    build(questions, tmp_path / "ds", config, allow_partial=True)
    assert "no contact" not in capsys.readouterr().err


def test_fuse_asks_all_and_resumes_only_the_engine_that_refused(web: Web, tmp_path: Path) -> None:
    web.answers[SEARXNG] = [searxng_hits(OTHERS[0], INSIDE[1], *OTHERS[1:9]), LIMITED]
    config, questions = config_at(web, ["brave", "searxng", "wikipedia"], "fuse"), questions_in(tmp_path)
    with pytest.raises(EngineError, match=r"searxng rate_limited.*2 of 3"):
        build(questions, tmp_path / "ds", config, sleep=lambda _: None)
    assert (web.n_asked(BRAVE), web.n_asked(WIKIPEDIA)) == (3, 3)
    web.answers[SEARXNG] = searxng_hits()
    manifest = build(questions, tmp_path / "ds", config, sleep=lambda _: None, allow_partial=True)
    assert (web.n_asked(BRAVE), web.n_asked(WIKIPEDIA)) == (3, 3)
    assert manifest.sources["searches"] == {"hits": 3}
    first = [hit[1:] for hit in hits_of(tmp_path / "ds") if hit[0] == "Q1"]
    assert first[:3] == [(1, "searxng", OTHERS[0]), (2, "brave", INSIDE[1]), (3, "wikipedia", OTHERS[1])]
    assert [rank for rank, _, _ in first] == list(range(1, 11))


def test_an_engine_is_given_its_pause_after_each_question_and_the_wait_is_told(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web.answers[BRAVE] = [brave_hits(*INSIDE), (429, {"Retry-After": "7"}, b""), brave_hits(*INSIDE)]
    config = config_at(web, ["brave"])
    patient = to_config(
        {
            "search": {
                "engine": "brave",
                "brave": {"base_url": config.search.brave.base_url, "pause_s": 2, "retries": 1},
            }
        },
        "test",
    )
    waits: list[float] = []
    build(questions_in(tmp_path), tmp_path / "ds", patient, sleep=waits.append, allow_partial=True)
    assert waits == pytest.approx([2, 7, 2, 2], abs=0.5)
    assert "engine brave: rate_limited: 429 Too Many Requests; asked again in 7 s" in capsys.readouterr().err


def test_failures_in_a_row_take_an_engine_out_of_the_run(web: Web, tmp_path: Path) -> None:
    web.answers[BRAVE] = (500, {}, b"")
    build(questions_in(tmp_path, 6), tmp_path / "ds", config_at(web, ["brave", "searxng"]), allow_partial=True)
    assert (web.n_asked(BRAVE), web.n_asked(SEARXNG)) == (3, 6)


def test_questions_of_the_same_words_are_asked_once_an_engine(web: Web, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(question(1, "Same?", "a1", "b1") + question(2, " Same? ", "a2", "b2", split="test"))
    build([path], tmp_path / "ds", config_at(web, ["brave", "searxng"], "fuse"), allow_partial=True)
    assert (web.n_asked(BRAVE), web.n_asked(SEARXNG)) == (1, 1)


def test_a_refresh_asks_again_and_a_refusal_keeps_the_older_answer(web: Web, tmp_path: Path) -> None:
    config, questions = config_at(web, ["brave"]), questions_in(tmp_path, 2)
    build(questions, tmp_path / "ds", config, allow_partial=True)
    web.answers[BRAVE] = [brave_hits(*OTHERS), LIMITED]
    with pytest.raises(EngineError, match="1 of 2"):
        build(questions, tmp_path / "ds", config, refresh=True, sleep=lambda _: None)
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        assert [search.urls[0] for search in store.iter_searches("brave")] == [OTHERS[0], INSIDE[0]]


def test_the_key_is_nowhere_in_what_a_build_writes(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    echo = json.dumps({"type": "search", "query": {}, "echo": KEY, "web": {"results": [{"url": INSIDE[0]}]}})
    web.answers[BRAVE] = (200, {}, echo.encode())
    build(questions_in(tmp_path), tmp_path / "ds", config_at(web, ["brave"]), allow_partial=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    with CrawlStore(store_folder(tmp_path / "ds")) as store:
        raw = store.raw_responses("Q1", "brave")
    assert b"[key]" in raw[0].body
    assert KEY not in repr(raw) + "".join(capsys.readouterr())


def test_a_fused_build_over_archives_is_real_from_end_to_end(tmp_path: Path) -> None:
    write_zim(tmp_path / "a.zim", {topic: (topic, html(topic, 6)) for topic in SENTENCES})
    for topic in SENTENCES:
        (tmp_path / "sites" / "one.example").mkdir(parents=True, exist_ok=True)
        (tmp_path / "sites" / "one.example" / f"{topic}.html").write_text(html(topic, 4))
    (tmp_path / "q.jsonl").write_text(question(1, "What does the moon orbit?", "the earth", "the sun"))
    search = {
        "engines": ["folder", "zim"],
        "combine": "fuse",
        "zim": {"files": [str(tmp_path / "a.zim")]},
        "folder": {"sites": str(tmp_path / "sites")},
    }
    config = to_config({"search": search, "filter": {"duplicates": False}}, "test")
    manifest = build([tmp_path / "q.jsonl"], tmp_path / "ds", config, allow_partial=True)
    hits = hits_of(tmp_path / "ds")
    assert {engine for _, _, engine, _ in hits} == {"folder", "zim"}
    assert manifest.sources["hits_by_outcome"] == {"kept": len(hits)}
    assert manifest.created_at == LOCAL_INSTANT.isoformat()
    replay(store_folder(tmp_path / "ds"), tmp_path / "again")
    assert tree(tmp_path / "again") == tree(tmp_path / "ds")


def test_two_engines_that_serve_one_host_are_one_clear_error(tmp_path: Path) -> None:
    write_zim(tmp_path / "a.zim", {"lava": ("lava", html("lava", 6))})
    (tmp_path / "sites" / "one.example").mkdir(parents=True)
    (tmp_path / "sites" / "one.example" / "a.html").write_text(html("moon", 4))
    search = {
        "engines": ["folder", "zim"],
        "folder": {"sites": str(tmp_path / "sites")},
        "zim": {"files": [str(tmp_path / "a.zim")], "hosts": {"a.zim": "one.example"}},
    }
    with pytest.raises(ConfigError, match=r"one\.example: is served by the engines folder and zim"):
        build(questions_in(tmp_path), tmp_path / "ds", to_config({"search": search}, "test"))


# ---- recorded


@pytest.mark.parametrize("name", ["brave", "searxng", "wikipedia", "google"])
def test_a_recorded_engine_says_what_the_original_said(name: str, web: Web, tmp_path: Path) -> None:
    questions = questions_in(tmp_path)
    if name == "google":
        web.answers["/search"] = google_hits(*INSIDE)
    build(questions, tmp_path / "ds", config_at(web, [name]), allow_partial=True)
    n_asked = len(web.asked)
    again = {"store": str(store_folder(tmp_path / "ds")), "engine": name}
    build(questions, tmp_path / "two", config_at(web, ["recorded"], recorded=again), allow_partial=True)
    assert len(web.asked) == n_asked
    assert [(q, rank, url) for q, rank, _, url in hits_of(tmp_path / "two")] == [
        (q, rank, url) for q, rank, _, url in hits_of(tmp_path / "ds")
    ]
    with CrawlStore(store_folder(tmp_path / "ds")) as one, CrawlStore(store_folder(tmp_path / "two")) as two:
        assert one.raw_responses("Q1", name) == two.raw_responses("Q1", "recorded")
    assert str(tmp_path) not in (store_folder(tmp_path / "two") / "config.json").read_text()
    replay(store_folder(tmp_path / "two"), tmp_path / "three", allow_partial=True)
    assert tree(tmp_path / "three") == tree(tmp_path / "two")


def test_a_recorded_refusal_is_no_answer_and_the_chain_goes_on(web: Web, tmp_path: Path) -> None:
    web.answers[BRAVE] = [brave_hits(*INSIDE), NO_BRAVE, LIMITED]
    with pytest.raises(EngineError):
        build(questions_in(tmp_path), tmp_path / "ds", config_at(web, ["brave"]), sleep=lambda _: None)
    recorded = {"store": str(store_folder(tmp_path / "ds")), "engine": "brave"}
    questions = questions_in(tmp_path, 5)  # two that were never asked
    config = config_at(web, ["recorded", "wikipedia"], recorded=recorded)
    build(questions, tmp_path / "two", config, allow_partial=True)
    assert {(q, engine) for q, _, engine, _ in hits_of(tmp_path / "two")} == {
        ("Q1", "recorded"),
        *((f"Q{i}", "wikipedia") for i in range(2, 6)),
    }
    assert web.n_asked(WIKIPEDIA) == 4


def test_a_recording_is_a_jsonl_file_too(web: Web, tmp_path: Path) -> None:
    lines = [{"query": " What is  number 1? ", "urls": INSIDE}, {"query": "What is number 2?", "urls": []}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = config_at(web, ["recorded"], recorded={"file": str(tmp_path / "r.jsonl")})
    manifest = build(questions_in(tmp_path, 2), tmp_path / "ds", config, allow_partial=True)
    assert manifest.sources["searches"] == {"hits": 1, "none": 1}
    with pytest.raises(EngineError, match="holds no answer to this query"):
        build(questions_in(tmp_path, 3), tmp_path / "two", config)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"query": "q"}', "urls"),
        ('{"query": "q", "urls": "x"}', "array"),
        ("[]", "object"),
        ("{", "JSON"),
        ('{"query": "q", "urls": [], "more": 1}', "more"),
        ('{"query": "q", "urls": []}\n{"query": " q", "urls": []}', "twice"),
    ],
)
def test_a_broken_recording_is_told_with_its_line(line: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=fault):
        open_chain(settings(["recorded"], recorded={"file": str(tmp_path / "r.jsonl")}))


def test_a_recording_that_is_not_there_or_cannot_be_read_again_is_told(tmp_path: Path) -> None:
    faults = {
        "has no recording": {},
        "no such recording": {"file": str(tmp_path / "x")},
        "stores no result pages": {"store": str(tmp_path), "engine": "folder"},
        "is not a crawl store": {"store": str(tmp_path / "x"), "engine": "brave"},
    }
    for what, recorded in faults.items():
        with pytest.raises((ConfigError, DataError), match=what):
            open_chain(settings(["recorded"], recorded=recorded))


# ---- settings


def test_engine_and_engines_name_the_same_chain() -> None:
    assert settings(["brave", "searxng"]).engine == "brave,searxng"
    named = to_config({"search": {"engine": "brave, searxng"}}, "test").search
    assert (named.chain, named.engine) == (("brave", "searxng"), "brave,searxng")
    assert engines_of("none") == to_config({"search": {"engine": "none"}}, "test").search.chain == ()


@pytest.mark.parametrize(
    "search",
    [
        {"engine": "brave", "engines": ["zim"]},
        {"engine": "brave,brave"},
        {"engines": ["a,b"]},
        {"engine": ""},
        {"engine": "none,brave"},
        {"engines": ["brave", ""]},
        {"combine": "vote"},
        {"recorded": {"store": "x"}},
        {"recorded": {"store": "x", "engine": "brave", "file": "y"}},
        {"brave": {"base_url": "http://api.example"}},
        {"searxng": {"base_url": "https://me:pw@s.example"}},
        {"wikipedia": {"base_url": "ftp://w.example"}},
        {"brave": {"key": "secret"}},
        {"brave": {"key_variable": "A B"}},
    ],
)
def test_settings_that_make_no_chain_are_faults(search: Mapping[str, Any]) -> None:
    with pytest.raises(FaultsError):
        to_config({"search": search}, "test")


def test_an_unknown_engine_is_told_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown engine 'bing'.*known are folder, zim, .*none"):
        open_chain(settings(["brave", "bing"]))


def test_what_changes_the_results_changes_the_hash_and_manners_do_not() -> None:
    def digest(**search: Any) -> str:
        return config_sha256(to_config({"search": search}, "test"))

    chain = {"engines": ["brave", "searxng"]}
    plain = digest(**chain)
    for same in (
        {"brave": {"pause_s": 9}},
        {"brave": {"key_variable": "OTHER"}},
        {"searxng": {"retries": 0}},
        {"wikipedia": {"match": "all"}},
        {"zim": {"hosts": {"a.zim": "b"}}},
    ):
        assert digest(**chain, **same) == plain, same
    for other in ({"combine": "fuse"}, {"brave": {"country": "DE"}}, {"searxng": {"backends": ["bing"]}}, {"top": 3}):
        assert digest(**chain, **other) != plain, other
    assert digest(engines=["searxng", "brave"]) != plain
    assert digest(engine="brave,searxng") == plain
    assert set(crawl_settings(BuildConfig())["settings"]) == {"hosts"}


def test_a_chain_is_offline_only_if_every_engine_needs_no_network() -> None:
    for offline in ("zim", "folder", "none", "folder,zim"):
        assert is_offline(offline)
    for live in ("recorded", "brave", "folder,brave", "zim,recorded"):
        assert not is_offline(live)


def test_every_engine_is_in_the_settings() -> None:
    assert set(ENGINES) == set(SearchConfig.__dataclass_fields__) - {"engine", "engines", "combine", "top", "adapters"}


def test_engines_are_asked_with_the_contact(web: Web, tmp_path: Path) -> None:
    config = config_at(web, ["wikipedia"])
    config = replace(config, fetch=replace(config.fetch, contact="crawl@school.example"))
    build(questions_in(tmp_path), tmp_path / "ds", config, allow_partial=True)
    assert {headers["User-Agent"] for headers in web.headers} == {config.fetch.agent_header}
    assert "crawl@school.example" in config.fetch.agent_header
