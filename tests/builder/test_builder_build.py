from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builder_crash import tree
from builder_store import n_fetches, responses

from builder.build import build, replay
from builder.config import to_config
from builder.dataset.check_dataset import check_folder
from builder.deriving import page_stage
from builder.deriving.page_stage import PageResult
from builder.store.crawl_store import CrawlStore, StoreReader
from builder.store.page_cache import CACHE_FILE
from builder.store.store_folder import store_folder
from builder.store.takedowns import TakeDown, add_takedown, read_takedowns
from edu_rag.__main__ import main
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.identity import table_sha256
from edu_rag.files.manifest import Manifest
from edu_rag.files.table_rows import LATER_COLUMNS, schema, stored_rows
from edu_rag.gold import Gold
from edu_rag.records import Question, SearchHit, WebPage

REPOSITORY = Path(__file__).resolve().parents[2]
SENTENCES = {
    "lava": "Lava is molten rock that flows from a volcano. When lava cools it becomes solid igneous rock.",
    "moon": "The moon orbits the earth once in about a month. The phases of the moon follow from its orbit.",
    "leaf": "A leaf makes sugar from light, water and carbon dioxide. This process is called photosynthesis.",
}


def html(topic: str, times: int) -> str:
    more = " ".join(f"Note {i}: {SENTENCES[topic]}" for i in range(times))
    return (
        f"<html lang='en'><head><title>About {topic}</title></head><body><nav>Home | More</nav><main><article>"
        f"<h1>About {topic}</h1><p>{SENTENCES[topic]}</p><p>{more}</p></article></main></body></html>"
    )


def question(number: int, text: str, right: str, wrong: str, split: str = "val") -> str:
    values = {
        "id": f"Q{number}",
        "split": split,
        "type": "Multiple Choice",
        "question": text,
        "choices": {"a": wrong, "b": right},
        "answer": "b",
    }
    return json.dumps(values) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `web` (see _write_web) and the dataset `ds` built from it once, with its crawl store."""
    folder = tmp_path_factory.mktemp("made")
    built(_write_web(folder), folder / "ds")
    return folder


def _write_web(folder: Path) -> Path:
    """Two small sites with everything that makes a hit fall, and questions about them."""
    sites = folder / "web" / "sites"
    one, two = sites / "one.example", sites / "two.example"
    one.mkdir(parents=True)
    two.mkdir()
    for topic in SENTENCES:
        (one / f"{topic}.html").write_text(html(topic, 5))
        (two / f"{topic}-2.html").write_text(html(topic, 7))
    (one / "short.html").write_text("<html><body><p>lava moon leaf</p></body></html>")
    (one / "private.html").write_text(html("lava", 6))
    (one / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    (one / "site.toml").write_text(
        '[[route]]\npath = "/moved"\nredirect = "/lava.html"\nindex_text = "lava molten rock volcano moved"\n'
        '[[route]]\npath = "/loop"\nredirect = "/loop"\nindex_text = "moon orbit loop"\n'
        '[[route]]\npath = "/gone"\nstatus = 410\nindex_text = "leaf sugar gone"\n'
        '[[route]]\npath = "/slow"\ndelay_s = 30\nindex_text = "leaf light slow"\n'
        '[[route]]\npath = "/paper.pdf"\ncontent_type = "application/pdf"\nindex_text = "lava volcano paper"\n'
    )
    (folder / "web" / "questions.jsonl").write_text(
        question(1, "What does lava from a volcano become when it cools?", "igneous rock", "sea water")
        + question(2, "What does the moon orbit?", "the earth", "the sun")
        + question(3, "What is it called when a leaf makes sugar from light?", "photosynthesis", "erosion")
        + question(4, "What does the moon orbit?", "the earth", "a leaf", split="test")
        + question(5, "Xyzzy plugh?", "quux", "quuux")
    )
    (folder / "web" / "build.toml").write_text(
        'name = "tiny"\n[search.folder]\nsites = "sites"\n[fetch]\ntimeout_s = 1.0\n[filter]\nduplicates = false\n'
        "[build]\nmax_lost = 0.2\n"
    )
    return folder / "web"


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edu_rag", *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def build_command(web: Path, out: Path, *more: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return command(
        "build", web / "build.toml", "--questions", web / "questions.jsonl", "--out", out, *more, **environment
    )


def built(web: Path, out: Path, *, fresh: bool = False, **changes: object) -> Manifest:
    values = {
        "name": "tiny",
        "search": {"folder": {"sites": str(web / "sites")}},
        "fetch": {"timeout_s": 1.0},
        "filter": {"duplicates": False},
        "build": {"max_lost": 0.2},
    }
    return build([web / "questions.jsonl"], out, to_config(values | changes, "test"), workers=1, fresh=fresh)


def test_every_hit_keeps_its_fate_and_the_manifest_counts_them(ds: Path) -> None:
    fates = {hit.url: hit.outcome for hits in Dataset(ds).hits("val").values() for hit in hits}
    base = "http://one.example"
    expected = {
        "/lava.html": "kept",
        "/moved": "kept",
        "/short.html": "short",
        "/private.html": "robots",
        "/loop": "redirect_loop",
        "/gone": "http_error",
        "/slow": "timeout",
        "/paper.pdf": "not_html",
    }
    assert {path: fates[base + path] for path in expected} == expected
    sources = Dataset(ds).manifest.sources
    assert sources["searches"] == {"hits": 4, "none": 1}
    assert sources["splits"] == {"test": 1, "val": 4}
    assert sum(sources["hits_by_outcome"].values()) == sources["hits"]
    assert set(sources["hits_by_outcome"]) == set(expected.values())
    assert (sources["redirected_urls"], sources["redirects"]) == (1, 1)
    assert sources["unsearched"] == 0
    assert sources["questions_with_evidence"] >= 1


def test_a_page_found_twice_is_one_page_under_its_final_address(ds: Path) -> None:
    dataset = Dataset(ds)
    hits = {hit.url: hit for hit in dataset.hits("val")["Q1"]}
    moved, direct = hits["http://one.example/moved"], hits["http://one.example/lava.html"]
    assert moved.page_id == direct.page_id
    assert dataset.pages("val")[str(moved.page_id)].url == "http://one.example/lava.html"


def test_the_dataset_is_whole_and_loads_with_the_datasets_library(ds: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    assert check_folder(ds).rows["questions/val"] == 4
    cache = str(tmp_path / "cache")
    for config in ("questions", "hits", "pages", "evidence", "gold"):
        assert load_dataset(str(ds), config, cache_dir=cache)["val"].num_rows > 0
    assert load_dataset(str(ds), "questions", cache_dir=cache)["test"].num_rows == 1


def test_hash_seed_time_zone_locale_workers_and_paths_change_no_byte(made: Path, web: Path, tmp_path: Path) -> None:
    second = build_command(
        web, tmp_path / "two", "--workers", 3, PYTHONHASHSEED="4242", TZ="Asia/Kathmandu", LC_ALL="tr_TR.UTF-8"
    )
    assert second.returncode == 0, second.stderr
    assert tree(made / "ds") == tree(tmp_path / "two")


def test_a_replay_gives_the_same_bytes_with_the_sites_gone(ds: Path, tmp_path: Path) -> None:
    replay(store_folder(ds), tmp_path / "again")
    assert tree(tmp_path / "again") == tree(ds)
    other = replay(store_folder(ds), tmp_path / "other", extractor="bs4-v1")
    assert other.sources["extractor"] == "bs4-v1"
    assert other.config_sha256 != Dataset(ds).manifest.config_sha256


def test_a_build_again_asks_nothing_again_and_gives_the_same_bytes(
    ds: Path, web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(ds)
    warc = responses(store_folder(ds))
    for _ in range(3):
        built(web, ds)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fetch:")]
    once_more = "fetch: 1 of 1: dropped 1: timeout 1"  # what failed for the moment is tried three times in all
    assert told == [once_more, once_more, "fetch: 0 of 0"]
    assert tree(ds) == before
    assert responses(store_folder(ds)) == warc


def test_a_build_that_was_killed_goes_on_where_it_was(made: Path, web: Path, tmp_path: Path) -> None:
    slow = [f'[[route]]\npath = "/{topic}-2.html"\ndelay_s = 0.3\n' for topic in SENTENCES]
    (web / "sites" / "two.example" / "site.toml").write_text("".join(slow))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "edu_rag",
            "build",
            str(web / "build.toml"),
            "--questions",
            str(web / "questions.jsonl"),
            "--out",
            str(tmp_path / "ds"),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "search:" not in process.stderr.readline():
        pass
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert not (tmp_path / "ds").exists()
    with (store_folder(tmp_path / "ds") / "responses.warc.gz").open("ab") as warc:
        warc.write(b"\x1f\x8b\x08 torn")
    built(web, tmp_path / "ds")
    first, second = Dataset(made / "ds").manifest, Dataset(tmp_path / "ds").manifest
    assert first.content_sha256 == second.content_sha256


def test_a_store_is_not_mixed_with_other_settings_or_other_sites(ds: Path, web: Path) -> None:
    with pytest.raises(DataError, match=r"another 'fetch.timeout_s': add --fresh"):
        built(web, ds, fetch={"timeout_s": 2.0})
    (web / "sites" / "one.example" / "new.html").write_text(html("lava", 3))
    with pytest.raises(DataError, match=r"another 'sites.one.example': add --refresh .*--fresh"):
        built(web, ds)
    assert built(web, ds, fresh=True).sources["hits"] > 0


def test_without_an_engine_there_are_questions_and_gold_and_no_pages(web: Path, tmp_path: Path) -> None:
    done = build_command(web, tmp_path / "ds", "--engine", "none", "--name", "closed", "--version", "2.0.0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["id"].startswith("closed@2.0.0#")
    rows = check_folder(tmp_path / "ds").rows
    assert {table for table, n in rows.items() if n} == {"questions/test", "questions/val", "gold/test", "gold/val"}
    replay(store_folder(tmp_path / "ds"), tmp_path / "again")
    assert tree(tmp_path / "again") == tree(tmp_path / "ds")


def test_check_finds_a_changed_byte_and_says_so_in_one_line(ds: Path) -> None:
    good = command("dataset", "check", ds)
    assert (good.returncode, "gold/val" in good.stdout) == (0, True)
    path = next((ds / "gold").iterdir())
    path.write_bytes(path.read_bytes() + b"\0")
    bad = command("dataset", "check", ds)
    begun, error = bad.stderr.splitlines()
    assert (bad.returncode, bad.stdout, begun) == (1, "", f"check {ds}")
    assert "differ from the manifest's hash" in error


def test_what_the_user_got_wrong_is_one_line_and_exit_code_1(
    web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(web / "build.toml"), "--questions", str(web / "questions.jsonl"), "--out", str(tmp_path / "ds")]
    for arguments, told in (
        (("--engine", "bing"), "unknown engine 'bing': known are folder"),
        (("--sites", tmp_path / "nowhere"), "no such folder of web sites"),
        (("--extractor", "magic"), "unknown extractor 'magic'"),
        (("--version", "1"), "version"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["build", *files, *map(str, arguments)])
        assert ended.value.code == 1
        assert told in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "ds").exists()


def test_an_unknown_extractor_is_refused_before_anything_is_fetched(web: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown extractor"):
        built(web, tmp_path / "ds", extract={"extractor": "magic"})
    assert not store_folder(tmp_path / "ds").exists()


def test_a_full_disk_is_told_in_one_line_and_the_next_build_resumes(made: Path, web: Path, tmp_path: Path) -> None:
    files = [web / "build.toml", "--questions", web / "questions.jsonl"]
    arguments = ["build", *files, "--out", tmp_path / "ds", "--workers", 1]
    line = shlex.join([sys.executable, "-m", "edu_rag", *map(str, arguments)])
    full = subprocess.run(
        ["bash", "-c", f"ulimit -f 40; exec {line}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert full.returncode == 1
    assert re.search(
        re.escape(str(tmp_path / "ds")) + r".*: cannot be (read or )?written: .*resume", full.stderr.splitlines()[-1]
    )
    assert "Traceback" not in full.stderr
    built(web, tmp_path / "ds")
    assert tree(tmp_path / "ds") == tree(made / "ds")


def test_a_replay_of_a_store_with_a_piece_missing_is_refused_and_takes_nothing_from_it(
    ds: Path, tmp_path: Path
) -> None:
    warc = store_folder(ds) / "responses.warc.gz"
    whole = warc.read_bytes()
    warc.write_bytes(whole[:-10])
    with pytest.raises(DataError, match=r"responses\.warc\.gz.*holds [\d,]+ of the [\d,]+ bytes"):
        replay(store_folder(ds), tmp_path / "again")
    warc.write_bytes(whole)
    with CrawlStore(store_folder(ds)) as store:
        assert n_fetches(store)["kept"] == sum(bool(store.response(row)) for row in store.iter_fetches() if row.digest)


def test_a_build_goes_on_from_a_store_with_a_piece_missing_and_says_so(
    ds: Path, web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, warc = tree(ds), store_folder(ds) / "responses.warc.gz"
    with closing(StoreReader(store_folder(ds))) as store:
        rows = list(store.iter_fetches())
    # A page that is in the file twice (another address led to it) is not lost with one of them.
    n_copies = Counter(row.digest for row in rows)
    last = max(row.offset for row in rows if row.offset is not None and n_copies[row.digest] == 1)
    warc.write_bytes(warc.read_bytes()[: last + 10])
    built(web, ds)
    assert "responses.warc.gz: 1 pages are missing, and will be fetched again" in capsys.readouterr().err
    assert tree(ds) == before


def test_what_was_taken_down_stays_so_when_the_crawl_is_made_anew(ds: Path, web: Path) -> None:
    entry = TakeDown(kind="host", value="one.example", reason="asked by the owner", at=datetime(2026, 1, 2, tzinfo=UTC))
    assert add_takedown(store_folder(ds), entry)
    built(web, ds, fresh=True)
    assert read_takedowns(store_folder(ds)).entries == (entry,)
    hits = [hit for found in Dataset(ds).hits("val").values() for hit in found]
    assert {hit.outcome for hit in hits if "one.example" in hit.url} == {"taken_down"}


def test_a_full_scratch_disk_is_told_in_one_line(web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("builder.build.open_chain", full)
    with pytest.raises(DataError, match="cannot be written: database or disk is full"):
        built(web, tmp_path / "ds")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("pages", "a hit leads to no page"),
        ("hits", "no hit leads to page"),
        ("gold", "has no gold"),
        ("questions", "unknown question"),
    ],
)
def test_check_follows_every_reference(ds: Path, table: str, told: str) -> None:
    whole = Dataset(ds)
    types: dict[str, type] = {"questions": Question, "hits": SearchHit, "pages": WebPage, "gold": Gold}
    tables = {name: {"val": list(whole.records(name, "val", kind))} for name, kind in types.items()}
    tables[table]["val"] = tables[table]["val"][:1] if table == "hits" else tables[table]["val"][1:]
    shutil.rmtree(ds)
    write_dataset(
        ds,
        tables,
        name="broken",
        version="1.0.0",
        created_at="",
        builder="",
        config_sha256="",
        sources={},
        documents=lambda folder, files: {"README.md": b""},
    )
    assert told in str(check_folder(ds).faults.to_print()[0])


def test_a_folder_that_is_no_dataset_is_refused_before_anything_is_fetched(web: Path, tmp_path: Path) -> None:
    out = tmp_path / "foreign"
    out.mkdir()
    (out / "thesis.txt").write_text("dear")
    with pytest.raises(DataError, match="is not a dataset folder"):
        built(web, out)
    assert not store_folder(out).exists()


@pytest.mark.parametrize(("place", "store"), [(".", "here.crawl"), ("..", "here.crawl"), ("x/", "x.crawl")])
def test_every_way_to_name_the_folder_has_its_store_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, store: str
) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" if place == "." else tmp_path / "here" / "below")
    assert store_folder(Path(place)).name == store
    with pytest.raises(ConfigError, match="cannot be a dataset folder"):
        store_folder(Path("/"))


def test_without_an_engine_the_time_is_the_environments_and_a_replay_repeats_it(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    first = built(web, tmp_path / "a", search={"engine": "none"})
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert first.created_at == "2001-09-09T01:46:40+00:00"
    assert replay(store_folder(tmp_path / "a"), tmp_path / "b") == first


def test_a_store_whose_settings_are_not_ours_is_one_clear_line(ds: Path, web: Path) -> None:
    (store_folder(ds) / "config.json").write_text("[]")
    with pytest.raises(DataError, match="is not what `edu-rag build` writes"):
        built(web, ds)


def test_pages_on_which_a_tool_raised_are_counted_in_talk_and_log_and_change_no_byte(
    ds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = page_stage.page_results

    def raised(*arguments: Any) -> Iterator[tuple[str, PageResult]]:
        for number, (url, result) in enumerate(real(*arguments)):
            yield url, replace(result, raised=("resiliparse",) if number < 2 else ())

    monkeypatch.setattr("builder.deriving.page_stage.page_results", raised)
    (store_folder(ds) / CACHE_FILE).unlink()
    replay(store_folder(ds), tmp_path / "again")
    assert "\nextract: resiliparse raised on 2 pages: their text is from another tool\n" in capsys.readouterr().err
    lines = (tmp_path / "again.build.log.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines if "tool_raised" in line]
    assert [(event["tool"], event["pages"]) for event in events] == [("resiliparse", 2)]
    assert tree(tmp_path / "again") == tree(ds)


@pytest.mark.slow
def test_a_table_without_the_later_column_is_read_and_has_the_hash_of_one_where_it_is_empty(
    ds: Path, tmp_path: Path
) -> None:
    new = next((ds / "hits").iterdir())
    table = pq.read_table(new)
    assert table.schema.names == schema("hits").names
    older = tmp_path / "hits" / new.name
    older.parent.mkdir()
    words = table.column("detail").to_pylist()
    assert any(words)
    pq.write_table(table.drop_columns(list(LATER_COLUMNS["hits"])), older)
    assert [row | {"detail": ""} for row in stored_rows(older)] == [row | {"detail": ""} for row in stored_rows(new)]
    assert table_sha256([older]) != table_sha256([new])
    empty = table.set_column(table.schema.get_field_index("detail"), "detail", pa.array([""] * len(words)))
    pq.write_table(empty, new)
    assert table_sha256([older]) == table_sha256([new])
