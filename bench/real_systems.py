"""Runs the papers' systems on the real dataset, each in the sandbox, one after the other; stopped, it goes on.

Usage: .venv/bin/python bench/real_systems.py --out runs/tqa-val-build --models MODELS [SLUG …]

`--out` holds the dataset of bench/real_build.py. Systems with a small language model are asked the seeded stratified
sample of 500 questions, and those of them that the sample of 300 holds are written once more as predictions for it;
systems with the 1.5B model are asked the sample of 300. bench/real_scores.py scores what comes out.

A sandbox has its own CPU cgroup: `nice` has no effect on it, so use a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_json
from edu_rag.files.manifest import file_sha256
from edu_rag.names import Sample
from edu_rag.sample import choose
from harness.submission.run_record import read_run_record, record_path

ROOT = Path(__file__).resolve().parents[1]
SMALL = (
    "edu-rag-vanilla-gemma3",
    "edu-rag-paper-gemma3",
    "mala-sparse",
    "mala-dense",
    "mala-hybrid",
    "nautiyal-bm25",
    "nautiyal-dense",
    "nautiyal-hybrid-rerank",
    "hypa-fixed-k",
    "hypa-pa",
    "hypa-full",
)
LARGE = ("huo-self-check-vanilla", "huo-self-check-rag", "house")
LIMITS = ("--time-s", "600", "--start-s", "900")
"""So wide that a busy machine, not the system, never decides an outcome."""


MORE = {"house": ("--memory-gb", 8, "--pass-env", "OMP_WAIT_POLICY")}
"""Settings of systems that need more than the usual."""


def ask(out: Path, slug: str, n: int, environment: dict[str, str]) -> None:
    """Have one system answer the sample of `n`; an interrupted run goes on."""
    words = ("run", out / "submissions" / slug, "--dataset", out / "dataset", "--sample", n, "--seed", 0, *LIMITS)
    words += MORE.get(slug, ())
    print(f"\n$ edu-rag {shlex.join(map(str, words))}", flush=True)
    subprocess.run([sys.executable, "-m", "edu_rag", *map(str, words)], check=True, cwd=ROOT, env=environment)


def restrict(out: Path, slug: str, asked: int, wanted: int) -> None:
    """Write the answers to the smaller sample, inside the larger, with a record that says that they were reused."""
    (folder,) = (out / "submissions" / slug / "predictions").glob("tqa-val-2.1.0")
    larger, smaller = (folder / f"val-{Sample(n, 0).name}.jsonl" for n in (asked, wanted))
    ids = {question.question_id for question in choose(Dataset(out / "dataset").questions("val"), Sample(wanted, 0))}
    lines = [line for line in larger.read_text("utf-8").splitlines() if json.loads(line)["question_id"] in ids]
    record = read_run_record(larger)
    if len(lines) != len(ids) or record is None:
        raise SystemExit(f"{slug}: its answers to {asked} questions do not hold those to {wanted}, or have no record")
    smaller.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reused = replace(
        record,
        sample=Sample(wanted, 0).name,
        predictions_sha256=file_sha256(smaller),
        n_questions=wanted,
        n_asked=0,
        n_resumed=0,
        n_cached=wanted,
        wall_s=None,
    )
    write_json(record_path(smaller), asdict(reused))


def main() -> None:
    """Copy each submission to the run's folder, as it is now, and have it answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slugs", nargs="*", metavar="SLUG", help="systems; without any, all of them")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="folder of the models and their vectors")
    given = parser.parse_args()
    unknown = set(given.slugs) - {*SMALL, *LARGE}
    if unknown:
        parser.error(f"no system of this run: {', '.join(sorted(unknown))}")
    environment = {**os.environ, "EDU_RAG_MODELS": str(given.models.resolve()), "PYTHONPATH": str(ROOT)}
    for slug in given.slugs or (*SMALL, *LARGE):
        started = time.monotonic()
        ignored = shutil.ignore_patterns("predictions", "__pycache__")
        shutil.copytree(
            ROOT / "submissions" / slug, given.out / "submissions" / slug, ignore=ignored, dirs_exist_ok=True
        )
        ask(given.out, slug, 500 if slug in SMALL else 300, environment)
        if slug in SMALL:
            restrict(given.out, slug, 500, 300)
        print(f"{slug}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
