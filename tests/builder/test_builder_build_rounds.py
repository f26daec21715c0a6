"""Resuming, refreshing and replaying from the command line's side, and the log that a build leaves."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from builder_crash import tree, write_web
from click.testing import CliRunner

from builder.build import build, read_round, replay
from builder.commands import build as build_command
from builder.config import BuildConfig, to_config
from builder.crawl import Round, why_other_version
from builder.store.reader import StoreReader
from builder.store.store_folder import store_folder
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import Manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `web` and the dataset `ds` built from it once, with its crawl store."""
    folder = tmp_path_factory.mktemp("rounds")
    write_web(folder / "web", 8, n_hosts=4)
    built(folder / "web", folder / "ds")
    return folder


def settings(web: Path, **changes: object) -> BuildConfig:
    values: dict[str, object] = {
        "search": {"folder": {"sites": str(web / "sites")}},
        "extract": {"extractor": "bs4-v1"},
        "filter": {"duplicates": False},
        "fetch": {"timeout_s": 30.0},
    }
    return to_config(values | changes, "test")


def built(web: Path, out: Path, **options: object) -> Manifest:
    return build([web / "questions.jsonl"], out, settings(web), **options)  # type: ignore[arg-type]


def change(web: Path) -> None:
    page = web / "sites" / "h1.example" / "p0.html"
    page.write_text(page.read_text().replace("belong", "do not belong"))
    (web / "sites" / "h2.example" / "p1.html").unlink()


def test_a_refresh_makes_the_next_minor_version_a_replay_repeats_it_and_a_fresh_crawl_gives_the_same(
    web: Path, ds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {page.url: page for page in Dataset(ds).pages("val").values()}
    change(web)
    with pytest.raises(DataError, match=r"another 'sites\.h1\.example': add --refresh .*--fresh"):
        built(web, ds)
    assert built(web, ds, refresh=True).version == "1.1.0"
    assert "refresh: everything is searched and fetched again; " in capsys.readouterr().err
    after = {page.url: page for page in Dataset(ds).pages("val").values()}
    gone, changed = "http://h2.example/p1.html", "http://h1.example/p0.html"
    assert set(before) - set(after) == {gone}
    assert {url for url in after if after[url] != before[url]} == {changed}
    replay(store_folder(ds), tmp_path / "again")
    assert tree(tmp_path / "again") == tree(ds)
    new = built(web, tmp_path / "new", version="1.1.0")
    assert new.content_sha256 == Dataset(ds).manifest.content_sha256


def test_a_build_says_why_its_version_is_not_that_of_the_settings_and_what_to_do() -> None:
    first, second = Round(is_finished=True), Round(number=1, version="1.1.0")
    assert why_other_version(second, first, "1.0.0") == (
        "refresh: everything is searched and fetched again; if anything changed, the dataset gets version 1.1.0"
    )
    assert why_other_version(second, second, "1.0.0").startswith("refresh: the interrupted refresh goes on; ")
    later = why_other_version(second, Round(number=1, version="1.1.0", is_finished=True), "1.0.0")
    assert later.startswith("version: the dataset gets 1.1.0 and not the settings' 1.0.0, since an earlier refresh")
    assert later.endswith('set version = "1.1.0" in the settings')


@pytest.mark.slow
def test_a_refresh_in_which_nothing_changed_keeps_the_version_and_every_byte(
    web: Path, ds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(ds)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")  # every engine and server is asked on another day
    assert built(web, ds, refresh=True).version == "1.0.0"
    assert "nothing changed since edu-rag@1.0.0#" in capsys.readouterr().err
    assert tree(ds) == before
    assert read_round(store_folder(ds)) == Round(number=1, version="1.0.0", is_finished=True)
    replay(store_folder(ds), tmp_path / "again")
    assert tree(tmp_path / "again") == before
    # A version that is asked for is made, and so is the next one when something did change.
    assert built(web, ds, refresh=True, version="1.0.1").version == "1.0.1"
    change(web)
    assert built(web, ds, refresh=True).version == "1.1.0"


def test_a_refresh_that_dies_goes_on_in_its_round_and_no_replay_is_made_of_it_meanwhile(
    web: Path, ds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(web)
    with monkeypatch.context() as patched:

        def die(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patched.setattr("builder.crawl.fetch_all", die)
        with pytest.raises(KeyboardInterrupt):
            built(web, ds, refresh=True)
    assert read_round(store_folder(ds)) == Round(number=1, version="1.1.0")
    with pytest.raises(DataError, match=r"not finished.*--resume.*--allow-partial"):
        replay(store_folder(ds), tmp_path / "again")
    assert replay(store_folder(ds), tmp_path / "again", allow_partial=True).version == "1.1.0"
    assert built(web, ds, refresh=True).version == "1.1.0"
    assert read_round(store_folder(ds)) == Round(number=1, version="1.1.0", is_finished=True)


@pytest.mark.parametrize("option", ["resume", "refresh"])
def test_resume_and_refresh_insist_on_a_store(web: Path, tmp_path: Path, option: str) -> None:
    with pytest.raises(DataError, match=rf"is not a crawl store: leave out --{option}"):
        built(web, tmp_path / "ds", **{option: True})
    done = CliRunner().invoke(
        build_command, ["--questions", "q.jsonl", "--out", str(tmp_path / "ds"), "--fresh", f"--{option}"]
    )
    assert done.exit_code == 2
    assert "give one of them" in done.output
    assert not store_folder(tmp_path / "ds").exists()


def test_the_log_tells_each_stage_with_counts_and_seconds_and_survives_half_a_line(web: Path, ds: Path) -> None:
    log = store_folder(ds) / "build.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    ends = {line["stage"]: line for line in lines if line["event"] == "end"}
    assert set(ends) >= {"index", "search", "fetch", "extract", "label"}
    assert ends["fetch"]["counts"] == {"kept": 8}
    assert all(line["seconds"] >= 0 and line["rate"] >= 0 for line in ends.values())
    assert [line["round"] for line in lines if line["event"] == "build"] == [0]
    log.write_bytes(log.read_bytes() + b'{"at": "half a li')
    built(web, ds)
    assert len([json.loads(line) for line in log.read_text().splitlines()]) >= 2 * len(lines) - 2


def test_a_stage_that_breaks_off_is_in_the_log_with_its_error(ds: Path) -> None:
    store = store_folder(ds)
    raw = bytearray((store / "responses.warc.gz").read_bytes())
    with closing(StoreReader(store)) as reader:
        first = min(row.offset for row in reader.iter_fetches() if row.offset is not None)
    raw[first : first + 200] = b"\0" * 200
    (store / "responses.warc.gz").write_bytes(raw)
    with pytest.raises(DataError, match=rf"responses.warc.gz: record at byte {first} .*: run .*rebuild-index"):
        replay(store, ds)
    log = ds.with_name("ds.build.log.jsonl")
    last = [json.loads(line) for line in log.read_text().splitlines()][-1]
    assert (last["event"], last["stage"], f"record at byte {first}" in last["error"]) == ("end", "extract", True)


def test_a_blocked_host_with_a_dot_at_its_end_is_blocked_and_the_crawl_comes_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "recorded.jsonl").write_text('{"query": "What is topic0?", "urls": ["http://a.blocked.example./x"]}\n')
    write_web(tmp_path / "web", 1)
    search = {"engine": "recorded", "recorded": {"file": str(tmp_path / "recorded.jsonl")}}
    config = to_config({"search": search, "filter": {"blocked_hosts": ["blocked.example"]}}, "test")
    made = build([tmp_path / "web" / "questions.jsonl"], tmp_path / "ds", config, allow_partial=True)
    assert made.sources["hits_by_outcome"] == {"blocked_host": 1}
