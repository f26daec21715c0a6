"""Scoring: predictions + dataset -> a verdict for every question of the split, outcomes counted, and the scorecard."""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from edu_rag import __version__
from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.processes.budget import items_within_budget, within_budget
from edu_rag.scorecard.card import (
    OUTCOME_LETTERS,
    OUTCOMES,
    Counts,
    Outcome,
    Prediction,
    ScoreCard,
    Slice,
    SystemFacts,
    Verdict,
)
from edu_rag.scorecard.slices import slice_keys
from edu_rag.statistics import rate_intervals
from harness.exam import Exam, lesson_numbers, open_exam, without_pages
from harness.judging.grading import Grading, answers_rule_of, grade_all, is_offline
from harness.probing.score_probes import probes_of
from harness.reading.answers import read_answer
from harness.running.fingerprint import system_sha256
from harness.scoring.attribution import attribution_of
from harness.scoring.confidence import confidence_of
from harness.scoring.cost import cost_of
from harness.scoring.retrieval import retrieval_of
from harness.submission.declared_overlap import marks, read_overlap
from harness.submission.predictions_file import gathered, packed, read_predictions
from harness.submission.target import Target
from harness.trust.rerun_log import OWN_MACHINE, Trust, Vouched


def _counts(found: Mapping[Outcome, int]) -> Counts:
    return Counts(**{str(outcome): n for outcome, n in found.items()})


def counts_of(verdicts: Iterable[Verdict]) -> Counts:
    """The five counts of verdicts."""
    return _counts(Counter(verdict.outcome for verdict in verdicts))


def slices_of(exam: Exam, verdicts: Sequence[Verdict]) -> tuple[Slice, ...]:
    """Counts by kind, number of choices, lesson, flag, pages, evidence and leak, ordered by attribute and value."""
    groups: defaultdict[tuple[str, str], dict[Outcome, int]] = defaultdict(lambda: dict.fromkeys(OUTCOMES, 0))
    for question, verdict in zip(exam.questions, verdicts, strict=True):
        outcome = verdict.outcome
        for key in slice_keys(question, exam.support):
            groups[key][outcome] += 1
    return tuple(Slice(attribute=a, value=v, counts=_counts(groups[a, v])) for a, v in sorted(groups))


R = TypeVar("R")


class Scored(NamedTuple):
    """A scorecard with the verdicts and predictions behind it, and the trust in the files next to them."""

    card: ScoreCard
    verdicts: Sequence[Verdict]
    predictions: Mapping[str, Prediction]
    trust: Trust = Trust()


def now_utc(environment: Mapping[str, str] = os.environ) -> datetime:
    """The present second, or SOURCE_DATE_EPOCH where that is set. Raises SubmissionError if it is not a number."""
    fixed = environment.get("SOURCE_DATE_EPOCH")
    if fixed is None:
        return datetime.now(UTC).replace(microsecond=0)
    if not fixed.isascii() or not fixed.isdigit() or len(fixed) > 11:
        raise SubmissionError("SOURCE_DATE_EPOCH", f"{fixed[:40]!r} is not a number of seconds", "unset or correct it")
    return datetime.fromtimestamp(int(fixed), UTC)


class Origin(NamedTuple):
    """The origin of predictions.

    The hash of their file, the dataset they were made on where that is another version, which files next to them are
    trusted, the result of the probes there, the hash of the system's files, and the questions declared as overlap.
    """

    sha256: str = ""
    made_on: str = ""
    trust: Trust = Trust()
    probes: Mapping[str, Any] = {}
    system_sha256: str = ""
    overlap: frozenset[str] = frozenset()


def score(
    exam: Exam,
    predictions: Mapping[str, Prediction],
    system: SystemFacts,
    *,
    scored_at: datetime,
    origin: Origin | None = None,
    grading: Grading | None = None,
) -> Scored:
    """Score predictions on an exam. Every rate is over all questions of the exam, answered or not.

    If they were made on another version of the dataset, figures that depend on its pages are left out. Raises
    UnjudgedError if no judge of `grading` can grade a free-text answer.
    """
    grading, origin = grading or Grading(), origin or Origin()
    exam = without_pages(exam) if origin.made_on else exam
    asked = {q.question_id: predictions[q.question_id] for q in exam.questions if q.question_id in predictions}
    verdicts, judges = grade_all(exam.questions, exam.gold, asked, grading)
    outcomes = "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in verdicts)
    lessons = lesson_numbers(exam.questions)
    intervals, method = rate_intervals(outcomes, lessons)
    card = ScoreCard(
        system=system,
        dataset=exam.dataset,
        split=exam.split,
        sample=exam.sample,
        harness=f"edu-rag-bench {__version__}",
        answers_rule=answers_rule_of(exam.questions, grading),
        counts=counts_of(verdicts),
        outcomes=outcomes,
        lessons=lessons,
        slices=slices_of(exam, verdicts),
        intervals=intervals,
        interval_method=method,
        retrieval={} if origin.made_on else retrieval_of(asked, verdicts, exam.support, lessons),
        attribution={} if origin.made_on else attribution_of(exam.questions, asked, verdicts, exam.support),
        confidence=confidence_of(verdicts, asked),
        judges=judges,
        cost=cost_of(asked.values(), measured=origin.trust.measured),
        probes=origin.probes,
        exam=exam.prints,
        made_on=origin.made_on,
        system_sha256=origin.system_sha256,
        caps=origin.trust.caps,
        rerun=origin.trust.rerun,
        overlap=marks(origin.overlap, [q.question_id for q in exam.questions]),
        predictions_sha256=origin.sha256,
        scored_at=scored_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return Scored(card, verdicts, asked, origin.trust)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cyclic garbage collector: records form no cycles, and walking a million of them again and again costs
    a sixth of the time of scoring.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # The objects made here count as old: otherwise the next collection would walk all of them.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def score_target(
    dataset: Dataset,
    split: str,
    sample: str | None,
    target: Target,
    *,
    scored_at: datetime,
    grading: Grading | None = None,
    vouched: Vouched = OWN_MACHINE,
) -> Scored:
    """Read, check and score a predictions file. Raises DataError for the first fault in it."""
    with uncollected():
        exam = open_exam(dataset, split, sample)
        return score_on(exam, target, scored_at=scored_at, grading=grading, vouched=vouched)


def score_on(
    exam: Exam,
    target: Target,
    *,
    scored_at: datetime,
    vouched: Vouched,
    grading: Grading | None = None,
    overlap: frozenset[str] | None = None,
) -> Scored:
    """Read, check and score a predictions file on an open exam. Raises EduRagError for the first fault in it.

    `vouched` says which files are trusted with the predictions: `NOBODY` for a stranger's. `overlap`: the questions
    that the submission declares, if they have been read.
    """
    predictions = read_predictions(target.path, exam.known)
    origin = _origin_of(target, exam, vouched, declared_by(target) if overlap is None else overlap)
    return score(exam, predictions, target.system, scored_at=scored_at, origin=origin, grading=grading)


def declared_by(target: Target) -> frozenset[str]:
    """The questions that the target's submission declares. Read before a child reads its predictions, whose budget a
    slow list would use up: then the error would name the wrong file.
    """
    return frozenset() if target.folder is None else read_overlap(target.folder)


def score_within(
    exam: Exam | Callable[[], Exam],
    target: Target,
    of: Callable[[Scored], R],
    *,
    scored_at: datetime,
    vouched: Vouched,
    grading: Grading | None = None,
) -> R:
    """Score untrusted predictions in a child with the budget of `edu_rag.processes.budget`; return `of` the result.

    An exam that is for these predictions alone is given as a function that opens it, for the child to call. Only what
    `of` returns travels back, so it should be small: the predictions of a full file take longer to send than to read.
    `of` and a function that opens the exam must be picklable: see `edu_rag.processes.bounded_child.Job`.
    Raises as `score_on`, and BudgetError.
    """
    scoring = _Scoring(exam, target, of, scored_at, vouched, grading)
    if grading is None or is_offline(grading.judge):
        return within_budget(scoring.work, what=target.path, prepare=scoring.prepare)
    # A judge that asks a model keeps its grades in memory, where a child would lose them: only the reading is bounded.
    within_budget(require_readable, target.path, scoring.exam(), what=target.path)
    return scoring.work()


class _Scoring(Generic[R]):
    """The job of `score_within`; it can be pickled if its fields can."""

    def __init__(
        self,
        exam: Exam | Callable[[], Exam],
        target: Target,
        of: Callable[[Scored], R],
        scored_at: datetime,
        vouched: Vouched,
        grading: Grading | None,
    ) -> None:
        self._exam, self._target, self._of = exam, target, of
        self._scored_at, self._vouched, self._grading = scored_at, vouched, grading
        self._overlap = declared_by(target)
        self._scored: Scored | None = None

    def exam(self) -> Exam:
        """The exam, opened the first time that it is asked for."""
        if not isinstance(self._exam, Exam):
            self._exam = self._exam()
        return self._exam

    def prepare(self) -> None:
        """Read our own files, which the budget does not cover."""
        with uncollected():
            self.exam()

    def work(self) -> R:
        """Score, and keep the requested part of the result."""
        with uncollected():
            # Kept: a child ends without freeing a million objects one by one, which would take as long as judging.
            self._scored = score_on(
                self.exam(),
                self._target,
                scored_at=self._scored_at,
                vouched=self._vouched,
                grading=self._grading,
                overlap=self._overlap,
            )
            return self._of(self._scored)


def scored_within(
    exam: Exam, target: Target, *, scored_at: datetime, vouched: Vouched
) -> tuple[ScoreCard, dict[str, Prediction]]:
    """The scorecard of a stranger's predictions and those that the exam asks for, read in a child as `score_within`."""
    predictions, card = gathered(
        items_within_budget(
            _scored_in_batches, exam, target, scored_at, vouched, declared_by(target), what=target.path
        ),
        target.path,
    )
    return card, predictions


def _scored_in_batches(
    exam: Exam, target: Target, scored_at: datetime, vouched: Vouched, overlap: frozenset[str]
) -> Generator[bytes, None, ScoreCard]:
    with uncollected():
        scored = score_on(exam, target, scored_at=scored_at, vouched=vouched, overlap=overlap)
        yield from packed(scored.predictions.values())
    return scored.card


def card_of(scored: Scored) -> ScoreCard:
    """For `score_within`: the scorecard alone."""
    return scored.card


def card_and_trust(scored: Scored) -> tuple[ScoreCard, Trust]:
    """For `score_within`: the scorecard and the trust in the files next to the predictions."""
    return scored.card, scored.trust


def require_readable(path: Path, exam: Exam) -> None:
    """Raise what reading predictions and their answers raises."""
    predictions = read_predictions(path, exam.known)
    for question in exam.questions:
        said = predictions.get(question.question_id)
        if said is not None and said.answer is not None and question.choices:
            read_answer(said.answer, question.choices)


def _origin_of(target: Target, exam: Exam, vouched: Vouched, overlap: frozenset[str]) -> Origin:
    sha256 = file_sha256(target.path)
    system = "" if target.folder is None else system_sha256(target.folder)
    trust = vouched.trust(target.path, target.system.slug, system, sha256)
    return Origin(
        sha256=sha256,
        made_on=target.made_on,
        trust=trust,
        system_sha256=system,
        probes={} if target.made_on else probes_of(target.path, exam, None if trust.probes else trust.own_probes),
        overlap=overlap,
    )


def summary(card: ScoreCard) -> dict[str, Any]:
    """The numbers of a scorecard that scripts ask for: n, counts, rates and intervals."""
    from edu_rag.files.typed import to_plain

    return {"n": card.counts.n, **card.counts.rates(), "counts": to_plain(card.counts), "intervals": card.intervals}


def write_results(results: Path, card: ScoreCard, predictions: Path) -> Path:
    """Write scorecard.json and a copy of the predictions where the board looks; return the scorecard's path."""
    from edu_rag.files.jsonl import write_file
    from edu_rag.scorecard.results_folder import FILE_NAME, PREDICTIONS, place_of, write_scorecard

    folder = results / place_of(card)
    data = predictions.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / PREDICTIONS, data)
    write_scorecard(folder / FILE_NAME, card)
    return folder / FILE_NAME
