"""The runs of the board: every system on open-textbooks and tqa-val, scored, verified and put into the repository.

    edu-rag dataset make open-textbooks --sources DATA/books --out RUNS/open-textbooks
    edu-rag dataset make tqa-val --sources DATA --out RUNS/tqa-val
    python bench/get_models.py --to MODELS
    python bench/board_runs.py run --runs RUNS --models MODELS [--dataset NAME] [--no-sandbox] [--at-once N] [SLUG …]
    python bench/board_runs.py probe --runs RUNS --models MODELS [--probe NAME] [SLUG …]
    python bench/board_runs.py publish --runs RUNS [--machine TEXT]
    python bench/board_runs.py report --runs RUNS

`run` asks each system in the sandbox, in the order of PLAN; stopped, it goes on. Systems without a language model are
asked the whole split, the others a stratified sample with seed 0; samples of one seed contain one another.
`probe` asks each under the conditions of CONTROLS; a system that has not run here is taken from the published runs, if
its files are still the same. `publish` copies predictions and probes to submissions/ without
`response`, vouches for them as the maintainers' runs in leaderboard/reruns.jsonl, scores them from there into
leaderboard/results, and has `edu-rag verify` make every scorecard again. `report` writes docs/figures/results.md and
the boards of README.md and docs/results.md.

A sandbox has its own CPU cgroup: `nice` has no effect on it, so use a quiet machine for latencies.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_values, write_json, write_records
from edu_rag.files.manifest import Manifest, file_sha256, read_manifest
from edu_rag.names import Sample
from edu_rag.statistics import holm
from harness.exam import Exam, open_exam
from harness.probing.probe_files import own_probes
from harness.running.fingerprint import system_sha256
from harness.submission.folder import Limits
from harness.submission.run_record import ProbeRun, RunRecord, read_run_record, record_path
from harness.trust.rerun_log import FILE_NAME, Rerun, read_reruns, write_rerun

ROOT = Path(__file__).resolve().parents[1]
LEADERBOARD = ROOT / "leaderboard"
SPLITS = {"open-textbooks": "test", "tqa-val": "val", "edu-rag-mini": "test"}
WHOLE = ("edu-rag-mini",)
"""Datasets so small that every system is asked all questions."""
SEED = 0
BOARDS = ("open-textbooks", "tqa-val")
"""The datasets with a board in docs/results.md; README.md has the first."""
FIRST_ROWS = 10
"""Rows of a board in README.md and docs/results.md; docs/figures/results.md has all."""
LIMITS = ("--time-s", "600", "--start-s", "900")
"""So wide that a busy machine, not the system, never decides an outcome."""
CONTROLS = ("no-context", "evidence-only", "other-pages", "half-noise")
"""No pages, evidence only, another question's pages, half noise."""
NOTE = "run in the sandbox by bench/board_runs.py; `response` is left out: it may quote pages"
NOTE_WITHOUT = (
    "run without a sandbox by bench/board_runs.py{}; `response` is left out: it may quote pages; "
    "latencies are left out: other runs shared the machine"
)
UNBOXED = ("--unsafe-no-sandbox", "--no-cache")
"""Without a sandbox, a system of another machine or device must not be answered for by the cache."""


class Planned(NamedTuple):
    """A system of the board, the number of questions that it is asked (None: all), and more options of its run."""

    slug: str
    n: int | None
    options: tuple[str, ...] = ()


ABSTAINING = "blind-abstain"
BLIND = (ABSTAINING, "blind-a", "blind-b", "blind-c", "blind-d", "blind-longest", "blind-random")
SMALL = (
    "edu-rag-vanilla-smollm2",
    "edu-rag-paper-smollm2",
    "house-light",
    "edu-rag-vanilla-gemma3",
    "edu-rag-paper-gemma3",
    "mala-sparse",
    "mala-dense",
    "mala-hybrid",
    "nautiyal-bm25",
    "nautiyal-dense",
    "nautiyal-hybrid",
    "nautiyal-hybrid-rerank",
    "hypa-fixed-k",
    "hypa-pa",
    "hypa-full",
)
LARGE = ("edu-rag-vanilla-qwen1b", "edu-rag-paper-qwen1b", "house", "huo-self-check-vanilla", "huo-self-check-rag")
PLAN = (
    *(Planned(slug, None) for slug in (*BLIND, "bm25-overlap", "sbert-overlap", "sbert-overlap-silent")),
    *(Planned(slug, 1_000) for slug in SMALL),
    *(Planned(slug, 500, ("--memory-gb", "8", "--pass-env", "OMP_WAIT_POLICY")) for slug in LARGE),
)
PAIRS = (
    ("edu-rag-paper-smollm2", "edu-rag-vanilla-smollm2"),
    ("edu-rag-paper-gemma3", "edu-rag-vanilla-gemma3"),
    ("edu-rag-paper-qwen1b", "edu-rag-vanilla-qwen1b"),
    ("huo-self-check-rag", "edu-rag-paper-qwen1b"),
    ("huo-self-check-vanilla", "edu-rag-vanilla-qwen1b"),
    ("huo-self-check-vanilla", "edu-rag-paper-qwen1b"),
    ("nautiyal-bm25", "edu-rag-vanilla-gemma3"),
    ("mala-sparse", "nautiyal-bm25"),
    ("sbert-overlap", "bm25-overlap"),
    ("nautiyal-dense", "edu-rag-vanilla-gemma3"),
    ("nautiyal-dense", "nautiyal-bm25"),
    ("nautiyal-hybrid", "edu-rag-vanilla-gemma3"),
    ("nautiyal-hybrid", "nautiyal-bm25"),
    ("nautiyal-hybrid", "nautiyal-dense"),
    ("nautiyal-hybrid-rerank", "edu-rag-vanilla-gemma3"),
    ("nautiyal-hybrid-rerank", "nautiyal-hybrid"),
    ("nautiyal-hybrid-rerank", "nautiyal-bm25"),
    ("mala-hybrid", "mala-sparse"),
    ("hypa-fixed-k", "edu-rag-vanilla-gemma3"),
    ("hypa-pa", "edu-rag-vanilla-gemma3"),
    ("hypa-pa", "hypa-fixed-k"),
    ("hypa-full", "edu-rag-vanilla-gemma3"),
    ("hypa-full", "hypa-pa"),
    ("house", "edu-rag-paper-qwen1b"),
    ("house", "edu-rag-vanilla-qwen1b"),
    ("house", "blind-abstain"),
    ("edu-rag-paper-qwen1b", "blind-abstain"),
    ("huo-self-check-rag", "blind-abstain"),
    ("house", "house-light"),
    ("sbert-overlap", "blind-abstain"),
    ("sbert-overlap", "edu-rag-vanilla-qwen1b"),
    ("sbert-overlap-silent", "blind-abstain"),
    ("sbert-overlap-silent", "sbert-overlap"),
    ("house", "sbert-overlap-silent"),
    ("house-light", "sbert-overlap-silent"),
    ("edu-rag-paper-qwen1b", "bm25-overlap"),
    ("edu-rag-paper-qwen1b", "sbert-overlap"),
    ("house-light", "edu-rag-paper-smollm2"),
    ("house-light", "blind-abstain"),
    ("house-light", "edu-rag-vanilla-smollm2"),
    ("house-light", "bm25-overlap"),
    ("bm25-overlap", "blind-random"),
    ("bm25-overlap", "edu-rag-vanilla-gemma3"),
    ("bm25-overlap", "edu-rag-vanilla-qwen1b"),
    ("mala-sparse", "edu-rag-vanilla-gemma3"),
)
"""Compared in the report: with and without retrieval, the guard, and ways of retrieval."""


def command(*words: object, **environment: str) -> str:
    """One command of ours, printed before it runs; its standard output."""
    print(f"\n$ edu-rag {shlex.join(map(str, words))}", flush=True)
    line = [sys.executable, "-m", "edu_rag", *map(str, words)]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | environment)
    return done.stdout


def submission_of(runs: Path, slug: str) -> Path:
    """The system in the folder of the runs, as the repository has it now, without other predictions."""
    folder = runs / "submissions" / slug
    ignored = shutil.ignore_patterns("predictions", "__pycache__")
    shutil.copytree(ROOT / "submissions" / slug, folder, ignore=ignored, dirs_exist_ok=True)
    return folder


def asked(n: int | None) -> tuple[object, ...]:
    """The options that name a sample."""
    return () if n is None else ("--sample", n, "--seed", SEED)


def planned(slugs: Sequence[str], dataset: str, most: int | None) -> Iterator[Planned]:
    """The systems with these names, or all that are in the repository; `most` bounds the samples of a dataset."""
    for one in PLAN:
        if (not slugs or one.slug in slugs) and (ROOT / "submissions" / one.slug).is_dir():
            n = None if one.n is None or dataset in WHOLE else min(one.n, most or one.n)
            yield one._replace(n=n)


class Asking(NamedTuple):
    """How the systems are asked: `most` bounds the number of questions, `at_once` the systems at a time."""

    runs: Path
    models: Path
    dataset: str
    slugs: Sequence[str]
    most: int | None
    no_sandbox: bool
    at_once: int

    def each(self, what: str, *more: object) -> None:
        """Give every planned system to a command of ours."""
        with ThreadPoolExecutor(self.at_once) as pool:  # each command is a process
            list(pool.map(lambda one: self._one(what, one, more), planned(self.slugs, self.dataset, self.most)))

    def _one(self, what: str, one: Planned, more: tuple[object, ...]) -> None:
        where = ("--dataset", self.runs / self.dataset, "--split", SPLITS[self.dataset], *asked(one.n), *LIMITS)
        boxed = UNBOXED if self.no_sandbox else one.options
        command(what, submission_of(self.runs, one.slug), *where, *boxed, *more, **steering(self.models))


def run(asking: Asking) -> None:
    """Ask every system."""
    asking.each("run")


def restore(runs: Path, dataset: Manifest, slugs: Collection[str]) -> None:
    """Copy published runs of these systems to where a probe expects them, with what is known of their records.

    A system that has changed since is left out. The code of `baselines` may have changed, and the dataset's labels too:
    the runs are of this version of the dataset. Each restored run is printed with the dataset that it was made on.
    """
    for line in read_reruns(LEADERBOARD / FILE_NAME):
        if line.slug not in slugs or line.dataset.partition("#")[0] != dataset.id.partition("#")[0]:
            continue
        table = line.split if line.sample is None else f"{line.split}-{line.sample}"
        place = ROOT / "submissions" / line.slug / "predictions" / dataset.release.folder / f"{table}.jsonl"
        made = runs / place.relative_to(ROOT)
        if made.exists() or not place.is_file() or file_sha256(place) != line.predictions_sha256:
            continue
        if line.system_sha256 != system_sha256(submission_of(runs, line.slug)):
            print(f"{line.slug} {table}: not restored: its files have changed since", flush=True)
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        write_json(record_path(made), restored_record(line, dataset.id))
        shutil.copyfile(place, made)
        print(f"{line.slug} {table}: restored, made on {line.dataset}, asked now on {dataset.id}", flush=True)


def restored_record(line: Rerun, dataset: str) -> RunRecord:
    """The run record of a published run, from the line that vouches for it, for the dataset as it is labelled now."""
    return RunRecord(
        dataset=dataset,
        split=line.split,
        sample=line.sample,
        system_sha256=line.system_sha256,
        harness=line.harness,
        limits=Limits(),
        predictions_sha256=line.predictions_sha256,
        caps=line.caps,
        n_questions=line.n,
    )


def probe(asking: Asking, names: Sequence[str]) -> None:
    """The controls of every system, on the questions of its run."""
    dataset = read_manifest(asking.runs / asking.dataset)
    restore(asking.runs, dataset, {one.slug for one in planned(asking.slugs, asking.dataset, asking.most)})
    asking.each("probe", *(word for name in names or CONTROLS for word in ("--probe", name)))


def steering(models: Path) -> dict[str, str]:
    """The variables that a run needs."""
    return {"EDU_RAG_MODELS": str(models.resolve()), "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}


def is_boxed(made: Path) -> bool:
    """Whether a run was made in the sandbox, by its record. Ends the script where there is no record."""
    record = read_run_record(made)
    if record is None:
        raise SystemExit(f"{made} has no run record next to it: run the system again")
    return record.caps.get("sandbox") != "none"


def strip(made: Path, place: Path) -> None:
    """Copy predictions with the answers only: other text of the systems may quote pages that are not ours.

    A record of older predictions at that place is removed: the line that vouches for the copy takes its place.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    record_path(place).unlink(missing_ok=True)
    left_out = {"response"} if is_boxed(made) else {"response", "latency_s"}
    write_records(place, ({k: v for k, v in row.items() if k not in left_out} for _, row in read_values(made)))


def copied_probes(made: Path, place: Path, exam: Exam) -> Iterator[ProbeRun]:
    """Copy the probes of a run, without other text; the files as they are now.

    A probe of another sample is left to the run of that sample, if there is one. Ends the script where a run in the
    sandbox has a probe without it, or the reverse.
    """
    for run, path in own_probes(made, exam):
        if run.sample != exam.sample and made.with_name(f"{exam.split}-{run.sample}.jsonl").is_file():
            continue
        if is_boxed(path) != is_boxed(made):
            raise SystemExit(f"{path}: not made in the sandbox as {made.name} was, or the reverse: ask the probe again")
        copy = run.path(place, exam.split)
        strip(path, copy)
        yield replace(run, predictions_sha256=file_sha256(copy))


def note_of(made: Path, machine: str) -> str:
    """How a run was made."""
    return NOTE if is_boxed(made) else NOTE_WITHOUT.format(f" on {machine}" if machine else "")


def vouch(made: Path, place: Path, reruns: Path, dataset: Dataset | None, machine: str) -> None:
    """Vouch for copied predictions, and for the probes next to them, as the maintainers' run.

    An existing line is kept, but for the probes.
    """
    slug, split, _, sample = made.parents[2].name, *made.stem.partition("-")
    record, n = read_run_record(made), sum(1 for _ in read_values(place))
    if record is None:
        raise SystemExit(f"{made} has no run record next to it: run the system again")
    line = Rerun(
        slug=slug,
        dataset=record.dataset,
        split=split,
        sample=sample or None,
        predictions_sha256=file_sha256(place),
        n=n,
        n_same=n,
        caps=dict(record.caps),
        system_sha256=record.system_sha256,
        harness=record.harness,
        own=True,
        note=note_of(made, machine),
        made_at=datetime.fromtimestamp(int(made.stat().st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    known = {_answers_of(old): old for old in read_reruns(reruns)} if reruns.is_file() else {}
    line = known.get(_answers_of(line), line)
    if dataset is not None:
        exam = open_exam(dataset, split, sample or None)
        probes = {(one.probe, one.sample or ""): one for one in (*line.probes, *copied_probes(made, place, exam))}
        line = replace(line, probes=tuple(one for _, one in sorted(probes.items())))
    if line != known.get(_answers_of(line)):
        write_rerun(reruns, line)


def _answers_of(line: Rerun) -> tuple[str, ...]:
    """The system and the answers that a line vouches for, whatever labels the dataset had then."""
    release = line.dataset.partition("#")[0]
    return line.slug, line.system_sha256, release, line.split, line.predictions_sha256


def drop_replaced(reruns: Path) -> None:
    """Remove the lines whose predictions are not in the repository any more: another run has replaced them."""
    kept = {file_sha256(path) for path in (ROOT / "submissions").glob("*/predictions/*/*.jsonl")}
    write_records(reruns, [line for line in read_reruns(reruns) if line.predictions_sha256 in kept])


def publish(runs: Path, machine: str) -> None:
    """Put predictions and scorecards into the repository, and verify them."""
    opened = {
        read_manifest(runs / name).release.folder: Dataset(runs / name) for name in SPLITS if (runs / name).is_dir()
    }
    for made in sorted((runs / "submissions").glob("*/predictions/*/*.jsonl")):
        place = ROOT / "submissions" / made.relative_to(runs / "submissions")
        strip(made, place)
        vouch(made, place, LEADERBOARD / FILE_NAME, opened.get(made.parent.name), machine)
    drop_replaced(LEADERBOARD / FILE_NAME)
    datasets = [word for name in SPLITS if (runs / name).is_dir() for word in ("--dataset", runs / name)]
    command("score", "--all", ROOT / "submissions", *datasets, "--out", LEADERBOARD / "results")
    print(command("verify", "--results", LEADERBOARD / "results", "--submissions", ROOT / "submissions", *datasets))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def board_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One table of board.json, in the board's order."""
    head = ("rank", "system", "score", "95 % interval", "accuracy", "hallucination", "missing")
    return table(head, map(_board_row, rows))


def _board_row(row: Mapping[str, Any]) -> list[str]:
    first, last = row["rank_first"], row["rank_last"]
    return [
        f"{first}" if first == last else f"{first}–{last}",
        f"`{row['slug']}`",
        f"{row['score']:+.3f}",
        f"{row['score_low']:+.3f} … {row['score_high']:+.3f}",
        *(f"{row[name]:.3f}" for name in ("accuracy", "hallucination", "missing")),
    ]


Corrected = Mapping[tuple[str, str, str], float]
"""The p of two systems on a set of questions, corrected by Holm over all pairs of that set."""


def corrected(site: Path, tables: Iterable[Mapping[str, Any]], dataset: str) -> dict[tuple[str, str, str], float]:
    """What the site says of each pair of systems on the tables of a dataset."""
    found = {}
    for one in tables:
        if one["dataset"] == dataset:
            asked_in = f"{one['split']}-{one['sample']}" if one["sample"] else one["split"]
            for path in sorted((site / "pairs" / one["id"]).glob("*.json")):
                pairs = json.loads(path.read_text(encoding="utf-8"))
                for other, p in zip(pairs["with"], pairs["p_holm"], strict=True):
                    found[asked_in, path.stem, other] = p
    return found


def above_abstaining(site: Path, one: Mapping[str, Any]) -> str:
    """The systems of a table that score more than abstaining does, which is 0, with two corrections of each p.

    This question alone needs fewer tests than the board, which compares all pairs. Empty without such a system.
    """
    place = site / "pairs" / one["id"] / f"{ABSTAINING}.json"
    above = [row for row in one["rows"] if row["score"] > 0]
    if not above or not place.is_file():
        return ""
    pairs = json.loads(place.read_text(encoding="utf-8"))
    found = zip(pairs["p"], holm(pairs["p"]), pairs["p_holm"], strict=True)
    tests = dict(zip(pairs["with"], found, strict=True))
    rows = [(*_board_row(row)[1:4], *(f"{p:.2g}" for p in tests[row["slug"]])) for row in above]
    n = len(pairs["with"])
    corrections = (f"p (Holm, {n} tests against abstaining)", f"p (Holm, all {n * (n + 1) // 2} pairs)")
    return table(("system", "score", "95 % interval", "p (sign flips)", *corrections), rows)


def comparisons(results: Path, corrected_p: Corrected) -> str:
    """The paired tests between PAIRS, on the largest set of questions that both were asked."""
    pairs = []
    for first, second in PAIRS:
        both = [
            folder
            for folder in sorted(results.glob("*"))
            if all((folder / slug / "scorecard.json").is_file() for slug in (first, second))
        ]
        if both:
            largest = max(both, key=_n_questions)
            pairs.append((largest / first, largest / second))
    with ThreadPoolExecutor() as pool:  # each is a process of its own
        rows = list(pool.map(partial(_comparison_row, corrected_p), pairs))
    head = ("difference of", "n", "score", "95 % interval", "p (sign flips)", "p (Holm)", "found with 80 % power from")
    return table(head, rows)


def _comparison_row(corrected_p: Corrected, pair: tuple[Path, Path]) -> tuple[str, ...]:
    first, second = pair
    found: dict[str, Any] = json.loads(command("compare", first, second, "--json"))
    low, high = found["interval"]
    return (
        f"`{first.name}` − `{second.name}`",
        f"{found['n']:,}",
        f"{found['score_difference']:+.3f}",
        f"{low:+.3f} … {high:+.3f}",
        f"{found['sign_flip_p']:.2g}",
        f"{corrected_p[first.parent.name, first.name, second.name]:.3g}",
        f"{found['smallest_detectable_difference']:.3f}",
    )


def controls(folder: Path) -> str:
    """How the systems do under the conditions of CONTROLS, against their runs on the same questions."""
    rows = []
    for path in sorted(folder.glob("*/scorecard.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        slug, probes = card["system"]["slug"], card["probes"]
        rows += [_control_row(slug, name, probes[name]) for name in CONTROLS if name in probes]
    head = ("system", "control", "n", "score", "run's score", "control − run", "95 % interval", "p", "silent", "run's")
    return table(head, rows) if rows else ""


def _control_row(slug: str, name: str, one: Mapping[str, Any]) -> list[str]:
    low, high = one["difference_interval"]
    silent, main = (one.get(field) for field in ("rejection", "main_rejection"))
    return [
        f"`{slug}`",
        f"`{name}`",
        f"{one['n']:,}",
        *(f"{one[field]:+.3f}" for field in ("score", "main_score", "difference")),
        f"{low:+.3f} … {high:+.3f}",
        f"{one['p']:.2g}",
        *("" if share is None else f"{share:.3f}" for share in (silent, main)),
    ]


def retrieval(folder: Path) -> str:
    """Home pages and evidence among what the systems cite, for one set of questions."""
    rows = []
    for path in sorted(folder.glob("*/scorecard.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        found = card["retrieval"]
        if "metrics" in found:
            home = found.get("home_page", {}).get("metrics", {})
            shares = [f"{home[name]:.3f}" if name in home else "–" for name in ("success@1", "success@10")]
            metrics = [f"{found['metrics'][name]:.3f}" for name in ("R@5", "MRR", "NDCG@10")]
            rows.append([f"`{card['system']['slug']}`", *shares, found["n_supported"], *metrics])
    head = ("system", "home page @1", "@10", "questions with evidence", "R@5", "MRR", "NDCG@10")
    return table(head, rows) if rows else ""


def _n_questions(folder: Path) -> int:
    """The number of questions of a set that has scorecards."""
    card = json.loads(next(folder.glob("*/scorecard.json")).read_text(encoding="utf-8"))
    return sum(card["counts"].values())


PAGE = ROOT / "docs" / "figures" / "results.md"
FIGURES = (
    "questions",
    "splits",
    "pages",
    "pages_per_question",
    "characters_per_page",
    "questions_with_evidence",
    "questions_with_home_page",
    "questions_leaked",
    "leaks_masked",
    "hits_by_outcome",
)


def described(folder: Path, page: str) -> list[str]:
    """The heading and the figures of a dataset; one that is not among the runs keeps what the page has of it."""
    if not folder.is_dir():
        found = re.search(rf"^(## {folder.name}@.+)\n\n((?:\|.*\n)+)", page, re.MULTILINE)
        return [text.rstrip() for text in found.groups()] if found else []
    manifest = read_manifest(folder)
    rows = ((f"`{key}`", manifest.sources[key]) for key in FIGURES if key in manifest.sources)
    return [f"## {manifest.id}", table(("figure", "value"), rows)]


def section(site: Path, head: Sequence[str], split: str, tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """A dataset on the page: what it is, its tables, and the tests of its systems."""
    parts = list(head)
    name, version, _ = re.split("[@#]", head[0].removeprefix("## "))
    results = LEADERBOARD / "results" / f"{name}-{version}"
    for one in tables:
        if one["dataset"] == name:
            parts.append(f"### {split}, {one['sample'] or 'all questions'}: n = {one['rows'][0]['n']:,}")
            parts.append(board_table(one["rows"]))
            if above := above_abstaining(site, one):
                parts += ["Above abstaining:", above]
    asked_in = [results / (split if n is None else f"{split}-{Sample(n, SEED).name}") for n in (None, 1_000, 500)]
    parts += ["### Tests between systems", comparisons(results, corrected(site, tables, name))]
    for title, tables_of in (("Controls", controls), ("What was cited", retrieval)):
        made = [f"n = {_n_questions(place):,}\n\n{text}" for place in asked_in if (text := tables_of(place))]
        parts += [f"### {title}", *made] if made else []
    return parts


def report(runs: Path) -> None:
    """Write docs/figures/results.md and the boards of the other pages from the committed scorecards."""
    site = runs / "site"
    command("board", LEADERBOARD / "results", "--submissions", ROOT / "submissions", "--out", site)
    tables = json.loads((site / "board.json").read_text(encoding="utf-8"))["tables"]
    parts = ["# Results of the board's systems", "Written by `python bench/board_runs.py report`."]
    before = PAGE.read_text(encoding="utf-8")
    for name, split in SPLITS.items():
        if head := described(runs / name, before):
            parts += section(site, head, split, tables)
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    boards = [first_rows(name, tables) for name in BOARDS]
    about = "[Results](docs/results.md) has the findings, [its tables](docs/figures/results.md) all systems and tests."
    write_board(ROOT / "README.md", [*boards[:1], about])
    write_board(ROOT / "docs" / "results.md", boards)
    print(f"wrote {PAGE} and the boards of README.md and docs/results.md")


def first_rows(name: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """The first rows of the dataset's table with the most systems."""
    most = max((one for one in tables if one["dataset"] == name), key=lambda one: len(one["rows"]))
    lines = board_table(most["rows"]).splitlines()
    n_systems, n_shown = len(most["rows"]), min(FIRST_ROWS, len(most["rows"]))
    questions = f"{most['sample'] or 'all questions'}: n = {most['rows'][0]['n']:,}"
    title = f"{name}, {most['split']}, {questions}; {n_shown} of {n_systems} systems"
    return "\n".join((title, "", *lines[: 2 + n_shown]))


def write_board(path: Path, parts: Sequence[str]) -> None:
    """Replace what a page has between its marks."""
    begin, end = "<!-- board: begin -->", "<!-- board: end -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    text = "\n\n".join(parts)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    """Run, probe, publish or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "probe", "publish", "report"))
    parser.add_argument("slugs", nargs="*", metavar="SLUG", help="systems; without any, all of them")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the datasets and the submissions")
    parser.add_argument("--models", type=Path, help="folder that bench/get_models.py filled")
    parser.add_argument("--dataset", choices=tuple(SPLITS), default="open-textbooks")
    parser.add_argument("--most", type=int, help="ask at most so many questions of a sample")
    parser.add_argument("--probe", action="append", default=[], help="run only this control; repeatable")
    parser.add_argument("--no-sandbox", action="store_true", help="ask without a sandbox: only systems that you trust")
    parser.add_argument("--at-once", type=int, default=1, help="systems that are asked at a time")
    parser.add_argument("--machine", default="", help="what machine made the runs without a sandbox, for their note")
    given = parser.parse_intermixed_args()
    runs = given.runs.resolve()
    if given.what in ("run", "probe") and given.models is None:
        parser.error(f"{given.what} needs --models")
    asking = Asking(
        runs, given.models, given.dataset, given.slugs, given.most, no_sandbox=given.no_sandbox, at_once=given.at_once
    )
    if given.what == "run":
        run(asking)
    elif given.what == "probe":
        probe(asking, given.probe)
    elif given.what == "publish":
        publish(runs, given.machine)
    else:
        report(runs)


if __name__ == "__main__":
    main()
