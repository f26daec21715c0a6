"""Running a submitted system in the sandbox: over a table without predictions, or a sample of one that has them."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from edu_rag.draw_sample import choose
from edu_rag.errors import EduRagError, SandboxError, SubmissionError, each_fault
from edu_rag.names import Sample
from edu_rag.processes.budget import within_budget
from edu_rag.records import Question
from harness.exam import Exam
from harness.own_packages.fetch_wheels import MAX_S, pip_download
from harness.own_packages.requirements_file import PinnedPackage
from harness.pulls.scored_tables import PullTable
from harness.rescoring.rerun import is_same
from harness.running.run import Manner, NothingAnsweredError, hiding, record_of, require_no_network, run_task
from harness.running.system_log import hint_for
from harness.running.task import task_of
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, Submission, requirements_of
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record

RunChoice = Literal["auto", "always", "never"]
MAX_SEED = 999_999_999
_SHOWN_TO_IT = ("PATH", "LANG", "LC_ALL", "EDU_RAG_MODELS", "HF_HOME")
"""Variables of the job that may reach a stranger's system; of the rest it needs to know nothing."""


class OutOfTimeError(SubmissionError):
    """A run that took longer in all than a pull request may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedRun:
    """A run in the sandbox: `n` questions under `caps`; of a re-run, how many answers were the same as submitted.

    `is_rerun`: the scored predictions were submitted, and these answers only show whether the system reproduces
    them; `seed` is that of their sample. `said`: why not a single question was answered.
    """

    n: int
    n_same: int
    is_rerun: bool
    caps: Mapping[str, Any]
    said: str = ""
    seed: int | None = None


def _drawn() -> int:
    """An unpredictable seed: a team that knew it would only need to answer the sample's questions."""
    return secrets.randbelow(MAX_SEED + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """The terms on which untrusted systems are run.

    `choice`: run if there is a sandbox (auto), refuse the request without one (always), or do not run (never).
    `n_again`: questions of a re-run, 0 for none. `budget_s`: seconds that all runs of one request may take together;
    they exceed it by one question at most. `ends_at` is the end of that time, by `monotonic`. `new_seed` gives each
    re-run's seed. `download` gets a system's packages in what is left of that time. `failed` holds the error of those
    that could not be had: a request tries once.
    """

    choice: RunChoice = "auto"
    n_again: int = 20
    budget_s: float = 3_000.0
    ends_at: float = math.inf
    caps: Caps = field(default_factory=Caps)
    hidden: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    monotonic: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: secrets.token_hex(8)
    new_seed: Callable[[], int] = _drawn
    download: Callable[[Sequence[PinnedPackage], Path, Path, int, float], None] = pip_download
    failed: dict[Path, EduRagError] = field(default_factory=dict)

    def begun(self) -> RunTerms:
        """These terms, with their time running from now."""
        return replace(self, ends_at=self.monotonic() + self.budget_s, failed={})

    def fetch(self, pins: Sequence[PinnedPackage], folder: Path, file: Path, most_bytes: int) -> None:
        """As FetchWheels, in the time that is left. Raises OutOfTimeError if there is none."""
        left = self.ends_at - self.monotonic()
        if left <= 0:
            what = f"the {self.budget_s:,.0f} s that a request may take were over before its packages were downloaded"
            raise OutOfTimeError("the run", what, "make it faster, or hand in its predictions")
        self.download(pins, folder, file, most_bytes, min(MAX_S, left))

    def manner(self, own: Limits, n: int) -> Manner:
        """How n questions are asked: with the system's own limits, of which none is above the whole budget."""

        def new_id() -> str:
            # Called before each question: the one place where a run can end without a question half asked.
            if self.monotonic() > self.ends_at:
                what = f"the {self.budget_s:,.0f} s that a request may take were over before {n:,} questions were asked"
                raise OutOfTimeError("the run", what, "make it faster, or hand in its predictions")
            return self.new_id()

        limits = Limits(time_s=min(own.time_s, self.budget_s), start_s=min(own.start_s, self.budget_s))
        shown = {name: self.environment[name] for name in _SHOWN_TO_IT if name in self.environment}
        return Manner(
            fresh=True,
            limits=limits,
            environment=shown,
            caps=self.caps,
            hidden=self.hidden,
            fetch=self.fetch,
            new_id=new_id,
            monotonic=self.monotonic,
        )


def ask_all(submission: Submission, table: PullTable, into: Path, terms: RunTerms) -> tuple[Path, SandboxedRun]:
    """Ask a system all of a table in the sandbox; return where its predictions are.

    Raises SandboxError if there is none, with nothing run; SubmissionError where nothing was answered in time.
    """
    return _ask(submission, table, into / "made" / table.folder / f"{table.name}.jsonl", terms, None)


def ask_again(
    submission: Submission, table: PullTable, exam: Exam, handed_in: Path, into: Path, terms: RunTerms
) -> SandboxedRun:
    """Ask a sample of the questions again that were answered, and count the answers that are the same.

    The sample's seed is drawn here and printed in the report. A seed derived from the predictions could be found by
    trying many, and a system would only need to answer that sample's questions. A system can still answer all questions
    from a list: a re-run shows where predictions come from, not that the system is honest. Raises as `ask_all`.
    """
    sample = Sample(min(terms.n_again, len(exam.questions)), terms.new_seed())
    path, asked = _ask(submission, table, into / "again" / table.folder / f"{table.name}.jsonl", terms, sample)
    asked_again = choose(task_of(table.dataset, table.split, table.sample).questions, sample)
    n_same = within_budget(_count_same, (handed_in, path), exam.known, asked_again, what=handed_in)
    return replace(asked, n_same=n_same, is_rerun=True, seed=sample.seed)


def _count_same(files: tuple[Path, Path], known: Collection[str], asked: Sequence[Question]) -> int:
    """How many of the questions that were asked again have the same answer in both predictions files."""
    before, now = (read_predictions(file, known) for file in files)
    return sum(is_same(q, before.get(q.question_id), now.get(q.question_id)) for q in asked)


def _ask(
    submission: Submission, table: PullTable, path: Path, terms: RunTerms, sample: Sample | None
) -> tuple[Path, SandboxedRun]:
    require_no_network(submission)
    task = task_of(table.dataset, table.split, table.sample)
    if sample is not None:
        task = task._replace(questions=choose(task.questions, sample))
    n = len(task.questions)
    manner = hiding(table.dataset, terms.manner(submission.settings.limits, n))
    record = record_of(submission, table.dataset, table.split, table.sample, manner)
    path.parent.mkdir(parents=True, exist_ok=True)
    said = ""
    try:
        with _packages_tried_once(submission, terms):
            run_task(submission, task, path, record, manner)
    except NothingAnsweredError as error:
        if sample is None:
            # The log that the error names is in our scratch folder, which its team cannot see.
            own = "try it with `edu-rag run` on your own machine, in the sandbox"
            remedy = "; ".join(filter(None, [hint_for(error.what, boxed=True), own]))
            raise SubmissionError(f"submissions/{submission.slug}", error.what, remedy) from None
        said = error.what
    made = read_run_record(path)
    return path, SandboxedRun(n=n, n_same=n, is_rerun=False, caps={} if made is None else made.caps, said=said)


@contextmanager
def _packages_tried_once(submission: Submission, terms: RunTerms) -> Iterator[None]:
    """Raise the error of a submission's packages again if they failed before in the request; remember a new one."""
    file = requirements_of(submission)
    if file in terms.failed:
        raise terms.failed[file]
    try:
        yield
    except EduRagError as error:
        if file is not None and all(str(fault.where).startswith(str(file)) for fault in each_fault(error)):
            terms.failed[file] = error
        raise


def why_not(error: SandboxError) -> str:
    """That nothing of a submission was run, and why."""
    return f"Nothing of the submission was run, for there is no sandbox here: {error}"
