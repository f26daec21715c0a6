"""What the board costs at scale: a site of 200 systems and 13,693 questions, built twice.

Usage: .venv/bin/python bench/board_site.py [--systems N] [--questions N] [--lessons N] [--workers N] [--keep DIR]

Makes a synthetic dataset through the real writer (made-up words as frequent as in a language, a page for every two
questions, ten hits and some evidence a question) and, for each system, predictions that cite two sentences each, with
their scorecard. Then `edu-rag board` runs as a separate process twice into the same folder: into nothing, and with one
system scored again. CPU is user and system time of the process and its children (wait4); memory is sampled ten times a
second: the sum of what is resident in all of them, where shared pages count more than once. With --keep the inputs
stay, and are taken from there next time. `--lessons 0` is a dataset whose lessons are not known, as TQA's are not: its
ranks and pairs are then tested by question.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memory import CUMULATIVE, WORDS, children, resident_mb

from edu_rag.records import Evidence, Kind, Question, SearchHit, Span, WebPage, page_id_of
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, ScoreCard, Slice, SystemFacts

AT = datetime(2000, 1, 1, tzinfo=UTC)
KINDS: list[tuple[Kind, int]] = [("multiple_choice", 4), ("true_false", 2), ("matching", 7)]
GOAL_S, GOAL_MB = 60, 1_024
N_HITS, N_CITED = 10, 2
Spans = Sequence[tuple[str, int, int]]


def words(rng: random.Random, n: int) -> str:
    """Made-up words, frequent ones first."""
    return " ".join(rng.choices(WORDS, cum_weights=CUMULATIVE, k=n))


def question(number: int, n_lessons: int) -> Question:
    """One question of a kind that TQA has."""
    rng = random.Random(number)
    kind, k = rng.choices(KINDS, [6, 3, 1])[0]
    texts = ["true", "false"] if k == 2 else [f"{words(rng, 3)} {place}" for place in range(k)]
    lesson = f"Lesson {number % n_lessons:04}: {words(random.Random(number % n_lessons), 3)}" if n_lessons else None
    flags = ("meta_choice",) if rng.random() < 0.1 else ()
    return Question(
        question_id=f"NDQ_{number:06}",
        text=f"Which {words(rng, 9)}?",
        kind=kind,
        split="val",
        lesson=lesson,
        choices=dict(zip("abcdefg", texts, strict=False)),
        flags=flags,
    )


def page(number: int) -> WebPage:
    """A page of thirty sentences."""
    rng = random.Random(f"page {number}")
    sentences = [f"{words(rng, 12).capitalize()}." for _ in range(30)]
    spans, at = [], 0
    for sentence in sentences:
        spans.append(Span(at, at + len(sentence)))
        at += len(sentence) + 1
    url = f"https://site{number % 997}.example/{number}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=words(rng, 5).capitalize(),
        text=" ".join(sentences),
        fetched_at=AT,
        sentences=tuple(spans),
        html_sha256="0" * 64,
        extractor="bench",
    )


def write_exam(folder: Path, n: int, n_lessons: int) -> tuple[list[Question], list[Spans]]:
    """Write `dataset/` into a folder; the questions, and the sentences that systems may cite for each."""
    from edu_rag.files.dataset_writer import write_dataset

    rng = random.Random(3)
    questions, pages = [question(number, n_lessons) for number in range(n)], [page(number) for number in range(n // 2)]
    hits, evidence = [], []
    cited: list[Spans] = []
    for one in questions:
        mine = rng.sample(pages, N_HITS)
        hits += [
            SearchHit(
                question_id=one.question_id,
                page_id=found.page_id,
                url=found.url,
                rank=rank,
                engine="bench",
                query=one.text,
                searched_at=AT,
                outcome="kept",
            )
            for rank, found in enumerate(mine, 1)
        ]
        spans = [(found.page_id, *sentence) for found in mine[:3] for sentence in rng.sample(found.sentences, 6)]
        evidence += [
            Evidence(question_id=one.question_id, page_id=page_id, start=start, end=end, method="bench-v1")
            for page_id, start, end in rng.sample(spans, rng.choice([0, 1, 2, 3]))
        ]
        cited.append(spans)
    tables: dict[str, Sequence[object]] = {"questions": questions, "pages": pages, "hits": hits, "evidence": evidence}
    write_dataset(
        folder / "dataset",
        {config: {"val": records} for config, records in tables.items()},
        name="synthetic",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="bench",
        config_sha256="0" * 64,
        sources={},
        documents=lambda *_: {"README.md": b"# synthetic\n"},
    )
    return questions, cited


def counts_of(letters: str) -> Counts:
    """How often each outcome occurs."""
    return Counts(**{outcome: letters.count(letter) for outcome, letter in OUTCOME_LETTERS.items()})


def slices_of(questions: Sequence[Question], letters: str) -> Iterator[Slice]:
    """By kind and by lesson, as a scorecard has them."""
    parts: dict[tuple[str, str], list[str]] = {}
    for one, letter in zip(questions, letters, strict=True):
        parts.setdefault(("kind", one.kind), []).append(letter)
        if one.lesson is not None:
            parts.setdefault(("lesson", one.lesson), []).append(letter)
    for (attribute, value), part in sorted(parts.items()):
        yield Slice(attribute=attribute, value=value, counts=counts_of("".join(part)))


def write_system(
    folder: Path, dataset: str, asked: Sequence[Question], cited: Sequence[Spans], number: int, *, seed: int = 0
) -> None:
    """One system's predictions and scorecard; the first choice is the right one."""
    from edu_rag.scorecard.results_folder import FILE_NAME, write_scorecard
    from edu_rag.statistics import rate_intervals

    rng = random.Random(f"system {number}, {seed}")
    skill, lines, letters = rng.random(), [], []
    for one, spans in zip(asked, cited, strict=True):
        labels, chance = list(one.choices), rng.random()
        said = "a" if chance < 0.25 + skill / 2 else None if chance > 0.97 else rng.choice(labels)
        letters.append("a" if said is None else "c" if said == "a" else "i")
        lines.append(
            {
                "question_id": one.question_id,
                "answer": said,
                "confidence": round(rng.random(), 3),
                "passages": [spans[rng.randrange(len(spans))] for _ in range(N_CITED)],
                "latency_s": round(chance, 3),
            }
        )
    data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    outcomes, slug = "".join(letters), f"system-{number:03}"
    names = {one.lesson: None for one in asked if one.lesson is not None}
    places = {name: place for place, name in enumerate(names)}
    intervals, method = rate_intervals(outcomes)
    card = ScoreCard(
        system=SystemFacts(slug=slug, name=f"System {number} of the size test", team=f"Team {number % 40}"),
        dataset=dataset,
        split="val",
        sample=None,
        harness="edu-rag-bench",
        answers_rule="answers-v3",
        counts=counts_of(outcomes),
        outcomes=outcomes,
        lessons=tuple(places[one.lesson] for one in asked if one.lesson),
        slices=tuple(slices_of(asked, outcomes)),
        intervals=intervals,
        interval_method=method,
        cost={"latency_s": {"median": 0.5, "p95": 0.95, "n": len(asked), "source": "measured"}},
        predictions_sha256=hashlib.sha256(data).hexdigest(),
        scored_at="2026-11-20T09:30:00Z",
    )
    place = folder / "results" / "synthetic-1.0.0" / "val" / slug
    write_scorecard(place / FILE_NAME, card)
    (place / "predictions.jsonl").write_bytes(data)


class Build(NamedTuple):
    """One run of `edu-rag board`: seconds, and MB at most."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def _watched(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.returncode is None:
        together = resident_mb(process.pid) + sum(map(resident_mb, set(children(process.pid))))
        peak[0] = max(peak[0], together)
        time.sleep(0.1)


def build(folder: Path, workers: int) -> Build:
    """Run `edu-rag board` on a folder's inputs into its `site`. Raises SystemExit where it fails."""
    words_ = [folder / "results", "--dataset", folder / "dataset", "--out", folder / "site", "--workers", workers]
    command = [sys.executable, "-m", "edu_rag", "board", *map(str, words_), "--url", "https://board.example.org/"]
    started, peak = time.monotonic(), [0.0]
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told)
        watcher = threading.Thread(target=_watched, args=(process, peak))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watcher.join()
        told.seek(0)
        said = told.read().decode(errors="replace")
    if process.returncode:
        raise SystemExit(f"edu-rag board ended with {process.returncode}: {said[-500:]}")
    wall = time.monotonic() - started
    return Build(wall, usage.ru_utime + usage.ru_stime, peak[0])


def sizes(site: Path) -> list[int]:
    """Bytes of every file."""
    return [path.stat().st_size for path in site.rglob("*") if path.is_file()]


def report(builds: Sequence[tuple[str, Build]], site: Path, given: argparse.Namespace) -> Iterator[str]:
    """The measurements, as Markdown."""
    found = sizes(site)
    known = f"{given.lessons:,} lessons" if given.lessons else "lessons not known"
    yield f"{given.systems:,} systems, {given.questions:,} questions ({known}), {given.workers} processes;"
    yield f"{len(found):,} files of {sum(found) / 1e6:,.0f} MB. Goals: {GOAL_S} s on 2 cores, {GOAL_MB:,} MB."
    yield ""
    yield "| build | wall s | CPU s | peak MB, all processes |"
    yield "|---|---|---|---|"
    for name, one in builds:
        yield f"| {name} | {one.wall_s:.1f} | {one.cpu_s:.1f} | {one.peak_mb:,.0f} |"


def measure(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """Make what is missing, then build twice."""
    from edu_rag.files.dataset import Dataset

    shutil.rmtree(folder / "site", ignore_errors=True)
    asked, cited = write_exam(folder, given.questions, given.lessons)
    write = partial(write_system, folder, Dataset(folder / "dataset").id, asked, cited)
    place = folder / "results" / "synthetic-1.0.0" / "val"
    for number in range(given.systems):
        if not (place / f"system-{number:03}" / "predictions.jsonl").is_file():
            write(number)
    builds = [("into nothing", build(folder, given.workers))]
    write(0, seed=1)
    builds.append(("one system scored again", build(folder, given.workers)))
    shutil.rmtree(place / "system-000")  # so that inputs that are kept are the same next time
    return report(builds, folder / "site", given)


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--questions", type=int, default=13_693)
    parser.add_argument("--lessons", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    given: Any = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        print("\n".join(measure(given.keep, given)))
        return
    with tempfile.TemporaryDirectory(prefix="edu-rag-bench-") as folder:
        print("\n".join(measure(Path(folder), given)))


if __name__ == "__main__":
    main()
