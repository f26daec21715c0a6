"""Run a measurement and put what it prints into docs/benchmarks.md: no figure on that page is typed by hand.

Usage: .venv/bin/python bench/page.py NAME [ARGUMENTS …]    e.g.  bench/page.py fetch --n 2000

Runs bench/NAME.py with the arguments, and writes its standard output (Markdown) between the page's marks for NAME, with
the command, the day and the machine.
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
PAGE = ROOT / "docs" / "benchmarks.md"
SCRIPTS = {"science": "tests/science_set/score.py", "second_scorer": "bench/second_scorer/compare.py"}


def main() -> None:
    """Run one script and replace its part of the page."""
    name, *arguments = sys.argv[1:] or [""]
    script = SCRIPTS.get(name, f"bench/{name}.py")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in PAGE.read_text(encoding="utf-8"):
        raise SystemExit(f"{PAGE} has no part {name!r}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    load = os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, script, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{script} ended with {done.returncode}: the page is as it was")
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    day = datetime.now(UTC).date().isoformat()
    shown = [Path(word).name if Path(word).is_absolute() else word for word in arguments]  # no machine's folders
    told = f"`python {script} {shlex.join(shown)}`".replace(" `", "`")
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)  # as it is now: a measurement takes minutes
    about = f"{told}, {day}, {machine}; load {load:.1f} when it began."
    text = f"{before}{begin}\n{about}\n\n{done.stdout.strip()}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")
    print(done.stdout)


if __name__ == "__main__":
    main()
