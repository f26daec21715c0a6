"""The tools of bench/crash.py: faults at one system call of a process, and the record of a sweep that goes on."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from builder_crash import CALLS, Point
from call_faults import CallFault, ask_about, listener_at
from crash import Fault, Record
from warm_builds import PipeLines

from builder.store.crawl_store import CrawlStore
from edu_rag.errors import DataError


def _is_new_enough() -> bool:
    """Whether the kernel lets a program answer for the system calls of another: Linux on x86-64, from 5.19."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    return tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 19)


with_faults = pytest.mark.skipif(not _is_new_enough(), reason="NOT RUN: needs Linux 5.19 on x86-64")
Step = Callable[[], object]


def _disturbed(folder: Path, fault: CallFault, steps: list[Step]) -> tuple[int, list[int], int]:
    """Take the steps in a fork: its exit code, the error number of each step, and how often the fault came."""
    reads, writes = os.pipe()
    with socket.socket(socket.AF_UNIX) as gate:
        with chdir(folder):  # a socket's path must be short
            gate.bind("gate")
        gate.listen()
        gate.settimeout(60)
        pid = os.fork()
        if not pid:
            _take(folder, steps, fault.call, writes)
        os.close(writes)
        try:
            listener = listener_at(gate)
            n_faults = fault.watch(listener, reads, patience_s=120)
        except BaseException:
            os.kill(pid, signal.SIGKILL)  # it would wait for an answer for ever
            os.waitpid(pid, 0)
            raise
    os.close(listener)
    with os.fdopen(reads, "rb") as stream:
        found = list(stream.read())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), found, n_faults


def _take(folder: Path, steps: list[Step], call: str, result: int) -> None:
    """Send the error numbers when all steps are done, by a call that no fault is made at."""
    try:
        os.chdir(folder)
        ask_about(call, "gate")
        errors = bytes(map(_error_of, steps))
        os.writev(result, [errors])
    finally:
        os._exit(0)


def _error_of(step: Step) -> int:
    try:
        step()
    except OSError as error:
        return error.errno or 255
    return 0


def _rename_2(old: Path, new: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(316, -100, os.fsencode(old), -100, os.fsencode(new), 0):
        raise OSError(ctypes.get_errno(), "renameat2")


def _step(call: str, folder: Path) -> tuple[Path, Step]:
    """A path of the folder and a step that makes the call on it."""
    path, new, file = folder / "a", folder / "b", os.open(folder / "a", os.O_RDWR | os.O_CREAT)
    place = os.open(folder, os.O_RDONLY)
    (folder / "sub").mkdir()
    steps: dict[str, tuple[Path, Step]] = {
        "write": (path, lambda: os.write(file, b"x")),
        "pwrite64": (path, lambda: os.pwrite(file, b"x", 0)),
        "fsync": (path, lambda: os.fsync(file)),
        "fdatasync": (path, lambda: os.fdatasync(file)),
        "ftruncate": (path, lambda: os.ftruncate(file, 0)),
        "rename": (path, lambda: path.rename(new)),
        "renameat": (folder, lambda: os.rename("a", "b", src_dir_fd=place, dst_dir_fd=place)),
        "renameat2": (new, lambda: _rename_2(path, new)),
        "link": (new, lambda: new.hardlink_to(path)),
        "unlink": (path, path.unlink),
        "unlinkat": (folder, lambda: os.unlink("a", dir_fd=place)),
        "mkdir": (new, new.mkdir),
        "rmdir": (folder / "sub", (folder / "sub").rmdir),
    }
    return steps[call]


@with_faults
@pytest.mark.parametrize("call", CALLS.split(","))
def test_every_writing_call_can_fail_without_being_made(call: str, tmp_path: Path) -> None:
    place, step = _step(call, tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    ended = _disturbed(tmp_path, CallFault(call, str(place), 1, "error=ENOSPC"), [step])
    assert ended == (0, [errno.ENOSPC], 1)
    (tmp_path / "gate").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "a").read_bytes() == b""


@with_faults
def test_only_the_chosen_turn_on_the_chosen_path_fails(tmp_path: Path) -> None:
    one, other = (os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT) for name in ("one", "other"))
    steps: list[Step] = [lambda file=file: os.write(file, b"x") for file in (other, one, other, one, one)]
    ended = _disturbed(tmp_path, CallFault("write", str(tmp_path / "one"), 2, "error=EIO"), steps)
    assert ended == (0, [0, 0, 0, errno.EIO, 0], 1)
    assert ((tmp_path / "one").read_bytes(), (tmp_path / "other").read_bytes()) == (b"xx", b"xx")


@with_faults
def test_a_kill_comes_before_its_call(tmp_path: Path) -> None:
    file = os.open(tmp_path / "one", os.O_WRONLY | os.O_CREAT)
    steps: list[Step] = [lambda: os.write(file, b"x")] * 3
    ended = _disturbed(tmp_path, CallFault("write", str(tmp_path / "one"), 2, "signal=KILL"), steps)
    assert ended == (-signal.SIGKILL, [], 1)
    assert (tmp_path / "one").read_bytes() == b"x"


FAULTS: list[Fault] = [("crawl", Point("write", "ds/a", 1), "EIO"), ("derive", Point("fsync", "ds/b", 2), "kill -9")]


def test_a_sweep_goes_on_with_the_faults_that_were_not_tried(tmp_path: Path) -> None:
    first = Record(tmp_path / "tried", "code", {"points": 0})
    first.begin(FAULTS)
    first.add(1, Counter(points=1, killed=1))
    with (tmp_path / "tried").open("a") as stream:
        stream.write('[0, {"poi')  # a kill cuts a line
    again = Record(tmp_path / "tried", "code", {"points": 0})
    assert (again.faults, list(again.tried)) == (FAULTS, [1])
    again.add(0, Counter(points=1, lost=2))
    whole = Record(tmp_path / "tried", "code", {"points": 0})
    assert whole.results()["kill -9"] == {"of": 1, "points": 1, "killed": 1}
    assert whole.results()["EIO"] == {"of": 1, "points": 1, "lost": 2}
    assert len([json.loads(line) for line in (tmp_path / "tried").read_text().splitlines()]) == 3


def test_a_file_that_is_no_record_and_one_of_other_code_or_options_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("[1]\n")
    with pytest.raises(SystemExit, match=r"other: is no record of a sweep: name another file$"):
        Record(tmp_path / "other", "code", {})
    (tmp_path / "twice").write_text('{"code": "code", "faults": []}\n' * 2)
    with pytest.raises(SystemExit, match=r"twice: is no record of a sweep: name another file$"):
        Record(tmp_path / "twice", "code", {})
    Record(tmp_path / "tried", "code", {"points": 0}).begin(FAULTS)
    for code, options in (("other", {"points": 0}), ("code", {"points": 4})):
        with pytest.raises(SystemExit, match=r"tried: is of other code or other options: name another file$"):
            Record(tmp_path / "tried", code, options)


def test_a_sweep_without_faults_is_refused_and_leaves_no_record(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^--only: no writing call is on such a path: "):
        Record(tmp_path / "tried", "code", {}).begin([])
    assert not (tmp_path / "tried").exists()


def test_a_line_that_comes_with_another_is_seen_and_silence_and_an_end_are_errors() -> None:
    reads, writes = os.pipe()
    lines = PipeLines(reads, patience_s=0.01)
    os.write(writes, b"output\npid 7\nended -9\n")
    assert (lines.after("pid "), lines.has_more(0), lines.after("ended "), lines.has_more(0)) == (
        "7",
        True,
        "-9",
        False,
    )
    with pytest.raises(RuntimeError, match="does not answer"):
        lines.after("pid ")
    os.close(writes)
    with pytest.raises(RuntimeError, match="has ended"):
        lines.after("pid ")
    os.close(reads)


@with_faults
def test_a_process_that_does_not_end_in_time_is_an_error(tmp_path: Path) -> None:
    (silent, writes), (listener, unused) = os.pipe(), os.pipe()
    with pytest.raises(TimeoutError, match="has not ended in time"):
        CallFault("write", str(tmp_path), 1, "error=EIO").watch(listener, silent, patience_s=0.01)
    for file in (silent, writes, listener, unused):
        os.close(file)


@with_faults
@pytest.mark.parametrize(("call", "when"), [("fdatasync", 1), ("fdatasync", 2), ("pwrite64", 1), ("pwrite64", 2)])
def test_a_disk_that_fails_while_a_new_index_gets_its_log_is_no_store(call: str, when: int, tmp_path: Path) -> None:
    journal = tmp_path / "ds.crawl" / "index.sqlite3-journal"

    def make() -> None:
        with pytest.raises(DataError, match=r"index\.sqlite3: cannot be read or written"):
            CrawlStore(journal.parent, create=True).close()
        raise OSError(errno.EIO, "in one line")

    ended = _disturbed(tmp_path, CallFault(call, str(journal), when, "error=EIO"), [make])
    assert ended == (0, [errno.EIO], 1)
