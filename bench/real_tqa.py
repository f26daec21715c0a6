"""The real run: all TQA validation questions, two real school-science sites on loopback, real models, one board.

Usage (from a checkout, after `make test` has made the environment):

    .venv/bin/python bench/get_models.py --to MODELS
    .venv/bin/python bench/real_tqa.py --data ../shared/data --models MODELS --out runs/tqa-val

Every stage is a command of ours, shown before it runs and timed; finished stages are kept, so the run can be stopped
and started again. `--report docs` writes figures/real-run.md there: tables, tests, statistics of the crawl, times.
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
from pathlib import Path

from real_build import HOSTS, two_sites
from real_run_report import write_report

from edu_rag.files.dataset import Dataset
from edu_rag.names import Sample
from edu_rag.sample import choose

ROOT = Path(__file__).resolve().parents[1]
SEED = 0
LIMITS = ("--time-s", "600", "--start-s", "900")
"""So wide that a busy machine, not the system, never decides an outcome."""
FULL = (
    "blind-abstain",
    "blind-a",
    "blind-b",
    "blind-c",
    "blind-d",
    "blind-random",
    "blind-longest",
    "bm25-overlap",
    "sbert-overlap",
)
SMALL_MODELS = (
    "edu-rag-vanilla-smollm2",
    "edu-rag-paper-smollm2",
    "edu-rag-vanilla-gemma3",
    "edu-rag-paper-gemma3",
)
LETTERS = ("edu-rag-vanilla-smollm2-letter", "edu-rag-paper-smollm2-letter")
LARGE_MODELS = ("edu-rag-vanilla-qwen1b", "edu-rag-paper-qwen1b")


class Run:
    """The folder of one real run, its stages and their times."""

    def __init__(self, out: Path, models: Path) -> None:
        self.out = out
        self.dataset, self.results = out / "dataset", out / "results"
        self.times_file = out / "times.json"
        self.times: dict[str, float] = json.loads(self.times_file.read_text()) if self.times_file.exists() else {}
        self.environment = {**os.environ, "EDU_RAG_MODELS": str(models), "HF_HUB_OFFLINE": "1"}

    def stage(self, name: str, *words: object) -> None:
        """Run one command of ours, unless an earlier start of this run has finished it."""
        if name in self.times:
            print(f"{name}: done before in {self.times[name]:.0f} s", flush=True)
            return
        print(f"\n$ edu-rag {shlex.join(map(str, words))}", flush=True)
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "edu_rag", *map(str, words)], check=True, cwd=ROOT, env=self.environment)
        self.times[name] = time.monotonic() - started
        self.times_file.write_text(json.dumps(self.times, indent=1))

    def build(self, data: Path) -> None:
        """All 2,524 validation questions and the two sites, served under their own host names."""
        hosts = "".join(f'{json.dumps(folder)} = "{host}"\n' for folder, host in HOSTS.items())
        config = self.out / "dataset.toml"
        config.write_text(
            f'name = "tqa-val"\nversion = "2.0.0"\n[search]\nengine = "folder"\n'
            f"[search.folder]\nsites = {json.dumps(str(two_sites(self.out, data)))}\n[search.folder.hosts]\n{hosts}"
        )
        questions = data / "tqa/val/questions.jsonl"
        self.stage("build", "build", "--questions", questions, "--out", self.dataset, config)

    def run(self, slug: str, sample: int | None) -> None:
        """Ask one system all questions, or those of the seeded sample."""
        submission = self.out / "submissions" / slug
        if not submission.exists():
            shutil.copytree(ROOT / "submissions" / slug, submission)
        # Latencies are reported, so answers of earlier days are not reused.
        asked = (*_sample(sample), *LIMITS, "--no-cache")
        self.stage(f"run {slug}", "run", submission, "--dataset", self.dataset, *asked)

    def score(self, slug: str, sample: int | None, asked: int | None = None) -> None:
        """Score one system on all questions or on a sample, from the predictions for `asked` questions (None: all)."""
        if asked is not None and sample is not None and sample < asked:
            self._restrict(slug, asked, sample)
        words = ("score", self.out / "submissions" / slug, "--dataset", self.dataset, *_sample(sample))
        self.stage(f"score {slug} {sample or 'all'}", *words, "--out", self.results, "--brief")

    def _restrict(self, slug: str, asked: int, sample: int) -> None:
        """Write a system's predictions for the smaller sample, taken from those for the larger one that holds it."""
        folder = self.out / "submissions" / slug / "predictions" / "tqa-val-2.0.0"
        questions = Dataset(self.dataset).questions("val")
        wanted = {question.question_id for question in choose(questions, Sample(sample, SEED))}
        larger = (folder / f"val-{Sample(asked, SEED).name}.jsonl").read_text(encoding="utf-8").splitlines()
        lines = [line for line in larger if json.loads(line)["question_id"] in wanted]
        if len(lines) != len(wanted):
            raise SystemExit(f"{slug}: the sample of {sample} does not lie inside the one of {asked}")
        (folder / f"val-{Sample(sample, SEED).name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sample(n: int | None) -> tuple[str, ...]:
    return () if n is None else ("--sample", str(n), "--seed", str(SEED))


def publish(results: Path) -> None:
    """Copy the scorecards to leaderboard/results; the predictions stay, since they quote pages that are not ours."""
    for card in sorted(results.rglob("scorecard.json")):
        place = ROOT / "leaderboard" / "results" / card.relative_to(results)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(card, place)


def main() -> None:
    """Run all stages that are not done, then the board and the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the test data")
    parser.add_argument("--models", type=Path, required=True, help="folder that bench/get_models.py filled")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tqa-val")
    parser.add_argument("--sample", type=int, default=500, help="questions for systems with a small language model")
    parser.add_argument("--large-sample", type=int, default=300, help="questions for the 1.5B model")
    parser.add_argument("--only", choices=("full", "small", "large", "letters"), help="run only these systems now")
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="write figures/real-run.md there")
    parser.add_argument("--publish", action="store_true", help="copy the scorecards to leaderboard/results")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    run = Run(given.out, given.models.resolve())
    run.build(given.data)
    groups = {
        "full": (FULL, None),
        "small": (SMALL_MODELS, given.sample),
        "large": (LARGE_MODELS, given.large_sample),
        "letters": (LETTERS, given.sample),
    }
    for name, (slugs, sample) in groups.items():
        if given.only in (None, name):
            for slug in slugs:
                run.run(slug, sample)
    small, large = given.sample, given.large_sample
    for slugs, asked, samples in (
        (FULL, None, (None, small, large)),
        ((*SMALL_MODELS, *LETTERS), small, (small, large)),
        (LARGE_MODELS, large, (large,)),
    ):
        for slug in slugs:
            if f"run {slug}" in run.times:
                for sample in dict.fromkeys(samples):
                    run.score(slug, sample, asked)
    run.times.pop("board", None)
    run.stage("board", "board", run.results, "--out", given.out / "site")
    if given.publish:
        publish(run.results)
    if given.report:
        write_report(given.out, run.times, given.report)


if __name__ == "__main__":
    main()
