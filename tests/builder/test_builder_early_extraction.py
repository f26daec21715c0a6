"""Pages are extracted while the crawl goes on; the dataset is a function of the store alone, whatever comes of that."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from builder_crash import environment, tree

from builder.build import build, read_inputs
from builder.clock import LOCAL_INSTANT
from builder.config import to_config
from builder.deriving import early_extraction as early_module
from builder.deriving import killable_workers, page_stage
from builder.deriving.early_extraction import EarlyExtraction
from builder.deriving.known_pages import KnownPages
from builder.deriving.page_stage import PageJob, PageResult, PageSettings
from builder.fetch import Fetched
from builder.store.crawl_store import CrawlStore, StoreReader
from builder.store.page_cache import CACHE_FILE, PageCache
from builder.store.store_folder import store_folder
from builder.store.takedowns import TakeDown, add_takedown
from edu_rag.errors import MissingExtraError
from edu_rag.progress import BuildLog, logging_to

pytestmark = [pytest.mark.process, pytest.mark.slow]
N_PAGES = 6
LONG_S = 600.0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start with the first page, and have all the time that they need when the crawl is over."""
    monkeypatch.setattr(early_module, "MIN_PAGES", 1)
    monkeypatch.setattr(early_module, "FINISH_S", LONG_S)
    monkeypatch.setattr(killable_workers, "WALL_LIMIT_S", LONG_S)


def write_site(folder: Path) -> None:
    site = folder / "sites" / "one.example"
    site.mkdir(parents=True)
    for number in range(N_PAGES):
        note = f"<p>Note {number}: granite number {number} cooled slowly, far below the ground of place {number}.</p>"
        (site / f"{number}.html").write_text(f"<html><title>Rock {number}</title><body>{note * 12}</body></html>")
    values = {"id": "Q1", "split": "val", "type": "Multiple Choice", "question": "What cooled granite slowly?"}
    line = json.dumps(values | {"choices": {"a": "the ground", "b": "the sea"}, "answer": "a"})
    (folder / "questions.jsonl").write_text(f"{line}\n")


def built(folder: Path, name: str = "ds") -> dict[str, bytes]:
    """Build the site's dataset; its files."""
    values = {
        "name": "tiny",
        "search": {"folder": {"sites": str(folder / "sites")}},
        "extract": {"extractor": "bs4-v1"},
        "filter": {"near_duplicate": 0},
        "fetch": {"timeout_s": 60.0},
    }
    build([folder / "questions.jsonl"], folder / name, to_config(values, "test"), workers=1)
    return tree(folder / name)


def events(folder: Path, name: str = "ds") -> list[dict[str, object]]:
    log = store_folder(folder / name) / "build.log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def n_early(folder: Path) -> list[object]:
    return [event["pages"] for event in events(folder) if event["event"] == "extracted_early"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, and `plain`, which was built from it without early extraction; no cache is left."""
    folder = tmp_path_factory.mktemp("made")
    write_site(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(early_module, "MIN_PAGES", 1_000)
        built(folder, "plain")
    assert "extracted_early" not in {event["event"] for event in events(folder, "plain")}
    (store_folder(folder / "plain") / CACHE_FILE).unlink()
    return folder


@pytest.fixture
def plain(made: Path, tmp_path: Path) -> dict[str, bytes]:
    """A copy of all that in the test's folder; the files of `plain`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tree(tmp_path / "plain")


def offered(folder: Path, work: Callable[[EarlyExtraction], None] = EarlyExtraction.finish) -> int:
    """Offer all pages of the plain dataset's store, and end; how many were kept."""
    place = store_folder(folder / "plain")
    with closing(StoreReader(place)) as store:
        early = EarlyExtraction(store, read_inputs(place), 1)
        for fetch in store.iter_fetches():
            early.offer(fetch.url)
        work(early)
    return early.n_kept


def refuse(*_: object) -> None:
    raise AssertionError("a page was extracted")


@pytest.mark.usefixtures("at_once")
def test_pages_that_were_extracted_during_the_crawl_are_not_extracted_again_and_the_bytes_are_the_same(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_stage, "page_results", refuse)
    assert built(tmp_path) == plain
    assert n_early(tmp_path) == [N_PAGES]
    assert multiprocessing.active_children() == []


def hang_on_page_two(job: PageJob) -> PageResult:
    """The page stage of a worker, on a page that hangs it."""
    while job.url.endswith("/2.html"):
        pass
    return page_stage.work(job)


def sleep_on_page_two(job: PageJob) -> PageResult:
    if job.url.endswith("/2.html"):
        time.sleep(LONG_S)
    return page_stage.work(job)


@pytest.mark.usefixtures("at_once")
def test_a_page_that_hangs_is_left_to_deriving_and_the_others_are_kept(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(early_module, "work", hang_on_page_two)
        assert offered(tmp_path) == N_PAGES - 1
    assert built(tmp_path, "plain") == plain
    assert f"extract: {N_PAGES - 1} pages were known, 0 got new labels, 1 were extracted" in capsys.readouterr().err


@pytest.mark.usefixtures("at_once")
def test_an_end_waits_for_no_page_and_keeps_what_was_finished(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = threading.Event()
    keep = KnownPages.keep

    def keep_and_say(self: KnownPages, page_url: str, result: PageResult) -> bool:
        kept.set()
        return keep(self, page_url, result)

    def stop(early: EarlyExtraction) -> None:
        assert kept.wait(LONG_S)
        early.stop()

    monkeypatch.setattr(KnownPages, "keep", keep_and_say)
    monkeypatch.setattr(early_module, "work", sleep_on_page_two)
    assert 1 <= offered(tmp_path, stop) <= 2
    assert multiprocessing.active_children() == []
    assert built(tmp_path, "plain") == plain


@pytest.mark.usefixtures("at_once")
def test_ctrl_c_while_the_last_pages_have_their_moment_ends_the_workers(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    join = threading.Thread.join

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        if timeout == early_module.FINISH_S:
            raise KeyboardInterrupt
        join(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    monkeypatch.setattr(early_module, "work", sleep_on_page_two)
    with pytest.raises(KeyboardInterrupt):
        offered(tmp_path)
    assert multiprocessing.active_children() == []
    assert "early-extraction" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.usefixtures("at_once")
def test_what_comes_too_fast_and_what_was_taken_down_is_not_extracted(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_module, "MIN_PAGES", N_PAGES)  # so that all wait before the first is taken
    monkeypatch.setattr(early_module, "MOST_WAITING", 3)
    gone = TakeDown(kind="url", value="http://one.example/1.html", reason="asked", at=LOCAL_INSTANT)
    add_takedown(store_folder(tmp_path / "plain"), gone)
    assert offered(tmp_path) == 2


def test_a_short_crawl_starts_no_workers(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_module, "MIN_PAGES", N_PAGES + 1)
    assert offered(tmp_path) == 0
    assert not (store_folder(tmp_path / "plain") / CACHE_FILE).exists()


def _cannot_start(settings: PageSettings) -> None:
    raise MissingExtraError("page workers", "they cannot start", "repair them")


@pytest.mark.usefixtures("at_once")
def test_workers_that_cannot_start_are_noted_in_the_log_and_stop_nothing(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(early_module, "_prepare", _cannot_start)
    capsys.readouterr()
    with logging_to(BuildLog()) as log:
        log.open(tmp_path / "log.jsonl")
        assert offered(tmp_path) == 0
    found = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert "they cannot start" in next(line for line in found if line["event"] == "early_extraction_failed")["error"]
    assert capsys.readouterr().err == ""


def _stopping(folder: Path, stop: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the crawl stop at its fourth page, when an earlier one has been extracted."""
    kept = threading.Event()
    keep, add, pages = KnownPages.keep, CrawlStore.add_fetch, []

    def keep_and_say(self: KnownPages, page_url: str, result: PageResult) -> bool:
        done = keep(self, page_url, result)
        kept.set()
        return done

    def add_or_stop(self: CrawlStore, got: Fetched) -> str:
        pages.append(got.url)
        if len(pages) == 4:
            self.flush()
            assert kept.wait(LONG_S)
            stop()
        return add(self, got)

    monkeypatch.setattr(KnownPages, "keep", keep_and_say)
    monkeypatch.setattr(CrawlStore, "add_fetch", add_or_stop)


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("at_once")
def test_a_resume_after_ctrl_c_in_the_crawl_keeps_what_was_extracted(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        _stopping(tmp_path, interrupt, patched)
        with pytest.raises(KeyboardInterrupt):
            built(tmp_path)
    assert multiprocessing.active_children() == []
    (first,) = n_early(tmp_path)
    assert isinstance(first, int)
    assert 1 <= first <= 3
    said = capsys.readouterr().err.splitlines()
    assert "Traceback" not in "".join(said)
    monkeypatch.setattr(early_module, "MIN_PAGES", 1_000)
    assert built(tmp_path) == plain
    fresh = f"{first} pages were known, 0 got new labels, {N_PAGES - first} were extracted"
    assert f"extract: {fresh}" in capsys.readouterr().err


_KILLED = """
import os, signal, sys
from pathlib import Path
import pytest
sys.path[:0] = sys.argv[2:]
import test_builder_early_extraction as tests
from builder.deriving import early_extraction
if __name__ == "__main__":
    early_extraction.MIN_PAGES = 1
    folder = Path(sys.argv[1])
    tests._stopping(folder, lambda: os.kill(os.getpid(), signal.SIGKILL), pytest.MonkeyPatch())
    tests.built(folder)
"""


def test_a_kill_in_mid_crawl_loses_no_page_and_changes_no_byte(
    tmp_path: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    words = [sys.executable, str(script), str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (store_folder(tmp_path / "ds") / CACHE_FILE).exists()
    assert built(tmp_path) == plain


class IdleWorkers:
    """Workers that take jobs and never end one."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def start(self, job: PageJob, ended: Callable[[object], None]) -> None:
        self.urls.append(job.url)


def test_the_last_page_is_waited_for_when_all_others_have_ended(tmp_path: Path, plain: dict[str, bytes]) -> None:
    place, workers = store_folder(tmp_path / "plain"), IdleWorkers()
    with closing(StoreReader(place)) as store, PageCache(place, writable=True, quiet=True) as kept:
        early = EarlyExtraction(store, read_inputs(place), 1)
        early.offer("http://one.example/1.html")
        early._order = "finish"
        assert early._turn(KnownPages(kept, early._settings), workers)  # type: ignore[arg-type]
    assert workers.urls == ["http://one.example/1.html"]
