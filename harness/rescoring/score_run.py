"""Score retrieval runs: TREC files of ranked pages, one alone or those of a folder of submissions.

A run is a stranger's file: it is read and scored in a child with a budget, of which only the result comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from edu_rag import __version__
from edu_rag.errors import DataError, EduRagError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.names import QuestionSet
from edu_rag.processes.budget import default_cpu_s, within_budget
from edu_rag.scorecard.card import SystemFacts
from edu_rag.scorecard.retrieval_card import RetrievalCard
from harness.exam import Exam, lesson_numbers, open_exam
from harness.importing.trec_run import MEMORY_BYTES, read_ranked
from harness.scoring.run_measures import page_measures
from harness.submission.folder import FILE_NAME, RUN_ENDING, RUNS, asked_by_run, behind_link, open_submission, runs_of
from harness.submission.target import anonymous
from harness.trust.cautions import page_ids

MAX_RUN_BYTES = 100_000_000
CPU_S = 60.0


class RunFile(NamedTuple):
    """A run to score, the facts of the system that made it, and the questions that its place names, if it has one."""

    path: Path
    system: SystemFacts
    asked: QuestionSet | None


class PlacedRun(NamedTuple):
    """A run at its place in a submission, the facts of the system, and the questions that the place names."""

    path: Path
    system: SystemFacts
    asked: QuestionSet

    @property
    def file(self) -> RunFile:
        """The run to score."""
        return RunFile(*self)


def run_file(path: Path) -> RunFile:
    """A run with its submission, if it is in one. Raises SubmissionError."""
    if not path.is_file():
        raise SubmissionError(path, "no such file", f"give a TREC run, such as {RUNS}/my-data-1.0.0/test{RUN_ENDING}")
    folders = path.absolute().parents
    if len(folders) < 3 or folders[1].name != RUNS or not (folders[2] / FILE_NAME).is_file():
        return RunFile(path, anonymous(path), None)
    submission = open_submission(folders[2])
    return RunFile(path, submission.facts, asked_by_run(path))


def score_run(dataset: Dataset, split: str, sample: str | None, run: RunFile, *, scored_at: datetime) -> RetrievalCard:
    """Score a run on a split or a sample of it. Raises EduRagError, with all faults of the file.

    A full run is scored on a sample too; the pages of other questions of the split are left out.
    """
    wanted = QuestionSet(dataset.manifest.release, split, sample)
    if run.asked is not None and run.asked not in (wanted, wanted._replace(sample=None)):
        what = f"this run is for {run.asked.release.folder}, {run.asked.table}"
        raise SubmissionError(run.path, what, "give the dataset, split and sample that it was made for")
    if split not in dataset.splits():
        splits = ", ".join(dataset.splits())
        raise SubmissionError(run.path, f"the dataset has no split {split!r}", f"it has {splits}")
    if run.path.stat().st_size > MAX_RUN_BYTES:
        what = f"is over {MAX_RUN_BYTES:,} bytes"
        raise SubmissionError(run.path, what, "leave out the pages below the first hundred of each question")
    job = _RunScoring(dataset, split, sample, run, scored_at)
    cpu_s = max(CPU_S, default_cpu_s())
    return within_budget(job.work, what=run.path, prepare=job.prepare, cpu_s=cpu_s, memory_bytes=MEMORY_BYTES)


class _RunScoring:
    """The job of the child; it can be pickled."""

    def __init__(self, dataset: Dataset, split: str, sample: str | None, run: RunFile, scored_at: datetime) -> None:
        self._dataset, self._split, self._sample = dataset, split, sample
        self._run, self._scored_at = run, scored_at
        self._ours: tuple[Exam, frozenset[str]] | None = None

    def prepare(self) -> None:
        """Read our own files, which the budget does not cover."""
        self._ours = self._read()

    def _read(self) -> tuple[Exam, frozenset[str]]:
        return open_exam(self._dataset, self._split, self._sample), page_ids(self._dataset, self._split)

    def work(self) -> RetrievalCard:
        """Read the run and measure it."""
        exam, pages = self._ours or self._read()
        return _measured(exam, read_ranked(self._run.path, exam.known, pages), self._run, self._scored_at)


def _measured(exam: Exam, ranked: Mapping[str, Sequence[str]], run: RunFile, scored_at: datetime) -> RetrievalCard:
    ids = [question.question_id for question in exam.questions]
    numbers = dict(zip(ids, lesson_numbers(exam.questions), strict=False))
    evidence = {one: exam.support.evidence[one] for one in ids if one in exam.support.evidence}
    home = {one: [exam.support.home_pages[one]] for one in ids if one in exam.support.home_pages}
    if not evidence and not home:
        what = "none of these questions has evidence or a home page, so no page is known to be relevant"
        raise DataError(f"{exam.dataset} {exam.split}", what, "score on a split that has some")
    return RetrievalCard(
        system=run.system,
        dataset=exam.dataset,
        split=exam.split,
        sample=exam.sample,
        harness=f"edu-rag-bench {__version__}",
        n=len(ids),
        n_ranked=sum(one in ranked for one in ids),
        evidence=page_measures(evidence, ranked, numbers),
        home=page_measures(home, ranked, numbers),
        run_sha256=file_sha256(run.path),
        scored_at=scored_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def runs_on(
    submissions: Path, opened: Sequence[Dataset]
) -> Iterator[tuple[str, tuple[Dataset, PlacedRun] | EduRagError]]:
    """The runs of a folder of submissions on these datasets, each with its submission's name, and faults of others."""
    by_release = {dataset.manifest.release: dataset for dataset in opened}
    for path in [path for folder in sorted(submissions.iterdir()) for path in runs_of(folder)]:
        slug = path.parents[2].name
        try:
            asked = asked_by_run(path)
            if behind_link(path, submissions):
                raise SubmissionError(path, "is a link or inside a linked folder", "put the file itself there")
            if asked.release in by_release:
                run = PlacedRun(path, open_submission(path.parents[2]).facts, asked)
                yield slug, (by_release[asked.release], run)
        except EduRagError as error:
            yield from ((slug, fault) for fault in each_fault(error))
