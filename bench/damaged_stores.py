"""Damage crawl stores in many ways and count what the commands lose of them, and where they break.

Usage: .venv/bin/python bench/damaged_stores.py [--cases 200] [--pages 30] [--json FILE]

Each case damages copies of a sound store (index and WARC file empty, cut, with flipped bits or blank sectors, an index
that is lost, old, of another store, or with wrong values) and runs `edu-rag replay`, `edu-rag build --resume` and
`edu-rag crawl rebuild-index` with a replay after it. A fault is a traceback, a byte that a replay changed, a whole
record of the WARC file that is gone, an error that names no file or asks for room, other bytes without an error, or,
where the WARC file is whole, a rebuilt index whose replay makes other bytes. Ends with exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from builder_damage import DAMAGES, cases, look_at, make_sound  # noqa: E402 - the tests' own tools

KINDS = {
    "tracebacks": "traceback",
    "WARC records lost": "whole records lost",
    "store changed by a reader": "changed",
    "other bytes": "other bytes",
    "errors without the file": "does not name",
    "wrong remedy": "asks for room",
    "not rebuilt": "rebuild-index failed",
}


def main() -> int:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    table = {name: Counter[str]() for name in DAMAGES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make_sound(folder, given.pages)
        for case in cases(given.cases):
            seen = look_at(case, folder / "sound.crawl", folder / "work", full=True)
            counts = table[case.name]
            counts["cases"] += 1
            counts["replayed to the same bytes"] += seen.outcome == "same bytes"
            counts["refused in one line"] += seen.outcome != "same bytes"
            for column, mark in KINDS.items():
                counts[column] += any(mark in fault for fault in seen.faults)
            counts["faults"] += len(seen.faults)
            for fault in seen.faults:
                print(f"{case.name} {case.seed}: {fault}", file=sys.stderr)
    columns = ("cases", "replayed to the same bytes", "refused in one line", *KINDS)
    table["all"] = sum(table.values(), Counter[str]())
    print(f"| | {' | '.join(columns)} |\n{'|---' * (len(columns) + 1)}|")
    for name, counts in table.items():
        print(f"| {name} | {' | '.join(f'{counts[column]:,}' for column in columns)} |")
    if given.json:
        given.json.write_text(json.dumps(table, indent=2) + "\n")
    return int(table["all"]["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
