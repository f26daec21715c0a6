"""A page that an earlier build has extracted is not extracted again, and no cache changes a byte of the dataset."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from builder_crash import tree

from builder.build import build, replay
from builder.config import ExtractConfig, FilterConfig, LabelConfig, to_config
from builder.deriving import page_stage
from builder.deriving.known_pages import KnownPages
from builder.deriving.page_stage import PageJob, PageResult, PageSettings, PageStage
from builder.extract.extract import Extracted, ExtractionFailure, packed, unpacked
from builder.store.crawl_store import StoreReader
from builder.store.page_cache import CACHE_FILE, PageCache
from builder.store.store_folder import store_folder
from edu_rag.files.manifest import Manifest
from edu_rag.gold import Gold
from edu_rag.records import Question, WebPage, page_id_of

AT = datetime(2026, 1, 2, tzinfo=UTC)
KEYS = [bytes([n]) * 32 for n in range(40)]
SETTINGS = PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig())
JOB = PageJob(url="http://a.example/x", body=b"<p>x", charset=None, fetched_at=AT, html_sha256="0" * 64)


def value_of(key: bytes) -> bytes:
    return random.Random(key).randbytes(700)


def filled(folder: Path) -> Path:
    with PageCache(folder, writable=True) as cache:
        for key in KEYS:
            cache.put(key, value_of(key))
    return folder / CACHE_FILE


def test_a_value_is_found_again_and_a_reader_changes_no_byte(tmp_path: Path) -> None:
    before = filled(tmp_path).read_bytes()
    with PageCache(tmp_path, writable=False) as cache:
        assert [cache.get(key) for key in KEYS] == [value_of(key) for key in KEYS]
        cache.put(b"x" * 32, b"new")
        cache.forget_unused()
        cache.clear()
        assert cache.get(b"x" * 32) is None
    assert tree(tmp_path) == {CACHE_FILE: before}


def test_a_reader_makes_no_file_and_finds_nothing_where_there_is_none(tmp_path: Path) -> None:
    with PageCache(tmp_path, writable=False) as cache:
        assert (cache.is_open, cache.get(KEYS[0])) == (False, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writable", [False, True])
def test_a_damaged_entry_counts_as_missing_and_can_be_made_again(tmp_path: Path, writable: bool) -> None:
    path = filled(tmp_path)
    sound, rng = path.read_bytes(), random.Random(20261125)
    n_lost = 0
    for _ in range(60):
        damaged = bytearray(sound)
        for _ in range(rng.choice((1, 1, 20))):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with PageCache(tmp_path, writable=writable) as cache:
            found = [cache.get(key) for key in KEYS]
            assert {*found} <= {None, *map(value_of, KEYS)}
            assert all(value in (None, value_of(key)) for key, value in zip(KEYS, found, strict=True))
            n_lost += found.count(None)
            if writable:
                for key in KEYS:
                    cache.put(key, value_of(key))
        if writable:
            with PageCache(tmp_path, writable=True) as cache:
                assert cache.is_open
                assert [cache.get(key) for key in KEYS].count(None) < len(KEYS)
    assert n_lost > 0


@pytest.mark.parametrize("content", [b"", b"no database", b"\0" * 9000, b"SQLite format 3\0" + b"\7" * 5000])
def test_a_file_that_is_not_a_cache_is_made_again_and_a_reader_leaves_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / CACHE_FILE
    path.write_bytes(content)
    with PageCache(tmp_path, writable=False) as cache:
        assert cache.get(KEYS[0]) is None
    assert path.read_bytes() == content
    filled(tmp_path)
    with PageCache(tmp_path, writable=False) as cache:
        assert cache.get(KEYS[0]) == value_of(KEYS[0])


def test_a_cache_of_another_format_is_made_again(tmp_path: Path) -> None:
    with closing(sqlite3.connect(filled(tmp_path))) as base:
        base.execute("PRAGMA user_version=77")
    for writable in (False, True):
        with PageCache(tmp_path, writable=writable) as cache:
            assert (cache.is_open, cache.get(KEYS[0])) == (writable, None)


def test_what_was_not_used_is_forgotten_and_what_was_used_stays(tmp_path: Path) -> None:
    size = filled(tmp_path).stat().st_size
    with PageCache(tmp_path, writable=True) as cache:
        cache.get(KEYS[0])
        cache.use(KEYS[1])
        cache.put(b"x" * 32, b"new")
        cache.forget_unused()
        found = [key for key in (*KEYS, b"x" * 32) if cache.get(key) is not None]
    assert found == [KEYS[0], KEYS[1], b"x" * 32]
    assert (tmp_path / CACHE_FILE).stat().st_size < size


def test_a_cache_without_room_is_given_up_in_one_line_and_keeps_its_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path)
    with PageCache(tmp_path, writable=True) as cache:
        assert cache._base is not None
        cache._base.execute("PRAGMA max_page_count=1")
        cache.put(b"x" * 32, b"x" * 100_000)
        assert not cache.is_open
        cache.put(b"y" * 32, b"y")
    assert capsys.readouterr().err.count("\n") == 1
    with PageCache(tmp_path, writable=False) as cache:
        assert [cache.get(key) for key in KEYS] == [value_of(key) for key in KEYS]


def test_an_extraction_is_the_same_after_packing() -> None:
    found = Extracted(title="t", text="x", language="en", license=None, tool="plain", raised=("a",))
    for outcome in (found, ExtractionFailure(reason="empty")):
        assert unpacked(packed(outcome)) == outcome


def known(folder: Path, settings: PageSettings, job: PageJob, result: PageResult) -> tuple[int, bytes]:
    """Run one job: whether it was known, and the extraction that the stage was given."""
    given = []

    def make(todo: Iterable[tuple[str, PageJob]]) -> Iterator[tuple[str, PageResult]]:
        for url, item in todo:
            given.append(item.extraction)
            yield url, result

    with PageCache(folder, writable=True) as cache:
        pages = KnownPages(cache, settings)
        pages.run([(job.url, job)], make, lambda *_: None)
        return pages.n_known, b"".join(given)


QUESTION = Question(
    question_id="Q1", text="What?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="val", lesson=None
)
MADE = PageResult(
    outcome="short", extraction=packed(Extracted(title="", text="x", language=None, license=None, tool="plain"))
)


@pytest.mark.parametrize(
    ("settings", "job", "is_extracted"),
    [
        (SETTINGS, replace(JOB, html_sha256="1" * 64), False),
        (SETTINGS, replace(JOB, charset="utf-8"), False),
        (replace(SETTINGS, extract=ExtractConfig(extractor="bs4-v1")), JOB, False),
        (SETTINGS, replace(JOB, url="http://a.example/y"), True),
        (SETTINGS, replace(JOB, fetched_at=datetime(2026, 1, 3, tzinfo=UTC)), True),
        (replace(SETTINGS, filter=FilterConfig(min_bytes=1)), JOB, True),
        (replace(SETTINGS, label=LabelConfig(mask_pii=False)), JOB, True),
        (replace(SETTINGS, questions=[QUESTION]), JOB, True),
        (replace(SETTINGS, golds=[Gold(question_id="Q1", answer="a")]), JOB, True),
    ],
)
def test_another_page_extractor_setting_or_question_makes_the_page_again_and_extracts_only_where_it_must(
    tmp_path: Path, settings: PageSettings, job: PageJob, is_extracted: bool
) -> None:
    assert known(tmp_path, SETTINGS, JOB, MADE) == (0, b"")
    assert known(tmp_path, SETTINGS, JOB, MADE) == (1, b"")
    assert known(tmp_path, settings, job, MADE) == (0, MADE.extraction if is_extracted else b"")


PAGE = WebPage(
    page_id=page_id_of(JOB.url),
    url=JOB.url,
    title="t",
    text="x",
    sentences=((0, 1),),
    fetched_at=AT,
    html_sha256=JOB.html_sha256,
    extractor="plain",
)
OTHER = replace(JOB, url="http://b.example/y", html_sha256="1" * 64)


@pytest.mark.parametrize("result", [MADE, replace(MADE, outcome="kept", page=PAGE)])
def test_what_was_stored_for_one_page_never_becomes_the_text_of_another(tmp_path: Path, result: PageResult) -> None:
    for job in (JOB, OTHER):
        assert known(tmp_path, SETTINGS, job, result) == (0, b"")
    assert known(tmp_path, SETTINGS, JOB, result) == (1, b"")
    # The page that was stored under the other response's keys, by whatever fault, is made again.
    assert known(tmp_path, SETTINGS, OTHER, result)[0] == (0 if result.page else 1)
    with PageCache(tmp_path, writable=True) as cache:
        first, second = (KnownPages(cache, SETTINGS)._keys_of(job) for job in (JOB, OTHER))
        for mine, others in zip(first, second, strict=True):
            value = cache.get(mine)
            assert value is not None
            cache.put(others, value)  # with a digest that is right
    assert known(tmp_path, SETTINGS, OTHER, result) == (0, b"")
    assert known(tmp_path, SETTINGS, JOB, result) == (1, b"")


def test_an_entry_that_inflates_to_more_than_any_page_has_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "x" * 100_000
    large = packed(Extracted(title="", text=text, language=None, license=None, tool="plain"))
    result = replace(MADE, detail=text, extraction=large)
    assert known(tmp_path, SETTINGS, JOB, result) == (0, b"")
    assert known(tmp_path, SETTINGS, JOB, result) == (1, b"")
    monkeypatch.setattr("builder.deriving.known_pages.MAX_PACKED_BYTES", 50_000)
    assert known(tmp_path, SETTINGS, JOB, result) == (0, large)  # the result is not used, its extraction is
    monkeypatch.setattr("builder.extract.extract.MAX_PACKED_BYTES", 50_000)
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        unpacked(large)
    assert known(tmp_path, SETTINGS, JOB, result) == (0, b"")


@pytest.mark.parametrize("result", [replace(MADE, is_lasting=False), replace(MADE, raised=("trafilatura",))])
def test_what_a_workers_limits_or_a_raising_tool_had_a_part_in_is_made_every_time(
    tmp_path: Path, result: PageResult
) -> None:
    for _ in range(2):
        assert known(tmp_path, SETTINGS, JOB, result) == (0, b"")


def in_process(todo: Iterable[tuple[str, PageJob]], settings: PageSettings, workers: int) -> Iterator[object]:
    """The page stage without worker processes."""
    stage = PageStage(settings)
    for url, job in todo:
        yield url, stage(job)


def refuse(todo: Iterable[tuple[str, PageJob]], settings: PageSettings, workers: int) -> Iterator[object]:
    """A stage that must not be asked."""
    raise AssertionError("a page was extracted")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Manifest]:
    """Builds `ds` from a site of five pages, with any stage in place of the workers'."""
    sites = tmp_path / "sites" / "one.example"
    sites.mkdir(parents=True)
    for number in range(5):
        note = (
            f"<p>Note {number}: granite number {number} cooled slowly, far below the ground of the place {number}.</p>"
        )
        (sites / f"{number}.html").write_text(
            f"<html><title>Rock {number}</title><article>{note * 12}</article></html>"
        )
    (sites / "empty.html").write_text("<html><title>granite</title><script>granite</script></html>")
    values = {"id": "Q1", "split": "val", "type": "Multiple Choice", "question": "What cooled granite slowly?"}
    line = json.dumps(values | {"choices": {"a": "the ground", "b": "the sea"}, "answer": "a"})
    (tmp_path / "questions.jsonl").write_text(f"{line}\n")

    def run(stage: Callable[..., object] = in_process, **changes: object) -> Manifest:
        monkeypatch.setattr(page_stage, "page_results", stage)
        search = {"folder": {"sites": str(tmp_path / "sites")}}
        config = to_config({"name": "tiny", "search": search, "filter": {"near_duplicate": 0}} | changes, "test")
        return build([tmp_path / "questions.jsonl"], tmp_path / "ds", config, workers=1)

    return run


@pytest.mark.slow
def test_a_build_in_which_nothing_changed_extracts_nothing_and_any_cache_gives_the_same_bytes(
    tmp_path: Path, built: Callable[..., Manifest], capsys: pytest.CaptureFixture[str]
) -> None:
    built()
    whole, cache = tree(tmp_path / "ds"), store_folder(tmp_path / "ds") / CACHE_FILE
    with closing(StoreReader(store_folder(tmp_path / "ds"))) as store:
        n = len(list(store.iter_fetches()))
    capsys.readouterr()
    built(refuse)
    assert f"extract: {n} pages were known, 0 got new labels, 0 were extracted" in capsys.readouterr().err
    assert tree(tmp_path / "ds") == whole
    full = cache.read_bytes()
    for damaged in (full[:9000], full[:4096] + bytes(len(full) - 4096)):
        cache.write_bytes(damaged)
        built()
        assert tree(tmp_path / "ds") == whole
    built(refuse)  # the damaged cache was made again


@pytest.mark.slow
def test_a_replay_uses_the_cache_and_changes_no_byte_of_the_store(
    tmp_path: Path, built: Callable[..., Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    built()
    store = store_folder(tmp_path / "ds")
    before, whole = tree(store), tree(tmp_path / "ds")
    monkeypatch.setattr(page_stage, "page_results", refuse)
    replay(store, tmp_path / "again", workers=1)
    assert (tree(tmp_path / "again"), tree(store)) == (whole, before)
    (store / CACHE_FILE).unlink()
    monkeypatch.setattr(page_stage, "page_results", in_process)
    replay(store, tmp_path / "again", workers=1)
    assert tree(tmp_path / "again") == whole
    assert not (store / CACHE_FILE).exists()


@pytest.mark.slow
def test_a_resume_after_an_interrupt_keeps_what_was_extracted(
    tmp_path: Path, built: Callable[..., Manifest], capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(todo: Iterable[tuple[str, PageJob]], settings: PageSettings, workers: int) -> Iterator[object]:
        for number, item in enumerate(in_process(todo, settings, workers)):
            if number == 3:
                raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        built(interrupted)
    capsys.readouterr()
    built()
    assert "extract: 3 pages were known, 0 got new labels, 3 were extracted" in capsys.readouterr().err


@pytest.mark.slow
def test_other_labels_are_made_from_the_known_extractions(tmp_path: Path, built: Callable[..., Manifest]) -> None:
    def labelled(todo: Iterable[tuple[str, PageJob]], settings: PageSettings, workers: int) -> Iterator[object]:
        jobs = list(todo)
        assert all(job.extraction for _, job in jobs)
        yield from in_process(jobs, settings, workers)

    built()
    built(refuse)  # which must not forget the extractions that it did not need
    other = {"near_duplicate": 0, "min_bytes": 600}
    built(labelled, filter=other)
    after = tree(tmp_path / "ds")
    (store_folder(tmp_path / "ds") / CACHE_FILE).unlink()
    built(filter=other)
    assert tree(tmp_path / "ds") == after
