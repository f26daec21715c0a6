"""Run a measurement and put what it prints into a page of docs: no figure on those pages is typed by hand.

Usage: .venv/bin/python bench/page.py NAME [ARGUMENTS …]           e.g.  bench/page.py fetch --n 2000
       .venv/bin/python bench/page.py papers/NAME:PART [ARGUMENTS …]    bench/page.py papers/mala:cranfield

Runs bench/NAME.py with the arguments, and writes its standard output (Markdown) between the marks for NAME on the page
of docs/figures that has them, with the command, the day and the machine. For a paper it runs bench/papers/NAME.py PART,
and writes between the marks for PART on docs/figures/papers/NAME.md; `house:PART` likewise runs bench/house.py for
docs/figures/house.md. docs/benchmarks.md and docs/papers quote figures: change them by hand when a figure changes.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SCRIPTS = {
    "crash_faults": "bench/crash.py",  # its second table, with --kills 0; the first one is `crash`, with --points -1
    "crash_index_faults": "bench/crash.py",  # its second table, with --only index.sqlite3
    "dataset_vectors_second": "bench/dataset_vectors.py",  # its other table, with --has-vectors
    "judge_scores": "bench/judge_audit.py",  # with --claims: scores from 1 to 5
    "mutation_runs": "bench/mutation.py",  # the groups of retrieval runs, which were measured later
    "science": "tests/science_set/score.py",
    "second_scorer": "bench/second_scorer/compare.py",
    "papers/edu_rag": "bench/papers/edu_rag_paper.py",  # a script named as our package would stand in its way
}


def place_of(name: str) -> tuple[Path, str, list[str]]:
    """The page, the mark on it, and the words that run the script."""
    if ":" not in name:
        mark, pages = f"<!-- {name}: begin -->", sorted((DOCS / "figures").glob("*.md"))
        page = next((page for page in pages if mark in page.read_text(encoding="utf-8")), DOCS / "figures")
        return page, name, [SCRIPTS.get(name, f"bench/{name}.py")]
    paper, _, part = name.partition(":")
    page = DOCS / "figures" / f"{paper.replace('_', '-')}.md"
    return page, part, [SCRIPTS.get(paper, f"bench/{paper}.py"), part]


def main() -> None:
    """Run one script and replace its part of the page."""
    name, *arguments = sys.argv[1:] or [""]
    page, part, script = place_of(name)
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    if not page.is_file() or begin not in page.read_text(encoding="utf-8"):
        raise SystemExit(f"{page.relative_to(ROOT)} has no part {part!r}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    load = os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, *script, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(script)} ended with {done.returncode}: the page is as it was")
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    day = datetime.now(UTC).date().isoformat()
    outside = [Path(word).is_absolute() or word.startswith("..") for word in arguments]  # no machine's folders
    shown = [Path(word).name if out else word for word, out in zip(arguments, outside, strict=True)]
    told = f"`python {shlex.join([*script, *shown])}`"
    before, rest = page.read_text(encoding="utf-8").split(begin)  # as it is now: a measurement takes minutes
    about = f"{told}, {day}, {machine}; load {load:.1f} when it began."
    text = f"{before}{begin}\n{about}\n\n{done.stdout.strip()}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")
    print(done.stdout)


if __name__ == "__main__":
    main()
