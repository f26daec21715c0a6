"""Kill a crawl, fill its disk, break its disk, at random moments and at every write; resume; count what was lost.

    python bench/crash.py [--pages 400] [--kills 100] [--points 4] [--minutes M] [--resume FILE] [--json FILE]

Prints two tables. The first: `kill -9` at random moments of real crawls over loopback HTTP, each resumed until it is
done, then compared byte by byte with an undisturbed build. The second: the build is killed at (up to `--points`
places of) every writing system call on every file, or lets the call fail, and the build is run again; 0 points: all.
The faults come in an order drawn with a seed, so that the first `--minutes` of them are a fair sample; `--resume FILE`
goes on with the others. Needs strace, which finds the places.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from builder_crash import (  # noqa: E402 - the tests' own tools
    Point,
    Rows,
    acknowledged,
    arguments,
    n_doubled,
    n_fetched_again,
    n_lost,
    points,
    run,
    start_again,
    tree,
    write_web,
)
from warm_builds import WarmBuilds  # noqa: E402

from builder.deriving.known_pages import programs_digest  # noqa: E402 - found by the path above

FAULTS = {"kill -9": "signal=KILL", "ENOSPC": "error=ENOSPC", "EIO": "error=EIO"}
STAGES = ("search: ", "fetch: ", "extract: ", "label: ", "dataset: ", "evidence was found ")
CACHE_WARNING = "the cache of extracted pages cannot be used"
"""A build without it makes the same dataset."""
Results = dict[str, Counter[str]]
"""The rows of a table, and what was counted."""
WRONG = ("lost", "doubled", "other bytes", "resume failed")


def words_of(web: Path, out: Path) -> list[str]:
    """The words of a build, without the interpreter."""
    return arguments(web, out)[3:]


@dataclass(frozen=True)
class Crawls:
    """Crawls of a web in a folder that are killed, all with the same bytes at their end."""

    web: Path
    out: Path
    builds: WarmBuilds
    whole: dict[str, bytes]
    seconds: float

    def killed_until_done(self, chance: random.Random, left: threading.Semaphore) -> Counter[str]:
        """One crawl, killed and resumed until it is done; `left` are the kills that may still be tried."""
        start_again(self.out, None)
        counts, before = Counter(crawls=1), acknowledged(self.out)
        log = self.out.with_name(f"{self.out.name}.crawl") / "build.log.jsonl"
        while left.acquire(blocking=False):
            code = self.builds.kill_after(words_of(self.web, self.out), log, chance.uniform(0, self.seconds))
            if code != -signal.SIGKILL:  # it had ended
                counts["resume failed"] += code != 0
                left.release()
                break
            counts["kills"] += 1
            now = acknowledged(self.out)
            counts["lost"] += n_lost(before, now)
            counts["fetched again"] += n_fetched_again(before, now)
            before = now
        self._finish(before, counts)
        return counts

    def _finish(self, before: Rows, counts: Counter[str]) -> None:
        """Resume a crawl to its end and count what is wrong with it."""
        done = self.builds.run(words_of(self.web, self.out))
        counts["resume failed"] += done.returncode != 0
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return
        after = acknowledged(self.out)
        counts["lost"] += n_lost(before, after)
        counts["fetched again"] += n_fetched_again(before, after)
        counts["doubled"] += n_doubled(self.out)
        counts["other bytes"] += tree(self.out) != self.whole


def random_kills(folder: Path, n_pages: int, n_kills: int, until: float, n_lanes: int) -> Counter[str]:
    """Kill crawls until `n_kills` kills have hit or it is late; each crawl is killed and resumed until it is done."""
    write_web(folder / "first", 12)
    write_web(folder / "web", n_pages)
    left, turn, found = threading.Semaphore(n_kills), threading.Lock(), Counter[str]()

    def lane(number: int) -> None:
        out = folder / f"kills-{number}" / "ds"
        out.parent.mkdir()
        chance = random.Random(number)
        with WarmBuilds(words_of(folder / "first", out.with_name("first"))) as builds:
            began = time.monotonic()
            undisturbed = builds.run(words_of(folder / "web", out))
            if undisturbed.returncode:
                raise SystemExit(undisturbed.stderr)
            crawls = Crawls(folder / "web", out, builds, tree(out), time.monotonic() - began)
            while time.monotonic() < until and left.acquire(blocking=False):
                left.release()
                counts = crawls.killed_until_done(chance, left)
                with turn:
                    found.update(counts)
                    print(f"{found['kills']} kills", file=sys.stderr)

    with ThreadPoolExecutor(n_lanes) as lanes:
        list(lanes.map(lane, range(n_lanes)))
    return found


def sampled(found: Sequence[Point], most: int) -> list[Point]:
    """At most so many points of each call on each file, evenly spread; 0: all."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in found:
        groups.setdefault((point.call, point.path), []).append(point)
    if not most:
        return list(found)
    return [
        group[i * len(group) // min(most, len(group))]
        for group in groups.values()
        for i in range(min(most, len(group)))
    ]


Fault = tuple[str, Point, str]
"""The stage at which the build begins, the place of the fault below the build's folder, and its name in FAULTS."""


@dataclass(frozen=True)
class Sweep:
    """What all faults are measured with: the web, the undisturbed dataset, and the states that builds begin from."""

    web: Path
    whole: dict[str, bytes]
    base: Path
    snapshots: dict[str, Path | None]

    def words(self, out: Path) -> list[str]:
        """The words of a build."""
        return words_of(self.web, out)


def prepared(folder: Path, web: Path) -> Sweep:
    """An undisturbed build, and its store as a state to begin from: so the calls of every stage are reached."""
    out = folder / "base" / "ds"
    out.parent.mkdir()
    undisturbed = run(arguments(web, out))
    if undisturbed.returncode:
        raise SystemExit(undisturbed.stderr)
    whole, crawled = tree(out), folder / "crawled"
    out.with_name(f"{out.name}.crawl").rename(crawled)
    return Sweep(web, whole, out.parent, {"crawl": None, "derive": crawled})


def all_faults(sweep: Sweep, folder: Path, most: int, only: str) -> list[Fault]:
    """The faults in an order drawn with a seed."""
    found: list[Fault] = []
    out = sweep.base / "ds"
    for stage, snapshot in sweep.snapshots.items():
        start_again(out, snapshot)
        reached = list(points(arguments(sweep.web, out), out.parent, folder / "trace"))
        chosen = sampled([point for point in reached if only in point.path], most)
        print(f"{stage}: {len(reached)} writing calls, {len(chosen)} of them to try", file=sys.stderr)
        below = [replace(point, path=os.path.relpath(point.path, sweep.base)) for point in chosen]
        found += [(stage, point, name) for point in below for name in FAULTS]
    random.Random(1).shuffle(found)
    return found


def code_sha256() -> str:
    """A hash of the code, of the web that is built, and of the packages."""
    digest = hashlib.sha256(programs_digest())
    files = [*(ROOT / "builder").rglob("*"), *(ROOT / "edu_rag").rglob("*"), ROOT / "tests/builder/builder_crash.py"]
    for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


class Record:
    """The faults and what each one did, in a file that a later run goes on with; without a file, in memory.

    Its first line names the code, the options and all faults; every other line is one fault that was tried.
    """

    def __init__(self, file: Path | None, code: str, options: dict[str, Any]) -> None:
        self._file, self._begun = file, {"code": code, **options}
        self.faults: list[Fault] = []
        self.tried: dict[int, Counter[str]] = {}
        if file is not None and file.exists():
            self._read(file)

    def _read(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8").rpartition("\n")[0]  # a kill may have cut the last line
        try:
            begun, *lines = [json.loads(line) for line in text.splitlines()]
            faults = [(stage, Point(*point), name) for stage, point, name in begun.pop("faults")]
            tried = {range(len(faults))[number]: Counter(counts) for number, counts in lines}
        except (ValueError, TypeError, AttributeError, LookupError):
            raise SystemExit(f"{file}: is no record of a sweep: name another file") from None
        if begun != self._begun:
            raise SystemExit(f"{file}: is of other code or other options: name another file")
        self.faults, self.tried = faults, tried
        file.write_text(f"{text}\n", encoding="utf-8")

    def begin(self, faults: list[Fault]) -> None:
        """Take the faults to try. Refuses none: a record without faults would be begun again by every run."""
        if not faults:
            raise SystemExit("--only: no writing call is on such a path: give another part of a path")
        self.faults = faults
        listed = [(stage, astuple(point), name) for stage, point, name in faults]
        self._write(self._begun | {"faults": listed})

    def add(self, number: int, counts: Counter[str]) -> None:
        """Take what a fault did."""
        self.tried[number] = counts
        self._write((number, counts))

    def _write(self, line: Any) -> None:
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(f"{json.dumps(line)}\n")

    @property
    def is_done(self) -> bool:
        """Whether all faults are known and were tried."""
        return bool(self.faults) and len(self.tried) == len(self.faults)

    def results(self) -> Results:
        """By fault, what was counted, and of how many places."""
        found = {name: Counter(of=sum(fault[2] == name for fault in self.faults)) for name in FAULTS}
        for number, counts in self.tried.items():
            found[self.faults[number][2]] += counts
        return found


def faults_at_writes(folder: Path, web: Path, most: int, only: str, until: float, n_lanes: int, record: Record) -> None:
    """Try the faults on the paths that hold `only` that were not tried, until a time: how the build ends, and what is
    wrong after the next one.
    """
    sweep = prepared(folder, web)
    if not record.faults:
        record.begin(all_faults(sweep, folder, most, only))
    waiting = iter([number for number in range(len(record.faults)) if number not in record.tried])
    turn = threading.Lock()

    def lane(number: int) -> None:
        out = folder / f"lane-{number}" / "ds"
        out.parent.mkdir()
        with WarmBuilds(sweep.words(out.with_name("first"))) as builds:
            while time.monotonic() < until:
                with turn:
                    place = next(waiting, None)
                if place is None:
                    return
                counts = one_fault(sweep, builds, out, record.faults[place])
                with turn:
                    record.add(place, counts)
                    print(f"{len(record.tried)} of {len(record.faults)} faults", file=sys.stderr)

    with ThreadPoolExecutor(n_lanes) as lanes:
        list(lanes.map(lane, range(n_lanes)))


def one_fault(sweep: Sweep, builds: WarmBuilds, out: Path, fault: Fault) -> Counter[str]:
    """Disturb one build at one point, look at how it ended, and finish it."""
    stage, point, name = fault
    start_again(out, sweep.snapshots[stage])
    here = replace(point, path=os.path.normpath(out.parent / point.path))
    done = builds.run(sweep.words(out), here, FAULTS[name])
    counts = Counter({"points": 1, "not reached": int(not done.n_faults)})
    if done.returncode == 0:
        counts["went on"] += done.n_faults > 0
        counts["other bytes"] += tree(out) != sweep.whole
    elif name == "kill -9":
        counts["killed"] += 1
    else:
        is_named = done.returncode == 1 and is_one_line(done.stderr, out.parent)
        counts["one line, exit 1" if is_named else "not in one line"] += 1
        if not is_named:
            print(here, name, done.returncode, done.stderr, file=sys.stderr)
    before = acknowledged(out)
    again = builds.run(sweep.words(out))
    counts["resume failed"] += again.returncode != 0
    if again.returncode:
        print(here, name, again.stderr, file=sys.stderr)
        return counts
    after = acknowledged(out)
    counts["lost"] += n_lost(before, after)
    counts["fetched again"] += n_fetched_again(before, after)
    counts["doubled"] += n_doubled(out)
    counts["other bytes"] += tree(out) != sweep.whole
    return counts


def is_one_line(errors: str, folder: Path) -> bool:
    """Whether a build ended with one line that names a path in the folder, after the lines of its stages."""
    lines = [line for line in errors.splitlines() if not line.startswith(STAGES) and CACHE_WARNING not in line]
    return len(lines) == 1 and str(folder) in lines[0]


def table(columns: Sequence[str], rows: dict[str, Counter[str]], heads: Sequence[str] = ()) -> str:
    """A Markdown table of counts."""
    lines = [f"| | {' | '.join(heads or columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(f'{counts[column]:,}' for column in columns)} |" for name, counts in rows.items()
    ]
    return "\n".join(lines)


def kills_table(options: argparse.Namespace, folder: Path, until: float) -> Results:
    """Kill crawls of many pages, and print the table."""
    counts = random_kills(folder, options.pages, options.kills, until, options.lanes)
    found = {f"{options.pages} pages": counts}
    print(table(("crawls", "kills", *WRONG, "fetched again"), found) + "\n")
    return found


def faults_table(options: argparse.Namespace, folder: Path, until: float) -> Results:
    """Try the faults at writes, and print the table."""
    named = {"pages": options.fault_pages, "points": options.points, "only": options.only}
    record = Record(options.resume, code_sha256(), named)
    if not record.is_done:
        write_web(folder / "small", options.fault_pages)
        faults_at_writes(folder, folder / "small", options.points, options.only, until, options.lanes, record)
    ended = ("killed", "one line, exit 1", "not in one line", "went on", "not reached", *WRONG, "fetched again")
    found = record.results()
    print(table(("of", "points", *ended), found, ("places", "tried", *ended)))
    return found


def main() -> None:
    """Run both measurements and print their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=400, help="pages of the crawl that is killed at random moments")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--points", type=int, default=4, help="points tried of each call on each file; 0: all")
    parser.add_argument("--minutes", type=float, default=10_000, help="as many kills and points as fit in this time")
    parser.add_argument("--lanes", type=int, default=2, help="builds at once")
    parser.add_argument("--fault-pages", type=int, default=12, help="pages of the crawl that is disturbed")
    parser.add_argument("--only", default="", help="disturb only calls on paths that hold this")
    parser.add_argument("--resume", type=Path, help="where the faults tried are kept: those in it are not tried again")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Results] = {}
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if options.kills:
            results["kills"] = kills_table(options, folder, until)
        if options.points >= 0:
            results["faults"] = faults_table(options, folder, until)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
