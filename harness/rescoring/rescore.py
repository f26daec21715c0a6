"""Scoring every submission again: predictions are the source of truth, and changes are reported with their causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import EduRagError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import to_line, write_file
from edu_rag.files.manifest import file_sha256
from edu_rag.names import Release
from edu_rag.progress import Stage, say
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import PREDICTIONS
from harness.exam import Exam
from harness.judging.free_text import UnjudgedError
from harness.judging.grading import Grading
from harness.rescoring.scoring_jobs import OpenExams, Results, ScoringJob, ScoringPlan, plans, submissions_in, target_of
from harness.scoring.score import card_and_trust, score_within, uncollected, write_results
from harness.submission.folder import present, runs_of
from harness.submission.target import Target
from harness.trust.cautions import of_files
from harness.trust.rerun_log import NOBODY, Trust, Vouched

RECORD = "rescoring.json"
FORMAT = "edu-rag-rescoring-v1"
NEW = "new"
_BESIDE = frozenset({"system files changed", "re-run changed", "caps changed", "cost changed"})
"""Causes that no score depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """A result that is new or differs from the one before; `question_ids` are those whose outcome changed.

    `before` and `question_ids` are None if there was no earlier result, or if it was on other questions.
    """

    system: str
    dataset: str
    split: str
    sample: str | None
    causes: tuple[str, ...]
    before: float | None
    after: float
    question_ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A result that was left as it was, and why."""

    scorecard: str
    dataset: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescoring:
    """The result of scoring again. `n_unchanged` results are the same to the last byte.

    `renewed` were written again, but only fields next to the score differ: the source of trust, and the caps.
    """

    datasets: tuple[str, ...]
    n_unchanged: int
    moves: tuple[ScoreChange, ...]
    renewed: tuple[ScoreChange, ...] = ()
    kept: tuple[Kept, ...] = ()
    faults: tuple[EduRagError, ...] = ()


def _as_read_back(card: ScoreCard) -> dict[str, Any]:
    """A result as its file gives it back, without its time: a pair that was a tuple here is a list there."""
    values: dict[str, Any] = msgspec.json.decode(to_line(replace(card, scored_at="")))
    return values


def causes_of(before: ScoreCard, after: ScoreCard) -> tuple[str, ...]:
    """Why two results of one system differ, most telling cause first; empty if nothing differs but the time."""
    was, now = _as_read_back(before), _as_read_back(after)
    if was == now:
        return ()
    prints = {name: before.exam.get(name) != after.exam.get(name) for name in ("questions", "gold", "support")}
    telling = {
        "predictions changed": before.predictions_sha256 != after.predictions_sha256,
        "questions changed": bool(before.exam) and prints["questions"],
        "gold changed": bool(before.exam) and prints["gold"],
        "dataset changed": not before.exam and before.dataset != after.dataset,
        "answers rule changed": before.answers_rule != after.answers_rule,
        "judge changed": was["judges"] != now["judges"],
        "evidence or slices only": bool(before.exam) and prints["support"] and before.outcomes == after.outcomes,
        "evidence or slices changed": bool(before.exam) and prints["support"] and before.outcomes != after.outcomes,
        "harness version": before.harness != after.harness,
        "declared overlap changed": before.overlap != after.overlap,
        "declared facts changed": before.system != after.system,
        "probes changed": was["probes"] != now["probes"],
        "carried to another version": before.made_on != after.made_on,
        "system files changed": before.system_sha256 != after.system_sha256,
        "re-run changed": was["rerun"] != now["rerun"],
        "caps changed": was["caps"] != now["caps"],
        "cost changed": was["cost"] != now["cost"],
    }
    found = tuple(cause for cause, holds in telling.items() if holds)
    return found or ("harness changed within its version",)


def _flipped(before: ScoreCard, after: ScoreCard, exam: Exam) -> tuple[str, ...] | None:
    same = before.exam.get("ids") == after.exam["ids"] or (not before.exam and before.counts.n == after.counts.n)
    if not same:
        return None
    both = zip(exam.questions, before.outcomes, after.outcomes, strict=True)
    return tuple(question.question_id for question, was, now in both if was != now)


def move_of(before: ScoreCard | None, after: ScoreCard, exam: Exam) -> ScoreChange | None:
    """The change between two results of one system; None if nothing changed."""
    causes = (NEW,) if before is None else causes_of(before, after)
    if not causes:
        return None
    return ScoreChange(
        system=after.system.slug,
        dataset=after.dataset,
        split=after.split,
        sample=after.sample,
        causes=causes,
        before=None if before is None else before.counts.score,
        after=after.counts.score,
        question_ids=None if before is None else _flipped(before, after, exam),
    )


def beside_the_score(move: ScoreChange) -> bool:
    """Whether only fields next to the score differ, which is not a change of it."""
    return move.before == move.after and not move.question_ids and _BESIDE.issuperset(move.causes)


def rescoring_values(rescoring: Rescoring) -> dict[str, Any]:
    """The content of rescoring.json."""
    from edu_rag.files.typed import to_plain

    lists = {
        name: [to_plain(one) for one in getattr(rescoring, name)] for name in ("datasets", "moves", "renewed", "kept")
    }
    faults = [str(fault) for fault in rescoring.faults]
    return {"format": FORMAT, "n_unchanged": rescoring.n_unchanged, **lists, "faults": faults}


def rescoring_lines(rescoring: Rescoring, limit: int = 10) -> Iterator[str]:
    """The changes and their reasons, for a terminal; at most `limit` question ids a result."""
    for move in rescoring.moves:
        asked = f"{move.split}, {move.sample}" if move.sample else move.split
        was = "" if move.before is None else f"{100 * move.before:+.2f} % -> "
        yield f"{move.system} on {move.dataset}, {asked}: {was}{100 * move.after:+.2f} % ({', '.join(move.causes)})"
        if move.question_ids:
            more = f" … and {len(move.question_ids) - limit:,} more" if len(move.question_ids) > limit else ""
            yield f"  {len(move.question_ids):,} outcome(s) changed: {', '.join(move.question_ids[:limit])}{more}"
    renewed = f"{len(rescoring.renewed):,} with the same score written again, " if rescoring.renewed else ""
    n_moved, n_kept = len(rescoring.moves), len(rescoring.kept)
    yield f"{n_moved:,} result(s) moved, {renewed}{rescoring.n_unchanged:,} unchanged, {n_kept:,} kept"
    causes = Counter(cause for move in rescoring.renewed for cause in move.causes)
    for cause, n in sorted(causes.items()):
        yield f"  written again:  {cause}: {n:,}"
    for kept in rescoring.kept:
        yield f"  kept {kept.scorecard} ({kept.dataset}): {kept.why}"


def write_record(path: Path, rescoring: Rescoring) -> bool:
    """Write rescoring.json; it is left as it is if nothing moved since and the kept and faulty results are the same."""
    from edu_rag.files.jsonl import read_json, write_json

    values = rescoring_values(rescoring)
    if not (rescoring.moves or rescoring.renewed) and path.is_file():
        try:
            last = read_json(path)
        except EduRagError:
            last = None  # this command writes the file: half a file is no reason to stop
        if isinstance(last, dict) and all(last.get(name) == values[name] for name in ("datasets", "kept", "faults")):
            return False
    write_json(path, values)
    return True


GONE = "its predictions are gone"


def _mend_copy(copy: Path, card: ScoreCard, predictions: Path) -> None:
    """Write the copy of the predictions again if it is missing or differs from the scored ones; the scorecard stays."""
    if not copy.is_file() or copy.is_symlink() or file_sha256(copy) != card.predictions_sha256:
        write_file(copy, predictions.read_bytes())


class _Work:
    """The state while everything is scored again."""

    def __init__(
        self, results: Results, exams: OpenExams, scored_at: datetime, grading: Grading | None, vouched: Vouched
    ) -> None:
        self._results, self._exams, self._scored_at, self._grading = results, exams, scored_at, grading
        self._vouched = vouched
        self.moves: list[ScoreChange] = []
        self.renewed: list[ScoreChange] = []
        self.unvouched: set[str] = set()
        self._with_cautions: set[Path] = set()
        self.done: set[Path] = set()
        self.faulty: set[Path] = set()

    def score(self, job: ScoringJob) -> None:
        """Score one job and write its scorecard where it is new or differs. Raises EduRagError."""
        exam = self._exams.of(job.dataset, job.made.asked.split, job.made.asked.sample)
        target = target_of(job.submission, job.made, job.dataset)
        card, trust = score_within(
            exam,
            target,
            card_and_trust,
            scored_at=self._scored_at,
            grading=self._grading,
            vouched=self._vouched,
        )
        self._tell(target, trust)
        move = move_of(self._results.before(card), card, exam)
        if move is not None or job.scorecard not in self._results.cards:
            write_results(self._results.folder, card, target.path)
        else:
            _mend_copy(job.scorecard.with_name(PREDICTIONS), card, target.path)
        if move is not None:
            (self.renewed if beside_the_score(move) else self.moves).append(move)
        self.done.add(job.scorecard)

    def _tell(self, target: Target, trust: Trust) -> None:
        """Print the cautions of a predictions file, once for all its tables."""
        if target.path not in self._with_cautions:
            self._with_cautions.add(target.path)
            for caution in (*(() if target.made_on else of_files([target.path])), *trust.doubts):
                say(caution)
            if trust.unvouched:
                self.unvouched.add(target.system.slug)


def rescore(
    submissions: Path,
    datasets: Sequence[Dataset],
    results: Path,
    *,
    scored_at: datetime,
    grading: Grading | None = None,
    vouched: Vouched = NOBODY,
) -> Rescoring:
    """Score every submission's predictions for these datasets again and write changed results under `results`.

    A result that is the same keeps its bytes and its time. A faulty file loses only its own result and is reported in
    `faults`. Results of other datasets and versions stay as they are. Raises ConfigError if there is no folder of
    submissions (one submission is not enough), or two of the datasets have one name and version.
    """
    faults: list[EduRagError] = []
    there = Results(results)
    exams = OpenExams(datasets, there)
    work = _Work(there, exams, scored_at, grading, vouched)
    planned = [
        one for one in plans(submissions_in(submissions, faults), datasets, exams, there) if not _runs_alone(one)
    ]
    with Stage("score", total=len(planned), bad="not scored") as stage:
        for plan in planned:
            n_before = len(work.done)
            with uncollected():
                found = _score_plan(work, plan)
            faults += found
            stage.add("faulty" if found else "done" if len(work.done) > n_before else "no predictions for it")
    if work.unvouched:
        say(f"{len(work.unvouched):,} submission(s) with run records or probes that nobody vouches for: ignored")
    faults += [fault for path, found in there.faults.items() if path not in work.done for fault in found]
    return Rescoring(
        datasets=tuple(dataset.id for dataset in datasets),
        n_unchanged=len(work.done) - len(work.moves) - len(work.renewed),
        moves=tuple(work.moves),
        renewed=tuple(work.renewed),
        kept=tuple(_kept(there, datasets, work)),
        faults=tuple(faults),
    )


def _runs_alone(plan: ScoringPlan) -> bool:
    """Whether a submission ranks pages only: there are no predictions to miss."""
    return not (plan.jobs or plan.faults or any(present(plan.submission))) and bool(runs_of(plan.submission.folder))


def _score_plan(work: _Work, plan: ScoringPlan) -> list[EduRagError]:
    """Score all predictions that a submission has for a dataset; return their faults."""
    faults = list(plan.faults)
    for job in plan.jobs:
        try:
            work.score(job)
        except UnjudgedError as error:
            work.faulty.add(job.scorecard)
            faults.append(SubmissionError(job.made.path, error.what, error.remedy))
        except EduRagError as error:
            work.faulty.add(job.scorecard)
            faults += each_fault(error)
    return faults


def _kept(there: Results, datasets: Sequence[Dataset], work: _Work) -> Iterator[Kept]:
    for path, card in there.cards.items():
        if path not in work.done:
            why = "its predictions could not be scored" if path in work.faulty else why_kept(card, datasets)
            yield Kept(scorecard=path.relative_to(there.folder).as_posix(), dataset=card.dataset, why=why)


def why_kept(card: ScoreCard, datasets: Sequence[Dataset]) -> str:
    """The reason why a result cannot be made again from the given datasets."""
    return why_not_given(card.dataset_id.release, datasets) or GONE


def why_not_given(release: Release, datasets: Sequence[Dataset]) -> str:
    """How a version of a dataset differs from the given ones; empty if it is one of them."""
    name, version = release
    given = [one.manifest.release.version for one in datasets if one.manifest.name == name]
    if version in given:
        return ""
    if not given:
        return "its dataset was not given"
    if all(version.major != other.major for other in given):
        return "another major version, which is never mixed with the ones given"
    return "another version than the ones given"
