"""The cost of reading the worst untrusted files: processor seconds and peak memory of the real commands.

Usage: .venv/bin/python bench/untrusted_files.py [--questions N] [--only WORDS,OF,NAMES]

Makes a synthetic dataset (that of bench/scoring.py), and for each kind of file one that is as large as it may be and as
slow as we know how to make it. Each is read by `edu-rag check`, `score` and `pr`, or by `build --engine crag`, as a
separate process; seconds are user + system of all its processes, memory is that of its largest one (wait4). The goal is
10 s and 300 MB for each file up to its size limit. A traceback ends the measurement.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import scoring

ROOT = Path(__file__).resolve().parents[1]
MOST = 50_000_000
LINE = 3_990_000
SETTINGS = 'name = "Slow"\nteam = "Slow team"\n'
GOAL_S, GOAL_MB = 10.0, 300.0


class Kind(NamedTuple):
    """A kind of hostile file: where it is in a submission, and its bytes for a dataset of n questions."""

    name: str
    place: str
    make: Callable[[int], bytes]


PREDICTIONS = "predictions/synthetic-1.0.0/test.jsonl"


def _one(fields: str) -> Callable[[int], bytes]:
    return lambda n: f'{{"question_id":"q000000","answer":"b",{fields}}}\n'.encode()


def _each(answer: Callable[[int], str], most: int = MOST) -> Callable[[int], bytes]:
    """A line for each question with an answer, up to the size of a file."""

    def made(n: int) -> bytes:
        lines, size = [], 0
        for number in range(n):
            line = json.dumps({"question_id": f"q{number:06}", "answer": answer(number)}, ensure_ascii=False).encode()
            size += len(line) + 1
            if size > most:
                break
            lines.append(line)
        return b"\n".join(lines) + b"\n"

    return made


def _repeated(text: str) -> Callable[[int], str]:
    # Not twice the same: an answer that was read before would be remembered.
    return lambda number: f"{number} {text * (19_900 // len(text))}"[:19_990]


def _passages(n: int) -> bytes:
    few = min(500, MOST // n // 11 - 6)
    passages = ",".join('["p",0,1]' for _ in range(few))
    line = b'{"question_id":"q%06d","answer":"b","passages":[%s]}\n'
    return b"".join(line % (number, passages.encode()) for number in range(n))


def _lines(line: str) -> Callable[[int], bytes]:
    return lambda n: "".join(line.format(i=i) for i in range(MOST // len(line.format(i=1_000_000)))).encode()


def _settings(line: str, most: int = 99_000) -> Callable[[int], bytes]:
    return lambda n: (SETTINGS + "".join(line.format(i=i) for i in range(most // len(line.format(i=9_999))))).encode()


KINDS = (
    Kind(
        "predictions: one line with 100,000 unknown keys",
        PREDICTIONS,
        _one(",".join(f'"key{i}":{i % 10}' for i in range(100_000))),
    ),
    Kind(
        "predictions: a line of 4 MB of arrays, 31 deep",
        PREDICTIONS,
        _one('"passages":' + "[" * 30 + "[]," * (LINE // 3) + "[]" + "]" * 30),
    ),
    Kind(
        "predictions: twelve such lines",
        PREDICTIONS,
        lambda n: _one('"passages":' + "[" * 30 + "[]," * (LINE // 3) + "[]" + "]" * 30)(n) * 12,
    ),
    Kind("predictions: one line with 300,000 repeated keys", PREDICTIONS, _one(",".join(['"answer":"b"'] * 300_000))),
    Kind("predictions: a number of 4 MB", PREDICTIONS, _one('"cost_usd":0.' + "1" * LINE)),
    Kind(
        "predictions: a question id of 4 MB",
        PREDICTIONS,
        lambda n: b'{"question_id":"' + b"\\u0430" * (LINE // 6) + b'","answer":"b"}\n',
    ),
    Kind(
        "predictions: 50 MB of lone escapes",
        PREDICTIONS,
        _lines('{{"question_id":"q{i:06}","answer":"\\ud83d\\ude00"}}\n'),
    ),
    Kind("predictions: 50 MB of passages", PREDICTIONS, _passages),
    Kind(
        "predictions: 50 MB of short lines with one unknown field",
        PREDICTIONS,
        _lines('{{"question_id":"q{i:06}","answer":"b","topic":1}}\n'),
    ),
    Kind("answers: combining marks in the wrong order", PREDICTIONS, _each(_repeated("\u0300\u0316"))),
    Kind("answers: `Answer:` on 2,500 lines", PREDICTIONS, _each(_repeated("Answer:\n"))),
    Kind("answers: short sentences", PREDICTIONS, _each(_repeated("It is. "))),
    Kind("answers: `I don't know.` again and again", PREDICTIONS, _each(_repeated("I don't know. "))),
    Kind("answers: Markdown", PREDICTIONS, _each(_repeated("**_`#"))),
    Kind(
        "settings: one key of 40,000 parts", "submission.toml", lambda n: (SETTINGS + "a." * 40_000 + "a=1\n").encode()
    ),
    Kind("settings: keys of 15 parts", "submission.toml", _settings("parts.k{i}.a.b.c.d.e.f.g.h.i.j.k.l.m=1\n")),
    Kind("settings: tables 14 deep", "submission.toml", _settings("[parts.k{i}.a.b.c.d.e.f.g.h.i.j.k.l]\n")),
    Kind("settings: arrays of tables", "submission.toml", _settings("[[parts.a]]\n")),
    Kind(
        "settings: a text of 98 kB", "submission.toml", lambda n: f'{SETTINGS}description="{"x" * 98_000}"\n'.encode()
    ),
    Kind(
        "settings: 50 links of 500 characters",
        "submission.toml",
        lambda n: (SETTINGS + "links=[" + ",".join(f'"https://a.b/{i:0486}"' for i in range(50)) + "]\n").encode(),
    ),
    Kind("settings: 9,000 unknown keys", "submission.toml", _settings("k{i}=1\n")),
    Kind("overlap.txt: 1 MB of ids", "overlap.txt", lambda n: b"".join(b"%x\n" % i for i in range(160_000))[:999_999]),
    Kind(
        "run record: 1 MB of unknown keys",
        PREDICTIONS.replace(".jsonl", ".run.json"),
        lambda n: json.dumps({f"k{i}": i for i in range(60_000)}).encode(),
    ),
)


def _record(n_bytes: int) -> bytes:
    hit = {"page_url": "http://a.example/", "page_result": "x" * n_bytes}
    values = {"interaction_id": "1", "query": "q", "answer": "a", "split": 0, "search_results": [hit]}
    return json.dumps(values).encode()


ARCHIVES: Sequence[tuple[str, Callable[[Path], None]]] = (
    (
        "CRAG archive: 2 GB of zeros in one line, bzip2",
        lambda path: _packed(path, b'{"interaction_id":"1","query":', 2_000),
    ),
    ("CRAG archive: 2 GB of blank lines, bzip2", lambda path: _packed(path, _record(10) + b"\n", 2_000, b"\n")),
    (
        "CRAG archive: 300,000 empty members, bzip2",
        lambda path: _written(path, bz2.compress(_record(10) + b"\n") + bz2.compress(b"") * 300_000),
    ),
    ("CRAG archive: one page of 60 MB", lambda path: _written(path, bz2.compress(_record(60_000_000) + b"\n"))),
    ("CRAG archive: 8 MB that unpack to 90 times as much", lambda path: _dense(path, 780)),
    ("CRAG archive: gzip under the name of bzip2", lambda path: _written(path, gzip.compress(b"0" * 100_000_000))),
)


def _dense(path: Path, megabytes: int) -> None:
    """As large as an archive may be that has the seconds of one file, and nearly as dense as one may be."""
    draws = random.Random(1)
    with bz2.open(path, "wb") as stream:
        for number in range(megabytes):
            hit = {"page_url": "nowhere", "page_result": draws.randbytes(11_500).hex() + "x" * 980_000}
            values = {"interaction_id": str(number), "query": "q", "answer": "a", "split": 0, "search_results": [hit]}
            stream.write(json.dumps(values).encode() + b"\n")


def _written(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _packed(path: Path, head: bytes, megabytes: int, fill: bytes = b"0") -> None:
    with bz2.open(path, "wb") as stream:
        stream.write(head)
        for _ in range(megabytes):
            stream.write(fill * 1_000_000)


class Cost(NamedTuple):
    """Seconds, megabytes, exit code and the first line of what a command said."""

    cpu_s: float
    peak_mb: float
    code: int
    said: str


def measure(words: Sequence[str | Path], folder: Path) -> Cost:
    """Run one command of ours and count what it costs."""
    command = [sys.executable, "-m", "edu_rag", *map(str, words)]
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if "Traceback" in text or child.returncode not in (0, 1):
        raise SystemExit(f"{words} ended with {child.returncode}:\n{text[-3_000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode, _verdict(text, folder))


def _verdict(text: str, folder: Path) -> str:
    lines = [line for line in text.replace(f"{folder}/", "").splitlines() if line.strip()]
    telling = ("takes more", "needs more", "| `sub", "score ", "questions: ", ": has ", "unknown", "over ", "not ")
    return next((line for mark in telling for line in lines if mark in line), lines[0] if lines else "")[:90]


def _apart(work: Callable[..., None], *arguments: object) -> None:
    """Do it in another process: the peak memory of a command counts what its parent held when it was started."""
    child = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(f"{work.__name__} ended with {child.exitcode}")


def _write(kind: Kind, place: Path, n: int) -> None:
    """A submission with the hostile file."""
    shutil.rmtree(place, ignore_errors=True)
    line = b'{"question_id":"q000000","answer":"b"}\n'
    for name, data in {"submission.toml": SETTINGS.encode(), PREDICTIONS: line, kind.place: kind.make(n)}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)


def submission_costs(kind: Kind, folder: Path, n: int) -> Iterator[tuple[str, Cost]]:
    """The cost of a hostile file to `check`, `score` and `pr`."""
    head = folder / "head"
    place = head / "submissions" / "slow-one"
    _apart(_write, kind, place, n)
    dataset = folder / "dataset"
    yield "check", measure(["check", place, "--dataset", dataset], folder)
    yield "score", measure(["score", place, "--dataset", dataset, "--brief"], folder)
    trees: list[str | Path] = ["--base", folder / "base", "--head", head]
    yield "pr", measure(["pr", *trees, "--dataset", dataset, "--run", "never"], folder)


def archive_cost(make: Callable[[Path], None], folder: Path) -> Cost:
    """The cost of a hostile archive to `build --engine crag`."""
    path = folder / "crag.jsonl.bz2"
    _apart(make, path)
    config = folder / "crag.toml"
    config.write_text(f'[search.crag]\nfiles = ["{path}"]\n', encoding="utf-8")
    out = folder / "built"
    shutil.rmtree(out, ignore_errors=True)
    words: list[str | Path] = ["build", "--questions", path, "--engine", "crag", "--out", out, config]
    return measure(words, folder)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _apart(scoring.make, folder, options.questions)
        (folder / "base" / "submissions").mkdir(parents=True)
        print(f"Dataset of {options.questions:,} questions; goal: {GOAL_S:g} s and {GOAL_MB:g} MB for each command.\n")
        print("| file | command | CPU s | peak MB | exit | what it says |")
        print("|---|---|---:|---:|---:|---|")
        worst = [0.0, 0.0]
        for name, command, cost in _costs(folder, options):
            worst = [max(worst[0], cost.cpu_s), max(worst[1], cost.peak_mb)]
            said = cost.said.replace("|", "\\|").replace("`", "'")
            row = (name, command, f"{cost.cpu_s:.1f}", f"{cost.peak_mb:.0f}", cost.code, f"`{said}`")
            print("|", " | ".join(map(str, row)), "|", flush=True)
        print(f"\nThe worst: {worst[0]:.1f} s, {worst[1]:.0f} MB.")


def _costs(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, str, Cost]]:
    words = options.only.split(",")
    for kind in KINDS:
        if any(word in kind.name for word in words):
            for command, cost in submission_costs(kind, folder, options.questions):
                yield kind.name, command, cost
    for name, make in ARCHIVES:
        if any(word in name for word in words):
            yield name, "build", archive_cost(make, folder)


if __name__ == "__main__":
    main()
