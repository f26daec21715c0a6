"""Runs the papers' systems on the real dataset, each in the sandbox, one after the other; stopped, it goes on.

Usage: .venv/bin/python bench/real_systems.py --out runs/tqa-val-build --models MODELS [SLUG …]

`--out` holds the dataset of bench/real_build.py. Systems with a small language model are asked the seeded stratified
sample of 500 questions, and those of them that the sample of 300 holds are written once more as predictions for it;
systems with the 1.5B model are asked the sample of 300. bench/real_scores.py scores what comes out.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMALL = (
    "edu-rag-vanilla-gemma3", "edu-rag-paper-gemma3", "mala-sparse", "mala-dense", "mala-hybrid", "nautiyal-bm25",
    "nautiyal-dense", "nautiyal-hybrid-rerank", "hypa-fixed-k", "hypa-pa", "hypa-full",
)  # fmt: skip
LARGE = ("huo-self-check-vanilla", "huo-self-check-rag", "house")
LIMITS = ("--time-s", "600", "--start-s", "900")
"""So wide that a busy machine, not the system, never decides an outcome."""


def ask(out: Path, slug: str, n: int, environment: dict[str, str]) -> None:
    """Have one system answer the sample of `n`; what the same system has answered is not asked again."""
    words = ("run", out / "submissions" / slug, "--dataset", out / "dataset", "--sample", n, "--seed", 0, *LIMITS)
    print(f"\n$ edu-rag {shlex.join(map(str, words))}", flush=True)
    subprocess.run([sys.executable, "-m", "edu_rag", *map(str, words)], check=True, cwd=ROOT, env=environment)


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
        for n in (500, 300) if slug in SMALL else (300,):
            ask(given.out, slug, n, environment)
        print(f"{slug}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
