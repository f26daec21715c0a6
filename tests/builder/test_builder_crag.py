"""CRAG's own files as a dataset: its questions, its search results, its pages; the network is never asked."""

from __future__ import annotations

import bz2
import json
import random
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.build import build, replay
from builder.config import BuildConfig, read_config
from builder.question_sets import crag_files as crag
from builder.question_sets.crag_files import crag_records, is_crag
from builder.question_sets.question_files import read_questions
from builder.search.engines.crag_engine import CragEngine
from builder.search.settings import CragConfig
from edu_rag.errors import BudgetError, ConfigError, DataError, EduRagError, FaultsError, RecordError
from edu_rag.files.dataset import Dataset
from edu_rag.processes import bounded_child, budget

PAGE = (
    "<html><head><title>T</title></head><body><article>" + "<p>Paris is the capital of France, on the Seine.</p>" * 20
)


def hit(url: str, html: str | None = PAGE) -> dict[str, Any]:
    return {"page_name": "P", "page_url": url, "page_snippet": "s", "page_result": html, "page_last_modified": ""}


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    values = {
        "interaction_id": f"id-{number}",
        "query_time": "02/28/2024, 10:04:54 PT",
        "domain": "open",
        "question_type": "simple",
        "static_or_dynamic": "static",
        "query": f"what is  question {number}?",
        "answer": "Paris",
        "alternative_answers": "[]",
        "split": 0,
        "search_results": [hit(f"https://one.example/{number}"), hit("http://two.example/empty", "")],
    }
    return values | changes


def crag_file(folder: Path, *records: Any, name: str = "crag.jsonl.bz2") -> Path:
    path = folder / name
    data = b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in records)
    path.write_bytes(bz2.compress(data) if name.endswith(".bz2") else data)
    return path


def config_for(path: Path) -> BuildConfig:
    search = {"engine": "crag", "crag": {"files": [str(path)]}}
    return read_config(None, {"name": "crag", "search": search, "extract": {"extractor": "bs4-v1"}})


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any look-up of a name that is not of this machine fails the test."""
    real = socket.getaddrinfo

    def only_here(host: Any, *rest: Any, **more: Any) -> Any:
        if host not in ("127.0.0.1", "localhost", None):
            raise AssertionError(f"looked up {host}")
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)


@pytest.mark.parametrize("name", ["crag.jsonl.bz2", "crag.jsonl"])
def test_records_are_recognised_packed_and_unpacked(tmp_path: Path, name: str) -> None:
    path = crag_file(tmp_path, record(1), record(0, split=1), name=name)
    assert is_crag(path)
    questions, golds = read_questions([path], None)
    assert [(q.question_id, q.text, q.kind, q.split, q.choices) for q in questions] == [
        ("id-0", "what is question 0?", "free_text", "test", {}),
        ("id-1", "what is question 1?", "free_text", "val", {}),
    ]
    assert [gold.texts for gold in golds] == [("Paris",), ("Paris",)]


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"alternative_answers": '["Lutetia", "paris"]'}, ("Paris", "Lutetia", "paris")),
        ({"alternative_answers": "['Lutetia', \"l'\"]"}, ("Paris", "Lutetia", "l'")),
        ({"alternative_answers": ["Lutetia", "Paris"]}, ("Paris", "Lutetia")),
        ({"alternative_answers": " "}, ("Paris",)),
        ({"alternative_answers": None}, ("Paris",)),
        ({"alt_ans": ["Lutetia", " "]}, ("Paris", "Lutetia")),
        ({"answer": "invalid question"}, ("invalid question",)),
    ],
)
def test_all_accepted_texts_are_kept_in_either_versions_fields(
    tmp_path: Path, changes: dict[str, Any], texts: tuple[str, ...]
) -> None:
    _, golds = read_questions([crag_file(tmp_path, record(**changes))], None)
    assert golds[0].texts == texts


def test_faults_are_told_all_at_once_with_their_lines(tmp_path: Path) -> None:
    bad_list = record(2, alternative_answers="{1: 2}")
    path = crag_file(
        tmp_path,
        record(0),
        b"{",
        bad_list,
        {"interaction_id": "x", "query": 3},
        record(0),
        record(5, answer=" "),
        record(6, split=7),
        b'{"interaction_id": "\\ud800", "query": "q", "answer": "a", "search_results": []}',
    )
    with pytest.raises(FaultsError) as caught:
        read_questions([path], None)
    lines = {int(str(fault).removeprefix(f"{path}:").split(":")[0]): str(fault) for fault in caught.value.faults}
    assert sorted(lines) == [2, 3, 4, 5, 6, 7, 8]
    assert "not JSON" in lines[2]
    assert "alternative_answers" in lines[3]
    assert "not a text" in lines[4]
    assert "is used before" in lines[5]
    assert "texts" in lines[6]
    assert "split" in lines[7]


def test_a_lost_answer_is_kept_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, golds = read_questions([crag_file(tmp_path, record(answer="nan"))], None)
    assert golds[0].texts == ("nan",)
    assert "gold is a lost value, which no answer equals: 1 (id-0)" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"no bzip2", bz2.compress(b"{}" * 9_000)[:-9]])
def test_a_broken_archive_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.jsonl.bz2"
    path.write_bytes(data)
    with pytest.raises(EduRagError, match=r"x\.jsonl\.bz2"):
        read_questions([path], None)


def test_hits_are_the_records_own_without_repeats_and_cut_at_the_top(tmp_path: Path) -> None:
    urls = [f"https://h{i}.example/p" for i in range(4)]
    results = [hit(urls[0]), hit(urls[1]), hit(urls[0]), hit(urls[2]), hit(urls[3])]
    engine = CragEngine.open(CragConfig(files=(str(crag_file(tmp_path, record(0, search_results=results))),)))
    assert engine.search("what is question 0?", 3).urls == tuple(urls[:3])
    assert engine.search("what is question 0?", 3).state == "hits"
    assert engine.search("another", 3).state == "failed"
    with engine.serving() as hosts:
        assert sorted(hosts) == [f"h{i}.example" for i in range(4)]


def test_a_question_without_results_has_none_and_odd_addresses_are_not_served(tmp_path: Path) -> None:
    odd = [hit("http://10.0.0.1/x"), hit("http://h.example:81/x"), hit("javascript:x"), hit("http://u@h.example/")]
    path = crag_file(tmp_path, record(0, search_results=[]), record(1, search_results=odd))
    engine = CragEngine.open(CragConfig(files=(str(path),)))
    assert engine.search("what is question 0?", 5).state == "none"
    assert len(engine.search("what is question 1?", 5).urls) == 4
    assert engine.answer("http://h.example:81/x") is None
    with engine.serving() as hosts:
        assert hosts == {}


def test_the_first_page_that_is_not_empty_is_served(tmp_path: Path) -> None:
    url = "https://one.example/page"
    versions = [hit(url, ""), hit(url, None), hit(f"{url}#top", "<p>caf\u00e9"), hit(url, "<p>later")]
    engine = CragEngine.open(CragConfig(files=(str(crag_file(tmp_path, record(0, search_results=versions))),)))
    found = engine.answer(url)
    assert found is not None
    assert (found.status, found.body.decode()) == (200, "<p>caf\u00e9")
    assert found.content_type == "text/html; charset=utf-8"


@pytest.mark.parametrize("files", [(), ("missing.jsonl.bz2",)])
def test_the_engine_without_its_files_says_so(files: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="is not a file of CRAG"):
        CragEngine.open(CragConfig(files=files))


@pytest.mark.usefixtures("no_network")
def test_the_line_from_records_to_dataset_and_its_replay(tmp_path: Path) -> None:
    path = crag_file(tmp_path, *(record(n) for n in range(2)))
    out = tmp_path / "dataset"
    manifest = build([path], out, config_for(path))
    dataset = Dataset(out)
    assert {page.url for page in dataset.pages("val").values()} <= {f"https://one.example/{n}" for n in range(2)}
    hits = [h for hits in dataset.hits("val").values() for h in hits]
    assert {h.outcome for h in hits if h.url == "http://two.example/empty"} == {"http_error"}
    assert {h.engine for h in hits} == {"crag"}
    again = replay(tmp_path / "dataset.crawl", tmp_path / "again")
    assert again.id == manifest.id
    assert str(tmp_path) not in (tmp_path / "dataset.crawl" / "config.json").read_text()


def test_the_published_sample_is_readable(shared_data: Path) -> None:
    path = shared_data / "crag" / "dev_sample.jsonl.bz2"
    questions, golds = read_questions([path], None)
    assert len(questions) == len(golds) == 10
    assert {question.split for question in questions} == {"test"}
    engine = CragEngine.open(CragConfig(files=(str(path),)))
    found = [engine.search(question.text, 10) for question in questions]
    assert all(result.state == "hits" for result in found)
    assert sum(len(result.urls) for result in found) == 38


@pytest.fixture(params=["alone", "thread"])
def form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both forms of child: a fork, and a fresh interpreter where there is another thread."""
    if request.param == "alone":
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("form")
def test_a_child_reads_the_archive_and_one_that_spends_its_budget_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = "".join(random.Random(1).choices("abcdefgh ", k=3_000_000))  # half a second to unpack
    path = crag_file(tmp_path, record(0, search_results=[hit("https://a.example/", large)]), record(1))
    config = CragConfig(files=(str(path),))
    questions, _ = read_questions([path], None)
    assert len(questions) == 2
    answer = CragEngine.open(config).answer("https://a.example/")
    assert answer is not None
    assert answer.body.decode() == large
    monkeypatch.setenv(budget.CPU_VARIABLE, "0.01")
    for read in (lambda: read_questions([path], None), lambda: CragEngine.open(config)):
        with pytest.raises(BudgetError, match=rf"{path.name}: takes more than 0.01 s .*{budget.CPU_VARIABLE}"):
            read()


def test_an_archive_has_more_seconds_the_larger_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def noted(*words: Any, cpu_s: float, **more: Any) -> Iterator[Any]:
        given.append(cpu_s)
        return iter(())

    monkeypatch.setattr(crag, "items_within_budget", noted)
    path = crag_file(tmp_path, record(0))
    size = path.stat().st_size
    for least, times in ((size * 2, 1), (size, 1), (size / 3, 3)):
        monkeypatch.setattr(crag, "BUDGET_BYTES", least)
        list(crag.crag_items(path, lambda number, found: ()))
        assert given.pop() == pytest.approx(times * budget.CPU_S)


def test_a_build_reads_an_archive_twice_on_one_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    run = budget.bounded_child.run

    def spends(job: Any) -> Any:
        left.append(job.cpu_s)
        ended = yield from run(job)
        return ended._replace(used_s=5.0)

    monkeypatch.setattr(budget.bounded_child, "run", spends)
    path = crag_file(tmp_path, record(0))
    build([path], tmp_path / "out", config_for(path), sleep=lambda _: None)
    assert left[:2] == [budget.CPU_S, budget.CPU_S - 5.0]


@pytest.mark.usefixtures("form")
def test_a_bomb_is_refused_by_the_child_with_one_error(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.bz2"
    with bz2.open(path, "wb") as stream:
        stream.write(b'{"interaction_id":"1","query":')
        for _ in range(70):
            stream.write(b"0" * 1_000_000)
    with pytest.raises(DataError) as refused:
        read_questions([path], None)
    told = f"{path}: unpacks to more than 100 times its size: give the file as CRAG publishes it"
    assert str(refused.value) == told


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = crag_file(tmp_path, record(0), b'{"interaction_id": "' + b"0" * 3_000_000, record(1))
    assert isinstance(list(crag_records(path))[1][1], RecordError)  # a small archive may unpack to that much
    monkeypatch.setattr(crag, "LEAST_UNPACKED_BYTES", 1_500_000)
    found = crag_records(path)
    with pytest.raises(DataError, match="unpacks to more than 100 times its size: give the file as CRAG publishes it"):
        list(found)
    monkeypatch.setattr(crag, "LEAST_UNPACKED_BYTES", 10_000_000)
    monkeypatch.setattr(crag, "MAX_RECORD_BYTES", 2_000_000)
    with pytest.raises(DataError, match=rf"{path.name}:2: a record of over 2,000,000 bytes"):
        list(crag_records(path))


def test_lines_that_are_not_records_end_the_reading_after_a_thousand(tmp_path: Path) -> None:
    path = crag_file(tmp_path, record(0), *[b""] * (crag.MAX_FAULTY + 5))
    with pytest.raises(DataError, match=r":1002: has more than 1,000 lines that are not records"):
        list(crag_records(path))


def test_a_page_that_is_too_large_or_not_a_text_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_child, "_inside", True)  # a fresh interpreter would not have the next line's value
    monkeypatch.setattr(crag, "MAX_PAGE_BYTES", 10_000)
    odd = hit("https://odd.example/") | {"page_result": 7}
    results = [hit("https://large.example/", "x" * 10_000), odd, hit("https://one.example/0")]
    engine = CragEngine([crag_file(tmp_path, record(0, search_results=results))])
    assert engine.search("what is question 0?", 5).urls == (
        "https://large.example/",
        "https://odd.example/",
        "https://one.example/0",
    )
    assert engine.answer("https://large.example/") is None
    assert engine.answer("https://odd.example/") is None
    assert engine.answer("https://one.example/0") is not None


@given(st.lists(st.sampled_from([b"", b"a", b"{}\r", b"long " * 9]), max_size=20), st.integers(1, 30))
@settings(deadline=None)
def test_lines_are_those_of_the_file_wherever_its_chunks_end(lines: list[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "crag.jsonl"
        path.write_bytes(b"\n".join(lines))
        patch.setattr(crag, "_CHUNK", size)
        found = [bytes(line) for _, line in crag._lines(path)]
        assert found == (lines if not lines or lines[-1] else lines[:-1])
        assert [number for number, _ in crag._lines(path)] == list(range(1, len(found) + 1))
