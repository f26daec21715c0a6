"""Hostile pull requests: is each refused, with the file named, and how long does that take?

    python bench/pull_trees.py [--json FILE]

Each tree of tests/harness/hostile_pulls.py is made on a copy of this repository with some submissions more, and judged
as CI judges it. Prints Markdown: a row a tree with the line of the refusal that names the file, and the seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from edu_rag.errors import FaultsError  # noqa: E402
from harness.pulls.changed_files import judge  # noqa: E402
from tests.harness.hostile_pulls import GOOD, HOSTILE, Pull, write_base  # noqa: E402

MAX_TOLD = 110
LEFT_OUT = (b"tests", b"docs", b"builder", b"bench")
"""Making a copy for each tree takes longer than judging it."""


def make_base(folder: Path) -> Path:
    """A copy of what git tracks here, without the largest parts, and the submissions that the trees change."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, names):
        source, target = ROOT / name.decode(), folder / name.decode()
        if source.is_file() and name.split(b"/")[0] not in LEFT_OUT:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return write_base(folder)


def told(pull: Pull, lines: list[str]) -> str:
    """The line of a refusal that names what it should; an empty text where none does."""
    if not all(any(name in line for line in lines) for name in pull.named):
        return ""
    line = next(line for line in lines if pull.named[0] in line)
    return line if len(line) <= MAX_TOLD else line[:MAX_TOLD] + "…"


def measure(pull: Pull, base: Path, folder: Path) -> dict[str, object]:
    """Make one tree, judge it, remove it."""
    head = folder / "head"
    subprocess.run(["cp", "-r", base, head], check=True)
    pull.build(head)
    started = time.monotonic()
    try:
        outcome, lines = judge(base, head, pull.author).kind, []
    except FaultsError as error:
        outcome, lines = "refused", [str(fault) for fault in error.faults]
    seconds = time.monotonic() - started
    subprocess.run(["rm", "-rf", head], check=True)
    named = told(pull, lines) if outcome == "refused" else ""
    right = outcome == pull.kind if pull.kind else bool(named)
    return {"tree": pull.name, "outcome": outcome, "named": named, "right": right, "seconds": round(seconds, 3)}


def main() -> None:
    """Measure all trees and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = make_base(Path(scratch) / "base")
        rows = [measure(pull, base, Path(scratch)) for pull in (*HOSTILE, *GOOD)]
        n_files = sum(path.is_file() for path in base.rglob("*"))
    hostile, good = rows[: len(HOSTILE)], rows[len(HOSTILE) :]
    print(
        f"Trees of {n_files:,} files. Of {len(hostile)} hostile ones {sum(bool(row['right']) for row in hostile)} are"
    )
    print(f"refused with the file named, in {max(float(str(row['seconds'])) for row in hostile):.2f} s at most; of")
    print(f"{len(good)} good ones {sum(bool(row['right']) for row in good)} are taken for what they are.\n")
    print("| tree | outcome | the line that names it | seconds |\n|---|---|---|---|")
    for row in rows:
        line = str(row["named"]).replace("|", "\\|").replace("`", "'")
        print(f"| {row['tree']} | {row['outcome']} | {f'`{line}`' if line else ''} | {row['seconds']:.2f} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if not all(row["right"] for row in rows):
        raise SystemExit("some trees were not judged as they should be")


if __name__ == "__main__":
    main()
