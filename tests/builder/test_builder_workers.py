"""Killable workers: a job that hangs, swells, raises or dies costs only itself; results keep the jobs' order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import pytest

from builder.deriving import killable_workers
from builder.deriving.killable_workers import MEMORY_BYTES, WINDOW_PER_WORKER, WorkFailure, map_killable
from edu_rag.errors import DataError, EduRagError, MissingExtraError

REPOSITORY = Path(__file__).resolve().parents[2]


def _nothing() -> None:
    pass


def _work(job: str) -> str:
    if job == "hang":
        while True:
            pass
    if job == "die":
        os.kill(os.getpid(), 9)
    if job == "swell":
        return str(len(bytearray(4 * MEMORY_BYTES)))
    if job == "raise":
        raise KeyError(job)
    if job == "fits":
        return str(len(bytearray(MEMORY_BYTES // 2)))
    return job.upper()


def _run(jobs: list[str], workers: int = 1, **options: object) -> list[object]:
    keyed = [(f"{n}", job) for n, job in enumerate(jobs)]
    results = list(map_killable(keyed, _work, _nothing, workers=workers, cpu_limit_s=0.5, **options))  # type: ignore[arg-type]
    assert [key for key, _ in results] == [key for key, _ in keyed]
    return [result for _, result in results]


def test_each_way_to_fail_has_its_reason_and_the_others_go_on() -> None:
    results = _run(["a", "hang", "b", "die", "c", "swell", "d", "raise", "e", "fits", "f"], workers=2)
    assert results == [
        "A",
        WorkFailure(reason="timeout"),
        "B",
        WorkFailure(reason="crash"),
        "C",
        WorkFailure(reason="memory"),
        "D",
        WorkFailure(reason="error KeyError"),
        "E",
        str(MEMORY_BYTES // 2),
        "F",
    ]


def test_a_job_that_waits_is_not_charged_with_the_time_of_the_wall() -> None:
    assert list(map_killable([("a", 0.3)], _sleep, _nothing, workers=1, cpu_limit_s=0.1)) == [("a", "slept")]


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def test_a_failed_job_may_be_tried_as_another_job_at_most_twice() -> None:
    asked: list[tuple[str, str]] = []

    def retry(job: str, failure: WorkFailure) -> str | None:
        asked.append((job, failure.reason))
        return {"hang": "raise", "raise": "mended", "die": "die"}.get(job)

    assert _run(["hang", "x", "die", "swell"], retry=retry) == [
        "MENDED",
        "X",
        WorkFailure(reason="crash"),
        WorkFailure(reason="memory"),
    ]
    assert asked == [
        ("hang", "timeout"),
        ("raise", "error KeyError"),
        ("die", "crash"),
        ("die", "crash"),
        ("swell", "memory"),
    ]


class _Breaks:
    """A pool that breaks before it has said that the first job began, and takes no other."""

    def __init__(self) -> None:
        self.n_given, self.ended = 0, False

    def schedule(self, *_: object, **__: object) -> Future[object]:
        self.n_given += 1
        if self.n_given > 1:
            raise RuntimeError("The Pool is not active")
        future: Future[object] = Future()
        future.set_exception(BrokenProcessPool("All workers expired"))
        return future

    def stop(self) -> None:
        self.ended = True

    def join(self) -> None:
        assert self.ended


def test_jobs_of_a_pool_that_broke_are_given_to_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, broken = killable_workers._pool, [_Breaks(), _Breaks()]
    left = list(broken)
    monkeypatch.setattr(killable_workers, "_pool", lambda *given: left.pop() if left else whole(*given))
    assert _run(["a", "die", "b", "hang"], workers=2) == [
        "A",
        WorkFailure(reason="crash"),
        "B",
        WorkFailure(reason="timeout"),
    ]
    assert all(pool.ended for pool in broken)


def test_jobs_are_taken_a_window_at_a_time() -> None:
    taken: list[int] = []

    def jobs() -> object:
        for n in range(200):
            taken.append(n)
            yield f"{n}", "x"

    results = map_killable(jobs(), _work, _nothing, workers=1)  # type: ignore[arg-type]
    next(results)
    assert len(taken) <= WINDOW_PER_WORKER + 1
    results.close()  # type: ignore[attr-defined]


def test_libraries_that_cannot_be_loaded_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"page workers: they cannot start \(no parser\): pip install"):
        list(map_killable([("a", "x")], _work, _prepare_fails, workers=1))


def _prepare_fails() -> None:
    raise ModuleNotFoundError("no parser")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DataError("a", "is broken", "mend it"), "^a: is broken: mend it$"),
        (KeyError("b"), r"^page workers: they cannot start \(KeyError\('b'\)\): pip install"),
    ],
)
def test_whatever_prepare_raises_is_one_clear_line(error: Exception, told: str) -> None:
    with pytest.raises(EduRagError, match=told):
        list(map_killable([("a", "x")], _work, partial(_raise, error), workers=1))


def _raise(error: Exception) -> None:
    raise error


def test_workers_that_end_while_they_start_are_one_clear_line() -> None:
    with pytest.raises(MissingExtraError, match="page workers: they cannot start"):
        list(map_killable([(f"{n}", "x") for n in range(50)], _work, partial(os._exit, 3), workers=1))


def test_no_entry_that_means_the_current_folder_is_on_the_path_of_the_fork_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.path", ["", "here", "/a", "/b:c", "/d"])
    assert killable_workers._path_for_server() == "/a:/d"


def _no_socket() -> None:
    raise OSError("AF_UNIX path too long")


def test_without_a_fork_server_workers_are_new_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killable_workers, "_has_server", None)
    monkeypatch.setattr("multiprocessing.forkserver.ensure_running", _no_socket)
    assert _run(["a", "hang", "b"]) == ["A", WorkFailure(reason="timeout"), "B"]
    assert not killable_workers.load_libraries()


def _slowly(job: str) -> str:
    time.sleep(0.02)
    return job.upper()


def test_the_end_of_the_fork_server_costs_no_page() -> None:
    jobs = [(f"{n}", f"page {n}") for n in range(40)]
    found = []
    for key, result in map_killable(jobs, _slowly, _nothing, workers=2):
        found.append((key, result))
        if len(found) == 5:
            pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
            os.kill(pid, signal.SIGKILL)
    assert found == [(key, job.upper()) for key, job in jobs]


_LOADS = """
import sys, time
from builder.deriving import killable_workers
from multiprocessing import util
killable_workers.LIBRARIES = sys.argv[1] or killable_workers.LIBRARIES
killable_workers.load_libraries()
print(util.get_temp_dir(), flush=True)
time.sleep(float(sys.argv[2]))
"""


def _loading(libraries: str, seconds: float, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(REPOSITORY)))}
    command = [sys.executable, "-c", _LOADS, libraries, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


@pytest.mark.slow
def test_output_is_closed_when_a_build_ends_although_libraries_are_still_being_loaded(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    process = _loading("endless", 0, tmp_path)
    output, _ = process.communicate(timeout=60)  # ends when nobody has the pipe open
    assert not Path(output.strip()).exists()


@pytest.mark.slow
def test_a_killed_build_leaves_no_folder_of_its_fork_server(tmp_path: Path) -> None:
    process = _loading("", 600, tmp_path)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert list(folder.iterdir())
    process.kill()
    process.stdout.read()  # until the server has ended too
    process.wait()
    assert not folder.exists()
