from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edu_rag.errors import RecordError
from harness.sandbox.caps import CPU_FACTOR, Caps
from harness.sandbox.cgroups import Cgroups, make_cgroups

CAPS = Caps(memory_bytes=256 << 20, n_processes=32)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder tree like that of cgroup v2, down to a service that systemd has delegated to a user."""
    service = tmp_path / "user.slice" / "user@1000.service"
    for folder, handed_down in ((tmp_path, "cpu memory pids"), (service.parent, "pids"), (service, "memory pids")):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(handed_down)
    (service / "app.scope").mkdir()
    (service / "app.scope" / "cgroup.subtree_control").write_text("")
    return tmp_path


def test_in_version_2_the_nearest_group_that_hands_both_down_is_taken(tree: Path) -> None:
    made = make_cgroups(CAPS, root=tree, own="0::/user.slice/user@1000.service/app.scope\n")
    assert made is not None
    folder = made.folders["memory"]
    assert folder.parent == tree / "user.slice" / "user@1000.service"
    assert (folder / "memory.max").read_text() == str(256 << 20)
    assert int((folder / "pids.max").read_text()) >= 32
    assert made.joined == [folder / "cgroup.procs"]


def test_version_2_counts_are_read_by_name(tree: Path) -> None:
    folder = tree / "group"
    folder.mkdir()
    made = Cgroups(2, dict.fromkeys(("memory", "pids", "cpuacct"), folder))
    assert (made.n_killed_for_memory(), made.n_refused_forks()) == (0, 0)
    (folder / "memory.events").write_text("low 0\nmax 9\noom 3\noom_kill 2\n")
    (folder / "pids.events").write_text("max 7\n")
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    assert (made.n_killed_for_memory(), made.n_refused_forks(), made.cpu_s()) == (2, 7, 1.5)


@pytest.mark.parametrize("own", ["", "0::/\n", "0::/not/there\n", "0::/../..\n"])
def test_where_no_group_can_be_made_there_is_none(tmp_path: Path, own: str) -> None:
    assert make_cgroups(CAPS, root=tmp_path, own=own) is None
    assert list(tmp_path.iterdir()) == []


def _here() -> Cgroups:
    made = make_cgroups(CAPS)
    if made is None:
        pytest.skip("NOT RUN: this user may make no cgroup on this machine")
    return made


def test_what_joined_a_group_is_counted_capped_and_gone_at_the_end() -> None:
    made = _here()
    joins = "; ".join(f"echo $$ > '{path}'" for path in made.joined)
    code = "import os, time\nsum(range(3_000_000))\nprint('ready', flush=True)\ntime.sleep(600)"
    words = ["/bin/sh", "-c", f'{joins}; exec "$@"', "sh", sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(5) == b"ready"
        assert made.cpu_s() > 0.01
        made.kill()
        assert child.wait(30) == -9
    made.remove()
    assert not [path for path in made.folders.values() if path.exists()]


def test_the_memory_cap_kills_and_the_process_cap_refuses_and_both_are_counted() -> None:
    made = _here()
    joins = "; ".join(f"echo $$ > '{path}'" for path in made.joined)
    code = """
import os, time
if os.fork() == 0:
    b"x" * (1 << 30)
os.wait()
for _ in range(64):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
"""
    words = ["/bin/sh", "-c", f'{joins}; exec "$@"', "sh", sys.executable, "-c", code]
    assert subprocess.run(words, check=False, timeout=60).returncode == 0
    assert made.n_killed_for_memory() >= 1
    assert made.n_refused_forks() >= 1
    made.remove()


def test_folders_of_runs_that_are_gone_are_swept_and_those_of_living_ones_stay() -> None:
    made = _here()
    parent = made.folders["pids"].parent
    dead, living = parent / "edu-rag-4194305-1", parent / f"edu-rag-{os.getpid()}-1"
    try:
        for folder in (dead, living):
            folder.mkdir()
        _here().remove()
        assert (dead.exists(), living.exists()) == (False, True)
    finally:
        made.remove()
        living.rmdir()


@pytest.mark.parametrize("name", ["memory_bytes", "n_processes", "tmp_bytes", "cpu_s"])
def test_a_cap_is_above_zero(name: str) -> None:
    with pytest.raises(RecordError, match="is not above zero"):
        Caps(**{name: 0})


def test_cpu_time_follows_the_time_limit_unless_it_is_said() -> None:
    assert Caps().cpu_limit_s(10) == 10 * CPU_FACTOR
    assert Caps(cpu_s=3).cpu_limit_s(10) == 3
