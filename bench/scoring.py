"""What scoring costs: 13,693 predictions with ten passages each, read, checked, judged, sliced, with intervals.

Usage: .venv/bin/python bench/scoring.py [--questions N] [--runs N] [--json FILE]

Makes a synthetic dataset (questions in 1,076 lessons, pages, ten hits a question, evidence) through the real writer,
and a submission for it. Then runs `edu-rag score` as a separate process; its CPU time (user + system, by wait4) less
that of `python -c pass` is compared with GOAL_S. Stages are timed in another process, one after the other.
The peer is a plain script in the same run: json, pandas, string equality, one slice table, SciPy's bootstrap of the
score alone. Medians over the runs, after one that only writes the bytecode of all modules.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edu_rag.records import Kind

ROOT = Path(__file__).resolve().parents[1]
AT = datetime(2000, 1, 1, tzinfo=UTC)
N_LESSONS = 1_076
N_PAGES = 4_000
N_PASSAGES = 10
WORDS = [a + b + c for a in ("ba", "co", "di", "lu", "me", "ra", "to") for b in ("l", "n", "r", "st") for c in "aeio"]
KINDS: list[tuple[Kind, int]] = [("multiple_choice", 4), ("true_false", 2), ("matching", 7)]
GOAL_S, GOAL_MB = 1.0, 500


def _words(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(WORDS, k=n))


def _questions(n: int) -> Iterator[tuple[Any, str]]:
    from edu_rag.records import Question

    rng = random.Random(1)
    for number in range(n):
        kind, k = rng.choices(KINDS, [6, 3, 1])[0]
        texts = ["true", "false"] if k == 2 else [f"{_words(rng, 3)} {i}" for i in range(k)]
        choices = dict(zip("abcdefg", texts, strict=False))
        question = Question(
            question_id=f"q{number:06}",
            text=f"Which {_words(rng, 8)}?",
            choices=choices,
            kind=kind,
            split="test",
            lesson=f"lesson {rng.randrange(N_LESSONS)}",
            flags=("meta_choice",) if rng.random() < 0.1 else (),
        )
        yield question, rng.choice(list(choices))


def _pages() -> list[Any]:
    from edu_rag.records import Span, WebPage, page_id_of

    rng = random.Random(2)
    made = []
    for number in range(N_PAGES):
        url = f"http://site{number}.example/"
        sentences = [_words(rng, 12) + "." for _ in range(40)]
        spans, at = [], 0
        for sentence in sentences:
            spans.append(Span(at, at + len(sentence)))
            at += len(sentence) + 1
        made.append(
            WebPage(
                page_id=page_id_of(url),
                url=url,
                title=f"Page {number}",
                text=" ".join(sentences),
                sentences=tuple(spans),
                fetched_at=AT,
                html_sha256="0" * 64,
                extractor="bench",
            )
        )
    return made


def make(folder: Path, n: int) -> None:
    """Write `dataset/` and `submissions/synthetic/` into a folder."""
    from edu_rag.files.dataset_writer import write_dataset
    from edu_rag.gold import Gold
    from edu_rag.records import Evidence, SearchHit

    rng = random.Random(3)
    pages, asked = _pages(), list(_questions(n))
    hits, evidence, lines = [], [], []
    for question, right in asked:
        question_id, mine = question.question_id, rng.sample(pages, N_PASSAGES)
        hits += [
            SearchHit(
                question_id=question_id,
                page_id=page.page_id,
                url=page.url,
                rank=rank,
                engine="bench",
                query=question.text,
                searched_at=AT,
                outcome="kept",
            )
            for rank, page in enumerate(mine, 1)
        ]
        for page in rng.sample(mine, rng.choice([0, 1, 2, 3])):
            start, end = rng.choice(page.sentences)
            evidence.append(
                Evidence(question_id=question_id, page_id=page.page_id, start=start, end=end, method="bench-v1")
            )
        lines.append(_line(rng, question, right, mine))
    write_dataset(
        folder / "dataset",
        {
            "questions": {"test": [question for question, _ in asked]},
            "gold": {"test": [Gold(question_id=question.question_id, answer=right) for question, right in asked]},
            "pages": {"test": pages},
            "hits": {"test": hits},
            "evidence": {"test": evidence},
        },
        name="synthetic",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="bench",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# synthetic\n"},
    )
    place = folder / "submissions" / "synthetic" / "predictions" / "synthetic-1.0.0"
    place.mkdir(parents=True)
    (place.parents[1] / "submission.toml").write_text('name = "Synthetic"\nteam = "bench"\n', encoding="utf-8")
    (place / "test.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _line(rng: random.Random, question: Any, right: str, pages: Sequence[Any]) -> dict[str, Any]:
    label = right if rng.random() < 0.6 else rng.choice(list(question.choices))
    form = rng.random()
    text = question.choices[label]
    answer = (
        label if form < 0.5 else f"({label.upper()})" if form < 0.6 else f"{label}) {text}" if form < 0.75 else text
    )
    passages = [(page.page_id, *rng.choice(page.sentences)) for page in pages]
    return {
        "question_id": question.question_id,
        "answer": "I don't know" if rng.random() < 0.1 else answer,
        "confidence": round(rng.random(), 3),
        "passages": passages,
        "latency_s": round(rng.random() * 3, 3),
        "input_tokens": rng.randrange(2_000),
        "output_tokens": rng.randrange(20),
        "status": "ok",
    }


PEER = """
import json, sys, numpy as np, pandas as pd, pyarrow.parquet as pq
from pathlib import Path
from scipy.stats import bootstrap
dataset, predictions = Path(sys.argv[1]), Path(sys.argv[2])
read = lambda name: pd.concat([pq.read_table(p).to_pandas() for p in sorted((dataset / name).glob("*.parquet"))])
table = read("questions").merge(read("gold"), on="question_id")
said = pd.DataFrame(json.loads(line) for line in predictions.open())
table = table.merge(said, on="question_id", how="left", suffixes=("_gold", ""))
points = np.where(table.answer.isna(), 0, np.where(table.answer == table.answer_gold, 1, -1))
table.assign(points=points).groupby("kind").points.mean()
found = bootstrap((points,), np.mean, n_resamples=10_000, method="percentile", batch=100, rng=0)
print(points.mean(), found.confidence_interval)
"""

STAGES = """
import gc, json, sys, time
marks = [("start", time.process_time())]
mark = lambda name: marks.append((name, time.process_time()))
from pathlib import Path
import msgspec, numpy, pyarrow.parquet
from datetime import datetime, UTC
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold, match_gold
from edu_rag.statistics import rate_intervals
from harness.scoring import score as s
from harness.submission.predictions_file import read_predictions
from harness.scoring.attribution import attribution_of
from harness.scoring.confidence import confidence_of
from harness.judging.grading import Grading, grade_all
from harness.scoring.retrieval import retrieval_of
from edu_rag.scorecard.card import OUTCOME_LETTERS, SystemFacts
from edu_rag.scorecard.results_folder import write_scorecard
mark("imports")
gc.disable()  # as score_target does
dataset = Dataset(Path(sys.argv[1])); mark("open the dataset (hashes)")
exam = s.open_exam(dataset, "test", None); mark("read questions, gold, support")
predictions = read_predictions(Path(sys.argv[2]), exam.known); mark("read and check predictions")
verdicts, _ = grade_all(exam.questions, exam.gold, predictions, Grading()); mark("judge")
s.slices_of(exam, verdicts); mark("slices")
outcomes = "".join(OUTCOME_LETTERS[v.outcome] for v in verdicts)
rate_intervals(outcomes, s.lesson_numbers(exam.questions)); mark("intervals by lesson")
attribution_of(exam.questions, predictions, verdicts, exam.support); mark("attribution")
retrieval_of(predictions, verdicts, exam.support, s.lesson_numbers(exam.questions)); mark("retrieval")
confidence_of(verdicts, predictions); mark("confidence")
facts = SystemFacts(slug="synthetic", name="s", team="t")
before = time.process_time()
card = s.score(exam, predictions, facts, scored_at=datetime(2000, 1, 1, tzinfo=UTC)).card
marks.append(("(all of score() again)", time.process_time()))
write_scorecard(Path(sys.argv[3]) / "scorecard.json", card); mark("write the scorecard")
print(json.dumps({b[0]: b[1] - a[1] for a, b in zip(marks, marks[1:])}))
"""


def _run(command: Sequence[str | Path], folder: Path) -> tuple[float, float, float, str]:
    """CPU seconds, wall seconds, peak MB and output of a command."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([sys.executable, *map(str, command)], cwd=ROOT, stdout=out, env=_environment(folder))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        out.seek(0)
        text = out.read().decode()
    if child.returncode:
        raise SystemExit(f"{command[:3]} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text


def _environment(folder: Path) -> dict[str, str]:
    """With bytecode that is written once and kept: pip compiles what it installs, so no user waits for that."""
    told = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return told | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def measure(folder: Path, runs: int) -> dict[str, Any]:
    """The figures of a folder that `make` wrote."""
    predictions = folder / "submissions" / "synthetic" / "predictions" / "synthetic-1.0.0" / "test.jsonl"
    score: list[str | Path] = [
        "-m",
        "edu_rag",
        "score",
        predictions,
        "--dataset",
        folder / "dataset",
        "--out",
        folder / "results",
    ]
    rows: dict[str, list[tuple[float, float, float]]] = {"python": [], "edu-rag score": [], "peer": []}
    stages: list[dict[str, float]] = []
    commands: dict[str, list[str | Path]] = {
        "python": ["-c", "pass"],
        "edu-rag score": score,
        "peer": ["-c", PEER, folder / "dataset", predictions],
    }
    for number in range(runs + 1):
        for name, command in commands.items():
            figures = _run(command, folder)[:3]
            if number:  # the first round writes the bytecode
                rows[name].append(figures)
        stages.append(json.loads(_run(["-c", STAGES, folder / "dataset", predictions, folder], folder)[3]))
    medians = {name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in rows.items()}
    empty = medians.pop("python")[0]
    return {
        "commands": {name: {"cpu_s": c - empty, "wall_s": w, "peak_mb": m} for name, (c, w, m) in medians.items()},
        "stages": {name: statistics.median(run[name] for run in stages[1:]) for name in stages[0]},
        "predictions_mb": predictions.stat().st_size / 1e6,
    }


def main() -> None:
    """Print the figures as Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the synthetic data, made once")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        if not (folder / "dataset").is_dir():
            make(folder, given.questions)
        found = measure(folder, given.runs)
    print(
        f"{given.questions:,} predictions with {N_PASSAGES} passages each ({found['predictions_mb']:.1f} MB), "
        f"{N_LESSONS:,} lessons; median of {given.runs} runs. Goals: {GOAL_S} s of CPU after interpreter start, "
        f"{GOAL_MB} MB.\n"
    )
    print("| what | CPU s after interpreter start | wall s | peak MB |\n|---|---|---|---|")
    names = {"edu-rag score": "`edu-rag score --out`: all of it", "peer": "peer: json, pandas, SciPy's bootstrap"}
    for name, row in found["commands"].items():
        print(f"| {names[name]} | {row['cpu_s']:.2f} | {row['wall_s']:.2f} | {row['peak_mb']:,.0f} |")
    print("\n| stage | CPU ms |\n|---|---|")
    for name, seconds in found["stages"].items():
        print(f"| {name} | {1000 * seconds:,.0f} |")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
