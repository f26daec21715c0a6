"""Damage and forgery of a dataset folder: is every single bit flip named, and is every forgery refused?

    python bench/bit_flips.py [--flips N] [--seed N]

Builds the bundled mini benchmark as a release (card, plots, Croissant metadata, CHANGES.md), flips one bit at a time
and runs `edu-rag dataset check` on the folder: it must exit 1 and name the file that was changed, or manifest.json.
Half of the flips choose a file first, so that small files are met as often as the tables; half choose any byte of the
folder. Then come the forgeries of tests/harness/forged_datasets.py, under a board that pins the dataset: each command
must refuse each. Prints Markdown; exits 1 where one passes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "harness"), str(ROOT / "tests" / "builder")]

from flipped_bits import is_named, places  # noqa: E402
from forged_datasets import CONSISTENT, STALE, commands, forged, refusals  # noqa: E402
from pull_request_trees import hand_in, settings, write_base  # noqa: E402

from builder.dataset.changes_file import write_changes  # noqa: E402
from edu_rag.__main__ import root  # noqa: E402
from edu_rag.bundled import MINI  # noqa: E402
from edu_rag.files.dataset import Dataset  # noqa: E402
from edu_rag.gold import Gold  # noqa: E402


def release(folder: Path) -> Path:
    """The mini benchmark under the name that the test's trees use, with CHANGES.md."""
    config, out = folder / "build.toml", folder / "dataset"
    shutil.copytree(MINI / "sites", folder / "sites")
    config.write_text((MINI / "build.toml").read_text(encoding="utf-8").replace("edu-rag-mini", "tiny"))
    words = ["build", "--questions", str(MINI / "questions.jsonl"), "--out", str(out), str(config)]
    done = CliRunner().invoke(root, words)
    if done.exit_code:
        raise SystemExit(f"the build failed: {done.exception}")
    write_changes(out, folder, ["- first release"])
    return out


def measure_flips(folder: Path, n: int, seed: int) -> tuple[list[str], int]:
    """A row of a table for each kind of file, and how many flips were missed."""
    made: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for number, (name, bit) in enumerate(places(folder, n, seed), 1):
        kind = "Parquet" if name.endswith(".parquet") else "plots" if name.startswith("plots/") else name
        made[kind] += 1
        named[kind] += is_named(folder, name, bit)
        if not number % 50:
            print(f"{number:,} of {n:,} flips", file=sys.stderr, flush=True)
    rows = [f"| {kind} | {made[kind]:,} | {named[kind]:,} |" for kind in sorted(made)]
    return [*rows, f"| **all** | **{n:,}** | **{named.total():,}** |"], n - named.total()


def measure_forgeries(source: Path, folder: Path) -> tuple[list[str], int]:
    """A row for each kind of forgery, and how many commands took one."""
    dataset = Dataset(source)
    gold = {one.question_id: str(one.answer) for one in dataset.records("gold", "test", Gold)}
    base, head = write_base(folder, dataset, gold)
    hand_in(head, "new-one", gold, settings("New team"))
    taken = sum(map(bool, refusals(commands(*_copies(base, head, folder), source, folder)).values()))
    if taken:
        raise SystemExit("the pinned dataset itself is refused: this bench measures nothing")
    rows, passed = [], 0
    for kind, changes in (("consistent", CONSISTENT), ("stale content hash", STALE)):
        for name, change in changes.items():
            said = refusals(commands(base, head, forged(source, folder / "forged", change), folder))
            refused = [command for command, text in said.items() if str(folder / "forged") in text]
            passed += len(said) - len(refused)
            rows.append(f"| {name} | {kind} | {len(refused)} of {len(said)} |")
    return rows, passed


def _copies(base: Path, head: Path, folder: Path) -> tuple[Path, Path]:
    """The trees again, since commands that take a dataset write into them."""
    one, two = (shutil.copytree(tree, folder / f"{tree.name}-copy") for tree in (base, head))
    return one, two


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edu-rag-flips-") as scratch:
        folder = Path(scratch)
        os.environ["EDU_RAG_CACHE"] = str(folder / "cache")
        dataset = release(folder)
        forgeries, passed = measure_forgeries(dataset, folder)
        started = time.monotonic()
        flips, missed = measure_flips(dataset, options.flips, options.seed)
        seconds = time.monotonic() - started
    print(f"{len(CONSISTENT)} consistent forgeries and {len(STALE)} with a stale content hash, each under a board that")
    print(f"pins the dataset; commands that took one: **{passed}**.\n")
    print("| forged | kind | commands that refuse it |\n|---|---|---|\n" + "\n".join(forgeries))
    print(f"\n{options.flips:,} single bit flips in {seconds:.0f} s, named by `edu-rag dataset check`:\n")
    print("| file | flips | named |\n|---|---|---|\n" + "\n".join(flips))
    if passed or missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
