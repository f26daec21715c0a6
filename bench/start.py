"""How much CPU time each command takes from its start to its first line, and to its help.

Usage: .venv/bin/python bench/start.py --dataset DIR [--runs N]

Each command is started as a user starts it, is read until its first line, on stdout or stderr, and is then killed. CPU
seconds of its process as the kernel counts them, the least of N runs: other work on the machine only adds. `run` and
`check` get a copy of the submission blind-a without predictions, `score` and `compare` two files of one prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from edu_rag.__main__ import COMMANDS
from edu_rag.files.dataset import Dataset

ROOT = Path(__file__).resolve().parents[1]
GOAL_S = 0.2
REFERENCES = ("print()", "import numpy, pyarrow.parquet; print()")


def prepared(folder: Path, dataset: Path) -> Mapping[str, list[str]]:
    """The command lines by name, with the files that they read in a folder."""
    found = Dataset(dataset)
    question = next(iter(found.questions(found.splits()[-1])))
    system = folder / "blind-a"
    shutil.copytree(ROOT / "submissions" / "blind-a", system, ignore=shutil.ignore_patterns("predictions"))
    files = [folder / "one.jsonl", folder / "two.jsonl"]
    for file in files:
        file.write_text(json.dumps({"question_id": question.question_id, "answer": "a"}) + "\n", encoding="utf-8")
    one, two = map(str, files)
    of, results = ["--dataset", str(dataset), "--split", found.splits()[-1]], str(ROOT / "leaderboard" / "results")
    return {
        "new": ["new", "my-system", "--in", str(folder / "new")],
        "check": ["check", str(system)],
        "run": ["run", str(system), *of, "--no-cache"],
        "score": ["score", one, *of],
        "compare": ["compare", one, two, *of],
        "explain": ["explain", one, *of],
        "power": ["power", "--difference", "0.03"],
        "sandbox": ["sandbox"],
        "board": ["board", results, "--out", str(folder / "site")],
        "crawl status": ["crawl", "status", str(folder)],
        "dataset check": ["dataset", "check", str(dataset)],
        "dataset diff": ["dataset", "diff", str(dataset), str(dataset)],
    }


def seconds(words: Sequence[str], folder: Path) -> float:
    """CPU seconds of Python with these arguments, up to its first line."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if child.stdout is None:
        raise RuntimeError("the child has no pipe")
    child.stdout.readline()
    nanoseconds = int(Path(f"/proc/{child.pid}/schedstat").read_text().split()[0])
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    return nanoseconds / 1e9


def least(words: Sequence[str], dataset: Path, name: str, runs: int) -> float:
    """The least of some runs, each with files of its own."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as temporary:
            lines = prepared(Path(temporary), dataset)
            found.append(seconds(words or ["-m", "edu_rag", *lines[name]], Path(temporary)))
    return min(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    dataset = given.dataset.resolve()
    helps = {name: least(["-m", "edu_rag", name, "--help"], dataset, "", given.runs) for name in COMMANDS}
    slowest = max(helps, key=lambda name: helps[name])
    print(f"CPU seconds up to the first line, the least of {given.runs} runs. Goal: {GOAL_S} s.\n")
    print("| command | CPU s |\n|---|---|")
    for code in REFERENCES:
        print(f"| Python alone: `{code}` | {least(['-c', code], dataset, '', given.runs):.2f} |")
    print(f"| `--help` of {len(helps)} commands: the slowest, `{slowest}` | {helps[slowest]:.2f} |")
    with tempfile.TemporaryDirectory() as temporary:
        names = list(prepared(Path(temporary), dataset))
    for name in names:
        print(f"| `{name}` | {least([], dataset, name, given.runs):.2f} |")


if __name__ == "__main__":
    main()
