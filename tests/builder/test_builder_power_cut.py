"""Power cuts in the middle of a real crawl, simulated: what was acknowledged is there, however the store is opened."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from builder_crash import write_web
from builder_power import State, n_missing, states, traced
from builder_store import records

from builder.store.crawl_store import WARC_FILE, CrawlStore
from builder.store.rebuild import rebuild_index


def _can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return (
        subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[State]:
    if not _can_trace():
        pytest.skip("NOT RUN: strace cannot be used here (`.ci/environment system` installs it)")
    folder = tmp_path_factory.mktemp("power").resolve()
    write_web(folder / "web", 6)
    calls = traced(folder / "web", folder / "out" / "ds", folder / "trace")
    return list(states(calls, folder / "out" / "ds.crawl", 2))


def test_the_cuts_leave_torn_and_missing_files_and_everything_that_was_acknowledged_in_the_end(
    cuts: list[State],
) -> None:
    assert len({state.files.get(WARC_FILE) for state in cuts}) > 5
    n_acknowledged = Counter(len(state.fetches) for state in cuts)
    assert min(n_acknowledged) == 0
    assert max(n_acknowledged) == 6


def test_every_state_that_a_cut_leaves_opens_for_writing_with_all_that_was_acknowledged(
    cuts: list[State], tmp_path: Path
) -> None:
    for number, state in enumerate(cuts):
        folder = tmp_path / str(number) / "ds.crawl"
        state.write(folder)
        before = records(folder) if (folder / WARC_FILE).exists() else []
        CrawlStore(folder, create=True).close()
        assert n_missing(state, folder) == 0, number
        assert records(folder)[: len(before)] == before, number


def test_the_index_of_every_state_is_made_again_with_all_that_was_acknowledged(
    cuts: list[State], tmp_path: Path
) -> None:
    acknowledged = [state for state in cuts if state.searches or state.fetches]
    assert acknowledged
    for number, state in enumerate(acknowledged):
        folder = tmp_path / str(number) / "ds.crawl"
        state.write(folder)
        rebuild_index(folder)
        assert n_missing(state, folder) == 0, number
