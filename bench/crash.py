"""Kill a crawl, fill its disk, break its disk, at random moments and at every write; resume; count what was lost.

    python bench/crash.py [--pages 400] [--kills 100] [--points 4] [--only PATH] [--json FILE]

Prints two tables. The first: `kill -9` at random moments of real crawls over loopback HTTP, each resumed until it is
done, then compared byte by byte with an undisturbed build. The second: strace kills the build at (up to `--points`
places of) every writing system call on every file, or lets the call fail, and the build is run again; 0 points: all.
Needs strace. A run of all points takes hours, one of four a call about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from builder_crash import (  # noqa: E402 - the tests' own tools
    Point,
    acknowledged,
    arguments,
    disturbed,
    kill_after,
    n_doubled,
    n_lost,
    points,
    run,
    start_again,
    tree,
    write_web,
)

FAULTS = {"kill -9": "signal=KILL", "ENOSPC": "error=ENOSPC", "EIO": "error=EIO"}


def finish(web: Path, out: Path, whole: dict[str, bytes], counts: Counter[str]) -> None:
    """Resume a disturbed build to its end and count what is wrong with it."""
    before = acknowledged(out)
    done = run(arguments(web, out))
    counts["resume failed"] += done.returncode != 0
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return
    counts["lost"] += n_lost(before, acknowledged(out))
    counts["doubled"] += n_doubled(out)
    counts["other bytes"] += tree(out) != whole


def random_kills(folder: Path, web: Path, whole: dict[str, bytes], seconds: float, n_kills: int) -> Counter[str]:
    """Kill crawls until `n_kills` kills have hit; each crawl is killed and resumed until it gets through."""
    counts: Counter[str] = Counter()
    chance, out = random.Random(1), folder / "whole-again"
    while counts["kills"] < n_kills:
        start_again(out, None)
        counts["crawls"] += 1
        before = acknowledged(out)
        while counts["kills"] < n_kills and kill_after(arguments(web, out), chance.uniform(0, seconds)):
            counts["kills"] += 1
            now = acknowledged(out)
            counts["lost"] += n_lost(before, now)
            before = now
        finish(web, out, whole, counts)
        print(f"{counts['kills']} kills", file=sys.stderr)
    return counts


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


def snapshots(web: Path, out: Path, folder: Path) -> dict[str, Path | None]:
    """States to begin from, so that the calls of every stage are reached: nothing, and all but the derivation."""
    crawled = folder / "crawled"
    out.with_name(f"{out.name}.crawl").rename(crawled)
    return {"crawl": None, "derive": crawled}


def faults_at_writes(folder: Path, web: Path, most: int, only: str) -> dict[str, Counter[str]]:
    """By fault, what it did on the paths that hold `only`: how the build ended, what was wrong after the next one."""
    out = folder / "at" / "ds"
    out.parent.mkdir()
    undisturbed = run(arguments(web, out))
    if undisturbed.returncode:
        raise SystemExit(undisturbed.stderr)
    whole = tree(out)
    results: dict[str, Counter[str]] = {name: Counter() for name in FAULTS}
    for stage, snapshot in snapshots(web, out, folder).items():
        start_again(out, snapshot)
        found = list(points(arguments(web, out), out.parent, folder / "trace"))
        chosen = sampled([point for point in found if only in point.path], most)
        print(f"{stage}: {len(found)} writing calls, {len(chosen)} of them tried", file=sys.stderr)
        for place, point in enumerate(chosen):
            for name, fault in FAULTS.items():
                start_again(out, snapshot)
                one_fault(web, out, whole, point, fault, results[name])
            print(f"{stage}: {place + 1} of {len(chosen)}", file=sys.stderr)
    return results


def one_fault(web: Path, out: Path, whole: dict[str, bytes], point: Point, fault: str, counts: Counter[str]) -> None:
    """Disturb one build at one point, look at how it ended, and finish it."""
    done = disturbed(arguments(web, out), point, fault)
    counts["points"] += 1
    if done.returncode == 0:
        counts["went on"] += 1
        counts["other bytes"] += tree(out) != whole
    elif fault.startswith("signal"):
        counts["killed"] += 1
    else:
        last = done.stderr.splitlines()[-1] if done.stderr else ""
        is_named = done.returncode == 1 and "Traceback" not in done.stderr and str(out.parent) in last
        counts["named, exit 1" if is_named else "not named"] += 1
        if not is_named:
            print(point, fault, done.returncode, done.stderr, file=sys.stderr)
    finish(web, out, whole, counts)


def table(columns: Sequence[str], rows: dict[str, Counter[str]]) -> str:
    """A Markdown table of counts."""
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(f'{counts[column]:,}' for column in columns)} |" for name, counts in rows.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Run both measurements and print their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=400, help="pages of the crawl that is killed at random moments")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--points", type=int, default=4, help="points tried of each call on each file; 0: all")
    parser.add_argument("--fault-pages", type=int, default=12, help="pages of the crawl that is disturbed")
    parser.add_argument("--only", default="", help="disturb only calls on paths that hold this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[str, Counter[str]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if options.kills:
            write_web(folder / "web", options.pages)
            started = time.monotonic()
            undisturbed = run(arguments(folder / "web", folder / "whole"))
            if undisturbed.returncode:
                raise SystemExit(undisturbed.stderr)
            seconds = time.monotonic() - started
            counts = random_kills(folder, folder / "web", tree(folder / "whole"), seconds, options.kills)
            results["kills"] = {f"{options.pages} pages": counts}
            print(
                table(("crawls", "kills", "lost", "doubled", "other bytes", "resume failed"), results["kills"]) + "\n"
            )
        if options.points >= 0:
            write_web(folder / "small", options.fault_pages)
            results["faults"] = faults_at_writes(folder, folder / "small", options.points, options.only)
            ends = ("points", "killed", "named, exit 1", "not named", "went on")
            print(table((*ends, "lost", "doubled", "other bytes", "resume failed"), results["faults"]))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
