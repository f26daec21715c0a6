"""Lists slow tests from the report of a run on a quiet machine. `make check` leaves them out.

Usage: .venv/bin/python -m pytest --junitxml=report.xml && .venv/bin/python bench/slow_tests.py report.xml

Writes tests/slow_tests.txt: each test function of which one case took LEAST_S seconds or more with its fixtures, and
all tests of files whose quick tests took more than LEAST_FILE_S together.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

LEAST_S = 0.5
LEAST_FILE_S = 6.0
ROOT = Path(__file__).resolve().parents[1]


def _file_of(classname: str) -> str:
    """`tests.builder.test_x` as the path of a node id; a class of tests is not used in this project."""
    return classname.replace(".", "/") + ".py"


def main(report: Path) -> None:
    """Read a JUnit report and write the list."""
    longest: defaultdict[str, float] = defaultdict(float)
    sums: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):
        test = f"{_file_of(case.attrib['classname'])}::{case.attrib['name'].partition('[')[0]}"
        seconds = float(case.attrib["time"])
        longest[test] = max(longest[test], seconds)
        sums[test] += seconds
    slow = {test for test, seconds in longest.items() if seconds >= LEAST_S}
    by_file: defaultdict[str, float] = defaultdict(float)
    for test, seconds in sums.items():
        if test not in slow:
            by_file[test.partition("::")[0]] += seconds
    slow |= {test for test in sums if by_file[test.partition("::")[0]] >= LEAST_FILE_S}
    (ROOT / "tests" / "slow_tests.txt").write_text("".join(f"{test}\n" for test in sorted(slow)), encoding="utf-8")
    quick = sum(seconds for test, seconds in sums.items() if test not in slow)
    print(f"{len(slow)} of {len(sums)} test functions are slow; the others take {quick:.0f} s in all")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
