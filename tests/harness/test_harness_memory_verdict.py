"""A system that takes more memory than it may have gets one verdict, however it does it and whatever ends it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_systems import HOSTILE, Hostile, exam, in_order, write_hostile

from harness.running.run import Manner, run_submission
from harness.sandbox import launch
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions

pytestmark = pytest.mark.usefixtures("sandbox_here")
CAPS = Caps(
    memory_bytes=256 << 20, n_processes=40, tmp_bytes=32 << 20, shm_bytes=8 << 20, file_bytes=16 << 20, n_files=64
)
LIMITS = Limits(time_s=300, start_s=300)
VERDICT = ("crash", "the memory cap of 0.25 GiB was reached")
_FILL = "held = []\nwhile True: held.append(b'x' * (16 << 20))"
PLAIN = {
    "in large pieces": "held = []\nwhile True: held.append(b'x' * (64 << 20))",
    "in small pieces": "held = []\nwhile True: held.append(b'x' * (1 << 16))",
    "one that is far too large": "bytearray(1 << 40)",
    "one that is a little too large": "b'x' * (300 << 20)",
    "a list that doubles": "x = [0]\nwhile True: x += x",
    "mapped": "import mmap\nheld = []\n"
    "while True:\n    held.append(mmap.mmap(-1, 16 << 20)); held[-1].write(b'x' * (16 << 20))",
    "in several processes": "for _ in range(8):\n    if os.fork() == 0:\n        held = []\n"
    "        while True: held.append(b'x' * (4 << 20))\nos.wait(); time.sleep(600)",
}
"""Where no cgroup counts, a single process is refused memory, and ends of that by itself."""
STUBBORN = {
    "refusals are caught": "held = []\nwhile True:\n"
    "    try: held.append(b'x' * (64 << 20))\n    except MemoryError: pass",
    "in a child": f"import subprocess\nsubprocess.run([sys.executable, '-c', {_FILL!r}], check=True)",
    "in a child that is missed by nobody": f"import subprocess\nsubprocess.run([sys.executable, '-c', {_FILL!r}])",
    "in threads": "def fill():\n    held = []\n    while True: held.append(b'x' * (4 << 20))\n"
    "for _ in range(4): threading.Thread(target=fill).start()\ntime.sleep(600)",
    "in its stack": "sys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1\nf(0)",
}
"""What would go on, or end otherwise, where one process of it is killed or refused memory."""


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bombs-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def verdicts(place: Path, bombs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str | None]]:
    """What each gets, with an honest answer between any two."""
    for name, fault in bombs.items():
        monkeypatch.setitem(HOSTILE, name, Hostile(fault, frozenset({"crash"})))
    faults = {2 * i + 1: name for i, name in enumerate(bombs)}
    dataset = exam(place / "dataset", 2 * len(faults) + 1)
    folder = write_hostile(place / "bomber", faults, place.name)
    path = run_submission(open_submission(folder), dataset, "test", None, Manner(limits=LIMITS, caps=CAPS, fresh=True))
    said = in_order(dataset, read_predictions(path, [q.question_id for q in dataset.questions("test")]))
    assert {p.status for i, p in enumerate(said) if i not in faults} == {"ok"}
    return {name: (said[i].status, said[i].response) for i, name in faults.items()}


def test_where_a_cgroup_counts_every_bomb_gets_the_same_verdict(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with launch.open_sandbox(place, {}, CAPS) as sandbox:
        if sandbox.cgroups is None:
            pytest.skip("NOT RUN: this user may make no cgroup on this machine")
    bombs = PLAIN | STUBBORN
    assert verdicts(place, bombs, monkeypatch) == dict.fromkeys(bombs, VERDICT)


def test_where_none_counts_what_ends_of_it_gets_that_verdict_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "make_cgroups", lambda caps: None)
    assert verdicts(place, PLAIN, monkeypatch) == dict.fromkeys(PLAIN, VERDICT)
