"""Probes of a system: the questions of a split asked again with other pages, another order of choices, or the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from edu_rag.names import Sample
from edu_rag.progress import say
from edu_rag.records import Question, WebPage
from harness.probing.probe_questions import (
    DRAWS,
    REPEAT,
    EvidencePages,
    ProbeSource,
    half_noise,
    may_permute,
    other_pages,
    permute,
    source_of,
)
from harness.running.run import Manner, NothingAnsweredError, hiding, record_of, require_set, run_task
from harness.running.task import Task
from harness.submission.folder import Submission
from harness.submission.run_record import RunRecord, is_measured, read_run_record


def _with(pages: Mapping[str, Sequence[WebPage]]) -> Callable[[Sequence[Question]], Task]:
    return lambda asked: Task([q for q in asked if q.question_id in pages], pages)


def _no_context(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    return lambda asked: Task(asked, {})


def _evidence_only(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    given = EvidencePages(source)
    return lambda asked: Task([q for q in asked if q.question_id in given.pages], given.pages, given.back)


def _other_pages(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    return _with(other_pages(source, seed))


def _half_noise(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    return _with(half_noise(source, seed))


def _permuted(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    return lambda asked: Task([permute(q, seed).question for q in asked if may_permute(q)], source.pages)


def _repeat(source: ProbeSource, seed: int) -> Callable[[Sequence[Question]], Task]:
    return lambda asked: Task(asked, source.pages)


PROBES: Mapping[str, Callable[[ProbeSource, int], Callable[[Sequence[Question]], Task]]] = {
    "no-context": _no_context,
    "evidence-only": _evidence_only,
    "other-pages": _other_pages,
    "half-noise": _half_noise,
    "permuted": _permuted,
    REPEAT: _repeat,
}
"""By name, in the order of `names.NAMES`: what turns the questions asked into a probe's task."""


class Probing(NamedTuple):
    """Which probes to run on which questions; `repeats` is how often `repeat` asks them again."""

    split: str
    sample: str | None
    names: Sequence[str]
    repeats: int = 2


def probe_path(predictions: Path, probe: str) -> Path:
    """The path of a probe's predictions: `probes/<split>[-<sample>].<probe>.jsonl` next to the run's."""
    return predictions.parent / "probes" / f"{predictions.stem}.{probe}.jsonl"


def file_names(probing: Probing) -> list[tuple[str, str, int]]:
    """The runs in the order of PROBES: the probe, its name in files, and the number of the repeat."""
    runs: list[tuple[str, str, int]] = []
    for name in PROBES:
        if name in probing.names:
            numbers = range(1, probing.repeats + 1) if name == REPEAT else (0,)
            runs += [(name, f"{name}-{number}" if number else name, number) for number in numbers]
    return runs


def _is_done(path: Path, record: RunRecord) -> bool:
    """Whether a probe was finished under this very record; a repeat, which has no cache, need not be asked again."""
    if not path.is_file() or not is_measured(path):
        return False
    found = read_run_record(path)
    # A finished record says of its caps by which means they were in force too.
    if found is None or not record.caps.items() <= found.caps.items():
        return False
    names = ("caps", "predictions_sha256", "n_questions", "n_asked", "n_resumed", "n_cached", "wall_s")
    return found == replace(record, **{name: getattr(found, name) for name in names})


def run_probes(submission: Submission, dataset: Dataset, probing: Probing, manner: Manner) -> list[Path]:
    """Run probes through the very runner of `edu-rag run`; return their predictions files.

    `manner.seed` is that of the draws. Free-text questions are not probed. A probe that leaves no question is said
    and skipped. `repeat` asks in another order each time and never uses the cache; an existing repeat is kept.
    Raises ConfigError for an unknown name.
    """
    unknown = [name for name in probing.names if name not in PROBES]
    if unknown:
        raise ConfigError("--probe", f"unknown: {', '.join(unknown)}", f"known are {', '.join(PROBES)}")
    require_set(manner)
    manner = hiding(dataset, manner)
    source = source_of(dataset, probing.split)
    asked = choose(source.questions, Sample.parse(probing.sample)) if probing.sample else source.questions
    asked = [question for question in asked if question.kind != "free_text"]
    main = submission.predictions_path(dataset.manifest.release.folder, probing.split, probing.sample)
    record = record_of(submission, dataset, probing.split, probing.sample, manner)
    paths = []
    for name, file_name, number in file_names(probing):
        task = PROBES[name](source, manner.seed)(asked)
        if not task.questions:
            say(f"probe {file_name}: no question of this split suits it")
            continue
        path = probe_path(main, file_name)
        of_probe = replace(record, probe=file_name, seed=manner.seed, draws=DRAWS)
        once_more = replace(manner, cache=None, seed=manner.seed + number) if number else manner
        paths.append(path)
        if number and not manner.fresh and _is_done(path, of_probe):
            say(f"probe {file_name}: exists already; --fresh asks it again")
            continue
        try:
            run_task(submission, task, path, of_probe, once_more)
        except NothingAnsweredError as error:  # a system may fail without pages: that is a result too
            say(str(error))
    return paths
