"""Builds from a polite crawl: what extraction adds to the wall time when idle cores do it while the crawl waits.

Usage (from a checkout; needs unshare and user namespaces):

    .venv/bin/python bench/polite_build.py [--hosts 1500] [--pages 7] [--delay 15] [--workers 2]

Each build runs in a simulated internet (tests/builder/simulated_internet.py): answers after 200 ms, `[fetch] delay_s`
between two requests to a host, default settings otherwise. First with early extraction, then without: both crawl the
same pages. The first store is replayed without its cache, which must give the same bytes, or the script fails.
Extraction adds all wall time of a build beyond that of the second build without its stage `extract`: so a slower crawl
and the end of the workers count too. The servers share the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from memory import children, resident_mb  # noqa: E402
from simulated_internet import within, write_questions  # noqa: E402

from builder.build import replay  # noqa: E402
from builder.store.page_cache import CACHE_FILE  # noqa: E402
from builder.store.store_folder import store_folder  # noqa: E402

LATENCY_S = 0.2
WITHOUT = """
import sys
from builder.deriving import early_extraction
from edu_rag.__main__ import main
if __name__ == "__main__":
    early_extraction.MIN_PAGES = sys.maxsize
    main(sys.argv[1:])
"""


def _is_ours(pid: int) -> bool:
    """Whether a process is the build or one of its workers, not a server of the simulated internet."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"simulated_internet" not in words and b"unshare" not in words


class Memory:
    """While entered, samples the resident memory of the build with all its workers; the highest sum."""

    def __enter__(self) -> Memory:
        self.peak_mb, self._ended = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            found = {pid for pid in children(os.getpid()) if _is_ours(pid)}
            self.peak_mb = max(self.peak_mb, sum(map(resident_mb, found)))

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def stages(out: Path) -> dict[str, float]:
    """Seconds by stage, and the pages that were extracted early, of a build's log."""
    lines = (store_folder(out) / "build.log.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    found = {event["stage"]: event["seconds"] for event in events if event["event"] == "end"}
    early = sum(event["pages"] for event in events if event["event"] == "extracted_early")
    return {name: found[name] for name in ("search", "fetch", "extract")} | {"early": early}


def files(folder: Path) -> dict[str, bytes]:
    """The files of a dataset."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def measured(given: argparse.Namespace, *, is_early: bool) -> dict[str, float]:
    """One build. Raises SystemExit if it fails, or if a replay without the cache gives other bytes."""
    hosts = {f"www.site{i}.com": {"delay_s": LATENCY_S} for i in range(given.hosts)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        urls = [f"http://{host}/page-{i}" for host in hosts for i in range(given.pages)]
        words: list[Any] = write_questions(folder, urls, delay_s=given.delay)
        words[words.index("--workers") + 1] = str(given.workers)
        if not is_early:
            (folder / "without.py").write_text(WITHOUT, encoding="utf-8")
            words[1:3] = [str(folder / "without.py")]
        out, started = folder / "ds", time.monotonic()
        with Memory() as memory:
            (run,) = within(folder, hosts, [], [words])["runs"]
        if run["code"]:
            raise SystemExit(run["err"])
        found = stages(out) | {"wall": run["seconds"], "peak_mb": memory.peak_mb}
        print(f"built in {time.monotonic() - started:.0f} s", file=sys.stderr)
        if is_early:
            (store_folder(out) / CACHE_FILE).unlink()
            replay(store_folder(out), folder / "again", workers=given.workers)
            if files(folder / "again") != files(out):
                raise SystemExit("a replay without the cache gives another dataset")
    return found


def main() -> None:
    """Build both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_500)
    parser.add_argument("--pages", type=int, default=7, help="pages a host")
    parser.add_argument("--delay", type=float, default=15.0, help="[fetch] delay_s")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    n_pages = given.hosts * given.pages
    print(f"{given.hosts:,} hosts, {n_pages:,} pages, {given.delay:g} s between two requests to a host.\n")
    rows = {"early": measured(given, is_early=True), "after the crawl": measured(given, is_early=False)}
    print("| extraction | crawl, s | stage `extract`, s | build, s | pages extracted early | memory, all processes |")
    print("|---|---|---|---|---|---|")
    for name, row in rows.items():
        times = f"{row['fetch']:.1f} | {row['extract']:.1f} | {row['wall']:.1f}"
        print(f"| {name} | {times} | {row['early']:,.0f} | {row['peak_mb']:.0f} MB |")
    plain = rows["after the crawl"]
    crawl_s, other_s = plain["fetch"], plain["wall"] - plain["extract"]
    for name, row in rows.items():
        added = row["wall"] - other_s
        print(f"\nExtraction {name} adds {added / crawl_s:.1%} to the crawl's wall time.")
    print(f"\nLoad {os.getloadavg()[0]:.1f} at the end.")


if __name__ == "__main__":
    main()
