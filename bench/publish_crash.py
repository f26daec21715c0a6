"""Kill `edu-rag board` while it publishes, with a reader polling; count what the reader saw.

    python bench/publish_crash.py [--kills 50] [--systems 12] [--seed 0] [--json FILE]

Prints two tables. Two editions of a site replace one another. A third of the builds is killed (SIGKILL) at a random
moment of the whole command, a third after the new edition was filled (fsync, exchange, grace, removal), a third in the
0.3 s after the exchange.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "leaderboard")]

from killed_builds import EDITIONS, play  # noqa: E402 - the tests' own tools

SEEN = {
    f"whole, edition {EDITIONS[0]}": EDITIONS[0],
    f"whole, edition {EDITIONS[1]}": EDITIONS[1],
    "a swap came between, read again": "straddled",
    "torn": "torn",
    "no site": "no site",
}


def table(head: str, columns: Sequence[str], rows: Mapping[str, Sequence[int]]) -> str:
    """A Markdown table of counts."""
    lines = [f"| {head} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{n:,}' for n in counts)} |" for name, counts in rows.items()]
    return "\n".join(lines)


def reader_table(seen: Mapping[str, Counter[str]]) -> str:
    """The reader's observations, a line for each way of reading."""
    rows = {way: [counts.total(), *(counts[what] for what in SEEN.values())] for way, counts in seen.items()}
    return table("reader", ("polls", *SEEN), rows)


def main() -> None:
    """Run the measurement and print its tables; exit 1 where a site was torn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--systems", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        seen, builds = play(Path(name).resolve(), options.kills, options.systems, options.seed)
    print(table("builds", tuple(builds), {"`edu-rag board`": tuple(builds.values())}) + "\n")
    print(reader_table(seen))
    if options.json:
        options.json.write_text(json.dumps({"builds": builds, "seen": seen}, indent=2) + "\n")
    if any(counts["torn"] or counts["no site"] for counts in seen.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
