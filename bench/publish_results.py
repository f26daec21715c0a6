"""What publishing results costs: 200 systems on 13,693 questions, from scorecards and predictions to Parquet.

Usage: .venv/bin/python bench/publish_results.py [--systems N] [--questions N] [--json FILE]

Makes a synthetic results folder (every system answers every question with five passages; scorecards with 1,076 lessons
and their slices), runs `edu-rag publish --dry-run --out DIR` on it as a separate process, and reads its time (wait4)
and its peak memory. Then the same with half the systems: memory that is bounded does not grow with their number.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
N_LESSONS = 1_076
N_PASSAGES = 5
GOAL_MB = 500


def _predictions(rng: random.Random, ids: Sequence[str]) -> bytes:
    """One system's predictions; built as text, since records would take longer to make than to publish."""
    lines = []
    for question_id in ids:
        start = rng.randrange(9_000)
        spans = ",".join(f'["p{rng.getrandbits(64):016x}",{start},{start + 90}]' for _ in range(N_PASSAGES))
        lines.append(
            f'{{"question_id":"{question_id}","answer":"{rng.choice("abcd")}","response":"The pages say so.",'
            f'"confidence":0.{rng.randrange(10, 99)},"passages":[{spans}],"latency_s":{rng.random():.6f},'
            f'"input_tokens":{rng.randrange(900)},"output_tokens":1}}\n'
        )
    return "".join(lines).encode()


def _card(slug: str, rng: random.Random, ids: Sequence[str], sha256: str) -> Any:
    from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, ScoreCard, Slice, SystemFacts
    from publishing.result_rows import ids_sha256

    letters = "".join(rng.choices("ciauf", [50, 40, 6, 3, 1], k=len(ids)))
    lessons = [number % min(N_LESSONS, len(ids)) for number in range(len(ids))]
    by_lesson: dict[int, Counter[str]] = {}
    for letter, lesson in zip(letters, lessons, strict=True):
        by_lesson.setdefault(lesson, Counter())[letter] += 1

    def counts(found: Counter[str]) -> Counts:
        return Counts(**{str(name): found[letter] for name, letter in OUTCOME_LETTERS.items()})

    return ScoreCard(
        system=SystemFacts(slug=slug, name=slug, team="a team"),
        dataset="synthetic@1.0.0#0123abcd",
        split="test",
        sample=None,
        harness="edu-rag-bench",
        answers_rule="answers-v3",
        counts=counts(Counter(letters)),
        outcomes=letters,
        lessons=tuple(lessons),
        exam={"ids": ids_sha256(ids)},
        predictions_sha256=sha256,
        slices=tuple(Slice(attribute="lesson", value=f"{n}", counts=counts(by_lesson[n])) for n in sorted(by_lesson)),
    )


def make_results(folder: Path, n_systems: int, n_questions: int) -> int:
    """Write a synthetic results folder; return the bytes of its predictions."""
    from edu_rag.scorecard.results_folder import write_scorecard

    ids, size = [f"q{number:06}" for number in range(n_questions)], 0
    for number in range(n_systems):
        rng, slug = random.Random(number), f"system-{number:03}"
        place = folder / "synthetic-1.0.0" / "test" / slug
        place.mkdir(parents=True)
        data = _predictions(rng, ids)
        (place / "predictions.jsonl").write_bytes(data)
        write_scorecard(place / "scorecard.json", _card(slug, rng, ids, hashlib.sha256(data).hexdigest()))
        size += len(data)
    return size


def measure(results: Path, out: Path) -> dict[str, float]:
    """Publish once, dry; wall and CPU seconds, peak memory and what was written."""
    command = [sys.executable, "-m", "edu_rag", "publish", str(results), "--repo", "org/results", "--dry-run"]
    began = time.monotonic()
    child = subprocess.Popen(
        [*command, "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"publish ended with {child.returncode}")
    files = list(out.rglob("*.parquet"))
    return {
        "wall_s": time.monotonic() - began,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
        "n_files": len(files),
        "parquet_mb": sum(path.stat().st_size for path in files) / 1e6,
    }


def main() -> None:
    """Measure with all systems and with half of them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: list[dict[str, float]] = []
    for n_systems in (asked.systems // 2, asked.systems):
        with tempfile.TemporaryDirectory(prefix="edu-rag-bench-") as scratch:
            size = make_results(Path(scratch) / "results", n_systems, asked.questions)
            told = measure(Path(scratch) / "results", Path(scratch) / "out")
            found.append(
                {"systems": n_systems, "predictions": n_systems * asked.questions, "jsonl_mb": size / 1e6, **told}
            )
    print("| systems | predictions | JSON lines, MB | Parquet, MB (files) | wall s | CPU s | peak memory MB |")
    print("|---|---|---|---|---|---|---|")
    for row in found:
        print(
            f"| {row['systems']:,} | {row['predictions']:,} | {row['jsonl_mb']:,.0f} "
            f"| {row['parquet_mb']:,.0f} ({row['n_files']}) | {row['wall_s']:.1f} | {row['cpu_s']:.1f} "
            f"| {row['peak_mb']:,.0f} (goal: {GOAL_MB}) |"
        )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
