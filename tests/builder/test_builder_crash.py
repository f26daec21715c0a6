"""What a kill, a full disk or a broken one leaves behind: real builds over loopback HTTP, disturbed, then resumed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from builder_crash import (
    Point,
    acknowledged,
    arguments,
    build_here,
    disturbed,
    kill_after,
    n_doubled,
    n_fetched_again,
    n_lost,
    points,
    tree,
    write_web,
)

NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
N_PAGES, N_KILLS = (60, 8) if NIGHTLY else (40, 3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `web` and the dataset `whole`, built from it without any disturbance."""
    folder = tmp_path_factory.mktemp("crash")
    write_web(folder / "web", N_PAGES)
    build_here(arguments(folder / "web", folder / "whole"))
    return folder


def test_a_page_without_an_answer_that_is_fetched_again_is_not_lost_but_every_other_changed_row_is() -> None:
    kept, late = ("kept", 200, "", 10, 20, "d"), ("timeout", None, "no answer in time", None, None, None)
    before = {"f 1": kept, "f 2": late, "f 3": late, "f 4": kept, "f 5": late, "s 1": ("done", 3)}
    after = {"f 1": kept, "f 2": kept, "f 4": ("kept", 200, "", 11, 20, "d"), "f 5": late, "s 1": ("done", 4)}
    assert (n_lost(before, after), n_fetched_again(before, after)) == (3, 1)


def test_the_measurement_leaves_a_killed_store_as_it_is(tmp_path: Path) -> None:
    index = tmp_path / "ds.crawl" / "index.sqlite3"
    index.parent.mkdir()
    with closing(sqlite3.connect(tmp_path / "open.sqlite3")) as base:
        base.execute("PRAGMA journal_mode = wal")
        base.execute("CREATE TABLE searches (question_id, engine, state, hits)")
        base.execute("CREATE TABLE fetches (url, outcome, status, detail, warc_offset, length, digest)")
        base.execute("INSERT INTO searches VALUES ('Q1', 'folder', 'done', 3)")
        base.commit()
        for path in tmp_path.glob("open.sqlite3*"):
            shutil.copy(path, index.parent / path.name.replace("open", "index"))
    files = tree(tmp_path / "ds.crawl")
    assert "index.sqlite3-wal" in files
    assert acknowledged(tmp_path / "ds") == {"s Q1folder": ("done", 3)}
    assert tree(tmp_path / "ds.crawl") == files


def _can_inject() -> bool:
    if shutil.which("strace") is None:
        return False
    command = ["strace", "-qq", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def _strace() -> None:
    if not _can_inject():
        pytest.skip("NOT RUN: strace cannot be used here (`.ci/environment system` installs it)")


def test_a_crawl_killed_again_and_again_loses_nothing_doubles_nothing_and_ends_with_the_same_bytes(
    made: Path, tmp_path: Path
) -> None:
    # The store must have the same name: it stands in no byte of the dataset, but let nothing depend on luck.
    web, out = made / "web", tmp_path / "whole"
    chance, before, n_kills = random.Random(3), {}, 0
    for _ in range(N_KILLS):
        n_kills += kill_after(arguments(web, out), chance.uniform(0.0, 0.7))
        now = acknowledged(out)
        assert n_lost(before, now) == 0
        before = now
    assert n_kills >= N_KILLS // 2
    build_here(arguments(web, out, "--resume"))
    assert (n_lost(before, acknowledged(out)), n_doubled(out)) == (0, 0)
    assert tree(out) == tree(made / "whole")


Step = tuple[str, str, int, str]
STEPS: tuple[Step, ...] = (
    ("fdatasync", "{out}.crawl/index.sqlite3-wal", 1, "signal=KILL"),
    ("pwrite64", "{out}.crawl/responses.warc.gz", 3, "error=ENOSPC"),
    ("fsync", "{out}.crawl/responses.warc.gz", 1, "error=EIO"),
    ("rename", "{hidden}.tmp", 1, "signal=KILL"),
)
"""The index, the responses and the dataset, killed, with a full disk and with a broken one."""
MORE_STEPS: tuple[Step, ...] = (
    ("pwrite64", "{out}.crawl/index.sqlite3", 1, "error=ENOSPC"),
    ("write", "{out}.crawl/.config.json.1.tmp", 1, "error=ENOSPC"),
    ("pwrite64", "{out}.crawl/responses.warc.gz", 9, "signal=KILL"),
    ("write", "{hidden}.tmp/.manifest.json.1.tmp", 1, "error=ENOSPC"),
)
"""The same faults at other writes: at night. bench/crash.py tries every write."""


@pytest.mark.usefixtures("_strace")
def test_a_fault_at_any_write_is_reported_or_kills_and_the_next_build_goes_on_from_what_was_acknowledged(
    made: Path, tmp_path: Path
) -> None:
    web, out = made / "web", tmp_path / "whole"
    before: dict[str, tuple[object, ...]] = {}
    steps = (*(MORE_STEPS if NIGHTLY else ()), *STEPS)
    for call, path, when, fault in sorted(steps, key=lambda step: "{hidden}" in step[1]):  # the dataset comes last
        place = path.format(out=out, hidden=out.with_name(f".{out.name}"))
        done = disturbed(arguments(web, out), Point(call, place, when), fault)
        if fault == "signal=KILL":
            assert done.returncode == -9, (call, place, done.stderr)
        else:
            assert done.returncode == 1, (call, place, done.stderr)
            assert str(tmp_path) in done.stderr.splitlines()[-1], (call, place)
            assert "Traceback" not in done.stderr
        assert not out.exists()
        now = dict(acknowledged(out))
        assert n_lost(before, now) == 0, (call, place)
        before = now
    build_here(arguments(web, out))
    assert (n_lost(before, acknowledged(out)), n_doubled(out)) == (0, 0)
    assert tree(out) == tree(made / "whole")


@pytest.mark.usefixtures("_strace")
def test_a_response_is_synced_before_its_row_is_committed_and_the_folder_after_every_rename(tmp_path: Path) -> None:
    write_web(tmp_path / "web", 12)
    out, trace = tmp_path / "out" / "ds", tmp_path / "trace"
    found = list(points(arguments(tmp_path / "web", out), tmp_path / "out", trace))
    renamed = {Path(point.path) for point in found if point.call.startswith("rename")}
    synced = {point.path for point in found if point.call == "fsync"}
    assert {"manifest.json", "config.json"} <= {path.name.removeprefix(".").removesuffix(".1.tmp") for path in renamed}
    assert {str(path.parent) for path in renamed} <= synced
    n_unsynced, most = 0, 0
    for line in trace.read_text().splitlines():
        if "pwrite64(" in line and "responses.warc.gz" in line:
            n_unsynced += 1
        elif "fsync(" in line and "responses.warc.gz" in line:
            n_unsynced, most = 0, max(most, n_unsynced)
        elif "fdatasync(" in line and "index.sqlite3-wal" in line:
            assert n_unsynced == 0
    assert most > 0
