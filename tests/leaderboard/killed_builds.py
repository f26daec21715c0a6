"""Builds of a site that are killed at seeded moments, and a reader that polls all the while: for tests and bench."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import fixture_board as made

ROOT = Path(__file__).resolve().parents[2]
MARKER = "site.json"
EDITIONS = ("one", "two")
WHEN = ("whole", "filled", "swapped")
"""Moments of a kill: in the whole command, after the new edition was filled, in the 0.3 s after the swap."""
LIGHT = """
from edu_rag.__main__ import main
from leaderboard import build_site as build
from leaderboard.pages import assets, board_page, system_pages
build.KINDS = (board_page.files, system_pages.files, assets.files)
main()
"""
"""`edu-rag` whose sites have the board's and the systems' pages alone: pictures take long and are files like others."""
WAYS = ("by descriptor, locked", "by descriptor", "by path")


def write_editions(folder: Path, n_systems: int) -> None:
    """Results of two editions: the same systems, other answers, and one page more in the second."""
    for number, edition in enumerate(EDITIONS):
        for at in range(n_systems + number):
            outcomes = made.outcomes_of((40, 30, 20, 5, 5), 200, 100 * number + at)
            card = made.card_of(f"system-{at:02d}", outcomes, team=f"team {at}")
            made.write_card(folder / edition, card, b'{"question_id": "q", "answer": null}\n')


def start(results: Path, site: Path) -> subprocess.Popen[bytes]:
    """`edu-rag board`, as a user starts it."""
    command = [sys.executable, "-c", LIGHT, "board", str(results), "--out", str(site)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def build(results: Path, site: Path) -> tuple[float, float]:
    """One undisturbed build: its seconds, and those from the filled edition to the end."""
    began = time.monotonic()
    process = start(results, site)
    _wait_until(process, lambda: _is_filled(site))
    filled = time.monotonic()
    if process.wait(timeout=120):
        raise RuntimeError(f"the build of {site} failed")
    return time.monotonic() - began, time.monotonic() - filled


class _GoneError(Exception):
    """What was to be read is not there, or not what the marker says."""


def _read(name: str, folder: int | None, site: Path) -> bytes:
    path: str | Path = name if folder is not None else site / name
    try:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    except FileNotFoundError:
        raise _GoneError(name) from None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def _whole(folder: int | None, site: Path) -> str:
    """Read the marker and every file that it lists; the marker's hash names the edition."""
    raw = _read(MARKER, folder, site)
    for name, sha256 in json.loads(raw)["files"].items():
        if hashlib.sha256(_read(name, folder, site)).hexdigest() != sha256:
            raise _GoneError(name)
    return hashlib.sha256(raw).hexdigest()


@contextmanager
def _opened(site: Path, *, lock: bool) -> Iterator[int]:
    """The folder's descriptor; locked, and still the site's own when the lock is there."""
    while True:
        folder = os.open(site, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if lock:
                fcntl.flock(folder, fcntl.LOCK_SH)
            if not lock or os.path.samestat(os.fstat(folder), site.stat()):
                yield folder
                return
        finally:
            os.close(folder)


def read_by_descriptor(site: Path, *, lock: bool) -> str:
    """One poll through one descriptor: the edition, or `torn`."""
    with _opened(site, lock=lock) as folder:
        try:
            return _whole(folder, site)
        except _GoneError:
            return "torn"


def read_by_path(site: Path) -> str:
    """One poll, every file by its path: the edition; `straddled` where the marker says that a swap came between."""
    before = hashlib.sha256(_read(MARKER, None, site)).hexdigest()
    try:
        edition = _whole(None, site)
    except _GoneError:
        edition = "torn"
    after = hashlib.sha256(_read(MARKER, None, site)).hexdigest()
    return "straddled" if before != after else edition


READERS: dict[str, Callable[[Path], str]] = {
    WAYS[0]: lambda site: read_by_descriptor(site, lock=True),
    WAYS[1]: lambda site: read_by_descriptor(site, lock=False),
    WAYS[2]: read_by_path,
}


class Poller(threading.Thread):
    """Reads the site in every way until it is stopped; counts what it saw, a vanished site as `no site`."""

    def __init__(self, site: Path, pause_s: float) -> None:
        super().__init__(daemon=True)
        self.site, self.pause_s, self.stopped = site, pause_s, threading.Event()
        self.seen: dict[str, Counter[str]] = {way: Counter() for way in WAYS}

    def run(self) -> None:
        while not self.stopped.is_set():
            for way, read in READERS.items():
                try:
                    self.seen[way][read(self.site)] += 1
                except (_GoneError, FileNotFoundError):
                    self.seen[way]["no site"] += 1
            time.sleep(self.pause_s)

    def stop(self) -> dict[str, Counter[str]]:
        self.stopped.set()
        self.join(timeout=60)
        return self.seen


def _wait_until(build: subprocess.Popen[bytes], holds: Callable[[], bool]) -> None:
    while build.poll() is None and not holds():
        time.sleep(0.001)


def _is_filled(site: Path) -> bool:
    """Whether a new edition is filled: what follows is fsync, the exchange, the grace, the removal."""
    return any(site.parent.glob(f".{site.name}.*.new/{MARKER}"))


class Kill(NamedTuple):
    """One killed build: did the kill come in time, and did the new edition stand afterwards."""

    hit: bool
    is_new: bool


def kill_one(results: Path, site: Path, chance: random.Random, seconds: tuple[float, float], when: str) -> Kill:
    """Start a build and kill it at a random moment of what `when` says (see WHEN)."""
    before, folder = (site / MARKER).read_bytes(), site.stat().st_ino
    process = start(results, site)
    if when == "filled":
        _wait_until(process, lambda: _is_filled(site))
    elif when == "swapped":
        _wait_until(process, lambda: site.stat().st_ino != folder)
    time.sleep(chance.uniform(0, {"whole": seconds[0], "filled": seconds[1], "swapped": 0.3}[when]))
    hit = process.poll() is None
    process.kill()
    process.wait(timeout=60)
    return Kill(hit, (site / MARKER).read_bytes() != before)


def play(
    folder: Path, n_kills: int, n_systems: int, seed: int, pause_s: float = 0.002
) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """Kill builds of the other edition until `n_kills` hit, at the moments of WHEN in turn, with a reader polling.

    The reader pauses `pause_s` after each look; without a pause it would take a core.
    Returns what the reader saw in each way, with editions by name, and what became of the builds.
    """
    site, chance, builds = folder / "site", random.Random(seed), Counter[str]()
    write_editions(folder, n_systems)
    names: dict[str, str] = {}
    seconds = (0.0, 0.0)
    for edition in EDITIONS:
        seconds = build(folder / edition, site)
        names[hashlib.sha256((site / MARKER).read_bytes()).hexdigest()] = edition
    poller = Poller(site, pause_s)
    poller.start()
    while builds["kills"] < n_kills:
        now = names[hashlib.sha256((site / MARKER).read_bytes()).hexdigest()]
        other = EDITIONS[1 - EDITIONS.index(now)]
        done = kill_one(folder / other, site, chance, seconds, WHEN[builds["builds"] % len(WHEN)])
        builds["builds"] += 1
        builds["kills"] += done.hit
        builds["killed, the new edition stands"] += done.hit and done.is_new
        builds["killed, the old edition stands"] += done.hit and not done.is_new
        builds["leftover folders seen"] += sum(1 for _ in folder.glob(".site.*"))
    seen = poller.stop()
    build(folder / EDITIONS[0], site)
    builds["leftover folders at the end"] = sum(1 for _ in folder.glob(".site.*"))
    named = {way: Counter({names.get(what, what): n for what, n in counts.items()}) for way, counts in seen.items()}
    return named, builds
