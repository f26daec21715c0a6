"""The memory of a sandbox without a cgroup is watched as a whole, and what is over its cap is ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edu_rag.files.dataset import Dataset
from harness.predictions import read_predictions
from harness.run import Manner, run_submission
from harness.running.run_record import read_run_record
from harness.sandbox import launch
from harness.sandbox.caps import Caps
from harness.sandbox.launch import Sandbox, open_sandbox
from harness.submission import Limits, open_submission

pytestmark = pytest.mark.usefixtures("sandbox_here")
MIB = 1 << 20
CAPS = Caps(memory_bytes=200 * MIB, n_processes=32, tmp_bytes=150 * MIB, shm_bytes=32 * MIB)
WAIT_S = 30


@pytest.fixture(autouse=True)
def without_a_cgroup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "make_cgroups", lambda caps: None)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    (tmp_path / "own").mkdir()
    with open_sandbox(tmp_path / "own", {}, CAPS) as opened:
        yield opened


def ended(sandbox: Sandbox, code: str, n_says: int = 1) -> tuple[int | None, str]:
    """How a program ended that says a line when it has done its worst; None where it was left alone for a second."""
    process = sandbox.start(["python", "-c", code], 2)
    try:
        process.stdout.read(n_says)
        try:
            return process.wait(1.0), process.caps_hit()
        except subprocess.TimeoutExpired:
            return None, process.caps_hit()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.end()


SPREAD = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        held = b"x" * (70 << 20)
        time.sleep(600)
{}
time.sleep(600)
"""
OVER = {
    "by many processes": SPREAD.format(""),
    "by orphans": "import os, time\nif os.fork() == 0:"
    + SPREAD.format("os._exit(0)").replace("\n", "\n    ")
    + "\ntime.sleep(600)",
    "in shared memory": """
import mmap, os, time
for _ in range(4):
    if os.fork() == 0:
        held = mmap.mmap(-1, 70 << 20)
        for at in range(0, len(held), 4096): held[at] = 1
        time.sleep(600)
time.sleep(600)
""",
    "in files": """
import time
with open("/tmp/file", "wb") as file: file.write(b"x" * (140 << 20))
held = b"x" * (90 << 20)
time.sleep(600)
""",
}


@pytest.mark.parametrize("how", OVER)
def test_what_all_take_together_is_capped_however_it_is_spread(sandbox: Sandbox, how: str) -> None:
    assert ended(sandbox, OVER[how]) == (-9, "the memory cap of 0.195 GiB was reached")


SHARED = """
import os, time
held = b"x" * (60 << 20)
for _ in range(6):
    if os.fork() == 0: time.sleep(600)
print("x", flush=True)
time.sleep(600)
"""


def test_what_processes_share_counts_once(sandbox: Sandbox) -> None:
    assert ended(sandbox, SHARED) == (None, "")


DOUBLE = """
import subprocess
held = b"x" * (120 << 20)
print("x", flush=True)
while True: subprocess.run(["/bin/true"])
"""


def test_a_program_that_starts_others_is_not_taken_for_two_of_itself(sandbox: Sandbox) -> None:
    assert ended(sandbox, DOUBLE) == (None, "")


def test_memory_that_is_taken_between_two_questions_is_seen_too(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    code = """
def late():
    time.sleep(0.2)
    os.fork(), os.fork()
    held.append(b"x" * (60 << 20))
    time.sleep(600)
held = []
for line in sys.stdin:
    q = json.loads(line)
    if q["text"].endswith("number 3?"): __import__("threading").Thread(target=late).start()
    print(json.dumps({"id": q["id"], "answer": "a"}), flush=True)
    if q["text"].endswith("number 3?"): time.sleep(600)
"""
    folder = write_system("import json, os, sys, time\n" + code)
    manner = Manner(caps=CAPS, limits=Limits(time_s=WAIT_S, start_s=WAIT_S), fresh=True)
    path = run_submission(open_submission(folder), tiny, "test", None, manner)
    said = read_predictions(path, [q.question_id for q in tiny.questions("test")])
    (failed,) = [prediction for prediction in said.values() if prediction.status != "ok"]
    assert failed.status == "crash"
    assert "the memory cap of 0.195 GiB was reached" in (failed.response or "")
    record = read_run_record(path)
    assert record is not None
    assert "watched" in record.caps["memory"]
    assert "watched" in record.caps["gaps"][0]


def test_cpu_time_of_orphans_that_are_gone_is_counted(sandbox: Sandbox) -> None:
    code = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            end = time.process_time() + 0.2
            while time.process_time() < end: pass
        os._exit(0)
while any(os.path.exists(f"/proc/{n}") for n in range(os.getpid() + 1, os.getpid() + 7)):
    try: os.waitpid(-1, os.WNOHANG)
    except ChildProcessError: pass
    time.sleep(0.01)
print("x", flush=True)
time.sleep(600)
"""
    process = sandbox.start(["python", "-c", code], 2)
    try:
        process.stdout.read(1)
        assert (process.cpu_s() or 0) > 0.5
    finally:
        process.stdin.close()
        process.stdout.close()
        process.end()
