"""The real run: all TQA validation questions, two real school-science sites on loopback, real models, one board.

Usage (from a checkout, after `make test` has made the environment):

    .venv/bin/python bench/get_models.py --to MODELS
    .venv/bin/python bench/real_tqa.py --data ../shared/data --models MODELS --out runs/tqa-val

Every stage is a command of ours, shown before it runs and timed; finished stages are kept, so the run can be stopped
and started again. `--report docs/real-run.md` writes the page with the table, the crawl's statistics and the times.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SEED = 0
LIMITS = ("--time-s", "600", "--start-s", "900")
"""So wide that a busy machine, not the system, never decides an outcome."""
FULL = (
    "blind-abstain", "blind-a", "blind-b", "blind-c", "blind-d", "blind-random", "blind-longest",
    "bm25-overlap", "sbert-overlap",
)  # fmt: skip
SMALL_MODELS = (
    "edu-rag-vanilla-smollm2", "edu-rag-paper-smollm2", "edu-rag-vanilla-gemma3", "edu-rag-paper-gemma3",
    "edu-rag-vanilla-smollm2-letter", "edu-rag-paper-smollm2-letter",
)  # fmt: skip
LARGE_MODELS = ("edu-rag-vanilla-qwen1b", "edu-rag-paper-qwen1b")
HOSTS = {"siyavula": "www.mstworkbooks.co.za", "openstax-physics": "physics.school-reader.example"}


class Run:
    """The folder of one real run, its stages and their times."""

    def __init__(self, out: Path, models: Path) -> None:
        self.out = out
        self.dataset = out / "dataset"
        self.results = out / "results"
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
        """All 2,524 validation questions, the two sites under their own host names."""
        hosts = "".join(f'{json.dumps(folder)} = "{host}"\n' for folder, host in HOSTS.items())
        config = self.out / "build.toml"
        config.write_text(
            'name = "tqa-val"\nversion = "1.0.0"\n[search]\nengine = "folder"\n'
            f"[search.folder]\nsites = {json.dumps(str(data / 'web'))}\n[search.folder.hosts]\n{hosts}"
        )
        self.stage("build", "build", "--questions", data / "tqa/val/questions.jsonl", "--out", self.dataset, config)

    def run(self, slug: str, sample: int | None) -> None:
        """Ask one system all questions, or those of the seeded sample."""
        submission = self.out / "submissions" / slug
        if not submission.exists():
            shutil.copytree(ROOT / "submissions" / slug, submission)
        self.stage(f"run {slug}", "run", submission, "--dataset", self.dataset, *_sample(sample), *LIMITS)

    def score(self, slug: str, sample: int | None) -> None:
        """Score one system; a system that answered everything can be scored on a sample too."""
        submission = self.out / "submissions" / slug
        name = f"score {slug} {sample or 'all'}"
        words = ("score", submission, "--dataset", self.dataset, *_sample(sample), "--out", self.results, "--brief")
        self.stage(name, *words)


def _sample(n: int | None) -> tuple[str, ...]:
    return () if n is None else ("--sample", str(n), "--seed", str(SEED))


def _cards(results: Path) -> dict[str, list[dict[str, Any]]]:
    """Scorecards by table (split and sample), best score first."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(results.rglob("scorecard.json")):
        tables.setdefault(path.parents[1].name, []).append(json.loads(path.read_text()))
    for cards in tables.values():
        cards.sort(key=lambda card: (-card["rates"]["score"], card["system"]["slug"]))
    return tables


def _row(card: dict[str, Any]) -> str:
    low, high = card["intervals"]["score"]
    rates, counts = card["rates"], card["counts"]
    attempted = rates["accuracy_given_attempted"]
    split = " / ".join(str(counts[name]) for name in ("correct", "incorrect", "abstained", "unparseable", "failed"))
    return (
        f"| {card['system']['slug']} | {rates['score']:+.3f} | {low:+.3f} … {high:+.3f} | {rates['accuracy']:.3f} "
        f"| {rates['hallucination']:.3f} | {rates['missing']:.3f} | {'–' if attempted is None else f'{attempted:.3f}'} "
        f"| {split} |"
    )


def report(run: Run, page: Path) -> None:
    """Write docs/real-run.md from what the run left behind: no figure on it is typed by hand."""
    manifest = json.loads((run.dataset / "manifest.json").read_text())
    head = (
        "| system | score | 95 % interval | accuracy | hallucination | missing | accuracy given attempted "
        "| correct / incorrect / abstained / unparseable / failed |\n|---|---|---|---|---|---|---|---|"
    )
    parts = [(ROOT / "bench" / "real_run_head.md").read_text().rstrip(), "## The crawl\n", _crawl_table(manifest)]
    for table, cards in _cards(run.results).items():
        parts.append(
            f"## Results: {table}, n = {cards[0]['counts']['correct'] + sum(list(cards[0]['counts'].values())[1:])}\n"
        )
        parts.append("\n".join([head, *map(_row, cards)]))
    times = "\n".join(f"| {name} | {seconds:,.0f} |" for name, seconds in run.times.items() if seconds >= 1)
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    parts += ["## Time each stage took\n", f"Machine: {machine}. Stages under one second are left out.\n"]
    parts.append(f"| stage | seconds |\n|---|---|\n{times}")
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"wrote {page}")


def _crawl_table(manifest: dict[str, Any]) -> str:
    rows = [f"| {name} | {value} |" for name, value in sorted(_flat(manifest["sources"]).items())]
    return "| figure | this run |\n|---|---|\n" + "\n".join(rows)


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat.update(_flat(value, f"{prefix}{name}: ") if isinstance(value, dict) else {f"{prefix}{name}": value})
    return flat


def main() -> None:
    """Run all stages that are not done, then the board and the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the test data")
    parser.add_argument("--models", type=Path, required=True, help="folder that bench/get_models.py filled")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tqa-val")
    parser.add_argument("--sample", type=int, default=500, help="questions for systems with a small language model")
    parser.add_argument("--large-sample", type=int, default=300, help="questions for the 1.5B model")
    parser.add_argument("--only", choices=("full", "small", "large"), help="run only these systems now")
    parser.add_argument("--report", type=Path, help="write the page to this file")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    run = Run(given.out, given.models.resolve())
    run.build(given.data)
    groups = {"full": (FULL, None), "small": (SMALL_MODELS, given.sample), "large": (LARGE_MODELS, given.large_sample)}
    for name, (slugs, sample) in groups.items():
        if given.only in (None, name):
            for slug in slugs:
                run.run(slug, sample)
    for slug in FULL:
        for sample in (None, given.sample, given.large_sample):
            run.score(slug, sample)
    done = [slug for slug in (*SMALL_MODELS, *LARGE_MODELS) if f"run {slug}" in run.times]
    for slug in done:
        for sample in sorted({given.sample, given.large_sample}):
            if sample <= (given.large_sample if slug in LARGE_MODELS else given.sample):
                run.score(slug, sample)
    run.times.pop("board", None)
    run.stage("board", "board", run.results, "--out", given.out / "site")
    if given.report:
        report(run, given.report)


if __name__ == "__main__":
    main()
