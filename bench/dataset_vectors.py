"""Measures a run of `sbert-overlap` on a dataset with sentence vectors and without, in one go.

    python bench/dataset_vectors.py [DATASET] [--n 20] [--system submissions/sbert-overlap]
    python bench/dataset_vectors.py DATASET --write COPY
    python bench/dataset_vectors.py COPY --has-vectors [--split NAME]

DATASET is a dataset folder; without it the mini benchmark is built. With --n, only so many questions of it, drawn at
random, with their pages. A copy with vectors and one without are written, and the system runs on both by `edu-rag
run`, with empty caches and without the sandbox (whose own work is the same). With --has-vectors, the dataset was
built with vectors, or copied with --write (datasets made by recipe have none): the system runs on it as it is, and
nothing is encoded for comparison. CPU seconds are those of all processes of a command, on the threads that
OMP_NUM_THREADS allows.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from builder.build import build
from builder.config import read_config
from builder.deriving.vector_writer import write_vectors
from edu_rag.bundled import MINI
from edu_rag.cli.building import BaselineEncoders
from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import Attach, write_dataset
from edu_rag.files.jsonl import read_values
from edu_rag.files.manifest import write_manifest
from edu_rag.files.sentence_vectors import KEY_BYTES, KEYS_FILE, NUMBERS_FILE
from edu_rag.gold import Gold
from edu_rag.names import Sample
from edu_rag.records import SearchHit, WebPage

ROOT = Path(__file__).resolve().parents[1]
ENCODER = "all-MiniLM-L6-v2"


def tables_of(dataset: Dataset, n: int | None) -> Mapping[str, Mapping[str, list[object]]]:
    """The tables that a run and `edu-rag score` need, of n questions or of all."""
    split = dataset.only_split(None)
    questions = dataset.questions(split)
    asked = questions if n is None else choose(questions, Sample(n, 0))
    ids = {question.question_id for question in asked}
    hits = [hit for hit in dataset.records("hits", split, SearchHit) if hit.question_id in ids]
    page_ids = {hit.page_id for hit in hits}
    return {
        "questions": {split: list(asked)},
        "hits": {split: list(hits)},
        "pages": {split: [page for page in dataset.records("pages", split, WebPage) if page.page_id in page_ids]},
        "gold": {split: [gold for gold in dataset.records("gold", split, Gold) if gold.question_id in ids]},
    }


def write_copy(dataset: Dataset, n: int | None, out: Path, attach: Attach | None) -> None:
    """A copy of a dataset, of n questions or of all."""
    made = dataset.manifest
    write_dataset(
        out,
        tables_of(dataset, n),
        name=made.name,
        version=made.version,
        created_at=made.created_at,
        builder=made.builder,
        config_sha256=made.config_sha256,
        sources={},
        documents=lambda folder, files: {},
        attach=attach,
    )


def write_with_vectors(dataset: Dataset, out: Path) -> None:
    """A copy of a whole dataset folder, with vectors. It has the id of the dataset, whose content is the same."""
    shutil.copytree(dataset.folder, out)
    made = dataset.manifest
    added = write_vectors(out, made.files, ENCODER, BaselineEncoders())
    write_manifest(out, replace(made, files=dict(sorted({**made.files, **added}.items()))))


class Ran(NamedTuple):
    """One `edu-rag run`: CPU seconds of all of its processes, seconds until it ended, and the answers."""

    cpu_s: float
    wall_s: float
    answers: list[tuple[object, object]]


def run(system: Path, dataset: Path, scratch: Path, split: str | None = None) -> Ran:
    """Run the system on a dataset."""
    submission = scratch / dataset.name / system.name
    shutil.copytree(system, submission, ignore=shutil.ignore_patterns("predictions", "__pycache__"))
    words = ["run", str(submission), "--dataset", str(dataset), "--no-cache", "--unsafe-no-sandbox"]
    words += [] if split is None else ["--split", split]
    words += ["--time-s", "3600", "--start-s", "3600"]  # on a busy machine, encoding may take longer than a minute
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", *words],
        cwd=ROOT,
        env={**os.environ, "EDU_RAG_CACHE": str(scratch / dataset.name / "cache")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter() - began
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    predictions = read_values(Path(done.stdout.strip()))
    return Ran(spent, wall, [(value["question_id"], value["answer"]) for _, value in predictions])


def row(*cells: object) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def described(dataset: Dataset, folder: Path, n_asked: int) -> str:
    """What a run was asked, and the vectors in the dataset's folder."""
    n_texts = (folder / KEYS_FILE).stat().st_size // KEY_BYTES
    size = (folder / NUMBERS_FILE).stat().st_size
    return f"{dataset.id}, {n_asked:,} questions: {n_texts:,} vectors, {size / 1e6:,.1f} MB"


def report(dataset: Dataset, n: int | None, system: Path, scratch: Path) -> Iterator[str]:
    """Write both copies, run the system on each, and give the table."""
    encoders = BaselineEncoders()
    os.environ["EDU_RAG_CACHE"] = str(scratch / "cache")
    write_copy(dataset, n, scratch / "without", None)
    began = time.process_time()
    write_copy(dataset, n, scratch / "with", partial(write_vectors, name=ENCODER, encoders=encoders))
    built = time.process_time() - began
    write_copy(dataset, 1, scratch / "one", partial(write_vectors, name=ENCODER, encoders=encoders))
    without, with_vectors, one = (run(system, scratch / name, scratch / "runs") for name in ("without", "with", "one"))
    n_asked = len(without.answers)
    same = sum(before == now for before, now in zip(without.answers, with_vectors.answers, strict=True))
    yield f"{described(dataset, scratch / 'with', n_asked)}, {built:,.0f} s to build."
    yield ""
    yield row(f"run of `{system.name}`", "CPU s", "without its start", "same answers")
    yield row("---", *["--:"] * 3)
    start, same_as = one.cpu_s, f"{same} of {n_asked}"
    yield row("no vectors, no cache", f"{without.cpu_s:,.1f}", f"{without.cpu_s - start:,.1f}", same_as)
    yield row("vectors of the dataset", f"{with_vectors.cpu_s:,.1f}", f"{with_vectors.cpu_s - start:,.1f}", same_as)
    yield row("its start: one question, vectors", f"{start:,.1f}", "", "")


def report_second(dataset: Dataset, split: str | None, system: Path, scratch: Path) -> Iterator[str]:
    """Run the system on a dataset that has vectors."""
    ran = run(system, dataset.folder, scratch, split)
    yield f"{described(dataset, dataset.folder, len(ran.answers))}."
    yield ""
    yield row(f"run of `{system.name}`", "CPU s", "seconds")
    yield row("---", *["--:"] * 2)
    yield row("vectors of the dataset", f"{ran.cpu_s:,.1f}", f"{ran.wall_s:,.1f}")


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, nargs="?")
    parser.add_argument("--n", type=int, help="only so many questions, drawn at random")
    parser.add_argument(
        "--write", type=Path, metavar="COPY", help="only copy DATASET, with vectors, to this new folder"
    )
    parser.add_argument("--has-vectors", action="store_true", help="the dataset was built with vectors: one run only")
    parser.add_argument("--split", help="with --has-vectors: the split to ask, if there are several")
    parser.add_argument("--system", type=Path, default=ROOT / "submissions" / "sbert-overlap")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        source = asked.dataset
        if source is None:
            source = scratch / "mini"
            build([MINI / "questions.jsonl"], source, read_config(MINI / "build.toml", {}))
        if not asked.write:
            threads = os.environ.get("OMP_NUM_THREADS", "all")
            print(f"{ENCODER}, threads: {threads}.\n")
        if asked.write:
            write_with_vectors(Dataset(source), asked.write)
        elif asked.has_vectors:
            print(*report_second(Dataset(source), asked.split, asked.system, scratch), sep="\n")
        else:
            print(*report(Dataset(source), asked.n, asked.system, scratch), sep="\n")


if __name__ == "__main__":
    main()
