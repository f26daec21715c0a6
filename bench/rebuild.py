"""Build again: what a build in which nothing changed extracts, with the crawl store's cache of pages and without it.

Usage: .venv/bin/python bench/rebuild.py --data ../shared/data

A draw of 243 real pages of the test data's web sites, one question for each page's title, default settings. The first
build crawls, and the second finds everything. Before the third the cache is deleted, as in a store of an earlier
version; before the fourth half of its entries are damaged; the fifth has another filter. All write the same dataset,
and the fifth the same as without a cache, or the script fails.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

N_PAGES, SEED = 243, 20261125
HOSTS = 9
OTHER_FILTER = "[filter]\nmin_bytes = 700\n"
_TITLE = re.compile(rb"<title[^>]*>([^<]{3,200})", re.IGNORECASE)


def lay_out(data: Path, scratch: Path) -> None:
    """The drawn pages as sites, and a question for each title."""
    pages = sorted((data / "web").rglob("*.html"))
    questions = []
    for number, path in enumerate(random.Random(SEED).sample(pages, N_PAGES)):
        html = path.read_bytes()
        folder = scratch / "sites" / f"h{number % HOSTS}.bench.example"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"p{number}.html").write_bytes(html)
        found = _TITLE.search(html)
        title = " ".join(found[1].decode("utf-8", "replace").split()) if found else f"page {number}"
        values = {"id": f"r{number}", "split": "val", "type": "Multiple Choice", "question": title}
        questions.append(values | {"choices": {"a": "yes", "b": "no"}, "answer": "a"})
    (scratch / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in questions), encoding="utf-8")
    (scratch / "plain.toml").write_text("")
    (scratch / "filter.toml").write_text(OTHER_FILTER)


@dataclass(frozen=True, slots=True)
class Built:
    """One build: its content, its wall and processor time, the wall time of its stage `extract`, and its pages."""

    id: str
    wall_s: float
    extract_s: float
    pages: int
    labelled: int
    extracted: int

    def row(self, name: str) -> str:
        """The build as a row of the table."""
        times = f"{self.wall_s:.1f} | {self.extract_s:.2f}"
        return f"| {name} | {times} | {self.extracted} of {self.pages} | {self.labelled} |"


def build(scratch: Path, config: str = "plain.toml") -> Built:
    """Run `edu-rag build`, and read its log."""
    words = ("build", "--questions", scratch / "questions.jsonl", "--sites", scratch / "sites", "--out", scratch / "d")
    started = time.monotonic()
    command = [sys.executable, "-m", "edu_rag", *map(str, words), str(scratch / config), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    wall_s = time.monotonic() - started
    lines = (scratch / "d.crawl" / "build.log.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    run = events[max(place for place, event in enumerate(events) if event["event"] == "build") :]
    ended = next(event for event in run if event["event"] == "end" and event["stage"] == "extract")
    first = {"extracted": ended["total"], "labelled": 0}
    known = next((event for event in run if event["event"] == "known_pages"), first)
    pages = ended["total"], known["labelled"], known["extracted"]
    return Built(json.loads(done.stdout)["id"], wall_s, ended["seconds"], *pages)


def damage(path: Path) -> None:
    """Change a byte in half of the cache's values."""
    with closing(sqlite3.connect(path)) as base, base:
        entries = base.execute("SELECT rowid, value FROM entries ORDER BY key").fetchall()
        for rowid, value in random.Random(SEED).sample(entries, len(entries) // 2):
            changed = bytes([value[0] ^ 1]) + value[1:]
            base.execute("UPDATE entries SET value = ? WHERE rowid = ?", (changed, rowid))


def measured(scratch: Path) -> Sequence[tuple[str, Built]]:
    """All builds. Raises SystemExit if two that must not differ do."""
    cache = scratch / "d.crawl" / "pages.cache.sqlite3"
    rows = [("first build", build(scratch)), ("nothing changed", build(scratch))]
    cache.unlink()
    rows.append(("nothing changed, cache deleted", build(scratch)))
    damage(cache)
    rows.append(("nothing changed, half of the cache damaged", build(scratch)))
    if len({row.id for _, row in rows}) != 1:
        raise SystemExit(f"the builds differ: {rows}")
    rows.append(("another filter", build(scratch, "filter.toml")))
    cache.unlink()
    if build(scratch, "filter.toml").id != rows[-1][1].id:
        raise SystemExit("another filter gives other pages with a cache than without")
    return rows


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    try:
        lay_out(given.data, scratch)
        rows = measured(scratch)
        size = (scratch / "d.crawl" / "pages.cache.sqlite3").stat().st_size / 1e6
        warc = (scratch / "d.crawl" / "responses.warc.gz").stat().st_size / 1e6
    finally:
        shutil.rmtree(scratch)
    print("| build | seconds | of these in the stage `extract` | pages extracted | labelled again |")
    print("|---|---|---|---|---|")
    for name, row in rows:
        print(row.row(name))
    print(f"\nThe cache has {size:.1f} MB, the responses {warc:.1f} MB.")


if __name__ == "__main__":
    main()
