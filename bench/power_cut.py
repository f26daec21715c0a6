"""Cut the power at every sync of a crawl, in simulation, and count what was lost of what the crawl had acknowledged.

Usage: .venv/bin/python bench/power_cut.py [--pages 60] [--seeds 6] [--json FILE]

strace logs all writes, cuts, renames, unlinks and syncs of a real build over loopback HTTP. The log is replayed up to
every sync; what was not synced is dropped, torn at sectors or reordered, by seeds. Each state is opened three times:
for writing, by a reader after that, and by `rebuild-index` on another copy. Acknowledged is a row whose commit
(`CrawlStore.flush`) had returned before the cut. A whole record of the WARC file that opening takes away counts too.
Ends with exit code 1 where anything was lost or could not be opened. Needs strace.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from builder_crash import write_web  # noqa: E402 - the tests' own tools
from builder_power import State, n_missing, states, traced  # noqa: E402
from builder_store import records  # noqa: E402

from builder.store.crawl_store import WARC_FILE, CrawlStore  # noqa: E402
from builder.store.rebuild import rebuild_index  # noqa: E402
from edu_rag.errors import DataError  # noqa: E402

COLUMNS = ("syncs", "states", "acknowledged rows", "not opened", "rows lost", "whole records lost")


def opened_for_writing(state: State, folder: Path, counts: Counter[str]) -> None:
    """Open a state as a build does, and count what is not there any more."""
    state.write(folder)
    before = records(folder) if (folder / WARC_FILE).exists() else []
    CrawlStore(folder, create=True).close()
    counts["rows lost"] += n_missing(state, folder)
    counts["whole records lost"] += records(folder)[: len(before)] != before


def rebuilt(state: State, folder: Path, counts: Counter[str]) -> None:
    """Make a state's index again; it may refuse only where nothing was acknowledged."""
    state.write(folder)
    try:
        rebuild_index(folder)
    except DataError:
        if state.searches or state.fetches:
            raise
        return
    counts["rows lost"] += n_missing(state, folder)


def measure(n_pages: int, n_seeds: int, folder: Path) -> dict[str, Counter[str]]:
    """Trace one build and open every state that a cut could leave of its store; the counts by way of opening."""
    write_web(folder / "web", n_pages)
    calls = traced(folder / "web", folder / "out" / "ds", folder / "trace")
    store = folder / "out" / "ds.crawl"
    ways = {"for writing, then reading": opened_for_writing, "`rebuild-index`, then reading": rebuilt}
    table = {way: Counter[str]() for way in ways}
    for number, state in enumerate(states(calls, store, n_seeds)):
        for way, check in ways.items():
            counts = table[way]
            counts["states"] += 1
            counts["acknowledged rows"] += len(state.searches) + len(state.fetches)
            place = folder / f"{way[:4].strip('`')}-{number}" / "ds.crawl"
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    check(state, place, counts)
            except Exception as error:
                counts["not opened"] += 1
                print(f"state {number}, {way}: {type(error).__name__}: {error}", file=sys.stderr)
    for counts in table.values():
        counts["syncs"] = counts["states"] // n_seeds
    return table


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=6, help="states for each sync")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        table = measure(given.pages, given.seeds, Path(name).resolve())
    print(f"| {given.pages} pages, opened | {' | '.join(COLUMNS)} |\n{'|---' * (len(COLUMNS) + 1)}|")
    for way, counts in table.items():
        print(f"| {way} | {' | '.join(f'{counts[column]:,}' for column in COLUMNS)} |")
    if given.json:
        given.json.write_text(json.dumps(table, indent=2) + "\n")
    return int(any(counts[column] for counts in table.values() for column in COLUMNS[3:]))


if __name__ == "__main__":
    sys.exit(main())
