"""Ask the systems of paper_plan.py, many at a time, each model loaded once a process; no sandbox, no child processes.

    python bench/papers/paper_runs.py all --runs RUNS --models MODELS --to OUT --workers encode=4,qwen=4,gemma=2
    python bench/papers/paper_runs.py all … --most 20 --only 'open-textbooks.*qwen1b'       a first look
    python bench/papers/paper_runs.py join --runs RUNS --models MODELS --to OUT
    python bench/papers/paper_runs.py list

RUNS contains the datasets (bench/board_runs.py shows how to make them), MODELS the language models. `all` starts the
workers, waits for them, then joins. `encode` workers fill the cache of vectors in $EDU_RAG_CACHE first; without one,
the systems encode as they go. Set EDU_RAG_DEVICE=cuda for an accelerator: several workers share it, and
TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 multiplies in TF32 instead of float32. `--for-s` stops the work after so many
seconds; the same command goes on from there. A sample is asked in nested parts (100, 200, 300, 500 questions), and
`join` writes predictions of the largest one that is complete, in the project's format with a run record, to
OUT/submissions.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from paper_plan import MODELS, ROOT, SPLITS, WHOLE_DOCUMENTS, Job, plan

from baselines.assemble import assemble
from baselines.edu_rag_paper import MAX_CHARS, Context, System, join
from baselines.edu_rag_paper import assemble as answering
from baselines.models import CACHE_VARIABLE, MODELS_VARIABLE, cache_folder
from baselines.parts import PagePassage
from baselines.prompts.generate import LanguageModel
from baselines.recipe import ModelChoice, recipe_of
from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_values, write_json, write_records
from edu_rag.files.manifest import file_sha256
from edu_rag.names import Sample
from edu_rag.progress import say
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction
from edu_rag.serve import SystemPage, SystemQuestion
from harness.probing.probe_questions import DRAWS, ProbeSource, source_of
from harness.probing.run_probes import PROBES, probe_path
from harness.running.replies import Reply, prediction_of
from harness.running.run import Manner, record_of
from harness.running.task import Task
from harness.submission.folder import open_submission
from harness.submission.predictions_file import row_of
from harness.submission.run_record import record_path

SEED = 0
STEPS = (20, 50, 100, 150, 200, 250, 300, 400, 500)
"""Sizes of the nested samples that a sample is asked in."""
OF_WHOLE = 250
"""Questions a part of a whole split."""
PAGES_AT_ONCE = 40
LOOK_S = 0.5
_SAID = ("answer", "response", "confidence", "passages", "input_tokens", "output_tokens")


class Bench:
    """The datasets with the tasks of jobs, and the folder of the results."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.runs, self.out, self.most = given.runs.resolve(), given.to.resolve(), given.most
        self.ends = time.monotonic() + given.for_s
        self.jobs = [job for job in plan() if re.search(given.only, job.name)]
        self._sources: dict[str, ProbeSource] = {}
        self._tasks: dict[tuple[str, str | None, int | None], Task] = {}
        self._parts: dict[str, list[list[Question]]] = {}

    def dataset(self, name: str) -> Dataset:
        """A dataset of RUNS."""
        return Dataset(self.runs / name)

    def source(self, name: str) -> ProbeSource:
        """All questions of a dataset with their pages, read once."""
        if name not in self._sources:
            self._sources[name] = source_of(self.dataset(name), SPLITS[name])
        return self._sources[name]

    def n_of(self, job: Job) -> int | None:
        """The size of a job's sample, bounded by --most."""
        return min(job.n or self.most, self.most) if self.most else job.n

    def asked(self, name: str, n: int | None) -> list[Question]:
        """The questions of a sample."""
        questions = list(self.source(name).questions)
        return questions if n is None else choose(questions, Sample(n, SEED))

    def task(self, job: Job) -> Task:
        """The questions of a job and their pages."""
        key = (job.dataset, job.probe, self.n_of(job))
        if key not in self._tasks:
            source, asked = self.source(job.dataset), self.asked(job.dataset, self.n_of(job))
            task = PROBES[job.probe](source, SEED)(asked) if job.probe else Task(asked, source.pages)
            self._tasks[key] = task
        return self._tasks[key]

    def parts(self, job: Job) -> list[list[Question]]:
        """The questions of a job in the order of asking: what each larger sample adds, or pieces of a whole split."""
        if job.name not in self._parts:
            self._parts[job.name] = self._cut(job)
        return self._parts[job.name]

    def _cut(self, job: Job) -> list[list[Question]]:
        questions, n = self.task(job).questions, self.n_of(job)
        if n is None:
            return [list(questions[at : at + OF_WHOLE]) for at in range(0, len(questions), OF_WHOLE)]
        found, seen = [], set[str]()
        for size in (*(step for step in STEPS if step < n), n):
            within = {one.question_id for one in self.asked(job.dataset, size)}
            found.append([one for one in questions if one.question_id in within - seen])
            seen |= within
        return found

    def is_over(self) -> bool:
        """Whether the time of --for-s is over."""
        return time.monotonic() > self.ends

    def claim(self, name: str) -> bool:
        """Take a unit of work; false where another worker has it."""
        path = self.out / "claims" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def part_path(self, name: str) -> Path:
        """The rows of a unit of work."""
        return self.out / "parts" / f"{name}.jsonl"

    def is_done(self, name: str) -> bool:
        """Whether a unit of work has its rows."""
        return self.part_path(name).is_file()

    def encoded(self, dataset: str, pages: str) -> Path:
        """The mark that these pages of a dataset are encoded."""
        return self.out / "encoding" / f"{dataset}.{pages}"

    def is_ready(self, job: Job) -> bool:
        """Whether the pages of a job are encoded; always where no worker encodes."""
        wanted = ("own", "all")[: ("", "own", "all").index(job.pages)]
        return not (self.out / "encoding").is_dir() or all(self.encoded(job.dataset, one).is_file() for one in wanted)


def system_page(page: WebPage) -> SystemPage:
    """A page as a system gets it."""
    return SystemPage(
        page_id=page.page_id, url=page.url, title=page.title, text=page.text, sentences=tuple(page.sentences)
    )


def system_question(question: Question, pages: Sequence[WebPage]) -> SystemQuestion:
    """A question as a system gets it."""
    shown = tuple(map(system_page, pages))
    return SystemQuestion(
        id=question.question_id, text=question.text, choices=question.choices, kind=question.kind, pages=shown
    )


# --- vectors ---


def units(bench: Bench, dataset: str) -> Iterator[tuple[str, list[WebPage]]]:
    """The pages to encode, some at a time: those of the samples first (`own`), then those only of controls (`all`)."""
    source, own, others = bench.source(dataset), dict[str, WebPage](), dict[str, WebPage]()
    jobs = [job for job in bench.jobs if job.dataset == dataset and job.pages]
    for question in bench.asked(dataset, max((bench.n_of(job) or 0 for job in jobs), default=0) or None):
        own |= {page.page_id: page for page in source.pages[question.question_id]}
    for task in (bench.task(job) for job in jobs if job.pages == "all"):
        others |= {page.page_id: page for question in task.questions for page in task.pages[question.question_id]}
    for name, chosen in (("own", own), ("all", {key: page for key, page in others.items() if key not in own})):
        pages = [chosen[page_id] for page_id in sorted(chosen)]
        for number, at in enumerate(range(0, max(1, len(pages)), PAGES_AT_ONCE)):
            yield f"encode.{dataset}.{name}.{number}", pages[at : at + PAGES_AT_ONCE]


def encode(bench: Bench) -> None:
    """Fill the cache of vectors with the sentences and windows of pages."""
    from baselines.embed import Encoder

    encoder, datasets = (
        Encoder(cache=cache_folder()),
        list(dict.fromkeys(job.dataset for job in bench.jobs if job.pages)),
    )
    for wanted in ("own", "all"):
        for dataset in datasets:
            group = [unit for unit in units(bench, dataset) if f".{wanted}." in unit[0]]
            for name, pages in group:
                if bench.is_over():
                    return
                if not bench.is_done(name) and bench.claim(name):
                    _encode(encoder, pages, with_windows=dataset == "open-textbooks")
                    write_records(bench.part_path(name), [{"pages": len(pages)}])
            if all(bench.is_done(name) for name, _ in group):
                bench.encoded(dataset, wanted).parent.mkdir(exist_ok=True)
                bench.encoded(dataset, wanted).touch()


def _encode(encoder: Any, pages: Sequence[WebPage], *, with_windows: bool) -> None:
    from baselines.chunk.sentences import sentences, windows

    for page in pages:
        alone = SystemQuestion(id="page", text="", choices={}, kind="free_text", pages=(system_page(page),))
        for chunk in (sentences(), windows(tokens=128, overlap=0)) if with_windows else (sentences(),):
            encoder.vectors([one.text for one in chunk(alone)])


# --- answers ---


def whole_documents(question: SystemQuestion) -> Context:
    """The pages as the engine ranked them, from the start, until the context is full (EDU-RAG, section 4.3)."""
    return join([PagePassage(page.page_id, 0, len(page.text), page.text) for page in question.pages], MAX_CHARS)


def system_of(job: Job, model: LanguageModel) -> System:
    """The system of a job around a model that is loaded already."""
    recipe = recipe_of(job.parts, job.slug)
    if job.slug == WHOLE_DOCUMENTS:
        return answering(model, recipe.model.style, whole_documents)

    def loaded(choice: ModelChoice) -> LanguageModel:
        return model

    return assemble(recipe, loaded)


def answer(system: System, question: Question, pages: Sequence[WebPage]) -> Prediction:
    """One answer; an error of the system becomes the prediction's status, as in `edu-rag run`."""
    try:
        said = system(system_question(question, pages))
        values: dict[str, Any] = {name: getattr(said, name) for name in _SAID}
        values["passages"] = [list(one) for one in said.passages]
    except Exception as error:  # the run goes on with the next question, as a run in the sandbox does
        say(f"{question.question_id}: {error!r}")
        values = {"error": repr(error)}
    return prediction_of(question.question_id, Reply(values, 0.0), first=True)


def ask(bench: Bench, kind: str) -> None:
    """Take the jobs of one model, part by part: each time the first one whose pages are encoded."""
    from baselines.gguf_model import LocalModel

    model: LanguageModel = LocalModel(MODELS[kind])
    jobs = [job for job in bench.jobs if job.model == kind]
    made: tuple[str, System] | None = None
    while not bench.is_over():
        found = next_part(bench, jobs)
        if found is None:
            if all(map(bench.is_ready, jobs)):
                return
            time.sleep(LOOK_S)
            continue
        job, name, questions = found
        try:
            if made is None or made[0] != job.slug:
                made = (job.slug, system_of(job, model))
        except Exception as error:  # one system that cannot be made does not cost the others their time
            say(f"{job.name}: left out: {error!r}")
            jobs = [one for one in jobs if one.slug != job.slug]
            continue
        _ask_part(bench, job, made[1], name, questions)


def next_part(bench: Bench, jobs: Sequence[Job]) -> tuple[Job, str, list[Question]] | None:
    """The first part that can be asked and that no other worker has; None where there is none now."""
    for job in filter(bench.is_ready, jobs):
        for number, questions in enumerate(bench.parts(job)):
            name = f"{job.name}.{number}"
            if not bench.is_done(name) and bench.claim(name):
                return job, name, questions
    return None


def _ask_part(bench: Bench, job: Job, system: System, name: str, questions: Sequence[Question]) -> None:
    task, rows, started = bench.task(job), [], time.monotonic()
    for question in questions:
        if bench.is_over():
            return
        said = answer(system, question, task.pages.get(question.question_id, ()))
        rows.append(row_of(task.back(said)))
    write_records(bench.part_path(name), rows)
    say(f"{name}: {len(rows)} answers in {time.monotonic() - started:.1f} s")


# --- predictions ---


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def describe(folder: Path, job: Job) -> None:
    """The submission.toml of a job: its recipe, as it was asked."""
    folder.mkdir(parents=True, exist_ok=True)
    head = [
        f'name = "{job.slug}"',
        'team = "EDU-RAG baselines"',
        'description = "Asked by bench/papers/paper_runs.py."',
    ]
    parts = [f"{key} = {_toml(part)}" for key, part in job.parts.items() if key != "model"]
    model = [f"{key} = {_toml(value)}" for key, value in job.parts["model"].items()]
    lines = [*head, "", "[parts]", *parts, "", "[parts.model]", *model]
    (folder / "submission.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def joined(bench: Bench, job: Job) -> tuple[int | None, list[dict[str, Any]]] | None:
    """The largest sample of a job whose questions are all answered, and its rows; None without any."""
    parts = bench.parts(job)
    paths = [bench.part_path(f"{job.name}.{number}") for number in range(len(parts))]
    rows = {row["question_id"]: row for path in paths if path.is_file() for _, row in read_values(path)}
    n = bench.n_of(job)
    for size in [None] if n is None else sorted({n, *(step for step in STEPS if step < n)}, reverse=True):
        within = {one.question_id for one in bench.asked(job.dataset, size)}
        wanted = [one.question_id for one in bench.task(job).questions if one.question_id in within]
        if wanted and all(name in rows for name in wanted):
            return size, [rows[name] for name in wanted]
    return None


def write(bench: Bench, job: Job) -> None:
    """The predictions of a job with their run record."""
    found = joined(bench, job)
    if found is None:
        say(f"{job.name}: not complete")
        return
    n, rows = found
    describe(bench.out / "submissions" / job.slug, job)
    submission, dataset = open_submission(bench.out / "submissions" / job.slug), bench.dataset(job.dataset)
    sample, split = None if n is None else Sample(n, SEED).name, SPLITS[job.dataset]
    path = submission.predictions_path(dataset.manifest.release.folder, split, sample)
    record = record_of(submission, dataset, split, sample, Manner(caps=None))
    if job.probe:
        path, record = probe_path(path, job.probe), replace(record, probe=job.probe, draws=DRAWS)
    write_records(path, rows)
    counts = {"n_questions": len(rows), "n_asked": len(rows), "predictions_sha256": file_sha256(path)}
    write_json(record_path(path), replace(record, **counts))
    failed = sum(row.get("status", "ok") != "ok" for row in rows)
    say(f"{job.name}: {len(rows)} answers" + (f", {failed} failed" if failed else ""))


def join_all(bench: Bench) -> None:
    """Predictions of every job."""
    for job in bench.jobs:
        write(bench, job)


# --- processes ---


class Worker(NamedTuple):
    """A worker's process, and where its messages go."""

    process: subprocess.Popen[bytes]
    log: Path


def start(given: argparse.Namespace, kind: str, number: int) -> Worker:
    """Start a worker with its log."""
    log = given.to / "logs" / f"{kind}-{number}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = ["--runs", given.runs, "--models", given.models, "--to", given.to, "--for-s", given.for_s]
    words += ["--only", given.only, *(["--most", given.most] if given.most else [])]
    line = [sys.executable, __file__, kind, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    with log.open("ab") as stream:
        process = subprocess.Popen(line, stdout=stream, stderr=stream, env=environment)
    return Worker(process, log)


def run_all(given: argparse.Namespace) -> int:
    """Start the workers, wait for them, and join what they wrote; 1 where a worker failed."""
    counts = {kind: int(n) for kind, n in (one.split("=") for one in given.workers.split(","))}
    given.to.mkdir(parents=True, exist_ok=True)
    for claim in (given.to / "claims").glob("*"):  # of workers that ended before they were done
        claim.unlink()
    if counts.get("encode"):
        (given.to / "encoding").mkdir(exist_ok=True)
    workers = [start(given, kind, number) for kind, n in counts.items() for number in range(n)]
    failed = 0
    for worker in workers:
        try:
            code = worker.process.wait(timeout=given.for_s + 60)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            code = worker.process.wait()
        if code:
            failed += 1
            say(f"{worker.log}: ended with {code}: {worker.log.read_text(errors='replace')[-2000:]}")
    join_all(Bench(given))
    return 1 if failed else 0


def show(bench: Bench) -> None:
    """The jobs in order, for a look."""
    for job in bench.jobs:
        print(f"{job.name}\t{job.model}\tpages: {job.pages or 'as they are'}")


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("all", "join", "list", "encode", *MODELS))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the datasets")
    parser.add_argument("--models", type=Path, help="folder of the language models")
    parser.add_argument("--to", type=Path, default=Path("paper-runs"), help="folder of the results")
    parser.add_argument("--workers", default="qwen=1,gemma=1,smollm2=1", help="processes of each kind")
    parser.add_argument("--only", default="", help="only jobs whose name this regular expression finds")
    parser.add_argument("--most", type=int, help="ask at most so many questions a job")
    parser.add_argument("--for-s", type=float, default=1e9, help="seconds after which no question is asked")
    given = parser.parse_args()
    if given.models is not None:
        os.environ[MODELS_VARIABLE] = str(given.models.resolve())
    os.environ.setdefault(CACHE_VARIABLE, str((given.to / "cache").resolve()))
    parts: dict[str, Callable[[Bench], None]] = {"join": join_all, "list": show, "encode": encode}
    if given.what == "all":
        sys.exit(run_all(given))
    parts.get(given.what, lambda bench: ask(bench, given.what))(Bench(given))


if __name__ == "__main__":
    main()
