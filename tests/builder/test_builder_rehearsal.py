"""A dry run asks nothing and writes nothing; a sample is drawn by its seed, within splits, kinds and choices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builder_web import Web, serving
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from test_builder_search_api import wikipedia_hits
from test_builder_search_chain import WIKIPEDIA, questions_in

from builder.build import build, replay
from builder.commands import build as build_command
from builder.config import to_config
from builder.question_sets.question_files import read_questions
from builder.rehearsal import RESULTS_PER_REQUEST, SENTENCES_PER_URL, VECTOR_BYTES, Rehearsal, rehearse
from builder.search import ENGINES
from builder.store.store_folder import store_folder
from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.names import Sample
from edu_rag.records import Question

INSIDE = [f"http://10.0.0.{i}/" for i in range(10)]


def asked(number: int, text: str = "", split: str = "val", n_choices: int = 2) -> Question:
    choices = {"abcdefg"[i]: f"choice {i}" for i in range(n_choices)}
    return Question(
        question_id=f"Q{number:04}",
        text=text or f"What is number {number}?",
        choices=choices,
        kind="multiple_choice",
        split=split,
    )


def rehearsed(questions: list[Question], place: Path, **search: Any) -> Rehearsal:
    return rehearse(questions, to_config({"search": search}, "test"), place / "ds.crawl")


def test_the_queries_requests_price_and_time_of_an_engine_follow_from_its_settings(tmp_path: Path) -> None:
    questions = [asked(i) for i in range(90)] + [asked(100 + i, "The same?") for i in range(10)]
    serper = {"usd_per_1000": 2.0, "pause_s": 0.5, "answer_s": 4.0, "at_once": 4, "free_requests": 10}
    found = rehearsed(questions, tmp_path, engine="serper", top=25, serper=serper)
    (one,) = found.engines
    assert (found.questions, found.queries, found.answered) == (100, 91, 0)
    assert (one.queries, one.requests) == (91, 91 * 3)  # ten results a request
    assert one.usd == pytest.approx(91 * 3 * 2 / 1000, abs=0.01)
    assert one.seconds == 91 * 3 * 1.0  # 4 s by four at once is slower than one every 0.5 s
    assert (one.free_requests, one.free_period, one.figures_from) == (10, "once", "2026-08")
    assert found.urls == 91 * 25
    assert found.store_bytes > found.dataset_bytes > 0
    assert found.free_bytes > 0


def test_a_chain_that_falls_back_gives_upper_bounds_for_its_later_engines(tmp_path: Path) -> None:
    questions = [asked(i) for i in range(10)]
    chain = {"engines": ["brave", "ddgs"], "combine": "fallback"}
    first, second = rehearsed(questions, tmp_path, **chain).engines
    assert (first.is_most, second.is_most, second.queries) == (False, True, 10)
    assert not any(one.is_most for one in rehearsed(questions, tmp_path, **chain | {"combine": "fuse"}).engines)


@pytest.mark.parametrize("name", [*ENGINES, "none"])
def test_every_engine_can_be_rehearsed_without_its_key_its_files_or_its_address(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("SERPER_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    found = rehearsed([asked(1)], tmp_path, engine=name)
    lines = "\n".join(found.lines())
    assert (f"missing: {name}:" in lines) == (name in ("serper", "brave", "searxng"))
    assert RESULTS_PER_REQUEST.keys() <= ENGINES.keys()
    assert list(tmp_path.iterdir()) == []


def test_the_figures_of_an_engine_come_from_its_settings_with_their_month(tmp_path: Path) -> None:
    lines = list(rehearsed([asked(i) for i in range(1000)], tmp_path, engine="serper").lines())
    assert "$1.00" in lines[2]
    assert "2,500/once" in lines[2]
    assert lines[2].endswith("2026-08")


def test_vectors_of_sentences_are_rehearsed_where_the_dataset_gets_them(tmp_path: Path) -> None:
    config = to_config({"search": {"engine": "ddgs"}, "label": {"vectors": "all-MiniLM-L6-v2"}}, "test")
    found = rehearse([asked(i) for i in range(10)], config, tmp_path / "ds.crawl")
    without = rehearsed([asked(i) for i in range(10)], tmp_path, engine="ddgs")
    assert found.sentences == 10 * config.search.top * SENTENCES_PER_URL
    assert found.dataset_bytes == without.dataset_bytes + found.sentences * VECTOR_BYTES
    assert [line for line in found.lines() if line.startswith("vectors    at most 22,000 sentences, ")]
    assert not any("vectors" in line for line in without.lines())


def test_an_unknown_engine_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown engine 'bing'"):
        rehearsed([asked(1)], tmp_path, engine="bing")


@pytest.fixture
def web() -> Iterator[Web]:
    with serving({WIKIPEDIA: wikipedia_hits(*INSIDE)}) as running:
        yield running


def run(*words: object) -> Result:
    return CliRunner().invoke(build_command, [str(word) for word in words], catch_exceptions=False)


def test_a_dry_run_asks_nobody_and_writes_nothing_and_knows_what_is_answered(web: Web, tmp_path: Path) -> None:
    questions = questions_in(tmp_path, 5)
    settings = f'[search.wikipedia]\nbase_url = "http://127.0.0.1:{web.port}{WIKIPEDIA}"\npause_s = 0\n'
    (tmp_path / "build.toml").write_text(settings)
    command = [tmp_path / "build.toml", "--engine", "wikipedia", "--questions", questions[0], "--out", tmp_path / "ds"]
    before = sorted(tmp_path.rglob("*"))
    done = run(*command, "--dry-run", "--json")
    assert (web.asked, sorted(tmp_path.rglob("*"))) == ([], before)
    assert json.loads(done.stdout)["engines"][0]["queries"] == 5
    run(*command, "--sample", 5, "--allow-partial")
    n_asked = len(web.asked)
    done = run(*command, "--dry-run", "--json")
    assert (json.loads(done.stdout)["answered"], json.loads(done.stdout)["urls"]) == (5, 0)
    assert json.loads(run(*command, "--dry-run", "--fresh", "--json").stdout)["engines"][0]["queries"] == 5
    assert len(web.asked) == n_asked
    assert "at most 20 URLs" in run(*command, "--dry-run", "--refresh", "--sample", 2).stdout


def test_a_dry_run_names_what_is_missing_and_what_to_do_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    lines = [line for line in rehearsed([asked(1)], tmp_path, engine="serper,searxng").lines() if "missing" in line]
    assert lines[0] == (
        "missing: serper: the environment variable SERPER_API_KEY is not set:"
        " export SERPER_API_KEY=KEY with your key for serper"
    )
    assert lines[1].endswith(
        '[search.searxng] base_url is not set: give your instance, as base_url = "http://127.0.0.1:8080"'
    )
    assert "set [fetch] contact" in lines[2]
    assert not any("missing" in line for line in rehearsed([asked(1)], tmp_path, engine="folder").lines())


# ---- samples


@pytest.mark.slow
def test_a_sample_is_a_dataset_of_its_questions_and_the_manifest_names_the_draw(web: Web, tmp_path: Path) -> None:
    questions = questions_in(tmp_path, 12)
    search = {"wikipedia": {"base_url": f"http://127.0.0.1:{web.port}{WIKIPEDIA}", "pause_s": 0}}
    config = to_config({"clock": "2026-01-02T00:00:00Z", "search": {"engine": "wikipedia", **search}}, "test")
    manifest = build(questions, tmp_path / "ds", config, sample=Sample(4, 7), allow_partial=True)
    read, _ = read_questions(questions, None)
    chosen = {question.question_id for question in choose(read, Sample(4, 7), by_split=True)}
    dataset = Dataset(tmp_path / "ds")
    assert {question.question_id for question in dataset.questions("val")} == chosen
    assert manifest.sources["search"]["sample"] == {"name": "stratified-4-seed-7", "of": 12}
    assert len(web.asked) == 4
    build(questions, tmp_path / "ds", config, sample=Sample(4, 7), allow_partial=True)
    assert len(web.asked) == 4
    with pytest.raises(DataError, match=r"another 'sample"):
        build(questions, tmp_path / "ds", config, sample=Sample(4, 8))
    again = replay(store_folder(tmp_path / "ds"), tmp_path / "again", allow_partial=True)
    assert again.content_sha256 == manifest.content_sha256


@given(
    st.lists(st.tuples(st.sampled_from(["train", "val", "test"]), st.integers(2, 4)), min_size=1, max_size=60),
    st.data(),
)
def test_a_sample_has_each_stratums_share_to_within_one_question(
    kinds: list[tuple[str, int]], data: st.DataObject
) -> None:
    questions = [asked(i, split=split, n_choices=n) for i, (split, n) in enumerate(kinds)]
    sample = Sample(data.draw(st.integers(1, len(questions))), data.draw(st.integers(0, 99)))
    chosen = choose(questions, sample, by_split=True)
    assert len(chosen) == sample.n == len({question.question_id for question in chosen})
    assert choose(questions[::-1], sample, by_split=True) == chosen
    sizes = Counter((question.split, len(question.choices)) for question in questions)
    got = Counter((question.split, len(question.choices)) for question in chosen)
    for stratum, size in sizes.items():
        assert abs(got[stratum] - sample.n * size / len(questions)) < 1


def test_a_sample_of_more_than_there_are_is_an_error() -> None:
    with pytest.raises(ConfigError, match="--sample"):
        choose([asked(1)], Sample(2, 0), by_split=True)
