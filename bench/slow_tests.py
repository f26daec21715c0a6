"""Lists slow tests and long files from reports of runs on a quiet machine. `make check` leaves slow tests out.

Usage: .venv/bin/python -m pytest --junitxml=all.xml && .venv/bin/python bench/slow_tests.py all.xml
       .venv/bin/python bench/slow_tests.py all.xml quick.xml

Writes tests/slow_tests.txt: each test function of which one case took LEAST_S seconds or more with its fixtures, and
all tests of files whose quick tests took more than LEAST_FILE_S together. The first test of a file pays for the
fixtures that it shares with the others. So run the tests that are left as `make check` does, and give that report too:
a test that was quick and is now slow has paid for its file, and all tests of that file are slow.

Writes tests/long_files.txt too: the seconds of each file that took LEAST_LONG_S or more in the first report. A whole
run begins with these files, the longest first, so that no worker is left with a long one at the end.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

LEAST_S = 0.2
LEAST_FILE_S = 3.0
LEAST_LONG_S = 3.0
LEAST_SHARED_S = 1.0
"""Seconds from which a test has paid for a fixture that its file shares."""
ROOT = Path(__file__).resolve().parents[1]


def _file_of(classname: str) -> str:
    """`tests.builder.test_x` as the path of a node id; a class of tests is not used in this project."""
    return classname.replace(".", "/") + ".py"


def _read(report: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The longest case and the sum of all cases of each test function, in seconds."""
    longest: defaultdict[str, float] = defaultdict(float)
    sums: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):
        test = f"{_file_of(case.attrib['classname'])}::{case.attrib['name'].partition('[')[0]}"
        seconds = float(case.attrib["time"])
        longest[test] = max(longest[test], seconds)
        sums[test] += seconds
    return longest, sums


def _write_long_files(sums: dict[str, float]) -> None:
    """The seconds of all tests of a file, of files that take long, longest first."""
    by_file: defaultdict[str, float] = defaultdict(float)
    for test, seconds in sums.items():
        by_file[test.partition("::")[0]] += seconds
    long = sorted((-round(seconds), file) for file, seconds in by_file.items() if seconds >= LEAST_LONG_S)
    lines = [f"{-seconds} {file}\n" for seconds, file in long]
    (ROOT / "tests" / "long_files.txt").write_text("".join(lines), encoding="utf-8")


def main(reports: Sequence[Path]) -> None:
    """Read JUnit reports and write the lists."""
    _write_long_files(_read(reports[0])[1])
    longest: defaultdict[str, float] = defaultdict(float)
    sums: dict[str, float] = {}
    costly_files: set[str] = set()
    for report in reports:
        by_test, of_report = _read(report)
        for test, seconds in by_test.items():
            if test in longest and longest[test] < LEAST_S and seconds > LEAST_SHARED_S:
                costly_files.add(test.partition("::")[0])
            longest[test] = max(longest[test], seconds)
        sums |= of_report
    slow = {test for test in sums if test.partition("::")[0] in costly_files}
    slow |= {test for test, seconds in longest.items() if seconds >= LEAST_S}
    by_file: defaultdict[str, float] = defaultdict(float)
    for test, seconds in sums.items():
        if test not in slow:
            by_file[test.partition("::")[0]] += seconds
    slow |= {test for test in sums if by_file[test.partition("::")[0]] >= LEAST_FILE_S}
    (ROOT / "tests" / "slow_tests.txt").write_text("".join(f"{test}\n" for test in sorted(slow)), encoding="utf-8")
    quick = sum(seconds for test, seconds in sums.items() if test not in slow)
    print(f"{len(slow)} of {len(sums)} test functions are slow; the others take {quick:.0f} s in all")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
